/**
 * A secret in shares, of which any `threshold` give it back and fewer say nothing about it: Shamir,
 * "How to share a secret" (1979), octet by octet over GF(2⁸) with the polynomial of AES (FIPS 197
 * §4).
 */

import { sha256 } from "#core/crypto.ts";

/** Why shares do not give a secret back. */
export class SharesUnfit extends Error {
  override readonly name = "SharesUnfit";
}

/** How many shares there are, and how many are needed. */
export interface Sharing {
  readonly shares: number;
  readonly threshold: number;
}

/** 2 ≤ threshold ≤ shares ≤ 255. */
export const isSharing = ({ shares, threshold }: Sharing): boolean =>
  Number.isInteger(shares) && Number.isInteger(threshold) && threshold >= 2
    ? threshold <= shares && shares <= sharesMax
    : false;

/**
 * The shares of a secret as lines of text; `random` gives that many octets of randomness. Each line
 * names its number, the threshold and the set it is of, and has a check sum against typing errors.
 * Refuses what is no sharing.
 */
export function split(
  secret: Uint8Array,
  sharing: Sharing,
  random: (length: number) => Uint8Array,
): readonly string[] {
  const { shares, threshold } = sharing;
  if (!isSharing(sharing))
    throw new SharesUnfit("A secret is split for 2 to 255, of whom 2 or more give it back.");
  // Secret and digest of it go together: shares of different secrets are found out at joining.
  const content = Buffer.concat([secret, sha256(secret).subarray(0, digestBytes)]);
  const coefficients = Array.from({ length: threshold - 1 }, () => random(content.length));
  const set = Buffer.from(random(setBytes)).toString("hex");
  return Array.from({ length: shares }, (_, at) => {
    const x = at + 1;
    const octets = content.map((constant, position) =>
      evaluated(constant, coefficients, position, x),
    );
    return shareText({ set, threshold, x, octets });
  });
}

/** The secret behind at least `threshold` shares of one set. Throws `SharesUnfit`. */
export function join(texts: readonly string[]): Uint8Array {
  const shares = [...new Map(texts.map(parsed).map((one) => [one.x, one])).values()];
  const [first] = shares;
  if (first === undefined) throw new SharesUnfit("There is no share.");
  const { set, threshold } = first;
  const fits = (one: Share) =>
    one.set === set && one.threshold === threshold && one.octets.length === first.octets.length;
  if (!shares.every(fits)) throw new SharesUnfit("The shares are of different secrets.");
  if (shares.length < threshold) {
    throw new SharesUnfit(`${threshold} different shares are needed; there are ${shares.length}.`);
  }
  const used = shares.slice(0, threshold);
  const content = first.octets.map((_, position) => atZero(used, position));
  const [secret, digest] = [content.subarray(0, -digestBytes), content.subarray(-digestBytes)];
  if (!Buffer.from(sha256(secret).subarray(0, digestBytes)).equals(Buffer.from(digest))) {
    throw new SharesUnfit("The shares do not give a secret back: one of them is not what it was.");
  }
  return secret;
}

interface Share {
  readonly set: string;
  readonly threshold: number;
  readonly x: number;
  readonly octets: Uint8Array;
}

function shareText({ set, threshold, x, octets }: Share): string {
  const body = `${word}-${set}-${threshold}-${x}-${Buffer.from(octets).toString("hex")}`;
  return `${body}-${checkOf(body)}`;
}

function parsed(text: string): Share {
  const found = shareForm.exec(text.trim());
  const [, body = "", set = "", threshold = "", x = "", octets = "", check = ""] = found ?? [];
  if (found === null) throw new SharesUnfit("This is no share of a secret.");
  if (checkOf(body) !== check) throw new SharesUnfit(`Share ${x} has a typing error.`);
  const share = {
    set,
    threshold: Number(threshold),
    x: Number(x),
    octets: Buffer.from(octets, "hex"),
  };
  const sound = share.x >= 1 && share.x <= sharesMax && share.threshold >= 2;
  if (!sound || share.octets.length <= digestBytes)
    throw new SharesUnfit("This is no share of a secret.");
  return share;
}

const checkOf = (body: string): string =>
  Buffer.from(sha256(Buffer.from(body)))
    .toString("hex")
    .slice(0, 8);

/** The polynomial at `x`, its highest coefficient first (Horner). */
function evaluated(
  constant: number,
  coefficients: readonly Uint8Array[],
  position: number,
  x: number,
): number {
  const higher = coefficients.reduceRight((sum, one) => multiply(sum, x) ^ (one[position] ?? 0), 0);
  return multiply(higher, x) ^ constant;
}

/** Lagrange's interpolation at zero, where addition and subtraction are one. */
function atZero(shares: readonly Share[], position: number): number {
  return shares.reduce((sum, { x, octets }) => {
    const others = shares.filter((one) => one.x !== x);
    const weight = others.reduce((product, one) => multiply(product, divide(one.x, one.x ^ x)), 1);
    return sum ^ multiply(octets[position] ?? 0, weight);
  }, 0);
}

/** Without tables, so that no look-up depends on the secret. */
function multiply(a: number, b: number): number {
  let product = 0;
  let shifted = a;
  for (let bit = 0; bit < 8; bit++) {
    product ^= shifted & -((b >> bit) & 1);
    shifted = ((shifted << 1) ^ (0x11b & -(shifted >> 7))) & 0xff;
  }
  return product & 0xff;
}

/** By the inverse, which is the power of 254. */
function divide(a: number, b: number): number {
  let [inverse, square] = [1, b];
  for (let bit = 1; bit < 8; bit++) {
    square = multiply(square, square);
    inverse = multiply(inverse, square);
  }
  return multiply(a, inverse);
}

const word = "pkid-share";
const shareForm =
  /^(pkid-share-([0-9a-f]{8})-(\d{1,3})-(\d{1,3})-((?:[0-9a-f]{2}){1,512}))-([0-9a-f]{8})$/;
const digestBytes = 4;
const setBytes = 4;
const sharesMax = 255;
