/** The checks of records, certificates, profiles and access over an open store. */

import { systemClock } from "#adapters/system.ts";
import { insecureHttpAllowed } from "#config/environment.ts";
import type { Config } from "#config/schema.ts";
import { profileOf } from "#config/sections/issuance.ts";
import { failed, type Finding, gathered } from "#core/preflight/finding.ts";
import {
  judgeCaaIdentifier,
  judgeCleartext,
  judgeGates,
  judgeRoot,
} from "#core/preflight/profiles.ts";
import { judgeClock } from "#core/preflight/host.ts";
import { ProfileSet } from "#core/policy/profiles.ts";
import { type Instant, parseTimestamp } from "#core/time.ts";
import type { PageKey } from "#domain/page.ts";
import { lastEventTime } from "#domain/clock-watch.ts";
import {
  casLive,
  crlsFresh,
  leavesRenewed,
  sctsKept,
  respondersLive,
} from "#domain/preflight/certificates.ts";
import { answersAhead } from "#domain/preflight/presigned.ts";
import { partitionsServed } from "#domain/preflight/partitions.ts";
import { publicationFresh } from "#domain/preflight/publication.ts";
import { eventsIntact, ledgerIntact, orphansSettled } from "#domain/preflight/records.ts";
import type { Checks, PreflightRequest } from "#domain/preflight/run.ts";
import type { Store } from "#domain/store.ts";
import { targetOf } from "#app/publishing.ts";
import { openSecrets } from "#app/secrets.ts";
import { configuredAdmins } from "./logins.ts";
import { closed, configOf, type Premises, present } from "./premises.ts";

type Covered =
  | "ledger.head"
  | "issuance.orphans"
  | "audit.chain_head"
  | "certs.ca_expiry"
  | "certs.responder_expiry"
  | "certs.expiring"
  | "crl.freshness"
  | "crl.partitions"
  | "ocsp.presign"
  | "publish.freshness"
  | "ct.inclusion"
  | "auth.root_basic"
  | "auth.cleartext"
  | "caa.identifier"
  | "profiles.gates"
  | "clock.skew";

/** Their functions over these premises. */
export function recordChecks(premises: Premises, request: PreflightRequest): Pick<Checks, Covered> {
  const store = () => present(premises.store);
  const now = () => systemClock.now();
  const limits = { warnDays: request.expiryWarnDays, failDays: request.expiryFailDays };
  const profiles = () => new ProfileSet(configOf(premises).profiles.map(profileOf));
  return {
    // A server refuses to start over a chain that is broken: what keeps the store closed is what
    // they fail with.
    "ledger.head": () => openOr(premises, () => ledgerIntact(store(), request.auditSample, now())),
    "issuance.orphans": () => orphansSettled(store(), now()),
    "audit.chain_head": () => openOr(premises, () => eventsIntact(store(), request.auditSample)),
    "certs.ca_expiry": () => casLive(store(), profiles(), now(), limits),
    "certs.responder_expiry": () => respondersLive(store(), now(), limits),
    "certs.expiring": () => leavesRenewed(store(), now(), limits),
    "crl.freshness": () => crlsFresh(store(), now(), configOf(premises).crl.shards),
    "crl.partitions": () =>
      partitionsServed({
        store: store(),
        now: now(),
        sample: request.auditSample,
        shards: configOf(premises).crl.shards,
      }),
    "ocsp.presign": () => {
      const { enabled, refresh_minutes } = configOf(premises).presign;
      return answersAhead(store(), now(), enabled ? refresh_minutes : undefined);
    },
    "publish.freshness": () => publication(configOf(premises), store(), now()),
    "ct.inclusion": () => {
      const { enabled, interval_minutes } =
        configOf(premises).certificate_transparency.inclusion_monitor;
      return sctsKept(store(), now(), enabled ? interval_minutes : undefined);
    },
    "auth.root_basic": async () => judgeRoot(await rootFacts(configOf(premises), store(), now())),
    "auth.cleartext": () => cleartext(premises),
    "caa.identifier": () => caaIdentifier(premises),
    "profiles.gates": () => judgeGates(profiles().sorted()),
    "clock.skew": () => skew(premises, store()),
  };
}

const openOr = ({ store }: Premises, check: () => Promise<Finding>): Finding | Promise<Finding> =>
  "fault" in store ? closed(store) : check();

function publication(config: Config, store: Store, now: Instant): Promise<Finding> {
  const { publish } = config;
  const secrets = openSecrets(config);
  const { enabled, interval_minutes: intervalMinutes } = publish;
  return publicationFresh({
    store,
    now,
    intervalMinutes,
    target: enabled ? targetOf(publish, secrets) : undefined,
  });
}

/** Of a configuration that is not valid the faults tell the same. */
function caaIdentifier({ read, config }: Premises): Finding {
  const faults = read.loaded.ok ? [] : read.loaded.faults;
  const wanting = faults.filter(({ path }) => /^profiles\[\d+\]\.caa\.mode$/.test(path));
  if (wanting.length > 0) {
    return gathered(
      wanting.map(({ path, sentence }) => failed(`${path}: ${sentence}`)),
      "",
    );
  }
  const profiles = new ProfileSet((config?.profiles ?? []).map(profileOf));
  return judgeCaaIdentifier(profiles.sorted(), config?.caa.identifier);
}

function cleartext(premises: Premises): Finding {
  const { read, env } = premises;
  const { server, auth } = configOf(premises);
  const asked =
    read.loaded.ok && read.loaded.origins.get("server.tls.self_issue.enabled") !== "default";
  const tls = server.tls_cert !== undefined || (server.tls.self_issue.enabled && asked);
  return judgeCleartext({
    cookies: auth.session.insecure,
    listener: insecureHttpAllowed(env) && !tls,
    directory: auth.ldap.enabled && auth.ldap.insecure_allow_cleartext && !auth.ldap.start_tls,
    publicHost: server.public_url && new URL(server.public_url).hostname,
  });
}

async function rootFacts(config: Config, { read }: Store, now: Instant) {
  const { password, password_hash } = config.root_user;
  const [first] = await read.audit.eventsAfter(0, 1);
  const began = (first && parseTimestamp(first.timestamp)) ?? now;
  return {
    basicAllowed: config.policy.allow_root_basic_auth,
    otherAdmins: (await adminApiTokens({ read }, now)) + configuredAdmins(config),
    passwordGenerated: password === undefined && password_hash === undefined,
    ageDays: (now - began) / dayMs,
  };
}

/** API tokens that administer the platform and are accepted now. */
async function adminApiTokens({ read }: Pick<Store, "read">, now: Instant): Promise<number> {
  let count = 0;
  let after: PageKey | undefined;
  do {
    const page = await read.access.tokens("platform", undefined, pageRows, after);
    count += page.items.filter(
      ({ roles, scope, revokedAt, expiresAt }) =>
        scope === "platform" &&
        roles.includes("admin") &&
        revokedAt === undefined &&
        (expiresAt === undefined || expiresAt > now),
    ).length;
    after = page.next;
  } while (after !== undefined);
  return count;
}

async function skew({ before }: Premises, store: Store): Promise<Finding> {
  const event = await lastEventTime(store);
  const now = systemClock.now();
  const database = "open" in before.diagnosis ? before.diagnosis.open : undefined;
  return judgeClock({
    databaseSeconds: database?.time && (database.time - database.askedAt) / 1000,
    newestEventSeconds: event && (event - now) / 1000,
  });
}

const dayMs = 86_400_000;
const pageRows = 500;
