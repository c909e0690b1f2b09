/**
 * Which client certificates are believed and whom they stand for, from the settings and the file
 * they name.
 */

import { readFileSync } from "node:fs";

import type { Metrics } from "#adapters/telemetry/families.ts";
import type { Config } from "#config/schema.ts";
import { bindingsOf } from "#config/sections/client-certificates.ts";
import { assert } from "#core/problems.ts";
import { encodePem } from "#core/asn1/pem.ts";
import { parseAnchors } from "#core/x509/client-path.ts";
import { ClientCertificates, type ClientTrust } from "#domain/access/client-certificates.ts";
import { ClientPaths } from "#domain/access/client-paths.ts";
import type { Clock, Log, PathWork } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";

import { openAddressTurns } from "./turns.ts";

export interface ClientDeps {
  readonly config: Config;
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clientPaths: PathWork;
}

/**
 * Who client certificates stand for; `prepare` reads what another configuration names, and gives
 * what takes it over.
 */
export function openClients({ config, store, clock, log, metrics, clientPaths }: ClientDeps) {
  let trust = clientTrustOf(config);
  const clients = new ClientCertificates({
    store,
    clock,
    log,
    trust: () => trust,
    // The thread answers one question after the other.
    paths: new ClientPaths({
      paths: clientPaths,
      turns: openAddressTurns({ atOnce: 1, atOncePerLane: 1 }),
    }),
    onLogin: (result) => metrics.count("pki_auth_logins_total", { method: "mtls", result }),
  });
  return {
    check: config.auth.mtls.enabled ? clients.principal : undefined,
    again: config.auth.mtls.enabled ? clients.principalAgain : undefined,
    prepare: (next: Config) => {
      const other = clientTrustOf(next);
      return () => {
        trust = other;
      };
    },
  };
}

/**
 * Nothing is believed without a file, as after a reload that takes it away. Throws when it cannot
 * be read.
 */
function clientTrustOf({ auth: { mtls } }: Config): ClientTrust {
  const bindings = bindingsOf(mtls.bindings);
  if (!mtls.enabled || mtls.ca_file === undefined) return { anchors: [], bindings };
  const anchors = parseAnchors(readFileSync(mtls.ca_file, "utf8"));
  // The loader has looked; only a file that was replaced a moment ago gets here.
  assert(anchors !== undefined, "the file of trusted client CAs holds certificates");
  return { anchors, bindings };
}

/**
 * The CAs the TLS listener asks client certificates of, PEM each; undefined while it asks for none.
 */
export function clientAuthorities(config: Config): readonly string[] | undefined {
  if (!config.auth.mtls.enabled) return undefined;
  return clientTrustOf(config).anchors.map(({ der }) => encodePem("CERTIFICATE", der));
}
