/** What the list of events is asked with, from the filters of the address. */

/**
 * The members of the operation. A day that ends the span is in it, as people mean it; the operation
 * leaves out the moment it is given.
 */
export function eventMembers(query: Readonly<Record<string, string>>) {
  const { action, actor, result, ca, serial, request_id, tenant, from, to } = query;
  return { action, actor, result, ca, serial, request_id, tenant, from, to: behind(to) };
}

/** The day behind a day; any other time as it is. */
export function behind(to: string | undefined): string | undefined {
  if (to === undefined || !/^\d{4}-\d\d-\d\d$/.test(to)) return to;
  const day = new Date(`${to}T00:00:00Z`);
  // What is no day of any month is refused by the server, in its words.
  if (Number.isNaN(day.getTime())) return to;
  day.setUTCDate(day.getUTCDate() + 1);
  return day.toISOString().slice(0, 10);
}
