/** What the main listener is served with, and what it shows. */

import { decodePemBlocks } from "#core/asn1/pem.ts";
import { failed, type Finding, skipped } from "#core/preflight/finding.ts";
import {
  judgeListener,
  judgeServed,
  type ServedCertificate,
  type ServingFacts,
} from "#core/preflight/serving.ts";
import type { Clock } from "#domain/ports.ts";
import type { ServerLook } from "./part.ts";

export interface ServingPremises {
  readonly server: {
    readonly public_url: string | undefined;
    readonly tls_cert: string | undefined;
  };
  /** Undefined when nothing serves. */
  readonly running: ServerLook | undefined;
  readonly clock: Clock;
  /** PEM of key and path that are configured or kept; undefined where there is nothing to read. */
  readonly kept: () => { readonly certificate: string; readonly fits: boolean } | undefined;
  /** Undefined where no handshake comes about. */
  readonly shownAt: (where: {
    readonly host: string;
    readonly port: number;
    readonly serverName: string | undefined;
  }) => Promise<ServedCertificate | undefined>;
}

/** What is shown lives on. */
export async function servedLives(premises: ServingPremises): Promise<Finding> {
  if (cleartext(premises)) return skipped("The main listener speaks cleartext.");
  const { shown, ...facts } = await servingFacts(premises);
  if (shown === undefined) return failed("No TLS handshake comes about.");
  return judgeServed({ ...facts, shown });
}

/** What is shown is what is kept, under the right names. */
export async function listenerFits(premises: ServingPremises): Promise<Finding> {
  if (cleartext(premises)) return skipped("The main listener speaks cleartext.");
  return judgeListener(await servingFacts(premises), premises.running !== undefined);
}

/** Known for sure only of a server that runs. */
const cleartext = ({ running }: ServingPremises): boolean =>
  running !== undefined && running.listener().secure === false;

async function servingFacts(premises: ServingPremises): Promise<ServingFacts> {
  const { server, running, clock, kept, shownAt } = premises;
  const material = kept();
  const publicHost = server.public_url && new URL(server.public_url).hostname;
  const at = running?.listener();
  const serverName = publicHost !== undefined && /[a-z]/i.test(publicHost) ? publicHost : undefined;
  return {
    kept: material && decodePemBlocks(material.certificate, "CERTIFICATE", pathMax),
    keyFits: material?.fits ?? false,
    shown: at && (await shownAt({ ...at, serverName })),
    selfIssued: server.tls_cert === undefined,
    publicHost,
    now: clock.now(),
  };
}

const pathMax = 16;
