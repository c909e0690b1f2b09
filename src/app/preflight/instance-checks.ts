/** The checks that look at the instance: keys, records, certificates, profiles, people. */

import { recipientFault } from "#adapters/age/age.ts";
import { openTarget } from "#adapters/publish/open.ts";
import { systemClock, systemRandom } from "#adapters/system.ts";
import { openSecrets } from "#app/secrets.ts";
import { insecureHttpAllowed } from "#config/environment.ts";
import { profileOf } from "#config/sections/issuance.ts";
import { ProfileSet } from "#core/policy/profiles.ts";
import { failed, type Finding, gathered } from "#core/preflight/finding.ts";
import { judgeCaaIdentifier, judgeCleartext, judgeGates } from "#core/preflight/profiles.ts";
import {
  casLive,
  leavesRenewed,
  respondersLive,
  sctsKept,
} from "#domain/preflight/certificates.ts";
import { crlsFresh } from "#domain/preflight/crls.ts";
import { clockAgrees } from "#domain/preflight/database.ts";
import {
  caKeysSign,
  halvesOpen,
  keksOpen,
  keysStay,
  providerAnswers,
  respondersFit,
} from "#domain/preflight/keys.ts";
import { closed, type Part, present } from "#domain/preflight/part.ts";
import { partitionsServed } from "#domain/preflight/partitions.ts";
import { quorumReached, rootRetired } from "#domain/preflight/people.ts";
import { answersAhead } from "#domain/preflight/presigned.ts";
import { backupFresh, openersLeft, restoreVerified } from "#domain/preflight/backup.ts";
import { probesSucceed } from "#domain/preflight/canary.ts";
import { retentionFresh } from "#domain/preflight/retention.ts";
import { publicationFresh } from "#domain/preflight/publication.ts";
import { eventsIntact, ledgerIntact, orphansSettled } from "#domain/preflight/records.ts";
import type { PreflightRequest } from "#domain/preflight/run.ts";
import { configOf, faultsAt, type Premises } from "./premises.ts";

/** Their functions over these premises. */
export const instanceChecks = (premises: Premises, request: PreflightRequest) => ({
  ...keyChecks(premises),
  ...recordChecks(premises, request),
  ...certificateChecks(premises, request),
  ...settingChecks(premises),
});

function keyChecks(premises: Premises) {
  const { store, keys } = premises;
  const deps = () => ({
    store: present(store),
    keys: present(keys),
    clock: systemClock,
    random: systemRandom,
  });
  const roles = () => configOf(premises).key_provider.roles;
  const answers = (role: "ca" | "responder") =>
    openOr(keys, (open) => providerAnswers(open, roles()[role]));
  return {
    "keyprovider.ca": () => answers("ca"),
    "keyprovider.responder": () => answers("responder"),
    // A server does not start over what keeps them closed, and then no CA key is used.
    "keys.ca": () => openOr(store, () => openOr(keys, () => caKeysSign(deps(), premises.untried))),
    "keys.extractable": () => keysStay(deps(), Object.values(roles())),
    "keys.ocsp_delegate": () => respondersFit(deps(), configOf(premises).ocsp.delegated),
    "keys.kek": () => keksOpen(deps()),
    "pqc.hybrid": () => halvesOpen(deps(), configOf(premises).secret.pqc_hybrid),
  };
}

function recordChecks(premises: Premises, { auditSample }: PreflightRequest) {
  const store = () => present(premises.store);
  const now = () => systemClock.now();
  return {
    // A server refuses to start over a chain that is broken: what keeps the store closed is what
    // they fail with.
    "ledger.head": () => openOr(premises.store, (open) => ledgerIntact(open, auditSample, now())),
    "issuance.orphans": () => orphansSettled(store(), now()),
    "audit.chain_head": () => openOr(premises.store, (open) => eventsIntact(open, auditSample)),
    "clock.skew": () => clockAgrees(premises, store(), systemClock),
  };
}

