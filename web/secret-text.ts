/**
 * Text that is a private key, told by how it begins. Whatever field it was put into, it is sent
 * nowhere: this is small, so that everything that asks the server can look first.
 */

/** True for a private key, an encrypted one, or a PKCS #12 bundle: PEM, or base64 alone. */
export function isSecretText(text: string): boolean {
  if (namesKey(text)) return true;
  // Lines end somewhere within; the octets that tell the kind are the first thirty.
  const head = text.trimStart().slice(0, 64).replace(/\s/g, "").slice(0, headLength);
  if (head.length < headLength || !/^M[A-Za-z0-9+/]*$/.test(head)) return false;
  return beginsSecret(Uint8Array.from(atob(head), (octet) => octet.charCodeAt(0)));
}

/**
 * True for text with a block that says so; dashes and blanks get lost when a key is copied.
 * Bounded, so that a long text of nothing but beginnings is read once.
 */
export const namesKey = (text: string): boolean =>
  /BEGIN\s{0,8}[A-Z0-9 ]{0,40}PRIVATE\s{0,8}KEY/i.test(text);

/** True where any text in what is to be sent is one. */
export function holdsSecretText(value: unknown): boolean {
  if (typeof value === "string") return value.length >= headLength && isSecretText(value);
  if (typeof value !== "object" || value === null) return false;
  return Object.values(value).some(holdsSecretText);
}

/**
 * RFC 5958 §2, RFC 8017 §A.1.2 and RFC 5915 §3 begin with a version of 0 or 1, RFC 7292 §4 with 3;
 * RFC 5958 §3 with the algorithm of a password (RFC 8018, RFC 7292 §C).
 */
function beginsSecret(der: Uint8Array): boolean {
  const [, length = 0] = der;
  const start = length < 0x80 ? 2 : 2 + (length & 0x7f);
  const [tag, size, version = -1] = der.subarray(start);
  if (tag === 0x02) return size === 1 && [0, 1, 3].includes(version);
  if (tag !== 0x30 || version !== 0x06) return false;
  const oid = der.subarray(start + 4);
  return passwordAlgorithms.some((prefix) => prefix.every((octet, at) => oid[at] === octet));
}

const pkcs = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01];
const passwordAlgorithms = [
  [...pkcs, 0x05],
  [...pkcs, 0x0c, 0x01],
];
const headLength = 44;
