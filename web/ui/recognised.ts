/** What a text of an answer is, told by its form alone: what has none is a text. */

export type Recognised = "serial" | "digest" | "instant" | "text";

export function recognised(text: string, name: string): Recognised {
  if (/\bserial$/.test(name) && /^\d{1,50}$/.test(text)) return "serial";
  if (text.startsWith("SHA256:")) return "digest";
  // Decimal digits alone are a number: no digest of this length is without a letter.
  if (hex.test(text) && !/^\d+$/.test(text)) return "digest";
  return instant.test(text) && !Number.isNaN(Date.parse(text)) ? "instant" : "text";
}

const hex = /^(?:[0-9a-f]{32,}|[0-9a-f]{2}(?::[0-9a-f]{2}){15,})$/i;
const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/;
