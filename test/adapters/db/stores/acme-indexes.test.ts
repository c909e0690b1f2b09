/**
 * How SQLite finds what ACME asks for: by the end of an index, however many orders there are. With
 * a million of them a statement that walks a table would hold up everybody.
 */

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { caId, tenantId } from "#core/ids.ts";
import { orderStates } from "#domain/acme/store.ts";
import type { Store, Unit } from "#domain/store.ts";
import * as make from "#test/support/stores/acme-records.ts";
import { only } from "#test/support/stores/reach.ts";
import { newSerial, noon } from "#test/support/stores/records.ts";
import { heardStatements } from "#test/support/stores/statements.ts";
import { sqliteDatabase } from "#test/support/stores/stores.ts";

const { later, problem } = make;

let store: Store;
let database: Database;

beforeAll(async () => {
  const own = sqliteDatabase();
  store = await own.open();
  database = new Database(own.target, { readonly: true });
});
afterAll(async () => {
  database.close();
  await store.close();
});

/** The steps of all statements about ACME that `work` sends, each once. */
async function plansOf(work: () => Promise<unknown>): Promise<readonly string[]> {
  const { sent, deaf } = heardStatements();
  try {
    await work();
  } finally {
    deaf();
  }
  const steps = new Set<string>();
  for (const text of new Set(sent.filter((one) => one.includes("acme_")))) {
    if (text.startsWith("insert")) continue;
    // As the query names it.
    const rows = database.query(`explain query plan ${text}`).all() as { detail: string }[];
    for (const { detail } of rows) steps.add(detail);
  }
  return [...steps];
}

/** Tables and indexes that are walked, and what is sorted. */
const walks = (steps: readonly string[]) =>
  steps.filter(
    (step) =>
      (step.startsWith("SCAN ") && !/^SCAN (json_each|CONSTANT)/.test(step)) || isSort(step),
  );

const isSort = (step: string) => step === "USE TEMP B-TREE FOR ORDER BY";
const sort = "USE TEMP B-TREE FOR ORDER BY";

type Work = readonly [name: string, work: () => Promise<unknown>, walked?: readonly string[]];

const within = (work: (tx: Unit) => Promise<unknown>) => () => store.atomically(work);

const name = { caId: caId("ca"), serial: newSerial() };
const after = { at: 1, id: "a" };
const claim = { at: noon, leaseUntil: later(9) };
const due = { at: noon, exceptAccounts: ["busy"], exceptHosts: ["slow.example"] };
const results = [
  { kind: "proved", at: noon, validUntil: later(9) },
  { kind: "again", at: noon, error: problem },
  { kind: "failed", at: noon, error: problem },
] as const;
const wanted = [{ identifier: { type: "dns", value: "a.example" }, wildcard: false }] as const;

/** Only the first row is looked at, from which each next pair is found. */
const firstAccount = "SCAN acme_accounts USING COVERING INDEX acme_accounts_listing";
const firstOrder = "SCAN acme_orders USING COVERING INDEX acme_orders_listing";

const accountReads: readonly Work[] = [
  ["an account", () => store.read.acme.account("a")],
  ["an account by its key", () => store.read.acme.accountByKey("a", "b")],
  ["keys of an account", () => store.read.acme.thumbprints("a", "b")],
  ["whose a key is", () => store.read.acme.isAccountKey("a")],
  ["accounts", () => store.read.acme.accounts({ reach: "platform" }, 5, after), [firstAccount]],
  ["accounts of a credential", () => store.read.acme.boundAccounts("a")],
];

const orders = (filter: object, walked: readonly string[] = []): Work => [
  `orders ${JSON.stringify(filter)}`,
  () => store.read.acme.orders({ reach: "platform", now: noon, ...filter }, 5, after),
  walked,
];

const orderReads: readonly Work[] = [
  ["an order", () => store.read.acme.order("a")],
  orders({}, [firstOrder]),
  orders({ reach: only([tenantId("a")], [caId("b")]) }, [firstOrder]),
  orders({ account: "a" }),
  ...orderStates.map((status) => orders({ status }, status === "valid" ? [firstOrder] : [])),
  ["whose a certificate is", () => store.read.acme.obtained(name)],
  ["what is being finalized", () => store.read.acme.processing(true, 5)],
  ["what was being finalized", () => store.read.acme.processing(false, 5)],
];

const proofReads: readonly Work[] = [
  ["an authorization", () => store.read.acme.authorization("a")],
  ["a challenge", () => store.read.acme.challenge("a")],
  ["open authorizations", () => store.read.acme.openAuthorizations("a", 5, { name: "a", id: "b" })],
  ["what is to be proved", () => store.read.acme.dueChallenges(due, 5, after)],
  // What an account has proved of one name.
  ["what is proved", () => store.read.acme.validFor("a", wanted, noon), [sort]],
];

