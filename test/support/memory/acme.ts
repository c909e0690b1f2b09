/** ACME's accounts, orders and proofs in memory: each promise is looked for row by row. */

import { coversCa, coversTenant } from "#core/access/principal.ts";
import type { Identifier } from "#core/acme/identifiers.ts";
import type { Instant } from "#core/time.ts";
import type {
  AccountRecord,
  AuthorizationRecord,
  ChallengeRecord,
  EabRecord,
  NameKey,
  OrderFilter,
  OrderRecord,
} from "#domain/acme/store.ts";
import type { PageKey } from "#domain/page.ts";
import type { Reads, Unit } from "#domain/store.ts";
import type { MemoryChallenge, MemoryOrder } from "./acme-rows.ts";
import { type MemoryState, pageOf, serialKey } from "./state.ts";

/** Accounts, orders and proofs; nobody else's store lives beside this one. */
export function acmeReads(state: MemoryState): Reads["acme"] {
  const { acmeAccounts, acmeAccountKeys, acmeRecordEnds, acmeEabs } = state;
  const accountByKey = findAccount(state);
  return {
    account: async (id) => acmeAccounts.get(id),
    accountByKey: async (directory, thumbprint) => accountByKey(directory, thumbprint),
    thumbprints: async (id, identifier) => {
      const own = acmeAccounts.get(id);
      const ended = acmeRecordEnds.get(JSON.stringify([id, identifier])) ?? [];
      const earlier = (acmeAccountKeys.get(id) ?? []).filter((key) => !ended.includes(key));
      return [...(own === undefined ? [] : [own]), ...earlier].map(({ thumbprint }) => thumbprint);
    },
    isAccountKey: async (spki) =>
      [...acmeAccounts.values(), ...[...acmeAccountKeys.values()].flat()].some(
        ({ spkiSha256 }) => spkiSha256 === spki,
      ),
    accounts: async ({ reach, status }, limit, after) =>
      newest(
        [...acmeAccounts.values()].filter(
          (one) => coversTenant(reach, one.tenant) && (status ?? one.status) === one.status,
        ),
        limit,
        after,
      ),
    eab: async (id) => acmeEabs.get(id),
    eabs: async ({ reach, status, now }, limit, after) =>
      newest(
        [...acmeEabs.values()].filter(
          (one) =>
            coversCa(reach, { id: one.caId, tenant: one.tenant }) &&
            (status === undefined || status === eabStatus(one, now)),
        ),
        limit,
        after,
      ),
    boundAccounts: async (eab) => bound(state, eab).length,
    ...orderReads(state),
    ...proofReads(state),
  };
}

type OrderReads = "order" | "orders" | "obtained" | "processing";

function orderReads({ acmeOrders }: MemoryState): Pick<Reads["acme"], OrderReads> {
  return {
    order: async (id) => shownIf(acmeOrders.get(id)),
    orders: async (filter, limit, after) =>
      newest([...acmeOrders.values()].filter(meets(filter)).map(shown), limit, after),
    obtained: async ({ caId, serial }) => {
      const order = [...acmeOrders.values()].find(
        ({ certificate }) =>
          certificate !== undefined &&
          serialKey(certificate.caId, certificate.serial) === serialKey(caId, serial),
      );
      const { account, id, replacedBy } = order ?? {};
      return account === undefined || id === undefined
        ? undefined
        : { account, order: id, replacedBy };
    },
    processing: async (own, limit) =>
      [...acmeOrders.values()]
        .filter(({ status }) => own && status === "processing")
        .sort(byAge)
        .slice(0, limit)
        .flatMap((order) =>
          order.claimedAt === undefined ? [] : { ...shown(order), claimedAt: order.claimedAt },
        ),
  };
}

type ProofReads =
  | "authorization"
  | "challenge"
  | "dueChallenges"
  | "authorizations"
  | "openAuthorizations"
  | "validFor";

