/**
 * JSON as a signed message may carry it: no member twice, so that nobody reads another one of the
 * two, and no depth that somebody's parser would not survive (RFC 8259 §4, RFC 7515 §4).
 */

export type JsonMembers = Readonly<Record<string, unknown>>;

/**
 * The object that strict UTF-8 octets are the JSON text of; undefined for any other value, for a
 * member that stands twice at any level, and for more than 32 levels. Takes time in proportion to
 * the octets.
 */
export function readJsonObject(octets: Uint8Array): JsonMembers | undefined {
  try {
    return readJsonText(strictUtf8.decode(octets));
  } catch {
    return undefined; // Nothing but the decoder throws here: no UTF-8, no message.
  }
}

/** The same of text. */
export function readJsonText(text: string): JsonMembers | undefined {
  const members = membersWritten(text);
  if (members === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isMembers(value) && membersRead(value) === members ? value : undefined;
  } catch {
    return undefined; // No JSON: the caller says what that means.
  }
}

/** True for what JSON calls an object. */
export const isMembers = (value: unknown): value is JsonMembers =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * How many members the text writes, which is its colons outside of strings, if it is JSON at all;
 * undefined when it nests too deeply. A parser keeps one of two members with the same name, so that
 * it has read fewer than were written.
 */
function membersWritten(text: string): number | undefined {
  let [members, depth] = [0, 0];
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case quote:
        at = endOfString(text, at);
        break;
      case colon:
        members++;
        break;
      case openBrace:
      case openBracket:
        if (++depth > depthMax) return undefined;
        break;
      case closeBrace:
      case closeBracket:
        depth--;
    }
  }
  return members;
}

/** Where the string ends that begins at `start`; the end of the text when it does not. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; ; at++) {
    at = text.indexOf('"', at);
    if (at < 0) return text.length;
    let slashes = 0;
    while (text.charCodeAt(at - slashes - 1) === backslash) slashes++;
    if (slashes % 2 === 0) return at;
  }
}

function membersRead(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum: number, one) => sum + membersRead(one), 0);
  if (!isMembers(value)) return 0;
  let sum = 0;
  for (const name in value) sum += 1 + membersRead(value[name]);
  return sum;
}

const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const depthMax = 32;
const [quote, colon, backslash] = [0x22, 0x3a, 0x5c];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];