const orderWork: readonly Work[] = [
  [
    "an order that uses proofs again",
    async () => {
      const { proofs } = await make.ordered(store);
      await store.atomically((tx) => tx.acme.addOrder(make.order(proofs), []));
    },
  ],
  ["a claim of an order", within((tx) => tx.acme.claimOrder("a", noon))],
  [
    "an order that is settled",
    within(async (tx) => {
      await tx.acme.settleOrder("a", { status: "ready" });
      await tx.acme.settleOrder("a", { status: "invalid", error: problem });
      const certificate = { ...name, notAfter: noon };
      await tx.acme.settleOrder("a", { status: "valid", certificate });
    }),
  ],
  ["a certificate that is replaced", within((tx) => tx.acme.markReplaced(name, "a"))],
  // As many of the oldest as were asked for.
  ["nonces that go", within((tx) => tx.acme.pruneNonces(noon, 5)), ["SCAN acme_nonces", "SCAN o"]],
  ["orders that go", within((tx) => tx.acme.prune(later(1e9), 5))],
];

const proofWork: readonly Work[] = [
  ["an authorization that ends", within((tx) => tx.acme.endAuthorization("a", "revoked"))],
  ["a claim of one challenge", within((tx) => tx.acme.claimChallenges({ ...claim, ids: ["a"] }))],
  // Those that were taken.
  ["work that is taken and done", worked, [sort]],
  [
    "an account that ends",
    async () => {
      const { account } = await make.ordered(store);
      await store.atomically((tx) => tx.acme.endAccount(account.id, "revoked", noon));
    },
    // What is being worked on.
    ["SCAN acme_challenges USING COVERING INDEX acme_challenges_due"],
  ],
  ["an account that is not idle", within((tx) => tx.acme.setIdle("a", noon))],
  [
    "idle accounts that go",
    async () => {
      const idle = make.account({ idleSince: noon });
      await store.atomically((tx) => tx.acme.addAccount(idle));
      const went = await store.atomically((tx) => tx.acme.pruneAccounts(later(1), 5));
      expect(went).toBeGreaterThan(0);
    },
  ],
  ["accounts that end", within((tx) => tx.acme.endAccountsOf("a", 5, noon))],
  [
    "a key that is changed",
    async () => {
      const { account } = await make.ordered(store);
      const key = { thumbprint: "x", jwk: "y", spkiSha256: "z" };
      await store.atomically((tx) => tx.acme.changeKey(account.id, key));
    },
  ],
  ["records that end", within((tx) => tx.acme.endRecords("a", ["b"]))],
  [
    "a credential that is used and revoked",
    within(async (tx) => {
      await tx.acme.useEab("a", noon);
      await tx.acme.revokeEab("a", noon, "b");
    }),
  ],
];

async function worked(): Promise<void> {
  for (const result of results) {
    const { proofs } = await make.ordered(store);
    const id = proofs[0]?.challenges[0]?.id ?? "";
    await store.atomically((tx) => tx.acme.beginChallenge(id, noon));
    const { items } = await store.read.acme.dueChallenges(due, 5);
    expect(items.map((one) => one.id)).toContain(id);
    await store.atomically((tx) => tx.acme.claimChallenges({ ...claim, ids: [id, "none"] }));
    expect(await store.atomically((tx) => tx.acme.settleChallenge(id, 1, result))).toBe(true);
  }
}

const ended = { serial: name.serial, notAfter: noon };
const asked = "SCAN g VIRTUAL TABLE INDEX 1:";
const identifiers = [{ type: "dns", value: "a.test" }] as const;

const replacements: readonly Work[] = [
  ["the plan of a certificate", () => store.read.replacements.plannedFor(name), [sort]],
  ["what is left to revoke", () => store.read.replacements.unrevoked("a", true, 5)],
  ["what was replaced", () => store.read.replacements.unrevoked("a", false, 5)],
  ["items of a plan", () => store.read.replacements.items("a", 5, "b")],
  ["how far a plan has come", () => store.read.replacements.counts("a")],
  ["what is replaced", within((tx) => tx.replacements.noteReplaced(name, noon))],
  // The certificates that are asked about.
  ["what ACME gave", () => store.read.replacements.obtained(name.caId, [ended]), [asked]],
  // The newest orders of a name.
  [
    "what an order covers",
    () => store.read.replacements.covered({ account: "a", identifiers }),
    ["SCAN of_name"],
  ],
  // Operators make plans, and none is deleted.
  ["whether a plan is open", () => store.read.replacements.any(), ["SCAN r"]],
  [
    "items that go",
    within((tx) => tx.replacements.pruneItems(noon, 5)),
    ["SCAN acme_replacements"],
  ],
  ["what is revoked", within((tx) => tx.replacements.noteRevoked("a", [name], noon))],
];

describe("an index finds", () => {
  const all = [accountReads, orderReads, proofReads, orderWork, proofWork, replacements].flat();
  test.each(all.map(([what, work, walked]) => [what, { work, walked }] as const))(
    "%s",
    async (_what, { work, walked = [] }) => {
      const steps = await plansOf(work);
      expect(steps.length).toBeGreaterThan(0);
      expect(walks(steps)).toEqual([...walked]);
    },
  );
});