function certificateChecks(premises: Premises, request: PreflightRequest) {
  const store = () => present(premises.store);
  const now = () => systemClock.now();
  const config = () => configOf(premises);
  const limits = { warnDays: request.expiryWarnDays, failDays: request.expiryFailDays };
  return {
    "certs.ca_expiry": () => casLive(store(), profilesOf(premises), now(), limits),
    "certs.responder_expiry": () => respondersLive(store(), now(), limits),
    "certs.expiring": () => leavesRenewed(store(), now(), limits),
    "crl.freshness": () => {
      const { shards } = config().crl;
      const found = openTarget(config().publish, openSecrets(config()));
      const target = found?.name === "s3" && !request.network ? undefined : found;
      return crlsFresh({ store: store(), now: now(), shards, target });
    },
    "crl.partitions": () => {
      const { shards } = config().crl;
      const sample = request.auditSample;
      return partitionsServed({ store: store(), now: now(), sample, shards });
    },
    "ocsp.presign": () => {
      const { enabled, refresh_minutes } = config().presign;
      return answersAhead(store(), now(), enabled ? refresh_minutes : undefined);
    },
    "publish.freshness": () => {
      const { publish } = config();
      const target = openTarget(publish, openSecrets(config()));
      return publicationFresh({ ...publish, store: store(), now: now(), target });
    },
    "backup.freshness": () => {
      const { enabled, schedule } = config().backup;
      return backupFresh(store(), now(), enabled ? schedule.interval_hours : undefined);
    },
    "backup.restore_verified": () => restoreVerified(store(), now(), config().backup.enabled),
    "canary.last_probe": () => probesSucceed(store(), now(), config().canary),
    "retention.freshness": () => {
      const { enabled, schedule } = config().retention;
      return retentionFresh(store(), now(), enabled ? schedule.interval_hours : undefined);
    },
    "ct.inclusion": () => {
      const { enabled, interval_minutes } = config().certificate_transparency.inclusion_monitor;
      return sctsKept(store(), now(), enabled ? interval_minutes : undefined);
    },
  };
}

function settingChecks(premises: Premises) {
  const config = () => configOf(premises);
  return {
    "auth.root_basic": () => rootRetired(config(), present(premises.store), systemClock.now()),
    "auth.cleartext": () => cleartext(premises),
    "approvals.quorum": () => quorumReached(config()),
    "backup.recipients": () => {
      const { enabled, recipients, passphrase, verify } = config().backup;
      return openersLeft({
        enabled,
        recipients,
        hasPassphrase: passphrase !== undefined,
        identityHere: verify.identity_file !== undefined,
        fault: recipientFault,
      });
    },
    "caa.identifier": () => caaIdentifier(premises),
    "profiles.gates": () => judgeGates(profilesOf(premises).sorted()),
  };
}

const openOr = async <T>(
  part: Part<T>,
  check: (open: T) => Finding | Promise<Finding>,
): Promise<Finding> => ("fault" in part ? closed(part) : await check(part.open));

const profilesOf = (premises: Premises): ProfileSet =>
  new ProfileSet(configOf(premises).profiles.map(profileOf));

/** Of a configuration that is not valid the faults tell the same. */
function caaIdentifier(premises: Premises): Finding {
  const wanting = faultsAt(premises, (path) => /^profiles\[\d+\]\.caa\.mode$/.test(path));
  if (wanting.length > 0) {
    return gathered(
      wanting.map(({ path, sentence }) => failed(`${path}: ${sentence}`)),
      "",
    );
  }
  const { config } = premises;
  const profiles = new ProfileSet((config?.profiles ?? []).map(profileOf));
  return judgeCaaIdentifier(profiles.sorted(), config?.caa.identifier);
}

function cleartext(premises: Premises): Finding {
  const { loaded } = premises.read;
  const { server, auth } = configOf(premises);
  const asked = loaded.ok && loaded.origins.get("server.tls.self_issue.enabled") !== "default";
  const tls = server.tls_cert !== undefined || (server.tls.self_issue.enabled && asked);
  return judgeCleartext({
    cookies: auth.session.insecure,
    listener: insecureHttpAllowed(premises.env) && !tls,
    directory: auth.ldap.enabled && auth.ldap.insecure_allow_cleartext && !auth.ldap.start_tls,
    publicHost: server.public_url && new URL(server.public_url).hostname,
  });
}
