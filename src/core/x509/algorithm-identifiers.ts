/**
 * AlgorithmIdentifiers of signatures and digests: the octets of each row of the table, and the row
 * of given octets.
 */

import { openSequence } from "#core/asn1/cursor.ts";
import { explicit, integer, nullElement, oid, sequence } from "#core/asn1/der.ts";
import { oids } from "#core/asn1/oids.ts";
import type { HashName } from "#core/crypto.ts";
import { assert } from "#core/problems.ts";

import { type SignatureName, signatures } from "./algorithms.ts";

/** DER of an AlgorithmIdentifier of the table. */
export function algorithmIdentifier(algorithm: SignatureName): Uint8Array {
  const der = encoded.get(algorithm);
  assert(der, "every signature algorithm has an identifier");
  return der;
}

/**
 * OID of an AlgorithmIdentifier, and its name when the table has it with exactly these parameters.
 * Throws DerError.
 */
export function readAlgorithm(der: Uint8Array): {
  readonly signatureOid: string;
  readonly signatureName: SignatureName | undefined;
} {
  const signatureName = der.length <= knownOctetsMax ? names.get(der.toHex()) : undefined;
  if (signatureName) return { signatureOid: signatures[signatureName][0], signatureName };
  return { signatureOid: readOid(der), signatureName };
}

/** AlgorithmIdentifier of a digest with NULL parameters, the form CertIDs carry (RFC 4055 §2.1). */
export const hashIdentifier = (hash: HashName): Uint8Array =>
  sequence(oid(oids[hash]), nullElement());

/**
 * The digest an AlgorithmIdentifier names, parameters NULL or absent; undefined for others. Throws
 * DerError.
 */
export function readHash(der: Uint8Array): HashName | undefined {
  const hash = der.length <= knownOctetsMax ? hashes.get(der.toHex()) : undefined;
  if (hash === undefined) readOid(der);
  return hash;
}

function readOid(der: Uint8Array): string {
  const algorithm = openSequence(der);
  const dotted = algorithm.oid();
  if (!algorithm.finished) algorithm.element();
  algorithm.finish();
  return dotted;
}

/** Every AlgorithmIdentifier that means this row; the first is the one pkid writes. */
function formsOf(name: SignatureName): readonly Uint8Array[] {
  const [dotted, parameters, scheme] = signatures[name];
  if (parameters === "null") return [sequence(oid(dotted), nullElement())];
  if (parameters === "absent") return [sequence(oid(dotted))];
  // RFC 4055 §2.1: NULL is written in the digests of RSASSA-PSS; absent parameters are accepted as
  // well.
  const digests = [hashIdentifier(scheme.hash), sequence(oid(oids[scheme.hash]))];
  return digests.flatMap((outer) =>
    digests.map((inner) => sequence(oid(dotted), pssParameters(scheme.hash, outer, inner))),
  );
}

// RFC 4055 §3.1: digest, MGF1 with the same digest, a salt as long as the digest; the trailer is
// the default.
function pssParameters(hash: "sha256" | "sha384" | "sha512", outer: Uint8Array, inner: Uint8Array) {
  return sequence(
    explicit(0, outer),
    explicit(1, sequence(oid(oids.mgf1), inner)),
    explicit(2, integer({ sha256: 32, sha384: 48, sha512: 64 }[hash])),
  );
}

const knownOctetsMax = 80;

const rows = Object.keys(signatures).map((key) => {
  const name = key as SignatureName; // A key of the table.
  return [name, formsOf(name)] as const;
});

const encoded: ReadonlyMap<SignatureName, Uint8Array> = new Map(
  rows.flatMap(([name, [written]]) => (written ? [[name, written] as const] : [])),
);

const names: ReadonlyMap<string, SignatureName> = new Map(
  rows.flatMap(([name, forms]) => forms.map((form) => [form.toHex(), name] as const)),
);

const hashes: ReadonlyMap<string, HashName> = new Map(
  (["sha1", "sha256", "sha384", "sha512"] as const).flatMap((hash) => [
    [hashIdentifier(hash).toHex(), hash] as const,
    [sequence(oid(oids[hash])).toHex(), hash] as const,
  ]),
);
