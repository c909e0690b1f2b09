/** The checks that look at other hosts, and at the listener as they see it. */

import { readFileSync } from "node:fs";

import { lookAtDirectory } from "#adapters/directory/directory.ts";
import { readDirectory } from "#adapters/directory/open.ts";
import { httpLogClient } from "#adapters/network/ct-log.ts";
import { lookOutside, shownAt } from "#adapters/network/look-outside.ts";
import { lookAtProvider } from "#adapters/network/oidc.ts";
import { extraTrust } from "#adapters/network/outbound.ts";
import { type NameServer, nameServers } from "#adapters/network/resolv-conf.ts";
import { belongTogether, ServingFiles } from "#adapters/serving-files.ts";
import { systemClock, systemRandom } from "#adapters/system.ts";
import { listServingCas } from "#app/serving-trust.ts";
import { openSecrets } from "#app/secrets.ts";
import { configuredLogs } from "#config/ct-logs.ts";
import { faultLine } from "#config/load.ts";
import type { Config } from "#config/schema.ts";
import { profileOf } from "#config/sections/issuance.ts";
import type { Profile } from "#core/policy/profile.ts";
import { ProfileSet } from "#core/policy/profiles.ts";
import { failed, type Finding, skipped } from "#core/preflight/finding.ts";
import { judgeResolvers } from "#core/preflight/network.ts";
import { judgeClientCas, judgeDirectory, judgeProviders } from "#core/preflight/providers.ts";
import { parseAnchors } from "#core/x509/client-path.ts";
import { ourselvesAt } from "#domain/access/oidc/open.ts";
import { Directories } from "#domain/acme/directories.ts";
import { directoriesAnswer, directoriesReady } from "#domain/preflight/acme.ts";
import { keyFault } from "#domain/preflight/keys.ts";
import { present } from "#domain/preflight/part.ts";
import { pointersAnswer } from "#domain/preflight/pointers.ts";
import type { PreflightRequest } from "#domain/preflight/run.ts";
import { listenerFits, servedLives, type ServingPremises } from "#domain/preflight/serving.ts";
import { logsAnswer } from "#domain/preflight/transparency.ts";
import { configOf, faultsAt, type Premises } from "./premises.ts";

/** Their functions over these premises. */
export function outsideChecks(premises: Premises, request: PreflightRequest) {
  // One exchange ends before its check does, so that the others of the check are told.
  const timeoutSeconds = Math.min(exchangeSecondsMax, Math.max(request.timeoutSeconds / 3, 0.5));
  return {
    ...loginChecks(premises, request),
    ...networkChecks(premises, timeoutSeconds),
    "certs.serving_expiry": () => servedLives(servingOf(premises, timeoutSeconds)),
    "listener.tls": () => listenerFits(servingOf(premises, timeoutSeconds)),
  };
}

function loginChecks(premises: Premises, request: PreflightRequest) {
  const now = () => systemClock.now();
  return {
    "auth.ldap": async () => {
      const config = configOf(premises);
      const directory = readDirectory(config.auth.ldap, openSecrets(config));
      return judgeDirectory(directory === undefined ? [] : await lookAtDirectory(directory, now));
    },
    "auth.oidc": async () => {
      const config = configOf(premises);
      const trust = extraTrust(config.outbound);
      // Its secret is not needed to ask.
      const we = ourselvesAt(config.auth.oidc, async () => undefined);
      const looks = issuersOf(config).map((issuer) =>
        lookAtProvider(trust, issuer, now, issuer === we?.issuer ? we : undefined),
      );
      return judgeProviders(await Promise.all(looks));
    },
    "auth.mtls": () => clientCas(premises, request.expiryWarnDays),
  };
}

