/** Every row of the operations table with its handler: a row without one does not compile. */

import { hostname } from "node:os";

import { gzippedFast } from "#adapters/gzip.ts";
import type { OpenKeys } from "#adapters/keys/start.ts";
import type { Metrics } from "#adapters/telemetry/families.ts";
import { ocspCounter } from "#adapters/telemetry/request-counters.ts";
import { parkedShape } from "#api/approval-json.ts";
import { accessHandlers } from "#api/access.ts";
import { accessLogHandlers } from "#api/access-log.ts";
import { acmeOverview } from "#api/acme.ts";
import { acmeCredentialHandlers } from "#api/acme-credentials.ts";
import { acmeDirectoryHandlers } from "#api/acme-directories.ts";
import { replacementHandlers } from "#api/acme-replacements.ts";
import { approvalHandlers } from "#api/approvals.ts";
import { auditHandlers } from "#api/audit.ts";
import { authorityHandlers } from "#api/authorities.ts";
import { type BackupHandlerDeps, backupHandlers } from "#api/backups.ts";
import { blockedKeyHandlers } from "#api/blocked-keys.ts";
import { bulkHandlers } from "#api/bulk.ts";
import { bulkRevocationHandlers } from "#api/bulk-revocations.ts";
import { canaryHandlers } from "#api/canary.ts";
import { certificateHandlers } from "#api/certificates.ts";
import { clockHandlers } from "#api/clock.ts";
import { rollbackHandlers } from "#api/rollback.ts";
import { certificateCountHandlers } from "#api/certificate-counts.ts";
import { crlListHandlers } from "#api/crl-list.ts";
import { crlAdministration } from "#api/crls.ts";
import { crossSignHandlers } from "#api/cross-signs.ts";
import { externalHandlers } from "#api/external.ts";
import { eventStreamHandlers } from "#api/event-stream.ts";
import { type Build as HealthBuild, healthHandlers, type Probes } from "#api/health.ts";
import { grantHandlers } from "#api/grants.ts";
import { type InstanceHandlerDeps, instanceHandlers } from "#api/instance.ts";
import { issuanceHandlers } from "#api/issuance.ts";
import { kekHandlers } from "#api/kek.ts";
import { importHandlers } from "#api/imports.ts";
import { keyHandlers } from "#api/keys.ts";
import { pinningHandlers } from "#api/pinning.ts";
import { loginHandlers } from "#api/logins.ts";
import { oidcHandlers } from "#api/oidc.ts";
import { ledgerHandlers } from "#api/ledger.ts";
import { lintHandlers } from "#api/lint.ts";
import { manualHandlers } from "#api/manual.ts";
import { monitorHandlers } from "#api/monitor.ts";
import { passkeyHandlers } from "#api/passkeys.ts";
import { preflightHandlers } from "#api/preflight.ts";
import { profileHandlers } from "#api/profiles.ts";
import { sessionHandlers } from "#api/sessions.ts";
import { revocationHandlers } from "#api/revocations.ts";
import { publishHandlers } from "#api/publish.ts";
import { presignHandlers } from "#api/presign.ts";
import { retentionHandlers } from "#api/retention.ts";
import { rolloverHandlers } from "#api/rollover.ts";
import { tenantHandlers } from "#api/tenants.ts";
import { transparencyHandlers } from "#api/transparency.ts";
import { validationHandlers } from "#api/validation.ts";
import type { Config } from "#config/schema.ts";
import { exampleEnterpriseId, type LineOrigin } from "#core/audit/formats.ts";
import type { EventFeed } from "#domain/audit/feed/feed.ts";
import type { PathWork } from "#domain/ports.ts";
import type { ProviderName } from "#domain/key-ref.ts";
import type { Keys } from "#domain/keys.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import type { Catalog } from "#http/catalog.ts";
import { acmeGuideHandlers } from "#http/acme-guide.ts";
import { descriptionHandlers } from "#http/docs.ts";
import type { Handlers } from "#http/public.ts";
import { acmeHandlers } from "#protocols/acme/handlers.ts";
import { crlHandlers } from "#protocols/crl.ts";
import { ocspHandlers } from "#protocols/ocsp.ts";
import { manualChapters } from "./manual.ts";
import type { Access } from "./access.ts";
import type { FourEyesParts } from "./four-eyes.ts";
import type { Governance } from "./governance.ts";
import type { Parts } from "./parts.ts";

