/** Certificates that commands and checks of this machine trust when they connect to its server. */

import { rootCertificates } from "node:tls";

import { extraTrust } from "#adapters/network/outbound.ts";
import { ServingFiles } from "#adapters/serving-files.ts";
import type { Config } from "#config/schema.ts";

/** Returns the CA certificate, in PEM, that pkid created for its serving certificate, if it did. */
export function listServingCas({ server, data_dir }: Config): readonly string[] {
  if (server.tls_cert !== undefined || !server.tls.self_issue.enabled) return [];
  const certificate = new ServingFiles(data_dir).readCa();
  return certificate === undefined ? [] : [certificate];
}

/** Returns the TLS options for requests to the public addresses of the instance. */
export function createTlsOptions(config: Config): { readonly ca: string[] } {
  return { ca: [...rootCertificates, ...extraTrust(config.outbound), ...listServingCas(config)] };
}
