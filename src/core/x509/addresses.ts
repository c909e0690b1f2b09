/**
 * IP addresses between text and octets, and domain names in their one spelling (RFC 5952, RFC
 * 5890).
 */

/**
 * Octets of an address: 4 for IPv4 dotted decimal without leading zeros, 16 for IPv6; undefined for
 * anything else.
 */
export function parseIpAddress(text: string): Uint8Array | undefined {
  if (text.length > 45) return undefined;
  return text.includes(":") ? parseIpv6(text) : parseIpv4(text);
}

/**
 * Text of 4 or 16 octets: dotted decimal, or RFC 5952 with its §5 form for IPv4-mapped addresses.
 */
export function ipText(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join(".");
  const groups: number[] = [];
  for (let at = 0; at < 16; at += 2) groups.push(((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0));
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    return `::ffff:${bytes.slice(12).join(".")}`;
  }
  const [start, length] = longestZeros(groups);
  const hex = groups.map((group) => group.toString(16));
  if (length < 2) return hex.join(":");
  return `${hex.slice(0, start).join(":")}::${hex.slice(start + length).join(":")}`;
}

/**
 * A DNS name in lower case with U-labels turned into A-labels; undefined when that is impossible,
 * for empty text, and for blanks and control characters. Whether the labels are well formed is for
 * the lint rules to say.
 */
export function canonicalDnsName(text: string): string | undefined {
  if (visibleAscii.test(text)) return text.length <= nameMax ? text.toLowerCase() : undefined;
  if (text.length === 0 || text.length > nameMax) return undefined;
  const labels: string[] = [];
  for (const label of text.split(labelSeparators)) {
    const converted =
      visibleAscii.test(label) || label === "" ? label.toLowerCase() : asciiLabel(label);
    if (converted === undefined) return undefined;
    labels.push(converted);
  }
  return labels.join(".");
}

/**
 * True when the label, which begins with `xn--`, is what the URL parser (UTS 46) would write for
 * what it decodes to.
 */
export function isALabel(label: string): boolean {
  try {
    return new URL(`http://${label}`).hostname === label.toLowerCase();
  } catch {
    // Punycode that decodes to nothing.
    return false;
  }
}

/**
 * True when the last label of a DNS name, a final dot aside, is a number, decimal or `0x…`:
 * software takes `127.1` or `2130706433` for an IPv4 address, so it is no name of a host (RFC 1123
 * §2.1, and the URL parsers of browsers).
 */
export function endsInNumber(name: string): boolean {
  const labels = name.split(".");
  if (labels.at(-1) === "") labels.pop();
  return /^(?:[0-9]+|0[xX][0-9a-fA-F]*)$/.test(labels.at(-1) ?? "");
}

function asciiLabel(label: string): string | undefined {
  // The URL parser applies UTS 46, but would also take ports, paths, escapes and tabs for what they
  // are in a URL.
  if (!wordOrForeign.test(label)) return undefined;
  try {
    const { hostname } = new URL(`http://${label}`);
    // Only a result that is still one label is taken, never an address or a longer name.
    return /^[a-z0-9_-]+$/.test(hostname) && /[a-z_-]/.test(hostname) ? hostname : undefined;
  } catch {
    // Not convertible: the caller says what that means.
    return undefined;
  }
}

function parseIpv4(text: string): Uint8Array | undefined {
  const parts = text.split(".");
  if (parts.length !== 4) return undefined;
  const octets = new Uint8Array(4);
  for (const [index, part] of parts.entries()) {
    if (!/^(?:0|[1-9]\d{0,2})$/.test(part) || Number(part) > 255) return undefined;
    octets[index] = Number(part);
  }
  return octets;
}

function parseIpv6(text: string): Uint8Array | undefined {
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  const head = groupsOf(halves[0] ?? "", halves.length === 1);
  const tail = halves.length === 2 ? groupsOf(halves[1] ?? "", true) : [];
  if (head === undefined || tail === undefined) return undefined;
  const missing = 8 - head.length - tail.length;
  // RFC 4291 §2.2: `::` stands for at least one group.
  if (halves.length === 1 ? missing !== 0 : missing < 1) return undefined;
  const groups = [...head, ...Array<number>(missing).fill(0), ...tail];
  return Uint8Array.from(groups.flatMap((group) => [group >> 8, group & 0xff]));
}

function groupsOf(text: string, last: boolean): readonly number[] | undefined {
  if (text === "") return [];
  const parts = text.split(":");
  const groups: number[] = [];
  for (const [index, part] of parts.entries()) {
    if (/^[0-9a-f]{1,4}$/i.test(part)) {
      groups.push(Number.parseInt(part, 16));
      continue;
    }
    const [a, b, c, d] = (last && index === parts.length - 1 && parseIpv4(part)) || [];
    if (a === undefined || b === undefined || c === undefined || d === undefined) return undefined;
    groups.push((a << 8) | b, (c << 8) | d);
  }
  return groups;
}

function longestZeros(groups: readonly number[]): readonly [start: number, length: number] {
  let best: readonly [number, number] = [0, 0];
  let run = 0;
  for (const [index, group] of groups.entries()) {
    run = group === 0 ? run + 1 : 0;
    if (run > best[1]) best = [index - run + 1, run];
  }
  return best;
}

const nameMax = 1024;
const wordOrForeign = /^[A-Za-z0-9_\u0080-\u{10ffff}-]+$/u;
const visibleAscii = /^[\x21-\x7e]+$/;
// RFC 3490 §3.1: these are full stops in an internationalised name.
const labelSeparators = /[.\u3002\uff0e\uff61]/;