function proofReads(state: MemoryState): Pick<Reads["acme"], ProofReads> {
  const proof = proofOf(state);
  const all = () => [...state.acmeAuthorizations.keys()].flatMap((id) => proof(id) ?? []);
  return {
    authorization: async (id) => proof(id),
    challenge: async (id) => {
      const challenge = state.acmeChallenges.get(id);
      const authorization = challenge && proof(challenge.authorization);
      return authorization && { challenge: plain(challenge), authorization };
    },
    dueChallenges: dueReads(state),
    authorizations: async (ids) =>
      ids.flatMap((id) => {
        const kept = state.acmeAuthorizations.get(id);
        if (kept === undefined) return [];
        const { challengeIds: _c, ...facts } = kept;
        return facts;
      }),
    openAuthorizations: async (account, limit, after) => {
      const open = all()
        .filter((one) => one.account === account)
        .filter(({ status }) => status === "pending" || status === "valid")
        .map((one) => ({ one, key: { name: one.identifier.value, id: one.id } }))
        .sort((a, b) => compareKeys(a.key, b.key));
      const behind = open.filter(({ key }) => after === undefined || compareKeys(key, after) > 0);
      const page = behind.slice(0, limit);
      return {
        items: page.map(({ one }) => one),
        next: behind.length > limit ? page.at(-1)?.key : undefined,
        total: open.length,
      };
    },
    validFor: async (account, wanted, now) => {
      const valid = all().filter(
        (one) =>
          one.account === account &&
          one.status === "valid" &&
          now < one.expiresAt &&
          wanted.some(
            ({ identifier, wildcard }) =>
              wildcard === one.wildcard && same(identifier, one.identifier),
          ),
      );
      return newest(valid, valid.length).items;
    },
  };
}

function dueReads(state: MemoryState): Reads["acme"]["dueChallenges"] {
  return async ({ at, exceptAccounts, exceptHosts }, limit, after) => {
    const due = dueChallenges(state, at).flatMap(({ id, authorization, nextAt }) => {
      const { account, identifier } = state.acmeAuthorizations.get(authorization) ?? {};
      if (account === undefined || identifier === undefined) return [];
      return { id, account, host: identifier.value, at: nextAt ?? 0 };
    });
    const behind = due
      .filter(({ account }) => !exceptAccounts.includes(account))
      .filter(({ host }) => !exceptHosts.includes(host))
      .filter(
        ({ at: when, id }) =>
          after === undefined || when > after.at || (when === after.at && id > after.id),
      );
    const page = behind.slice(0, limit);
    const last = behind.length > limit ? page.at(-1) : undefined;
    return {
      items: page.map(({ at: _at, ...challenge }) => challenge),
      next: last && { at: last.at, id: last.id },
    };
  };
}

function compareKeys(a: NameKey, b: NameKey): number {
  if (a.name !== b.name) return a.name < b.name ? -1 : 1;
  return a.id === b.id ? 0 : a.id < b.id ? -1 : 1;
}

/** The writes of a unit. */
export function acmeWrites(state: MemoryState): Unit["acme"] {
  return {
    ...accountWrites(state),
    ...eabWrites(state),
    ...orderWrites(state),
    ...proofWrites(state),
    ...challengeWrites(state),
    useNonce: async (id, expiresAt) => {
      if (state.acmeNonces.has(id)) return false;
      state.acmeNonces.set(id, expiresAt);
      return true;
    },
    pruneNonces: async (before, limit) => {
      const oldest = [...state.acmeNonces].sort(([a], [b]) => (a < b ? -1 : 1)).slice(0, limit);
      const over = oldest.filter(([, expiresAt]) => expiresAt < before);
      for (const [id] of over) state.acmeNonces.delete(id);
      return over.length;
    },
    prune: async (before, limit) => pruned(state, before, limit),
  };
}

type AccountWrites =
  | "addAccount"
  | "lockAccount"
  | "setContacts"
  | "endAccount"
  | "endAccountsOf"
  | "changeKey"
  | "endRecords"
  | "setIdle"
  | "pruneAccounts";

