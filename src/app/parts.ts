/**
 * The domain of one instance, put together from a store, keys and settings; every caller gets this
 * and no other.
 */

import { openCrlFiles } from "#adapters/crl-files.ts";
import type { Metrics } from "#adapters/telemetry/families.ts";
import { passingRequest } from "#adapters/passing-request.ts";
import { systemPatience, systemStopwatch } from "#adapters/system.ts";
import { acmeParts } from "./acme.ts";
import type { Closing } from "./closing.ts";
import { createFailureHandler, FailureLog } from "./failure-log.ts";
import type { Place } from "#adapters/network/acme/addresses.ts";
import { httpLogClient } from "#adapters/network/ct-log.ts";
import { extraTrust } from "#adapters/network/outbound.ts";
import { openDirectoryTarget, openTarget } from "#adapters/publish/open.ts";
import { listCaSettings } from "#config/ca-settings.ts";
import { configuredLogs } from "#config/ct-logs.ts";
import type { Config } from "#config/schema.ts";
import type { Secrets } from "#config/secret.ts";
import { profileOf } from "#config/sections/issuance.ts";
import { thresholdOf } from "#core/approvals/classes.ts";
import type { CaId } from "#core/ids.ts";
import { madeFrom } from "#core/in-force.ts";
import { ProfileSet } from "#core/policy/profiles.ts";
import type { StillMay } from "#domain/access/principal-now.ts";
import type { Refusals } from "#domain/access/refusals.ts";
import type { KeyCounts } from "#domain/audit/key-counts.ts";
import type { Acme } from "#domain/acme/open.ts";
import { Authorities } from "#domain/hierarchy/create.ts";
import { CrossSigning } from "#domain/hierarchy/cross-sign.ts";
import { ExternalAuthorities } from "#domain/hierarchy/external.ts";
import { Retirement } from "#domain/hierarchy/retire.ts";
import { Serving } from "#domain/hierarchy/serving.ts";
import { TakeOver } from "#domain/hierarchy/take-over.ts";
import { CaSigners } from "#domain/authorities/signers.ts";
import { Canary } from "#domain/canary/canary.ts";
import type { ProbeReport } from "#domain/canary/stages.ts";
import { BulkIssue } from "#domain/certificates/bulk.ts";
import { CaaGate } from "#domain/certificates/caa.ts";
import { Ceremony, type CeremonyDeps } from "#domain/certificates/ceremony.ts";
import { Issuance } from "#domain/certificates/issue.ts";
import { certifyResponder } from "#domain/certificates/responder.ts";
import type { ClockWatch } from "#domain/clock-watch.ts";
import type { Sealing } from "#domain/envelopes/open.ts";
import { BlockedKeys } from "#domain/key-checks/block.ts";
import type { Keys } from "#domain/keys.ts";
import type { Clock, Log, PathWork, Random, Resolver } from "#domain/ports.ts";
import { Reports } from "#domain/expiry/report.ts";
import { Retention } from "#domain/retention/retention.ts";
import { openPublishing } from "#domain/publishing/open.ts";
import type { Publishing } from "#domain/publishing/publish.ts";
import { openRevocation, type Revocation, type RevocationDeps } from "#domain/revocation/open.ts";
import type { Revoker } from "#domain/revocation/revoke.ts";
import type { CrlKind } from "#domain/revocation/store.ts";
import { Signing } from "#domain/signing/signing.ts";
import type { Store } from "#domain/store.ts";
import { LogRegistry } from "#domain/transparency/logs.ts";
import { openTransparency, type Transparency } from "#domain/inclusion/open.ts";

export interface PartsDeps {
  readonly config: Config;
  /** After the last reload. */
  readonly inForce: () => Config;
  readonly store: Store;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly random: Random;
  readonly resolver: Resolver;
  readonly log: Log;
  readonly secrets: Secrets;
  readonly sealing: Sealing;
  readonly counts: KeyCounts;
  readonly clockWatch: ClockWatch;
  /** Digests of weak keys, as the blocklist files last said. */
  readonly weakKeys: () => ReadonlySet<string>;
  readonly stillMay: StillMay;
  readonly refusals: Refusals;
  /** Asks the schedule for a CRL job that follows a revocation. */
  readonly wake: (kind: CrlKind) => void;
  /** True while a schedule runs, which publishes lists by itself. */
  readonly scheduled: () => boolean;
  /** False while the disk is nearly full. */
  readonly hasRoom: () => boolean;
  /** False before `hasRoom` is: then ACME stores no accounts and orders. */
  readonly hasSpareSpace: () => boolean;
  /** Judges what probes are given. */
  readonly paths: PathWork;
  /** Told of every probe of a CA. */
  readonly onProbe: (report: ProbeReport) => void;
  readonly metrics: Pick<Metrics, "count">;
  /** Where this server listens, once it does. */
  readonly ownListeners: () => readonly Place[];
  /** The main module, for threads of its own; undefined where there are none. */
  readonly workerUrl: string | undefined;
  readonly closing: Closing;
}

export interface Parts {
  readonly authorities: Authorities;
  readonly external: ExternalAuthorities;
  readonly takeOver: TakeOver;
  readonly crossSigning: CrossSigning;
  readonly retirement: Retirement;
  readonly issuance: Issuance;
  readonly bulk: BulkIssue;
  readonly serving: Serving;
  readonly revocation: Revocation;
  readonly publishing: Publishing;
  readonly transparency: Transparency;
  readonly retention: Retention;
  readonly canary: Canary;
  readonly acme: Acme;
  readonly reports: Reports;
  readonly counts: KeyCounts;
  readonly blockedKeys: BlockedKeys;
  readonly sealing: Sealing;
  readonly clockWatch: ClockWatch;
  /** The set in force; requests in flight keep the one they began with. */
  readonly profiles: () => ProfileSet;
}

