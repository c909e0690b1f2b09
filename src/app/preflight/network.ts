/**
 * The checks that look at the network: name servers, transparency logs, places in certificates, the
 * TLS listener.
 */

import { readFileSync } from "node:fs";

import { httpLogClient } from "#adapters/network/ct-log.ts";
import { lookOutside, shownAt } from "#adapters/network/look-outside.ts";
import { belongTogether, ServingFiles } from "#adapters/serving-files.ts";
import { systemClock, systemRandom } from "#adapters/system.ts";
import { configuredLogs } from "#config/ct-logs.ts";
import type { Config } from "#config/schema.ts";
import { profileOf } from "#config/sections/issuance.ts";
import { decodePemBlocks } from "#core/asn1/pem.ts";
import { failed, type Finding, skipped } from "#core/preflight/finding.ts";
import { judgeNameServers } from "#core/preflight/network.ts";
import { judgeListener, judgeServed, type ServingFacts } from "#core/preflight/serving.ts";
import { pointersAnswer } from "#domain/preflight/pointers.ts";
import type { Checks, PreflightRequest } from "#domain/preflight/run.ts";
import { logsAnswer } from "#domain/preflight/transparency.ts";
import { extraTrust } from "#adapters/network/outbound.ts";
import { nameServers } from "#adapters/network/resolv-conf.ts";
import { configOf, type Premises, present } from "./premises.ts";

type Covered =
  | "dns.resolver"
  | "ct.logs"
  | "revocation.urls"
  | "certs.serving_expiry"
  | "listener.tls";

/** Their functions over these premises. */
export function networkChecks(
  premises: Premises,
  request: PreflightRequest,
): Pick<Checks, Covered> {
  // One exchange ends before its check does, so that the others of the check are told.
  const timeoutSeconds = Math.min(exchangeSecondsMax, Math.max(request.timeoutSeconds / 3, 0.5));
  const outside = () =>
    lookOutside({
      random: systemRandom,
      servers: () => nameServers(configOf(premises).caa),
      trust: extraTrust(configOf(premises).outbound),
    });
  const profiles = () => configOf(premises).profiles.map(profileOf);
  return {
    "dns.resolver": async () => {
      if (profiles().every(({ caa }) => caa.mode === "off"))
        return skipped("Nothing asks the DNS.");
      return judgeNameServers(await outside().nameServers(timeoutSeconds));
    },
    "ct.logs": () =>
      logsAnswer({
        profiles: profiles(),
        logs: configuredLogs(configOf(premises)).logs,
        client: httpLogClient(extraTrust(configOf(premises).outbound)),
        timeoutSeconds,
      }),
    "revocation.urls": () =>
      pointersAnswer({
        store: present(premises.store),
        clock: systemClock,
        outside: outside(),
        timeoutSeconds,
      }),
    "certs.serving_expiry": async (): Promise<Finding> => {
      if (cleartext(premises)) return skipped("The main listener speaks cleartext.");
      const { shown, ...facts } = await servingFacts(premises, timeoutSeconds);
      if (shown === undefined) return failed("No TLS handshake comes about.");
      return judgeServed({ ...facts, shown });
    },
    "listener.tls": async () => {
      if (cleartext(premises)) return skipped("The main listener speaks cleartext.");
      const served = premises.server !== undefined;
      return judgeListener(await servingFacts(premises, timeoutSeconds), served);
    },
  };
}

/** Known for sure only of a server that runs. */
const cleartext = ({ server }: Premises): boolean =>
  server !== undefined && server.listener().secure === false;

async function servingFacts(premises: Premises, timeoutSeconds: number): Promise<ServingFacts> {
  const { server } = configOf(premises);
  const material = keptMaterial(configOf(premises));
  const publicHost = server.public_url && new URL(server.public_url).hostname;
  const at = premises.server?.listener();
  const serverName = publicHost !== undefined && /[a-z]/i.test(publicHost) ? publicHost : undefined;
  return {
    kept: material && pathIn(material.certificate),
    keyFits: material !== undefined && belongTogether(material.key, material.certificate),
    shown: at && (await shownAt({ ...at, serverName }, timeoutSeconds)),
    selfIssued: server.tls_cert === undefined,
    publicHost,
    now: systemClock.now(),
  };
}

/** The operator's files, or those pkid keeps. */
function keptMaterial({ server, data_dir }: Config) {
  const { tls_cert, tls_key } = server;
  if (tls_cert === undefined || tls_key === undefined) return new ServingFiles(data_dir).read();
  try {
    return { certificate: readFileSync(tls_cert, "utf8"), key: readFileSync(tls_key, "utf8") };
  } catch {
    return undefined; // The check says that there is nothing to read.
  }
}

const pathIn = (pem: string) => decodePemBlocks(pem, "CERTIFICATE", pathMax);

const pathMax = 16;
const exchangeSecondsMax = 10;
