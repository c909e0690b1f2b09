/**
 * The domain of one instance, put together from a store, keys and settings; every caller gets this
 * and no other.
 */

import { httpLogClient } from "#adapters/network/ct-log.ts";
import { configuredLogs } from "#config/ct-logs.ts";
import type { SecretSources } from "#adapters/secrets/sources.ts";
import type { Config } from "#config/schema.ts";
import { profileOf } from "#config/sections/issuance.ts";
import { thresholdOf } from "#core/approvals/classes.ts";
import type { CaId } from "#core/ids.ts";
import { ProfileSet } from "#core/policy/profiles.ts";
import { Authorities } from "#domain/hierarchy/create.ts";
import { CrossSigning } from "#domain/hierarchy/cross-sign.ts";
import { ExternalAuthorities } from "#domain/hierarchy/external.ts";
import { Retirement } from "#domain/hierarchy/retire.ts";
import { Serving } from "#domain/hierarchy/serving.ts";
import { CaSigners } from "#domain/authorities/signers.ts";
import type { KeyCounts } from "#domain/audit/key-counts.ts";
import { CaaGate } from "#domain/certificates/caa.ts";
import { BulkIssue } from "#domain/certificates/bulk.ts";
import { Ceremony } from "#domain/certificates/ceremony.ts";
import { Issuance } from "#domain/certificates/issue.ts";
import { certifyResponder } from "#domain/certificates/responder.ts";
import { BlockedKeys } from "#domain/key-checks/block.ts";
import type { ClockWatch } from "#domain/clock-watch.ts";
import type { Keys } from "#domain/keys.ts";
import type { Publishing } from "#domain/publishing/publish.ts";
import type { Clock, Log, Random, Resolver } from "#domain/ports.ts";
import { LogRegistry } from "#domain/transparency/logs.ts";
import { openTransparency, type Transparency } from "#domain/inclusion/open.ts";
import { openRevocation, type Revocation, type RevocationDeps } from "#domain/revocation/open.ts";
import type { Revoker } from "#domain/revocation/revoke.ts";
import type { CrlKind } from "#domain/revocation/store.ts";
import type { Refusals } from "#domain/access/refusals.ts";
import type { StillMay } from "#domain/access/principal-now.ts";
import { Signing } from "#domain/signing/signing.ts";
import type { Store } from "#domain/store.ts";
import { openPublishing } from "./publishing.ts";
import type { Sealing } from "./sealing.ts";
import { approvalSettings, extraTrust, keyRoles } from "./settings.ts";

export interface PartsDeps {
  readonly config: Config;
  readonly store: Store;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly random: Random;
  readonly resolver: Resolver;
  readonly log: Log;
  readonly secrets: SecretSources;
  readonly sealing: Sealing;
  readonly counts: KeyCounts;
  readonly clockWatch: ClockWatch;
  /** Digests of weak keys, as the blocklist files last said. */
  readonly weakKeys: () => ReadonlySet<string>;
  readonly stillMay: StillMay;
  readonly refusals: Refusals;
}

export interface Parts {
  readonly authorities: Authorities;
  readonly external: ExternalAuthorities;
  readonly crossSigning: CrossSigning;
  readonly retirement: Retirement;
  readonly issuance: Issuance;
  readonly bulk: BulkIssue;
  readonly serving: Serving;
  readonly revocation: Revocation;
  readonly publishing: Publishing;
  readonly transparency: Transparency;
  readonly counts: KeyCounts;
  readonly blockedKeys: BlockedKeys;
  readonly sealing: Sealing;
  readonly clockWatch: ClockWatch;
  /** The set in force. */
  readonly profiles: () => ProfileSet;
  /** Replaces the set as a whole; requests in flight keep the one they began with. */
  readonly reloadProfiles: (config: Config) => void;
}

