/** A working store in memory: real units of work with rollback, real chains, nothing durable. */

import { type AuditEvent, eventHash } from "#core/audit/chain.ts";
import { clippedDraft, detailText } from "#core/audit/actions.ts";
import { type LedgerEntry, ledgerHash } from "#core/audit/ledger.ts";
import type { CaId } from "#core/ids.ts";
import { assert, refuse } from "#core/problems.ts";
import { instant, timestamp } from "#core/time.ts";
import { spkiSha256 } from "#core/x509/public-keys.ts";
import type { AccessLogRow } from "#domain/audit/store.ts";
import type { IntentRecord } from "#domain/certificates/store.ts";
import type { Store, Unit } from "#domain/store.ts";
import { type TenantRecord, unlimited } from "#domain/tenants/store.ts";
import { isOfOwnKey } from "#domain/key-checks/store.ts";
import { acmeWrites } from "./acme.ts";
import { approvalWrites } from "./approvals.ts";
import { bulkWrites } from "./bulk.ts";
import { bulkRevocationWrites } from "./bulk-revocations.ts";
import { crlWrites } from "./crls.ts";
import { envelopeWrites } from "./envelopes.ts";
import { grantWrites } from "./grants.ts";
import { passkeyWrites } from "./passkeys.ts";
import { keyCheckWrites } from "./key-checks.ts";
import { retentionWrites } from "./retention.ts";
import { forgetPresigned, presignedWrites } from "./presigned.ts";
import { replacementWrites } from "./replacements.ts";
import { memoryReads } from "./reads.ts";
import { tenantWrites } from "./tenants.ts";
import { transparencyWrites } from "./transparency.ts";
import { headOf, type MemoryState, serialKey } from "./state.ts";

/** The store, its state laid open to tests, and switches that make it fail. */
export interface MemoryStore extends Store {
  readonly state: MemoryState;
  readonly accessLog: AccessLogRow[];
  /**
   * Asked before every write of a unit; what it throws fails the unit (e.g. for
   * `audit.appendEvent`).
   */
  beforeWrite: (operation: string) => void;
}

