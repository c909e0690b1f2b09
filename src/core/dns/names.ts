/**
 * Domain names of the DNS: presentation text in, wire octets out, and back with bounded compression
 * (RFC 1035 §3.1, §4.1.4).
 */

/**
 * What a message that cannot be read throws; the edge that received it turns it into its own
 * refusal.
 */
export class DnsError extends Error {
  override readonly name = "DnsError";
}

/**
 * Octets of a name, uncompressed. Octets that are not letters, digits, `-`, `_` or `*` are spelled
 * `\DDD`. Throws DnsError.
 */
export function encodeName(name: string): Uint8Array {
  if (name === "") return Uint8Array.of(0);
  const out: number[] = [];
  for (const label of name.split(".")) {
    const octets = octetsOf(label);
    if (octets.length === 0 || octets.length > labelMax) {
      throw new DnsError("a label is empty or longer than 63 octets");
    }
    out.push(octets.length, ...octets);
  }
  if (out.length >= nameMax) throw new DnsError("a name is longer than 255 octets");
  return Uint8Array.of(...out, 0);
}

/**
 * A name read at `at`, in lower case without final dot, the root as empty text, and where reading
 * goes on. Throws DnsError.
 */
export function readName(message: Uint8Array, at: number): { name: string; next: number } {
  const { spelled, next } = readNameAsSpelled(message, at);
  return { name: spelled.toLowerCase(), next };
}

/** As `readName`, with the letters in the case the sender chose. */
export function readNameAsSpelled(
  message: Uint8Array,
  start: number,
): { spelled: string; next: number } {
  const labels: string[] = [];
  let at = start;
  let next: number | undefined;
  let length = 1;
  // A pointer must point before everything read so far: the way ends, whatever the octets say.
  let earliest = start;
  let hops = 0;
  for (;;) {
    const octet = octetAt(message, at);
    if (octet === 0) break;
    if (octet >= pointerBits) {
      const target = (octet - pointerBits) * 256 + octetAt(message, at + 1);
      if (target >= earliest || ++hops > hopsMax) {
        throw new DnsError("a compressed name points forward or too often");
      }
      next ??= at + 2;
      at = target;
      earliest = target;
      continue;
    }
    if (octet > labelMax) throw new DnsError("a label has an unknown type");
    length += octet + 1;
    if (length > nameMax) throw new DnsError("a name is longer than 255 octets");
    labels.push(labelText(message, at + 1, octet));
    at += octet + 1;
  }
  return { spelled: labels.join("."), next: next ?? at + 1 };
}

/**
 * The name above, or undefined above a top-level domain: the root is nobody's parent here (RFC 8659
 * §3).
 */
export function parentOf(name: string): string | undefined {
  const dot = name.indexOf(".");
  return dot < 0 ? undefined : name.slice(dot + 1);
}

/** True when `name` is `ancestor` or below it; every name is below the root. */
export const isWithin = (name: string, ancestor: string): boolean =>
  ancestor === "" || name === ancestor || name.endsWith(`.${ancestor}`);

/**
 * The name with each letter in the case its bit says, so that a forged answer has to guess them
 * too.
 */
export function mixedCase(name: string, bits: Uint8Array): string {
  const letters = [...name].map((letter, index) => {
    const bit = ((bits[(index >> 3) % Math.max(bits.length, 1)] ?? 0) >> (index & 7)) & 1;
    return bit === 1 ? letter.toUpperCase() : letter.toLowerCase();
  });
  return letters.join("");
}

function octetsOf(label: string): readonly number[] {
  const out: number[] = [];
  for (const [spelled, digits] of label.matchAll(/\\(\d{3})|[\s\S]/g)) {
    const octet = digits === undefined ? spelled.charCodeAt(0) : Number(digits);
    const plain = digits !== undefined || plainOctet(octet);
    if (!plain || octet > 255) throw new DnsError("a name has a character it cannot have");
    out.push(octet);
  }
  return out;
}

function labelText(message: Uint8Array, start: number, length: number): string {
  let text = "";
  for (let at = start; at < start + length; at++) {
    const octet = octetAt(message, at);
    const escaped = `\\${String(octet).padStart(3, "0")}`;
    text += plainOctet(octet) ? String.fromCharCode(octet) : escaped;
  }
  return text;
}

function octetAt(message: Uint8Array, at: number): number {
  const octet = message[at];
  if (octet === undefined) throw new DnsError("the message is cut off");
  return octet;
}

const plainOctet = (octet: number): boolean => /[A-Za-z0-9_*-]/.test(String.fromCharCode(octet));

const labelMax = 63;
const nameMax = 255;
/** As many labels as a name can have. */
const hopsMax = 127;
/** RFC 1035 §4.1.4: two set bits make an offset of the octet and the next. */
const pointerBits = 0xc0;
