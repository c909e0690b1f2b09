/** Reads the detail of an event back: the pairs `detailText` wrote, each with its text. */

/**
 * The values by key. A value in double quotes is a JSON string, so nothing inside it passes for a
 * pair; what is no pair ends the reading.
 */
export function detailValues(text: string): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  const pair = /([a-z0-9_]+)=(?:"((?:[^"\\]|\\.)*)"|([^ "]*))(?: |$)/y;
  while (pair.lastIndex < text.length) {
    const found = pair.exec(text);
    if (found === null) return values;
    const [, key = "", quoted, plain = ""] = found;
    values.set(key, quoted === undefined ? plain : unquoted(quoted));
  }
  return values;
}

function unquoted(inside: string): string {
  try {
    const value: unknown = JSON.parse(`"${inside}"`);
    return typeof value === "string" ? value : inside;
  } catch {
    return inside; // Not as this instance writes it; nobody acts on it as text of ours.
  }
}
