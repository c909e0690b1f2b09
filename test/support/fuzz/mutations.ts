/**
 * Broken copies of DER: octets changed at random places, from a seed, and whole signatures over
 * what was broken.
 */

import { assembleSigned } from "#core/x509/certificate.ts";
import type { SignatureName } from "#core/x509/algorithms.ts";
import { seededRandom } from "#test/support/ports.ts";
import { signWith, type TestKey } from "#test/support/encodings/x509.ts";

/**
 * `count` copies, each with one to three octets that are not what they were; every ninth is cut or
 * has grown.
 */
export function* mutations(octets: Uint8Array, count: number, seed: string): Generator<Uint8Array> {
  const random = seededRandom(seed);
  for (let made = 0; made < count; made++) {
    const copy = Uint8Array.from(octets);
    const dice = new DataView(random.bytes(16).buffer);
    for (let turn = 0; turn <= dice.getUint8(0) % 3; turn++) {
      const at = dice.getUint16(2 + turn * 4) % copy.length;
      const other = 1 + (dice.getUint8(4 + turn * 4) % 255);
      copy[at] = (copy[at] ?? 0) ^ other;
    }
    const place = dice.getUint16(14) % copy.length;
    if (made % 18 === 8) yield copy.subarray(0, place);
    else if (made % 18 === 17)
      yield Uint8Array.from([...copy.subarray(0, place), ...copy.subarray(place >> 1)]);
    else yield copy;
  }
}

/**
 * As `mutations` of what is to be signed, each signed as it is, so that no signature keeps a reader
 * from going on.
 */
export function* signedMutations(
  tbs: Uint8Array,
  key: TestKey,
  signature: SignatureName,
  count: number,
): Generator<Uint8Array> {
  for (const broken of mutations(tbs, count, "signed")) {
    yield assembleSigned(broken, signature, signWith(key, signature, broken));
  }
}