/** Builds the domain. `wake` asks the schedule for a CRL job that follows a revocation. */
export function domainParts(deps: PartsDeps, wake: (kind: CrlKind) => void): Parts {
  const { config, store, keys, clock, random, log, counts, stillMay } = deps;
  let inForce = new ProfileSet(config.profiles.map(profileOf));
  const profiles = () => inForce;
  const settings = issuanceSettings(config);
  const urlBase = config.crl.base_url;
  const signers = new CaSigners({ cas: store.read.cas, keys, urlBase, shards: config.crl.shards });
  const transparency = logsOf(deps, () => revocation.revoker);
  const caa = new CaaGate({ resolver: deps.resolver, clock, ...caaSettings(config) });
  const signs = { store, keys, clock, random };
  const used = { ...signs, signing: new Signing(signs) };
  const ceremony = new Ceremony({
    ...used,
    caa,
    weakKeys: deps.weakKeys,
    refusals: deps.refusals,
    scts: transparency.scts,
    refuseWhileBehind: () => deps.clockWatch.refuseWhileBehind(),
  });
  const activated = (ca: CaId) => revocation.responders.ensure(ca);
  const provider = keyRoles(config).ca;
  const makers = { ...used, settings, provider, activated };
  const authorities = new Authorities({ ...makers, signers, ceremony, urlBase });
  const approvable = thresholdOf(approvalSettings(config), "cert.issue") > 0;
  const common = { store, clock, signers, ceremony, profiles, settings, approvable };
  const issuance = new Issuance(common);
  const revocation = openRevocation({
    ...used,
    counts,
    wake,
    stillMay,
    ...doubtsOf(deps.clockWatch),
    settings: revocationSettings(config),
    publicProfile: (name) => inForce.has(name) && inForce.named(name).lint.public,
    signCertificate: (wanted) => certifyResponder({ signers, ceremony, clock }, wanted),
    onFailure: faultsTo(log),
  });
  return {
    external: new ExternalAuthorities(makers),
    crossSigning: new CrossSigning({ ...makers, signers, ceremony }),
    retirement: new Retirement({ store, clock, ...revocation }),
    authorities,
    revocation,
    transparency,
    counts,
    profiles,
    issuance,
    publishing: openPublishing(config, { ...used, secrets: deps.secrets, ...revocation }),
    bulk: new BulkIssue({ store, clock, random, issuance, stillMay }),
    serving: new Serving({ ...common, authorities }),
    sealing: deps.sealing,
    clockWatch: deps.clockWatch,
    blockedKeys: new BlockedKeys({ store, clock, random }),
    reloadProfiles: (next) => {
      inForce = new ProfileSet(next.profiles.map(profileOf));
    },
  };
}

function logsOf({ config, store, clock, random }: PartsDeps, revoker: () => Revoker): Transparency {
  const registry = new LogRegistry(configuredLogs(config).logs);
  return openTransparency({
    store,
    clock,
    random,
    client: httpLogClient(extraTrust(config)),
    registry: () => registry,
    settings: inclusionSettings(config),
    revoker,
  });
}

const faultsTo =
  (log: Log): RevocationDeps["onFailure"] =>
  (what, error, ca) =>
    log.write("error", `${what}_failed`, { ca_id: ca, error: describe(error) });

const doubtsOf = (clockWatch: ClockWatch) => ({
  clockAhead: () => clockWatch.pause.ahead !== undefined,
  clockBelieved: () => clockWatch.believed,
});

const caaSettings = ({ caa }: Config) => ({
  identifier: caa.identifier,
  cacheTtlSeconds: caa.cache_ttl_seconds,
});

function issuanceSettings(config: Config) {
  const { issuance, policy } = config;
  return {
    backdateSeconds: issuance.backdate_seconds,
    skiMethod: issuance.ski_method,
    maxNames: issuance.max_names,
    maxCertValidityDays: policy.max_cert_validity_days,
  };
}

function inclusionSettings(config: Config) {
  const { interval_minutes, max_certs_per_run, timeout_seconds } =
    config.certificate_transparency.inclusion_monitor;
  return {
    intervalMinutes: interval_minutes,
    maxPerRun: max_certs_per_run,
    timeoutSeconds: timeout_seconds,
  };
}

function revocationSettings({ crl, ocsp, presign, issuance, server, ...config }: Config) {
  const backdateSeconds = issuance.backdate_seconds;
  return {
    crl: {
      backdateSeconds,
      baseValidityHours: crl.base_validity_hours,
      deltaIntervalMinutes: crl.delta_interval_minutes,
      keepExpired: crl.keep_expired,
      shards: crl.shards,
      urlBase: crl.base_url,
      refreshAfterRevocationSeconds: crl.refresh_after_revocation_seconds,
    },
    ocsp: {
      backdateSeconds,
      nonceEnabled: ocsp.nonce_enabled,
      nonceMaxAgeSeconds: ocsp.nonce_max_age_seconds,
      validityHours: ocsp.validity_hours,
      cacheSeconds: cacheSeconds(server.ocsp_cache_ttl_seconds),
      cacheMax: server.ocsp_cache_entries,
    },
    presign: {
      enabled: presign.enabled,
      backdateSeconds,
      validityMinutes: presign.validity_minutes,
      refreshMinutes: presign.refresh_minutes,
      recentMax: presign.recently_queried ? presign.recent_capacity : 0,
      expiredGraceMinutes: presign.expired_grace_minutes,
    },
    responder: {
      backdateSeconds,
      delegated: ocsp.delegated,
      keyType: ocsp.delegated_key_type,
      validityHours: ocsp.delegated_validity_hours,
      provider: config.key_provider.roles.responder,
    },
  };
}

/** 0 means the default, below it no cache. */
const cacheSeconds = (setting: number): number => (setting === 0 ? 3600 : Math.max(0, setting));

/** The stack for the log; nothing of it reaches a caller. */
export const describe = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error);
