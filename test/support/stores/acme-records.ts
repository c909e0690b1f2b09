/** Records of ACME for the store, complete and distinct; a test names only what it is about. */

import { caId, defaultTenant } from "#core/ids.ts";
import { type Instant, instant } from "#core/time.ts";
import type { ReplacementItem, ReplacementRecord } from "#domain/acme/replacement-store.ts";
import type {
  AccountRecord,
  AuthorizationRecord,
  ChallengeRecord,
  EabRecord,
  OrderRecord,
} from "#domain/acme/store.ts";
import type { StoredProblem } from "#core/acme/problems.ts";
import type { Store } from "#domain/store.ts";

import { newSerial, noon } from "./records.ts";

const hour = 3_600_000;

/** That many seconds after noon. */
export const later = (seconds: number): Instant => instant(noon + seconds * 1000);

export function account(facts: Partial<AccountRecord> = {}): AccountRecord {
  const id = facts.id ?? crypto.randomUUID();
  return {
    id,
    directory: "default",
    tenant: defaultTenant,
    status: "valid",
    thumbprint: `thumbprint ${id}`,
    jwk: `{"key":"${id}"}`,
    spkiSha256: `spki ${id}`,
    contacts: ["mailto:ops@example.com"],
    termsAgreedAt: noon,
    eabId: undefined,
    createdAt: noon,
    idleSince: undefined,
    ...facts,
  };
}

export function eab(facts: Partial<EabRecord> = {}): EabRecord {
  return {
    id: `eab_${crypto.randomUUID()}`,
    directory: "default",
    caId: caId("ca"),
    tenant: defaultTenant,
    name: "fleet",
    description: "",
    profile: undefined,
    dnsSuffixes: ["example.com"],
    ipRanges: ["192.0.2.0/24"],
    allowWildcards: false,
    anyIdentifier: false,
    maxUses: 1,
    uses: 0,
    createdBy: "root",
    createdAt: noon,
    expiresAt: undefined,
    lastUsedAt: undefined,
    revokedAt: undefined,
    revokedBy: undefined,
    ...facts,
  };
}

/** A pending one of `account`, with a challenge of each of these types. */
export function authorization(
  facts: Partial<AuthorizationRecord> = {},
  types: readonly ChallengeRecord["type"][] = ["http-01", "dns-01"],
): AuthorizationRecord {
  const id = facts.id ?? crypto.randomUUID();
  const challenges = types.map((type) => challenge({ authorization: id, type }));
  return {
    id,
    account: "account",
    directory: "default",
    identifier: { type: "dns", value: "www.example.com" },
    wildcard: false,
    status: "pending",
    createdAt: noon,
    expiresAt: instant(noon + hour),
    method: undefined,
    challenges,
    ...facts,
  };
}

export function challenge(facts: Partial<ChallengeRecord> = {}): ChallengeRecord {
  return {
    id: crypto.randomUUID(),
    authorization: "authorization",
    type: "http-01",
    token: "token",
    status: "pending",
    validatedAt: undefined,
    error: undefined,
    attempts: 0,
    ...facts,
  };
}

/** A pending order with these authorizations, and their account and names. */
export function order(
  proofs: readonly AuthorizationRecord[],
  facts: Partial<OrderRecord> = {},
): OrderRecord {
  return {
    id: crypto.randomUUID(),
    account: proofs[0]?.account ?? "account",
    directory: "default",
    tenant: defaultTenant,
    caId: caId("ca"),
    status: "pending",
    identifiers: proofs.map(({ identifier }) => identifier),
    authorizations: proofs.map(({ id }) => id),
    profile: "tls-server",
    replaces: undefined,
    createdAt: noon,
    expiresAt: instant(noon + hour),
    error: undefined,
    certificate: undefined,
    ...facts,
  };
}

/** A running plan. */
export function replacement(facts: Partial<ReplacementRecord> = {}): ReplacementRecord {
  return {
    id: crypto.randomUUID(),
    caId: caId("ca"),
    tenant: defaultTenant,
    selection: "profile tls-server",
    start: noon,
    end: instant(noon + hour),
    perSecond: 0.25,
    revoke: undefined,
    state: "running",
    createdBy: "root",
    createdAt: noon,
    ...facts,
  };
}

export function item(replacementId: string, facts: Partial<ReplacementItem> = {}): ReplacementItem {
  return {
    replacement: replacementId,
    caId: caId("ca"),
    serial: newSerial(),
    start: noon,
    end: instant(noon + hour),
    replacedAt: undefined,
    revokedAt: undefined,
    ...facts,
  };
}

/** What went wrong with a proof. */
export const problem: StoredProblem = {
  type: "unauthorized",
  detail: "The proof is not there.",
  status: 403,
  identifier: { type: "dns", value: "www.example.com" },
};

/** Stores an account of its own, authorizations of it, and an order that names all of them. */
export async function ordered(
  store: Store,
  proofs: readonly Partial<AuthorizationRecord>[] = [{}],
  facts: Partial<OrderRecord> = {},
) {
  const owner = account(facts.account === undefined ? {} : { id: facts.account });
  await store.atomically((tx) => tx.acme.addAccount(owner));
  const created = proofs.map((one) => authorization({ account: owner.id, ...one }));
  const own = order(created, { account: owner.id, ...facts });
  await store.atomically((tx) => tx.acme.addOrder(own, created));
  return { account: owner, proofs: created, order: own };
}