function accountWrites(state: MemoryState): Pick<Unit["acme"], AccountWrites> {
  const { acmeAccounts, acmeAccountKeys, acmeRecordEnds } = state;
  const byKey = findAccount(state);
  return {
    addAccount: async (account) => {
      const present = byKey(account.directory, account.thumbprint);
      if (present === undefined) acmeAccounts.set(account.id, account);
      return present;
    },
    lockAccount: async (id) => acmeAccounts.get(id),
    setContacts: async (id, contacts) => change(acmeAccounts, id, { contacts }),
    endAccount: async (id, status, at) => end(state, id, { status, at }),
    endAccountsOf: async (eab, limit, at) => {
      const ids = bound(state, eab).map(({ id }) => id);
      const ended = ids.sort().slice(0, limit);
      for (const id of ended) end(state, id, { status: "revoked", at });
      return ended;
    },
    setIdle: async (id, since) => {
      const { idleSince, status } = acmeAccounts.get(id) ?? {};
      if (idleSince !== undefined && status === "valid") {
        change(acmeAccounts, id, { idleSince: since });
      }
    },
    pruneAccounts: async (before, limit) => {
      const naming = [...state.acmeOrders.values(), ...state.acmeAuthorizations.values()];
      const named = new Set(naming.map(({ account }) => account));
      const over = [...acmeAccounts.values()]
        .filter(({ id, idleSince = before }) => idleSince < before && !named.has(id))
        .sort((a, b) => (a.idleSince ?? 0) - (b.idleSince ?? 0))
        .slice(0, limit);
      for (const { id } of over) {
        acmeAccounts.delete(id);
        acmeAccountKeys.delete(id);
        for (const key of acmeRecordEnds.keys()) {
          if (key.startsWith(`${JSON.stringify([id]).slice(0, -1)},`)) acmeRecordEnds.delete(key);
        }
      }
      return over.length;
    },
    changeKey: async (id, key) => {
      const account = acmeAccounts.get(id);
      if (account === undefined || account.thumbprint === key.thumbprint) return undefined;
      const other = byKey(account.directory, key.thumbprint);
      if (other !== undefined) return other.id;
      const { thumbprint, spkiSha256 } = account;
      const earlier = (acmeAccountKeys.get(id) ?? []).filter(
        (one) => one.thumbprint !== key.thumbprint,
      );
      acmeAccountKeys.set(id, [{ thumbprint, spkiSha256 }, ...earlier]);
      acmeAccounts.set(id, { ...account, ...key });
      return undefined;
    },
    endRecords: async (id, identifiers) => {
      const keys = acmeAccountKeys.get(id) ?? [];
      for (const one of identifiers) acmeRecordEnds.set(JSON.stringify([id, one]), keys);
    },
  };
}

function end(
  state: MemoryState,
  id: string,
  { status, at }: { readonly status: "deactivated" | "revoked"; readonly at: Instant },
): boolean {
  const account = state.acmeAccounts.get(id);
  if (account?.status !== "valid") return false;
  state.acmeAccounts.set(id, { ...account, status, idleSince: at });
  for (const [proof, one] of state.acmeAuthorizations) {
    if (one.account !== id || (one.status !== "pending" && one.status !== "valid")) continue;
    change(state.acmeAuthorizations, proof, { status: "deactivated" });
    rest(state, proof);
  }
  for (const [order, { account: whose, status: is }] of state.acmeOrders) {
    const open = is === "pending" || is === "ready";
    if (whose === id && open) change(state.acmeOrders, order, { status: "invalid" });
  }
  return true;
}

function eabWrites(state: MemoryState): Pick<Unit["acme"], "addEab" | "useEab" | "revokeEab"> {
  const { acmeEabs } = state;
  return {
    addEab: async (eab) => {
      acmeEabs.set(eab.id, eab);
    },
    useEab: async (id, now) => {
      const eab = acmeEabs.get(id);
      if (eab === undefined || eabStatus(eab, now) !== "active") return false;
      acmeEabs.set(id, { ...eab, uses: eab.uses + 1, lastUsedAt: now });
      return true;
    },
    revokeEab: async (id, at, by) => {
      const eab = acmeEabs.get(id);
      if (eab === undefined || eab.revokedAt !== undefined) return false;
      acmeEabs.set(id, { ...eab, revokedAt: at, revokedBy: by });
      return true;
    },
  };
}

type OrderWrites =
  | "addOrder"
  | "lockOrder"
  | "claimOrder"
  | "settleOrder"
  | "endOrder"
  | "markReplaced";

function orderWrites(state: MemoryState): Pick<Unit["acme"], OrderWrites> {
  const { acmeOrders } = state;
  return {
    addOrder: async (order, created) => {
      acmeOrders.set(order.id, order);
      for (const one of created) add(state, one);
    },
    lockOrder: async (id) => shownIf(acmeOrders.get(id)),
    claimOrder: async (id, at) => {
      const order = acmeOrders.get(id);
      if (order?.status !== "ready" || at >= order.expiresAt) return false;
      acmeOrders.set(id, { ...order, status: "processing", claimedAt: at });
      return true;
    },
    settleOrder: async (id, to) => {
      const order = acmeOrders.get(id);
      if (order?.status !== "processing") return false;
      const { claimedAt: _claimed, ...rested } = order;
      if (to.status !== "valid") acmeOrders.set(id, { ...rested, ...to });
      else {
        const { notAfter, caId, serial } = to.certificate;
        const certificate = { caId, serial };
        acmeOrders.set(id, { ...rested, status: "valid", error: undefined, certificate, notAfter });
      }
      return true;
    },
    endOrder: async (id, error) => {
      const status = acmeOrders.get(id)?.status;
      if (status !== "pending" && status !== "ready") return false;
      change(acmeOrders, id, { status: "invalid", error });
      return true;
    },
    markReplaced: async ({ caId, serial }, by) => {
      for (const [id, order] of acmeOrders) {
        const { certificate, replacedBy } = order;
        if (certificate?.serial !== serial || certificate.caId !== caId) continue;
        if (replacedBy !== undefined && replacedBy !== by) return false;
        acmeOrders.set(id, { ...order, replacedBy: by });
        return true;
      }
      return false;
    },
  };
}

