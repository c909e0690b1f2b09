/** A change of revocation as the table and its event both tell it: the text that matches them. */

/** An entry that was put into the table; `at` in epoch milliseconds. */
export const entryText = (
  caId: string,
  serial: string,
  { sequence, reason, at }: { readonly sequence: number; readonly reason: string; readonly at: number },
): string => ["entry", caId, serial, sequence, reason, at].join("|");

/** A hold that was taken off. */
export const releaseText = (caId: string, serial: string, sequence: number): string =>
  ["release", caId, serial, sequence].join("|");