function networkChecks(premises: Premises, timeoutSeconds: number) {
  const profiles = () => configOf(premises).profiles.map(profileOf);
  const trust = () => extraTrust(configOf(premises).outbound);
  const outside = (servers: readonly NameServer[], extra: readonly string[] = []) =>
    lookOutside({ random: systemRandom, servers: () => servers, trust: [...trust(), ...extra] });
  return {
    "dns.resolver": async () => {
      const asked = await resolversOf(configOf(premises), profiles());
      if (asked.length === 0) return skipped("Nothing asks the DNS.");
      const looked = asked.map((servers) => outside(servers).nameServers(timeoutSeconds));
      return judgeResolvers(await Promise.all(looked));
    },
    "acme.external": () =>
      directoriesAnswer({
        directories: directoriesOf(premises),
        outside: outside([], listServingCas(configOf(premises))),
        timeoutSeconds,
      }),
    "protocols.ready": () =>
      directoriesReady({
        directories: directoriesOf(premises),
        profiles: new ProfileSet(profiles()),
        keyFault: (ca) => keyFault(premises.keys, ca),
        store: present(premises.store),
        clock: systemClock,
      }),
    "ct.logs": () =>
      logsAnswer({
        profiles: profiles(),
        logs: configuredLogs(configOf(premises)).logs,
        client: httpLogClient(trust()),
        timeoutSeconds,
      }),
    "revocation.urls": () =>
      pointersAnswer({
        store: present(premises.store),
        clock: systemClock,
        outside: outside([], listServingCas(configOf(premises))),
        timeoutSeconds,
      }),
  };
}

/**
 * The resolvers that are asked, each group by itself: of those of the system one is enough, while
 * what ACME is told must be seen by every one it names.
 */
async function resolversOf(
  { acme, caa }: Config,
  profiles: readonly Profile[],
): Promise<readonly (readonly NameServer[])[]> {
  const asksForCaa = profiles.some((one) => one.caa.mode !== "off");
  const ofAcme = acme.enabled ? [acme.dns_resolver, ...acme.vantage_resolvers] : [];
  const settings = [...(asksForCaa ? [caa.dns_resolver] : []), ...ofAcme];
  const groups = await Promise.all(settings.map((dns_resolver) => nameServers({ dns_resolver })));
  return [...new Map(groups.map((group) => [JSON.stringify(group), group])).values()];
}

const directoriesOf = (premises: Premises): Directories =>
  new Directories({ store: present(premises.store), config: () => configOf(premises) });

/** Without a file there is no valid configuration, whose faults then say what is wrong. */
function clientCas(premises: Premises, warnDays: number): Finding {
  const wrong = faultsAt(premises, (path) => path === "auth.mtls.ca_file");
  if (wrong.length > 0) return failed(wrong.map(faultLine).join(" "));
  const { enabled, ca_file } = premises.config?.auth.mtls ?? { enabled: false };
  if (!enabled || ca_file === undefined) return skipped("No client certificates are asked for.");
  const anchors = parseAnchors(readFileSync(ca_file, "utf8"));
  if (anchors === undefined) return failed(`${ca_file} holds no certificates.`);
  return judgeClientCas(ca_file, anchors, { now: systemClock.now(), warnDays });
}

function issuersOf({ oidc, auth }: Config): readonly string[] {
  const issuers = [oidc.issuer_url, auth.oidc.enabled ? auth.oidc.issuer_url : undefined];
  return [...new Set(issuers.filter((issuer) => issuer !== undefined))];
}

const servingOf = (premises: Premises, timeoutSeconds: number): ServingPremises => ({
  server: configOf(premises).server,
  running: premises.server,
  clock: systemClock,
  kept: () => keptMaterial(configOf(premises)),
  shownAt: (where) => shownAt(where, timeoutSeconds),
});

/** The operator's files, or those pkid keeps. */
function keptMaterial({ server: { tls_cert, tls_key }, data_dir }: Config) {
  const material =
    tls_cert === undefined || tls_key === undefined
      ? new ServingFiles(data_dir).read()
      : filesOf(tls_cert, tls_key);
  if (material === undefined) return undefined;
  const { certificate, key } = material;
  return { certificate, fits: belongTogether(key, certificate) };
}

function filesOf(certificate: string, key: string) {
  try {
    return { certificate: readFileSync(certificate, "utf8"), key: readFileSync(key, "utf8") };
  } catch {
    return undefined; // The check says that there is nothing to read.
  }
}

const exchangeSecondsMax = 10;
