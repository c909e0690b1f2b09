/**
 * Proves a CA key by a signature that can be mistaken for nothing: a request that names itself a
 * self-test (KEY-6).
 */

import { importPublicKey, verifySignature } from "#core/crypto.ts";
import { defaultSignature, schemeOf } from "#core/x509/algorithms.ts";
import { assembleSigned } from "#core/x509/certificate.ts";
import { subjectKeyId, subjectKeyIdentifier } from "#core/x509/extensions.ts";
import { encodeName } from "#core/x509/names.ts";
import { encodeRequestInfo } from "#core/x509/request-info.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { Keys } from "#domain/keys.ts";
import type { Clock, Random } from "#domain/ports.ts";
import { Signing } from "#domain/signing/signing.ts";
import type { Store } from "#domain/store.ts";

export interface SelfTestDeps {
  readonly store: Store;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly random: Random;
}

/** The key of a CA, or the second one of a hybrid CA, with the public key its record pins. */
export type TestedKey = Pick<CaRecord, "key" | "keyType" | "spki">;

/**
 * Has the key sign, and gives what is wrong with it: nothing, or a sentence. The signature is in
 * the ledger like any other operation; its outcome carries the signed request (base64 of the DER),
 * because nothing else remembers it.
 */
export async function selfTest(
  deps: SelfTestDeps,
  caId: CaRecord["id"],
  { key, keyType, spki }: TestedKey,
): Promise<string | undefined> {
  const handle = await deps.keys.find(key);
  if (!Buffer.from(handle.spki).equals(spki))
    return "the provider holds another key under its name";
  const algorithm = defaultSignature(keyType);
  const opId = deps.random.uuid();
  const message = requestInfo(opId, spki);
  // One of its own: what a database that is away keeps from being closed, the next start closes.
  const intended = await new Signing(deps).intend({
    opId,
    key: { ref: key, spki, deviceSerial: handle.deviceSerial },
    role: "ca",
    algorithm,
    message,
    purpose: "self_test",
    caId,
    artifact: "",
  });
  const signed = await intended.sign();
  const { signature } = signed;
  const verified = await signed.prepare(() =>
    verifySignature(importPublicKey(spki), schemeOf(algorithm), message, signature),
  );
  const artifact = assembleSigned(message, algorithm, signature).toBase64();
  await signed.close(async () => {}, artifact);
  return verified ? undefined : "its signature does not verify";
}

/** CertificationRequestInfo with a subject nobody has and a number of its own. */
function requestInfo(opId: string, spki: Uint8Array): Uint8Array {
  const subject = encodeName([
    { type: "CN", value: "pkid self-test, not a request" },
    { type: "OU", value: opId },
  ]).der;
  const extensions = [subjectKeyIdentifier(subjectKeyId(spki, "rfc7093"))];
  return encodeRequestInfo({ subject, spki, extensions });
}