function proofWrites(
  state: MemoryState,
): Pick<Unit["acme"], "addAuthorization" | "endAuthorization"> {
  return {
    addAuthorization: async (authorization) => add(state, authorization),
    endAuthorization: async (id, status) => {
      const is = state.acmeAuthorizations.get(id)?.status;
      if (is !== "valid" && (is !== "pending" || status !== "deactivated")) return false;
      change(state.acmeAuthorizations, id, { status });
      rest(state, id);
      return true;
    },
  };
}

function add(state: MemoryState, { challenges, ...facts }: AuthorizationRecord): void {
  const challengeIds = challenges.map(({ id }) => id);
  state.acmeAuthorizations.set(facts.id, { ...facts, challengeIds });
  for (const challenge of challenges) state.acmeChallenges.set(challenge.id, challenge);
}

type ChallengeWrites = "beginChallenge" | "claimChallenges" | "settleChallenge";

function challengeWrites(state: MemoryState): Pick<Unit["acme"], ChallengeWrites> {
  const { acmeChallenges, acmeAuthorizations, acmeAccounts } = state;
  const undecided = (id: string) => acmeAuthorizations.get(id)?.status === "pending";
  return {
    beginChallenge: async (id, at) => {
      const challenge = acmeChallenges.get(id);
      if (challenge?.status !== "pending" || !undecided(challenge.authorization)) return false;
      acmeChallenges.set(id, { ...challenge, status: "processing", nextAt: at });
      return true;
    },
    claimChallenges: async ({ ids, at, leaseUntil }) =>
      dueChallenges(state, at)
        .filter(({ id }) => ids.includes(id))
        .flatMap((challenge) => {
          const { challengeIds: _ids, ...authorization } =
            acmeAuthorizations.get(challenge.authorization) ?? {};
          if (!("account" in authorization)) return [];
          const account = acmeAccounts.get(authorization.account);
          if (account === undefined) return [];
          const taken = { ...challenge, attempts: challenge.attempts + 1, leaseUntil };
          acmeChallenges.set(taken.id, taken);
          return { challenge: plain(taken), authorization, account };
        }),
    settleChallenge: async (id, attempt, result) => {
      const challenge = acmeChallenges.get(id);
      if (challenge?.status !== "processing" || challenge.attempts !== attempt) return false;
      const { authorization } = challenge;
      if (challenge.leaseUntil === undefined || !undecided(authorization)) return false;
      const { nextAt: _n, leaseUntil: _l, ...rested } = challenge;
      if (result.kind === "again") {
        acmeChallenges.set(id, { ...rested, error: result.error, nextAt: result.at });
        return true;
      }
      const proved = result.kind === "proved";
      const [status, error] = proved ? ["valid" as const] : ["invalid" as const, result.error];
      const validatedAt = proved ? result.at : undefined;
      acmeChallenges.set(id, { ...rested, status, error, validatedAt });
      const decided = proved
        ? { status, method: challenge.type, expiresAt: result.validUntil }
        : { status };
      change(acmeAuthorizations, authorization, decided);
      rest(state, authorization);
      decideOrders(state, authorization, error);
      return true;
    },
  };
}

/** In nobody's lease, oldest first. */
const dueChallenges = ({ acmeChallenges }: MemoryState, at: Instant): readonly MemoryChallenge[] =>
  [...acmeChallenges.values()]
    .filter(({ status, nextAt }) => status === "processing" && (nextAt ?? at) <= at)
    .filter(({ leaseUntil }) => (leaseUntil ?? at) <= at)
    .sort((a, b) => (a.nextAt ?? 0) - (b.nextAt ?? 0) || (a.id < b.id ? -1 : 1));

