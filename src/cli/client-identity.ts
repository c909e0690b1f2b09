/** The certificate a command shows a remote server, from the files that hold it and its key. */

import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";

import { Failure, UsageError } from "./failure.ts";

/** PEM: the certificate with what stands above it, and its key. */
export interface ClientIdentity {
  readonly cert: string;
  readonly key: string;
}

/**
 * What the flags name; undefined when they name nothing. Refuses one without the other; fails,
 * naming the file, for a file that cannot be read, holds something else, or holds a key that is
 * locked or another certificate's.
 */
export function clientIdentity(
  certFile: string | undefined,
  keyFile: string | undefined,
): ClientIdentity | undefined {
  if (certFile === undefined && keyFile === undefined) return undefined;
  if (certFile === undefined || keyFile === undefined) {
    throw new UsageError("--client-cert and --client-key must be given together.");
  }
  const [cert, key] = [textOf(certFile), textOf(keyFile)];
  const certificate = attempt(() => new X509Certificate(cert));
  if (certificate === undefined || !cert.includes(pemHead)) {
    throw new Failure(`${certFile} holds no PEM certificate.`);
  }
  const own = attempt(() => createPrivateKey(key));
  if (own === undefined) throw new Failure(`${keyFile} holds no unencrypted PEM private key.`);
  if (!certificate.checkPrivateKey(own)) {
    throw new Failure(`The key in ${keyFile} does not belong to the certificate in ${certFile}.`);
  }
  return { cert, key };
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    throw new Failure(`${file} cannot be read.`);
  }
}

function attempt<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch {
    return undefined; // Its complaint could quote a key; the sentence of the caller names the file.
  }
}

const pemHead = "-----BEGIN CERTIFICATE-----";
