/**
 * Names of groups, which are often distinguished names: two spellings of one name are one group
 * (RFC 4514, RFC 4518 §2.6).
 */

/**
 * One spelling for all of a distinguished name of two and more RDNs: types in lower case, values
 * without case and with single blanks, escapes only where they must be, the parts of a multi-valued
 * RDN in order. Any other text is itself: elsewhere a group is what its name says, letter by
 * letter.
 */
export function canonicalGroup(name: string): string {
  const rdns = rdnsOf(name);
  if (rdns === undefined || rdns.length < 2) return name;
  return rdns.map((rdn) => rdn.toSorted().join("+")).join(",");
}

/**
 * The parts of each RDN as canonical text; undefined for what is no distinguished name. Linear in
 * the text.
 */
function rdnsOf(text: string): readonly (readonly string[])[] | undefined {
  const rdns: string[][] = [[]];
  const part = new RegExp(attribute, "uy");
  for (;;) {
    const found = part.exec(text);
    const [, type = "", escaped = ""] = found ?? [];
    const value = found === null ? undefined : unescaped(escaped);
    if (value === undefined) return undefined;
    const short = type.toLowerCase();
    rdns.at(-1)?.push(`${aliases.get(short) ?? short}=${written(value)}`);
    const separator = text[part.lastIndex];
    if (separator === undefined) return rdns;
    part.lastIndex += 1;
    if (separator === ",") rdns.push([]);
  }
}

/**
 * The value behind its escapes (RFC 4514 §3): `\,` or two hexadecimal digits an octet; undefined
 * for a value in hexadecimal BER.
 */
function unescaped(value: string): string | undefined {
  if (value.startsWith("#")) return undefined;
  const octets = value.slice(0, valueEnd(value)).replace(/(?:\\[0-9A-Fa-f]{2})+/g, (run) => {
    const bytes = Uint8Array.fromHex(run.replaceAll("\\", ""));
    // A character that must be escaped stays so until the next line.
    return new TextDecoder().decode(bytes).replace(/[\\,+"<>;=# ]/g, "\\$&");
  });
  return octets.replace(/\\(.)/gsu, "$1");
}

/** Where the value ends: a blank at its end belongs to it only behind a backslash. */
function valueEnd(value: string): number {
  let end = value.length;
  while (end > 0 && value[end - 1] === " ") end -= 1;
  return end < value.length && value[end - 1] === "\\" ? end + 1 : end;
}

const written = (value: string): string =>
  value
    .normalize("NFKC")
    .toLowerCase()
    .replace(/\s+/gu, " ")
    .trim()
    .replace(/[\\,+"<>;=#]/g, "\\$&");

/**
 * A type, an equals sign and a value up to an unescaped comma or plus, with blanks around all of
 * them. A value that could begin with those blanks, too, would take the square of their number to
 * refuse.
 */
const attribute =
  / *([A-Za-z][A-Za-z0-9-]*|[0-9]+(?:\.[0-9]+)+) *= *(?! )((?:\\[0-9A-Fa-f]{2}|\\[ "#+,;<=>\\]|[^\\,+";<>\0])*)(?=[,+]|$)/;

/** Other words for the types of most names (RFC 4519). */
const aliases: ReadonlyMap<string, string> = new Map([
  ["2.5.4.3", "cn"],
  ["commonname", "cn"],
  ["2.5.4.11", "ou"],
  ["organizationalunitname", "ou"],
  ["2.5.4.10", "o"],
  ["organizationname", "o"],
  ["0.9.2342.19200300.100.1.25", "dc"],
  ["domaincomponent", "dc"],
  ["0.9.2342.19200300.100.1.1", "uid"],
  ["userid", "uid"],
]);