function decideOrders(
  { acmeOrders, acmeAuthorizations }: MemoryState,
  authorization: string,
  error: OrderRecord["error"],
): void {
  for (const [id, order] of acmeOrders) {
    if (order.status !== "pending" || !order.authorizations.includes(authorization)) continue;
    const proofs = order.authorizations.map((one) => acmeAuthorizations.get(one)?.status);
    if (error !== undefined) change(acmeOrders, id, { status: "invalid", error });
    else if (proofs.every((is) => is === "valid")) change(acmeOrders, id, { status: "ready" });
  }
}

/** Nobody works on the challenges of an authorization that is decided. */
function rest({ acmeChallenges }: MemoryState, authorization: string): void {
  for (const [id, one] of acmeChallenges) {
    if (one.authorization !== authorization || one.status !== "processing") continue;
    const { nextAt: _n, leaseUntil: _l, ...rested } = one;
    acmeChallenges.set(id, { ...rested, status: "pending" });
  }
}

function pruned(state: MemoryState, before: Instant, limit: number): number {
  const { acmeOrders, acmeAuthorizations, acmeChallenges } = state;
  const endOf = ({ expiresAt, notAfter = expiresAt }: MemoryOrder) => Math.max(expiresAt, notAfter);
  const over = [...acmeOrders.values()].filter((order) => endOf(order) < before);
  const gone = over.sort((a, b) => endOf(a) - endOf(b)).slice(0, limit);
  for (const { id } of gone) acmeOrders.delete(id);
  const named = new Set([...acmeOrders.values()].flatMap(({ authorizations }) => authorizations));
  let rows = gone.length;
  for (const { id, expiresAt, challengeIds } of [...acmeAuthorizations.values()]) {
    if (named.has(id) || expiresAt >= before) continue;
    acmeAuthorizations.delete(id);
    for (const challenge of challengeIds) acmeChallenges.delete(challenge);
    rows += 1 + challengeIds.length;
  }
  return rows;
}

const findAccount =
  ({ acmeAccounts }: MemoryState) =>
  (directory: string, thumbprint: string): AccountRecord | undefined =>
    [...acmeAccounts.values()].find(
      (one) => one.directory === directory && one.thumbprint === thumbprint,
    );

const bound = ({ acmeAccounts }: MemoryState, eab: string) =>
  [...acmeAccounts.values()].filter(({ eabId, status }) => eabId === eab && status === "valid");

function proofOf({ acmeAuthorizations, acmeChallenges }: MemoryState) {
  return (id: string): AuthorizationRecord | undefined => {
    const { challengeIds, ...facts } = acmeAuthorizations.get(id) ?? {};
    if (challengeIds === undefined || !("account" in facts)) return undefined;
    const challenges = challengeIds.flatMap((one) => {
      const challenge = acmeChallenges.get(one);
      return challenge === undefined ? [] : plain(challenge);
    });
    return { ...facts, challenges };
  };
}

function eabStatus({ revokedAt, expiresAt, maxUses, uses }: EabRecord, now: Instant) {
  if (revokedAt !== undefined) return "revoked";
  if (expiresAt !== undefined && expiresAt <= now) return "expired";
  return maxUses !== 0 && uses >= maxUses ? "exhausted" : "active";
}

const meets =
  ({ reach, status, account, now }: OrderFilter) =>
  (order: OrderRecord): boolean => {
    if (!coversCa(reach, { id: order.caId, tenant: order.tenant })) return false;
    if (account !== undefined && order.account !== account) return false;
    const open = order.status === "pending" || order.status === "ready";
    const is = open && order.expiresAt <= now ? "invalid" : order.status;
    return (status ?? is) === is;
  };

const same = (one: Identifier, other: Identifier) =>
  one.type === other.type && one.value === other.value;

function shown({
  claimedAt: _c,
  notAfter: _n,
  replacedBy: _r,
  ...order
}: MemoryOrder): OrderRecord {
  return order;
}

const shownIf = (order: MemoryOrder | undefined) =>
  order === undefined ? undefined : shown(order);

function plain({ nextAt: _n, leaseUntil: _l, ...challenge }: MemoryChallenge): ChallengeRecord {
  return challenge;
}

interface Aged {
  readonly id: string;
  readonly createdAt: Instant;
}

const newest = <T extends Aged>(rows: readonly T[], limit: number, after?: PageKey) =>
  pageOf(rows, ({ createdAt: at, id }) => ({ at, id }), limit, after);

const byAge = (a: Aged, b: Aged) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1);

function change<T>(rows: Map<string, T>, id: string, changes: Partial<T>): void {
  const row = rows.get(id);
  if (row !== undefined) rows.set(id, { ...row, ...changes });
}