export type Build = HealthBuild;

export interface HandlerDeps {
  readonly config: Config;
  readonly build: Build;
  readonly store: Store;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly access: Access;
  readonly governance: Governance;
  readonly fourEyes: FourEyesParts;
  readonly parts: Parts;
  readonly feed: EventFeed;
  readonly probes: Probes;
  readonly metrics: Metrics;
  readonly roles: { readonly ca: ProviderName; readonly responder: ProviderName };
  readonly keyLoad: OpenKeys["load"];
  readonly draining: () => boolean;
  /** Judges chains that strangers bring. */
  readonly paths: PathWork;
  readonly backup: BackupHandlerDeps;
  /** In force. */
  readonly inForce: () => Config;
  /** Counts what a message asks of the tenant of a CA, and of an account (RATE-1). */
  readonly admitTenant: (ca: () => Promise<string | undefined>) => Promise<void>;
  readonly admitAccount: (account: string) => void;
  /** Counts an attempt of an address; the returned function takes the count back. */
  readonly attempt: (ip: string) => () => void;
  readonly preflight: Parameters<typeof preflightHandlers>[0]["preflight"];
  readonly instance: InstanceHandlerDeps;
}

/** The complete set; `catalog` is asked for once it is put together. */
export function handlersOf(deps: HandlerDeps, catalog: () => Catalog): Handlers {
  const { config, build, store, keys, clock, parts } = deps;
  const { revoker, publisher, crlCopies, scopes, crlImport, presigner } = parts.revocation;
  const { authorities, issuance, bulk, profiles } = parts;
  return {
    ...descriptionHandlers(catalog, build.version, parkedShape, manualChapters),
    ...manualHandlers(manualChapters),
    ...health(deps),
    ...peopleHandlers(deps),
    ...approvalHandlers({ store, keys, clock, ...deps.fourEyes }),
    ...auditHandlers({ store, clock, lines: lineOrigin(build) }),
    ...eventStreamHandlers({ store, feed: deps.feed }),
    ...accessLogHandlers({ store, clock }),
    ...ledgerHandlers({
      store,
      keys,
      clock,
      random: deps.fourEyes.random,
      roles: deps.roles,
    }),
    ...keyHandlers({
      store,
      keys,
      clock,
      roles: deps.roles,
      pool: () => ({ size: config.pkcs11.session_pool_size, ...deps.keyLoad() }),
    }),
    ...blockedKeyHandlers({ store, blockedKeys: parts.blockedKeys }),
    ...preflightHandlers({ preflight: deps.preflight }),
    ...instanceHandlers(deps.instance),
    ...backupHandlers(deps.backup),
    ...retentionHandlers(parts),
    ...canaryHandlers(parts),
    ...monitorHandlers({ store, reports: parts.reports }),
    ...clockHandlers({ clock, clockWatch: parts.clockWatch }),
    ...rollbackHandlers({ store, clock }),
    ...kekHandlers({ store, keys, random: deps.fourEyes.random, ...parts.sealing }),
    ...authorityHandlers({ store, authorities, namesNoAddress: config.crl.base_url === undefined }),
    ...crossSignHandlers({ store, keys, clock, crossSigning: parts.crossSigning }),
    ...externalHandlers({ store, external: parts.external }),
    ...importHandlers({ takeOver: parts.takeOver, adoption: parts.revocation.adoption }),
    ...rolloverHandlers({ store, clock, authorities, retirement: parts.retirement }),
    ...profileHandlers({ profiles }),
    ...lintHandlers({ profiles }),
    ...issuanceHandlers({ store, issuance, profiles }),
    ...bulkHandlers({ bulk, itemGate: deps.fourEyes.itemGate }),
    ...validationHandlers({ store, clock, paths: deps.paths }),
    ...inventoryHandlers(deps),
    ...revocationHandlers({ store, revoker }),
    ...bulkRevocationHandlers({ store, profiles, bulk: parts.revocation.bulk }),
    ...crlAdministration({ clock, publisher, scopes, crlImport }),
    ...crlListHandlers({ store, clock, publisher, presigns: config.presign.enabled }),
    ...crlHandlers({ store, clock, publisher, crlCopies, scopes, crl: config.crl }),
    ...publishHandlers({ store, publishing: parts.publishing }),
    ...presignHandlers({ store, presigner, enabled: config.presign.enabled }),
    ...ocspAnswers(deps),
    ...acmeAnswers(deps),
    ...acmeOperations(deps),
  };
}

