/** Which client certificates are believed and whom they stand for, from the file that is named. */

import { bindingsOf } from "#core/access/binding-rows.ts";
import type { Principal } from "#core/access/principal.ts";
import { encodePem } from "#core/asn1/pem.ts";
import { assert } from "#core/problems.ts";
import { parseAnchors } from "#core/x509/client-path.ts";
import type { PathWork } from "#domain/ports.ts";
import {
  type ClientCertificate,
  type ClientCertificateDeps,
  ClientCertificates,
  type ClientCheck,
  type ClientTrust,
} from "./client-certificates.ts";
import { ClientPaths } from "./client-paths.ts";
import type { MtlsSection } from "./sections.ts";
import { openAddressTurns, type Waiting } from "./turns.ts";

export interface ClientDeps extends Omit<ClientCertificateDeps, "paths" | "trust"> {
  readonly clientPaths: PathWork;
  readonly waiting: Waiting;
  readonly readText: ReadText;
}

/** The text of a file the configuration names; throws when it cannot be read. */
export type ReadText = (path: string) => string;

export interface Clients {
  /** Both undefined while client certificates prove nothing. */
  readonly check: ClientCheck | undefined;
  readonly again: ((shown: ClientCertificate) => Promise<Principal | undefined>) | undefined;
  /** Reads what another configuration names, which may throw; what it gives takes it over. */
  readonly prepare: (next: MtlsSection) => () => void;
}

/** Opens it; throws when the file cannot be read. */
export function openClients(
  mtls: MtlsSection,
  { readText, waiting, clientPaths, ...deps }: ClientDeps,
): Clients {
  let trust = clientTrust(mtls, readText);
  // The thread answers one question after the other.
  const turns = openAddressTurns(waiting, { atOnce: 1, atOncePerLane: 1 });
  const paths = new ClientPaths({ paths: clientPaths, turns });
  const clients = new ClientCertificates({ ...deps, paths, trust: () => trust });
  return {
    check: mtls.enabled ? clients.principal : undefined,
    again: mtls.enabled ? clients.principalAgain : undefined,
    prepare: (next) => {
      const other = clientTrust(next, readText);
      return () => {
        trust = other;
      };
    },
  };
}

/**
 * What a section believes: nothing without a file, as after a reload that takes it away. Throws
 * when the file cannot be read.
 */
export function clientTrust(
  { enabled, ca_file, bindings: rows }: MtlsSection,
  readText: ReadText,
): ClientTrust {
  const bindings = bindingsOf(rows);
  if (!enabled || ca_file === undefined) return { anchors: [], bindings };
  const anchors = parseAnchors(readText(ca_file));
  // The loader has looked; only a file that was replaced a moment ago gets here.
  assert(anchors !== undefined, "the file of trusted client CAs holds certificates");
  return { anchors, bindings };
}

/**
 * The CAs the TLS listener asks client certificates of, PEM each; undefined while it asks for none.
 * Throws when the file cannot be read.
 */
export function clientAuthorities(
  mtls: MtlsSection,
  readText: ReadText,
): readonly string[] | undefined {
  if (!mtls.enabled) return undefined;
  return clientTrust(mtls, readText).anchors.map(({ der }) => encodePem("CERTIFICATE", der));
}
