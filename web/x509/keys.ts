/** A public key as lines to read, and the fingerprints that name it. */

import { type Cursor, openSequence } from "#core/asn1/cursor.ts";
import { tags } from "#core/asn1/tags.ts";
import { attempt, hex, hexOf, type Line, line, unread } from "./decoded.ts";
import { algorithmWords, curveWords, named } from "./words.ts";

/** What a SubjectPublicKeyInfo says; its octets alone where it cannot be read. */
export function keyLines(spki: Uint8Array): readonly Line[] {
  const read = attempt(() => {
    const { algorithm, bits } = opened(spki);
    const dotted = algorithm.oid();
    return [line("Algorithm", named(algorithmWords, dotted)), ...ofKind(dotted, algorithm, bits)];
  });
  return read.value ?? unread(spki, read.fault);
}

/** In one line: "RSA, 2048 bits". */
export function keyInWords(spki: Uint8Array): string {
  const words = keyLines(spki).filter(({ name }) => name !== "Public key" && name !== "Octets");
  const values = words.flatMap(({ values }) => values.map((value) => value.text));
  return values.map((value) => value.replace(/ \([\d.]+\)$/, "")).join(", ");
}

/** `SHA256:` and unpadded base64 over the SubjectPublicKeyInfo: how answers name a key. */
export async function keyFingerprint(spki: Uint8Array): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", Uint8Array.from(spki)));
  return `SHA256:${btoa(String.fromCharCode(...digest)).replace(/=+$/, "")}`;
}

/** Lower hexadecimal digest of octets. */
export async function digestOf(name: "SHA-1" | "SHA-256", octets: Uint8Array): Promise<string> {
  return hexOf(new Uint8Array(await crypto.subtle.digest(name, Uint8Array.from(octets))));
}

function opened(spki: Uint8Array): { readonly algorithm: Cursor; readonly bits: Uint8Array } {
  const outer = openSequence(spki);
  const algorithm = outer.enter(tags.sequence);
  const { octets } = outer.bits();
  outer.finish();
  return { algorithm, bits: octets };
}

function ofKind(dotted: string, algorithm: Cursor, bits: Uint8Array): readonly Line[] {
  if (dotted === "1.2.840.113549.1.1.1") {
    const numbers = openSequence(bits);
    const modulus = numbers.unsigned();
    const exponent = numbers.unsigned();
    return [
      line("Size", `${bitsIn(modulus)} bits`),
      line("Exponent", BigInt(`0x${hexOf(exponent)}`).toString(), "65537 is usual"),
      line("Public key", hex(modulus), "the modulus"),
    ];
  }
  if (dotted === "1.2.840.10045.2.1" && algorithm.tag === tags.oid) {
    const curve = algorithm.oid();
    return [line("Curve", named(curveWords, curve)), line("Public key", hex(bits), "the point")];
  }
  return [line("Public key", hex(bits))];
}

const bitsIn = (magnitude: Uint8Array): number =>
  magnitude.length * 8 - Math.max(0, Math.clz32(magnitude[0] ?? 0) - 24);