/** What is remembered of certificates. */
function inventoryHandlers({ store, clock, parts: { profiles, transparency } }: HandlerDeps) {
  return {
    ...certificateCountHandlers({ store, clock }),
    ...certificateHandlers({ store, clock, profiles }),
    ...pinningHandlers({ store }),
    ...transparencyHandlers({ store, monitor: transparency.monitor }),
  };
}

/** What operators see and do of ACME. */
function acmeOperations({ store, clock, parts, inForce: config }: HandlerDeps) {
  const { acme, profiles } = parts;
  return {
    ...replacementHandlers({ store, clock, profiles, ...acme, config }),
    ...acmeOverview({ store, clock, ...acme }),
    ...acmeCredentialHandlers({ clock, ...acme }),
    ...acmeDirectoryHandlers({ config, ...acme }),
    ...acmeGuideHandlers({ store, config, ...acme }),
  };
}

/** Whoever collects lines tells instances apart by host and process. */
const lineOrigin = ({ version }: Build): LineOrigin => ({
  host: hostname(),
  processId: process.pid,
  version,
  enterpriseId: exampleEnterpriseId,
});

function health({ store, keys, build, draining, metrics, probes }: HandlerDeps) {
  const exposition = () => metrics.exposition();
  const deps = { store, keys, build, draining, exposition, gzipped: gzippedFast };
  return healthHandlers(deps, probes);
}

function acmeAnswers({ store, clock, parts, inForce, ...deps }: HandlerDeps) {
  const { acme } = parts;
  return acmeHandlers({
    ...acme,
    store,
    clock,
    config: inForce,
    admitDirectory: (directory) =>
      deps.admitTenant(async () => {
        // A directory whose CA is not there yet has no tenant to count for.
        const ca = await acme.directories.ca(directory).catch(() => undefined);
        return ca?.id;
      }),
    admitAccount: deps.admitAccount,
    attempt: deps.attempt,
  });
}

function ocspAnswers({ config, clock, metrics, parts }: HandlerDeps) {
  const answers = ocspHandlers({
    ocsp: parts.revocation.ocsp,
    clock,
    config,
    onAnswer: ocspCounter(metrics),
  });
  return { "ocsp.get": answers.get, "ocsp.post": answers.post };
}

/** Who comes in, and what they may do. */
function peopleHandlers({ store, clock, access, governance }: HandlerDeps) {
  return {
    ...accessHandlers({ store, clock, ...access }),
    ...sessionHandlers(access),
    ...passkeyHandlers(access),
    ...oidcHandlers({ clock, ...access }),
    ...loginHandlers({
      clock,
      ...access,
      config: access.loginConfig,
    }),
    ...tenantHandlers({ store, clock, tenants: governance.tenants }),
    ...grantHandlers({ store, granting: governance.granting }),
  };
}
