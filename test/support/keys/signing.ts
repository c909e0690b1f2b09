/**
 * Builders for key tests: tickets, messages, and verification by two independent implementations.
 */

import { constants, createHash, createPublicKey, randomUUID, verify } from "node:crypto";

import { type SignatureName, schemeOf } from "#core/x509/algorithms.ts";
import { type SignTicket, type TicketFacts, ticketOf } from "#domain/signing/ticket.ts";
import type { KeyHandle } from "#domain/keys.ts";
import { signatureVerifies } from "#test/support/encodings/node24.ts";
import { scratchDirectory } from "#test/support/encodings/openssl.ts";

/** A ticket for one signature over `message`. */
export function ticketFor(
  handle: KeyHandle,
  algorithm: SignatureName,
  message: Uint8Array,
  changes: Partial<TicketFacts> = {},
): SignTicket {
  return ticketOf({
    opId: randomUUID(),
    key: handle.ref,
    role: "ca",
    algorithm,
    purpose: "certificate",
    digest: createHash("sha256").update(message).digest("hex"),
    caId: undefined,
    ...changes,
  });
}

/** Verification by the runtime. */
export function verifies(
  handle: KeyHandle,
  algorithm: SignatureName,
  message: Uint8Array,
  signature: Uint8Array,
): boolean {
  if (algorithm.startsWith("slh-")) return signatureVerifies(handle.spki, message, signature);
  const { hash, padding } = schemeOf(algorithm);
  const key = createPublicKey({ key: Buffer.from(handle.spki), format: "der", type: "spki" });
  const pss = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 };
  const saltLength = hash === "sha384" ? 48 : hash === "sha512" ? 64 : 32;
  const parameters = padding === "pss" ? { key, ...pss, saltLength } : key;
  return verify(hash ?? null, message, parameters, signature);
}

/** Verification by the openssl command. */
export function opensslVerifies(
  handle: KeyHandle,
  algorithm: SignatureName,
  message: Uint8Array,
  signature: Uint8Array,
): boolean {
  using directory = scratchDirectory();
  const key = createPublicKey({ key: Buffer.from(handle.spki), format: "der", type: "spki" });
  const pem = directory.write("key.pem", key.export({ format: "pem", type: "spki" }).toString());
  const { hash, padding } = schemeOf(algorithm);
  const digest = hash === undefined ? ["-rawin"] : ["-rawin", "-digest", hash];
  const pss =
    padding === "pss" ? ["-pkeyopt", "rsa_padding_mode:pss", "-pkeyopt", "rsa_pss_saltlen:-1"] : [];
  const files = [
    "-in",
    directory.write("message", message),
    "-sigfile",
    directory.write("signature", signature),
  ];
  const command = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", pem, ...digest];
  const run = Bun.spawnSync([...command, ...pss, ...files]);
  return run.exitCode === 0;
}