/** Builds the domain. */
export function domainParts(deps: PartsDeps): Parts {
  const { config, store, keys, clock, random, log, counts, wake, stillMay } = deps;
  const profiles = profilesIn(deps.inForce);
  const signers = new CaSigners({ cas: store.read.cas, keys, config });
  const transparency = logsOf(deps, () => revocation.revoker);
  const caa = new CaaGate({ resolver: deps.resolver, clock, caa: config.caa });
  const signs = { store, keys, clock, random };
  const used = { ...signs, signing: new Signing(signs) };
  const ceremony = ceremonyOf(deps, { ...used, caa, ...transparency });
  const activated = (ca: CaId) => revocation.responders.ensure(ca);
  const caSettings = madeFrom(deps.inForce, listCaSettings);
  const makers = { ...used, config, activated, caSettings };
  const authorities = new Authorities({ ...makers, signers, ceremony });
  const approvable = thresholdOf(config.approvals, "cert.issue") > 0;
  const common = { store, clock, signers, ceremony, profiles, config, approvable };
  const issuance = new Issuance(common);
  const revocation = openRevocation(config, {
    ...used,
    counts,
    wake,
    stillMay,
    ...doubtsOf(deps.clockWatch),
    crlFiles: store.dialect === "postgres" ? openCrlFiles(config.data_dir) : undefined,
    publicProfile: (name) => profiles().has(name) && profiles().named(name).lint.public,
    signCertificate: (wanted) => certifyResponder({ signers, ceremony, clock }, wanted),
    onFailure: faultsTo(log),
  });
  return {
    external: new ExternalAuthorities(makers),
    takeOver: new TakeOver(makers),
    crossSigning: new CrossSigning({ ...makers, signers, ceremony }),
    retirement: new Retirement({ store, clock, ...revocation }),
    authorities,
    revocation,
    transparency,
    canary: canaryOf(deps, issuance, revocation),
    acme: acmeParts({ ...deps, ...deps.sealing, ...revocation, profiles, issuance }),
    ...ends(deps),
    counts,
    profiles,
    issuance,
    publishing: openPublishing(config.publish, {
      ...used,
      ...revocation,
      target: openTarget(config.publish, deps.secrets),
      directory: openDirectoryTarget(config.publish),
    }),
    bulk: new BulkIssue({ store, clock, random, issuance, stillMay }),
    serving: new Serving({ ...common, authorities }),
    sealing: deps.sealing,
    clockWatch: deps.clockWatch,
    blockedKeys: new BlockedKeys({ store, clock, random }),
  };
}

function ceremonyOf(
  { config, store, weakKeys, refusals, clockWatch }: PartsDeps,
  used: Pick<CeremonyDeps, "store" | "signing" | "clock" | "random" | "caa" | "scts">,
): Ceremony {
  return new Ceremony({
    ...used,
    weakKeys,
    refusals,
    isAccountKey: config.acme.enabled ? (spki) => store.read.acme.isAccountKey(spki) : undefined,
    refuseWhileBehind: () => clockWatch.refuseWhileBehind(),
  });
}

const profilesIn = (inForce: PartsDeps["inForce"]): (() => ProfileSet) =>
  madeFrom(
    () => inForce().profiles,
    (rows) => new ProfileSet(rows.map(profileOf)),
  );

/** What asks the same parts as everybody else; lists are waited for where a schedule signs them. */
function canaryOf(deps: PartsDeps, issuance: Issuance, revocation: Revocation): Canary {
  const { store, clock, log, paths, hasRoom, onProbe, scheduled } = deps;
  return new Canary({
    ...revocation,
    store,
    clock,
    paths,
    hasRoom,
    onProbe,
    issuance,
    stopwatch: systemStopwatch,
    patience: systemPatience,
    request: passingRequest,
    publishDue: async () => {
      if (!scheduled()) await revocation.refresh.deltas();
    },
    pause: Bun.sleep,
    config: deps.inForce,
    onFault: createFailureHandler(log, "canary_failed"),
  });
}

/** What becomes of certificates that end, and who is told. */
function ends({ store, clock, inForce }: PartsDeps): Pick<Parts, "retention" | "reports"> {
  return {
    retention: new Retention({ store, clock, config: inForce }),
    reports: new Reports({ store, clock, thresholds: () => thresholdsOf(inForce().monitor) }),
  };
}

const thresholdsOf = ({ warning_days, critical_days }: Config["monitor"]) => ({
  warningDays: warning_days,
  criticalDays: critical_days,
});

function logsOf({ config, store, clock, random }: PartsDeps, revoker: () => Revoker): Transparency {
  const registry = new LogRegistry(configuredLogs(config).logs);
  return openTransparency({
    store,
    clock,
    random,
    client: httpLogClient(extraTrust(config.outbound)),
    registry: () => registry,
    settings: config.certificate_transparency.inclusion_monitor,
    revoker,
  });
}

function faultsTo(log: Log): RevocationDeps["onFailure"] {
  const failures = new FailureLog(log, systemStopwatch);
  return (part, error, ca) => failures.fail(`${part}_failed`, error, { ca_id: ca });
}

const doubtsOf = (clockWatch: ClockWatch) => ({
  clockAhead: () => clockWatch.pause.ahead !== undefined,
  clockBelieved: () => clockWatch.believed,
});