/** Opens an empty store. */
export function openMemoryStore(): MemoryStore {
  const state = emptyState();
  const listeners = new Set<(events: readonly AuditEvent[]) => void>();
  const subscribe: Store["onEvents"] = (listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  let last: Promise<unknown> = Promise.resolve();
  const accessLog: AccessLogRow[] = [];
  const store: MemoryStore = {
    dialect: "sqlite",
    exclusively: inTurn(),
    leaseTroubles: () => ({ shared: 0, lost: 0 }),
    state,
    accessLog,
    beforeWrite: () => {},
    read: memoryReads(state, accessLog),
    atomically: (unit) => {
      const run = last.then(() => runUnit(state, unit, (name) => store.beforeWrite(name)));
      last = run.then(
        ({ events }) => {
          if (events.length > 0) for (const listener of listeners) listener(events);
        },
        () => {}, // The caller sees the rejection; the next unit starts clean.
      );
      return run.then(({ result }) => result);
    },
    onEvents: subscribe,
    onOwnEvents: subscribe,
    logAccess: (row) => {
      store.accessLog.push(row);
    },
    pruneAccessLog: async (before) => {
      const kept = store.accessLog.filter(({ at }) => at >= before);
      store.accessLog.splice(0, store.accessLog.length, ...kept);
    },
    ping: async () => {},
    close: async () => {
      await last;
    },
  };
  return store;
}

async function runUnit<T>(
  state: MemoryState,
  unit: (tx: Unit) => Promise<T>,
  beforeWrite: (operation: string) => void,
): Promise<{ result: T; events: readonly AuditEvent[] }> {
  const before = new Map(Object.entries(state).map(([name, map]) => [name, new Map(map)]));
  const firstSeq = state.events.size;
  try {
    const result = await unit(unitOf(state, beforeWrite));
    return { result, events: [...state.events.values()].slice(firstSeq) };
  } catch (error) {
    for (const [name, map] of Object.entries(state)) restore(map, before.get(name) ?? new Map());
    throw error;
  }
}

function restore(map: Map<unknown, unknown>, saved: ReadonlyMap<unknown, unknown>) {
  map.clear();
  for (const [key, value] of saved) map.set(key, value);
}

function unitOf(state: MemoryState, beforeWrite: (operation: string) => void): Unit {
  return guarded(
    {
      cas: casWrites(state),
      certificates: certificateWrites(state),
      revocations: revocationWrites(state),
      retention: retentionWrites(state),
      presigned: presignedWrites(state),
      bulk: bulkWrites(state),
      bulkRevocations: bulkRevocationWrites(state),
      keyChecks: keyCheckWrites(state),
      transparency: transparencyWrites(state),
      envelopes: envelopeWrites(state),
      tenants: tenantWrites(state),
      access: accessWrites(state),
      approvals: approvalWrites(state),
      acme: acmeWrites(state),
      replacements: replacementWrites(state),
      audit: auditWrites(state),
      instance: {
        setValue: async (name, value) => {
          state.values.set(name, value);
        },
        add: async (name, by) => {
          const sum = Number(state.values.get(name) ?? "0") + by;
          state.values.set(name, String(sum));
          return sum;
        },
      },
    },
    beforeWrite,
  );
}

/** One after the other under each name, as of several replicas. */
function inTurn(): Store["exclusively"] {
  const turns = new Map<string, Promise<unknown>>();
  return (name, work) => {
    const mine = (turns.get(name) ?? Promise.resolve()).then(work);
    turns.set(
      name,
      mine.catch(() => {}), // Its caller sees it; the next one begins all the same.
    );
    return mine;
  };
}

/** Calls the switch before each write, with `<group>.<method>`. */
function guarded(unit: Unit, beforeWrite: (operation: string) => void): Unit {
  const groups = Object.entries(unit).map(([group, methods]) => [
    group,
    new Proxy(methods, {
      get: (target: object, name: string) => {
        beforeWrite(`${group}.${name}`);
        return Reflect.get(target, name);
      },
    }),
  ]);
  return Object.fromEntries(groups) as Unit; // The same groups, each behind a proxy of itself.
}

function casWrites(state: MemoryState): Unit["cas"] {
  return {
    insert: async (ca) => {
      for (const other of state.cas.values()) {
        if (other.label === ca.label) throw refuse("already_exists", { field: "label" });
      }
      assert(!state.cas.has(ca.id), "a CA id is used once");
      state.cas.set(ca.id, ca);
      for (const { spki } of [ca, ...(ca.alternative ? [ca.alternative] : [])]) {
        state.ownKeys.set(spkiSha256(spki), true);
      }
    },
    status: async (id) => state.cas.get(id)?.status,
    certify: async (id, from, certified) => {
      const ca = state.cas.get(id);
      if (ca?.status !== from) return false;
      state.cas.set(id, { ...ca, ...certified, status: "active" });
      return true;
    },
    supersede: async (id, successor, retireAfter) => {
      const ca = state.cas.get(id);
      if (ca?.status !== "active") return false;
      state.cas.set(id, { ...ca, status: "superseded", successor, retireAfter });
      return true;
    },
    remove: async (id, own) => {
      const others = [...state.intents.values()].filter(
        ({ caId, serial, purpose }) =>
          caId === id && serial !== own?.serial && purpose !== "responder_certificate",
      );
      const removed = (own === undefined || others.length === 0) && state.cas.delete(id);
      for (const [key, { ca }] of state.grants) if (removed && ca === id) state.grants.delete(key);
      return removed;
    },
    insertCrossSign: async (facts) => {
      state.crossSigns.set(facts.id, facts);
    },
    retireSubject: async (parent, serial) => {
      for (const ca of state.cas.values()) {
        if (ca.parent !== parent || ca.serial !== serial || ca.status === "retired") continue;
        state.cas.set(ca.id, { ...ca, status: "retired" });
        return ca.id;
      }
      return undefined;
    },
  };
}

function certificateWrites(state: MemoryState): Unit["certificates"] {
  const setIntent = (opId: string, to: IntentRecord["state"]) => {
    const intent = state.intents.get(opId);
    assert(intent?.state === "intended", "an intent is settled once");
    state.intents.set(opId, { ...intent, state: to });
    return intent;
  };
  return {
    intend: async (intent) => {
      for (const other of state.intents.values()) {
        if (other.caId === intent.caId && other.serial === intent.serial) return false;
      }
      if (state.certificates.has(serialKey(intent.caId, intent.serial))) return false;
      state.intents.set(intent.opId, intent);
      return true;
    },
    activate: async (opId, certificate) => {
      const intent = setIntent(opId, "issued");
      assert(intent.serial === certificate.serial, "a certificate has its intent's serial");
      state.certificates.set(serialKey(certificate.caId, certificate.serial), certificate);
      if (isOfOwnKey(certificate.kind)) state.ownKeys.set(certificate.spkiSha256, true);
    },
    adopt: async (certificate) => {
      const key = serialKey(certificate.caId, certificate.serial);
      const { caId, serial } = certificate;
      const intents = [...state.intents.values()];
      const taken = intents.some((intent) => intent.caId === caId && intent.serial === serial);
      if (taken || state.certificates.has(key)) return false;
      state.certificates.set(key, certificate);
      return true;
    },
    settle: async (opId, to) => {
      setIntent(opId, to);
    },
    lock: async (ca, serial) => state.certificates.get(serialKey(ca, serial)),
    setStatus: async (ca, serial, status, revokedAt, reason) => {
      const row = state.certificates.get(serialKey(ca, serial));
      assert(row !== undefined, "a status is set on a row that exists");
      state.certificates.set(serialKey(ca, serial), { ...row, status, revokedAt, reason });
    },
    setStatuses: async (ca, serials, to) => {
      for (const serial of serials) {
        const row = state.certificates.get(serialKey(ca, serial));
        assert(row !== undefined, "a status is set on a row that exists");
        state.certificates.set(serialKey(ca, serial), { ...row, ...to });
      }
    },
    orphanOpenIntents: async () => {
      const open = [...state.intents.values()].filter((intent) => intent.state === "intended");
      return open.map((intent) => {
        const orphan: IntentRecord = { ...intent, state: "orphaned" };
        state.intents.set(intent.opId, orphan);
        return orphan;
      });
    },
  };
}

function revocationWrites(state: MemoryState): Unit["revocations"] {
  const nextSequence = (ca: CaId) => {
    const sequence = (state.counters.get("revocation") ?? 0) + 1;
    state.counters.set("revocation", sequence);
    state.counters.set(ca, sequence);
    return sequence;
  };
  return {
    put: async (entry) => {
      const sequence = nextSequence(entry.caId);
      forgetPresigned(state, entry.caId, entry.serial);
      state.revocations.set(serialKey(entry.caId, entry.serial), { ...entry, sequence });
      return sequence;
    },
    putMany: async (ca, entries) => {
      const numbers: number[] = [];
      for (const entry of entries) {
        const sequence = nextSequence(ca);
        forgetPresigned(state, ca, entry.serial);
        state.revocations.set(serialKey(ca, entry.serial), { ...entry, sequence });
        numbers.push(sequence);
      }
      return numbers;
    },
    setEnd: async (ca, serial, expiresAt) => {
      const entry = state.revocations.get(serialKey(ca, serial));
      if (entry !== undefined)
        state.revocations.set(serialKey(ca, serial), { ...entry, expiresAt });
    },
    remove: async (ca, serial) => {
      forgetPresigned(state, ca, serial);
      const row = state.revocations.get(serialKey(ca, serial));
      state.revocations.delete(serialKey(ca, serial));
      const sequence = nextSequence(ca);
      if (row !== undefined) {
        const { revokedAt, expiresAt, sequence: since } = row;
        const release = { caId: ca, serial, since, sequence, revokedAt, expiresAt };
        state.releases.set(`${ca}/${sequence}`, release);
      }
      return sequence;
    },
    lock: async (ca, serial) => state.revocations.get(serialKey(ca, serial)),
    ...crlWrites(state),
    putResponder: async (responder) => {
      state.responders.set(serialKey(responder.caId, responder.serial), responder);
    },
  };
}

function accessWrites(state: MemoryState): Unit["access"] {
  return {
    insertApiToken: async (apiToken) => {
      state.apiTokens.set(apiToken.id, apiToken);
    },
    revokeApiToken: async (id, at, by) => {
      const apiToken = state.apiTokens.get(id);
      if (apiToken === undefined || apiToken.revokedAt !== undefined) return false;
      state.apiTokens.set(id, { ...apiToken, revokedAt: at, revokedBy: by });
      return true;
    },
    revokeApiTokensOf: async (tenant, at, by) => {
      const living = [...state.apiTokens.values()].filter(
        (apiToken) => apiToken.tenant === tenant && apiToken.revokedAt === undefined,
      );
      const revoked = living.map((apiToken) => ({ ...apiToken, revokedAt: at, revokedBy: by }));
      for (const token of revoked) state.apiTokens.set(token.id, token);
      return revoked;
    },
    ...grantWrites(state),
    ...passkeyWrites(state),
    touchApiToken: async (id, at, ip) => {
      const apiToken = state.apiTokens.get(id);
      if (apiToken) state.apiTokens.set(id, { ...apiToken, lastUsedAt: at, lastUsedIp: ip });
    },
  };
}

function auditWrites(state: MemoryState): Unit["audit"] {
  return {
    appendEvent: async (given, at) => {
      const draft = clippedDraft(given);
      const head = headOf(state.events);
      const unhashed = {
        seq: head.seq + 1,
        id: crypto.randomUUID(),
        timestamp: timestamp(at),
        actor: draft.actor,
        actorName: draft.actorName ?? "",
        actorRoles: draft.actorRoles ?? "",
        action: draft.action,
        result: draft.result,
        tenant: draft.tenant ?? "",
        caId: draft.caId ?? "",
        serial: draft.serial ?? "",
        target: draft.target ?? "",
        targetName: draft.targetName ?? "",
        detail: detailText(draft),
        ip: draft.ip ?? "",
        requestId: draft.requestId ?? "",
        prevHash: head.hash,
      };
      const event: AuditEvent = { ...unhashed, hash: eventHash(unhashed) };
      state.events.set(event.seq, event);
      return event;
    },
    appendLedger: async (draft) => {
      const head = headOf(state.ledger);
      const unhashed = { ...emptyEntry, ...draft, number: head.seq + 1, prevHash: head.hash };
      const entry: LedgerEntry = { ...unhashed, hash: ledgerHash(unhashed) };
      state.ledger.set(entry.number, entry);
      return entry;
    },
  };
}

const emptyState = (): MemoryState => ({
  cas: new Map(),
  crossSigns: new Map(),
  certificates: new Map(),
  archived: new Map(),
  intents: new Map(),
  revocations: new Map(),
  releases: new Map(),
  crlPieces: new Map(),
  shardUrls: new Map(),
  members: new Map(),
  crls: new Map(),
  crlReservations: new Map(),
  responders: new Map(),
  apiTokens: new Map(),
  presigned: new Map(),
  bulkOperations: new Map(),
  bulkItems: new Map(),
  bulkRuns: new Map(),
  bulkSerials: new Map(),
  blockedKeys: new Map(),
  ownKeys: new Map(),
  precertificates: new Map(),
  inclusions: new Map(),
  logHeads: new Map(),
  kekVersions: new Map(),
  sealedValues: new Map(),
  events: new Map(),
  ledger: new Map(),
  values: new Map(),
  counters: new Map(),
  grants: new Map(),
  passkeys: new Map(),
  approvals: new Map(),
  approvalEffects: new Map(),
  acmeNonces: new Map(),
  acmeAccounts: new Map(),
  acmeAccountKeys: new Map(),
  acmeRecordEnds: new Map(),
  acmeEabs: new Map(),
  acmeOrders: new Map(),
  acmeAuthorizations: new Map(),
  acmeChallenges: new Map(),
  replacements: new Map(),
  replacementItems: new Map(),
  tenants: new Map([["default", { ...defaultRow }]]),
});

const defaultRow: TenantRecord = {
  slug: "default",
  name: "default",
  status: "active",
  createdAt: instant(0),
  kekLabel: "",
  quotas: unlimited,
  id: "default" as TenantRecord["id"], // The id every instance has.
};

const emptyEntry: Omit<LedgerEntry, "number" | "timestamp" | "kind" | "prevHash" | "hash"> = {
  opId: "",
  provider: "",
  deviceSerial: "",
  keyLabel: "",
  signerFingerprint: "",
  role: "",
  operation: "",
  algorithm: "",
  digest: "",
  purpose: "",
  caId: "",
  artifact: "",
  result: "",
  signatureSha256: "",
  error: "",
  count: "",
  total: "",
};
