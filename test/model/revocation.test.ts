/**
 * Random histories of a CA's revocations against the model: table, every CRL and OCSP agree with it
 * after every step.
 */

import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";

import fc from "fast-check";

import type { Serial } from "#core/ids.ts";
import type { Selection } from "#core/policy/selection.ts";
import { Problem } from "#core/problems.ts";
import { addSeconds, type Instant } from "#core/time.ts";
import { type CrlEntry, type ParsedCrl, parseCrl } from "#core/x509/crl.ts";
import type { RevocationReason } from "#core/x509/reasons.ts";
import { fullScope } from "#domain/revocation/scopes.ts";
import type { CrlHead, CrlKind } from "#domain/revocation/store.ts";
import { createMemoryStore } from "#test/support/stores/memory-store.ts";
import { type SharedPostgres, sharePostgres } from "#test/support/servers/postgres.ts";
import {
  type Entry,
  type Kept,
  type Known,
  RevocationWorld,
} from "#test/support/worlds/revocation-world.ts";
import { rootOrigin } from "#test/support/worlds/small-ca.ts";
import { postgresDatabase, sqliteDatabase } from "#test/support/stores/stores.ts";

setDefaultTimeout(240_000);
let server: SharedPostgres;
beforeAll(async () => {
  server = await sharePostgres();
});

type Bulk = {
  readonly do: "bulk";
  /** Places among the known; empty means all. */
  readonly named: readonly number[];
  readonly reason: RevocationReason;
  readonly includeExpired: boolean;
  readonly batchSize: number;
  /** Added to the number that is right. */
  readonly off: number;
};
type Step =
  | { readonly do: "issue"; readonly kind: Known["kind"]; readonly days: number }
  | { readonly do: "revoke"; readonly which: number; readonly reason: RevocationReason }
  | { readonly do: "suspend" | "release"; readonly which: number }
  | { readonly do: "publish"; readonly kind: CrlKind; readonly which: number }
  | { readonly do: "restart"; readonly shards: number }
  | { readonly do: "jobs" }
  | { readonly do: "wait"; readonly seconds: number }
  | Bulk;

const reasons = ["unspecified", "keyCompromise", "superseded", "certificateHold"] as const;
const which = fc.nat(11);
const anyStep = fc.oneof<fc.WeightedArbitrary<Step>[]>(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("issue"),
      days: fc.constantFrom(1, 90),
      kind: fc.constantFrom("leaf", "leaf", "leaf", "public", "ca", "bare"),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant("revoke"), which, reason: fc.constantFrom(...reasons) }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constantFrom("suspend", "release"), which }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("bulk"),
      named: fc.uniqueArray(which, { maxLength: 5 }),
      reason: fc.constantFrom(...reasons),
      includeExpired: fc.boolean(),
      batchSize: fc.integer({ min: 1, max: 3 }),
      off: fc.constantFrom(0, 0, 0, 1),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("publish"),
      which,
      kind: fc.constantFrom<CrlKind>("base", "delta", "delta"),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("restart"), shards: fc.constantFrom(0, 2, 3, 5) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("jobs") }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("wait"),
      seconds: fc.constantFrom(-600, 1, 60, 3600, 90_000),
    }),
  },
);

const kinds: readonly (readonly [string, number, () => Promise<Kept>])[] = [
  ["memory", 400, async () => once(createMemoryStore())],
  ["SQLite", 4, async () => ({ open: sqliteDatabase().open, durable: true })],
  ["PostgreSQL", 4, async () => ({ open: (await postgresDatabase(server)).open, durable: true })],
];

for (const [name, numRuns, kept] of kinds) {
  test(`base and delta of every scope, and OCSP, are what the model says after every step, on ${name}`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { minLength: 5, maxLength: 40 }), async (steps) => {
        const checked = new Checked(await RevocationWorld.open(await kept()));
        for (const step of steps) {
          await play(checked.world, step);
          await checked.agree();
        }
        await checked.world.close();
      }),
      { numRuns, seed: 20_261_120 },
    );
  });
}

const once = (store: Awaited<ReturnType<Kept["open"]>>): Kept => ({
  open: async () => store,
  durable: false,
});

async function play(world: RevocationWorld, step: Step): Promise<void> {
  const { small, running } = world;
  const scopes = () => running.scopes.all(small.ca.id);
  switch (step.do) {
    case "issue":
      await world.issue(step.kind, step.days * 86_400);
      return;
    case "restart":
      await world.restart(step.shards);
      return;
    case "wait":
      if (step.seconds < 0) small.clock.step(step.seconds);
      else small.clock.advance(step.seconds);
      return;
    case "jobs":
      await jobs(world);
      return;
    case "publish": {
      const all = await scopes();
      const scope = all[step.which % all.length] ?? fullScope;
      if (step.kind === "base") await running.publisher.publish(small.ca, rootOrigin, scope);
      else await running.publisher.publishDelta(small.ca, rootOrigin, scope);
      return;
    }
    case "bulk":
      await bulk(world, step);
      return;
    default:
      await single(world, step);
  }
}

/** What the schedule does within seconds; afterwards everything published is up to date. */
async function jobs({ small, running, store, sequence }: RevocationWorld): Promise<void> {
  for (const _ of [1, 2]) {
    small.clock.advance(4);
    await running.refresh.afterRevocations();
  }
  await running.refresh.renewals();
  for (const scope of await store.read.revocations.publishedScopes(small.ca.id)) {
    if (!(await running.scopes.all(small.ca.id)).includes(scope)) continue;
    const { base, delta } = await running.publisher.newest(small.ca.id, scope);
    const latest = (await running.scopes.touched(small.ca.id, 0)).get(scope) ?? 0;
    expect(Math.max(base?.sequence ?? 0, delta?.sequence ?? 0)).toBeGreaterThanOrEqual(
      Math.min(latest, sequence),
    );
  }
}

async function single(
  world: RevocationWorld,
  step: Extract<Step, { readonly which: number }> & {
    readonly do: "revoke" | "suspend" | "release";
  },
): Promise<void> {
  const target = world.known[step.which % Math.max(1, world.known.length)];
  if (target === undefined) return;
  const { ca } = world.small;
  const { revoker } = world.running;
  const request = { ca, serial: target.serial, origin: rootOrigin, mayManageCa: true };
  const reason = "reason" in step ? step.reason : undefined;
  const expected = outcome(world, target, step.do, reason);
  const told = await (reason === undefined
    ? revoker[step.do as "suspend" | "release"](request) // A step with a reason is a revocation.
    : revoker.revoke(request, reason)
  ).then(
    ({ status }) => status,
    (error) => (error instanceof Problem ? error.code : String(error)),
  );
  expect(told).toBe(expected);
  if (told === "revoked") world.note([target], reason);
  if (told === "held") world.note([target], "certificateHold");
  if (told === "released") world.note([target], undefined);
}

/** The transition table (TRN-1), once more. */
function outcome(
  world: RevocationWorld,
  target: Known,
  action: "revoke" | "suspend" | "release",
  reason: RevocationReason | undefined,
): string {
  const state = world.stateOf(target);
  if (action === "release") return state === "held" ? "released" : "not_held";
  if (action === "revoke" && reason !== "certificateHold") {
    return state === "revoked" ? "already-revoked" : "revoked";
  }
  if (state === "held") return "already-held";
  if (target.kind === "ca" || target.kind === "public") return "hold_not_permitted";
  if (state === "revoked") return "already_revoked";
  if (state === "unknown") return "not_found";
  return state === "expired" ? "certificate_expired" : "held";
}

/**
 * A bulk run with the number the model expects, or one more; and the same once more under its id.
 */
async function bulk(world: RevocationWorld, step: Bulk): Promise<void> {
  const { known, small } = world;
  const named = [
    ...new Set(step.named.flatMap((at) => known[at % Math.max(1, known.length)] ?? [])),
  ];
  const serials = named.length === 0 ? undefined : named.map(({ serial }) => serial);
  const hold = step.reason === "certificateHold";
  const selection: Selection = { serials, includeExpired: step.includeExpired };
  const meant = serials === undefined ? known.filter(isLeaf) : named;
  const hopeless = hold && named.some((one) => world.stateOf(one) === "unknown");
  const changing = meant.filter((one) => changes(world, one, step)).sort(bySerial);
  const order = {
    operationId: crypto.randomUUID(),
    reason: step.reason,
    selection,
    all: true,
    batchSize: step.batchSize,
    confirmed: changing.length + step.off,
  };
  const run = world.running.bulk.execute(rootOrigin, small.ca, order);
  const told = await run.then(
    ({ revoked }) => revoked,
    (error) => (error instanceof Problem ? error.code : String(error)),
  );
  const refusal = hopeless ? "unknown_serials" : "confirm_count_mismatch";
  expect(told).toBe(hopeless || step.off !== 0 ? refusal : changing.length);
  if (typeof told === "string") return;
  world.note(changing, step.reason);
  const again = await world.running.bulk.execute(rootOrigin, small.ca, order);
  expect(again).toMatchObject({ revoked: 0, skipped: changing.length });
}

/** BLK-1, once more. */
function changes(world: RevocationWorld, one: Known, { reason, includeExpired }: Bulk): boolean {
  const state = world.stateOf(one);
  if (reason === "certificateHold") return state === "good" && one.kind === "leaf";
  return state === "expired" ? includeExpired : state !== "revoked";
}

const isLeaf = ({ kind }: Known) => kind === "leaf" || kind === "public";
const bySerial = (a: Known, b: Known) => Number(BigInt(a.serial) - BigInt(b.serial));

interface Listed {
  readonly head: CrlHead;
  readonly crl: ParsedCrl;
  readonly entries: ReadonlyMap<Serial, CrlEntry>;
}

/** Holds what is published against the model, each list once: a published list never changes. */
class Checked {
  readonly #seen = new Map<string, Listed>();
  /**
   * Entries that were on a full base later than their certificate's expiry, by the change that made
   * them.
   */
  readonly #done = new Map<Serial, number>();
  readonly #last = new Map<string, { number: number; thisUpdate: Instant }>();

  constructor(readonly world: RevocationWorld) {}

  async agree(): Promise<void> {
    const { world } = this;
    const { ca, failures } = world.small;
    expect(failures).toEqual([]);
    await this.#table();
    for (const { serial, kind, entry } of world.known) {
      const status = entry
        ? { status: "revoked", at: entry.at, reason: entry.reason }
        : { status: kind === "bare" ? "unknown" : "good" };
      expect(await world.ocsp(serial)).toEqual(status as never);
    }
    for (const scope of await world.store.read.revocations.publishedScopes(ca.id)) {
      const { base, delta } = await world.running.publisher.newest(ca.id, scope);
      const listed = base && (await this.#listed(base));
      if (listed !== undefined && delta !== undefined) await this.#union(listed, delta);
    }
  }

  async #table(): Promise<void> {
    const { known, small, store, sequence } = this.world;
    const { items } = await store.read.revocations.page({ caId: small.ca.id }, 500);
    const rows = items.map((row) => [row.serial, row.revokedAt, row.reason, row.sequence]);
    const wanted = known.flatMap(({ serial, entry }) =>
      entry ? [[serial, entry.at, entry.reason, entry.sequence]] : [],
    );
    expect(rows.sort()).toEqual(wanted.sort() as never);
    expect(await store.read.revocations.sequence()).toBe(sequence);
  }

  /** The list, checked when it is first seen. */
  async #listed(head: CrlHead): Promise<Listed> {
    const key = `${head.scope}/${head.number}`;
    const seen = this.#seen.get(key);
    if (seen !== undefined) return seen;
    const crl = parseCrl(await this.world.running.publisher.der(head));
    const entries = new Map(crl.entries.map((entry) => [entry.serial, entry]));
    expect([entries.size, crl.number]).toEqual([crl.entries.length, head.number]);
    const listed = { head, crl, entries };
    this.#seen.set(key, listed);
    this.#order(head);
    if (head.base === undefined) this.#base(listed);
    return listed;
  }

  /**
   * CRL-1, CRL-2: neither numbers nor times of a scope go back, but from a future the clock has
   * come back from.
   */
  #order({ scope, number, thisUpdate }: CrlHead): void {
    const last = this.#last.get(scope);
    if (last !== undefined) {
      expect(number).toBeGreaterThan(last.number);
      const soonest = addSeconds(last.thisUpdate, 1);
      if (last.thisUpdate <= this.world.now) expect(thisUpdate).toBeGreaterThanOrEqual(soonest);
    }
    this.#last.set(scope, { number, thisUpdate });
  }

  /**
   * CRL-7, CRL-9: what the scope has to list, less what has done its time; of partitions expired
   * ones may be missing.
   */
  #base({ head, entries }: Listed): void {
    const { known } = this.world;
    const snapshot = this.#snapshot(head.sequence);
    for (const one of known) {
      const { serial, notAfter } = one;
      const entry = snapshot.get(serial);
      const wanted = entry !== undefined && this.world.belongs(one, head.scope, head.modulus);
      const expired = notAfter !== undefined && notAfter < head.thisUpdate;
      const done = entry !== undefined && this.#done.get(serial) === entry.sequence;
      if (head.scope === fullScope)
        expect([serial, entries.has(serial)]).toEqual([serial, wanted && !done]);
      else if (!expired) expect([serial, entries.has(serial)]).toEqual([serial, wanted]);
      else if (!wanted) expect(entries.has(serial)).toBe(false);
      const listed = entries.get(serial);
      if (listed !== undefined && entry !== undefined) expect(facts(listed)).toEqual(facts(entry));
      if (head.scope === fullScope && expired && listed !== undefined && entry !== undefined) {
        this.#done.set(serial, entry.sequence);
      }
    }
  }

  /** CRL-12: the base with what the delta changes is the table when the delta was made. */
  async #union(base: Listed, head: CrlHead): Promise<void> {
    if (this.#seen.has(`${head.scope}/${head.number}`)) return;
    const delta = await this.#listed(head);
    const [before, after] = [this.#snapshot(base.head.sequence), this.#snapshot(head.sequence)];
    const told = new Map<Serial, object>(
      [...base.entries].map(([serial, one]) => [serial, facts(one)]),
    );
    for (const [serial, entry] of delta.entries) {
      if (entry.reason !== "removeFromCRL") told.set(serial, facts(entry));
      else expect(told.delete(serial)).toBe(true);
    }
    const wanted = this.world.known.flatMap((one) => {
      const entry = after.get(one.serial);
      if (entry === undefined || !this.world.belongs(one, head.scope, base.head.modulus)) return [];
      const left =
        !base.entries.has(one.serial) && before.get(one.serial)?.sequence === entry.sequence;
      return left ? [] : [[one.serial, facts(entry)] as const];
    });
    expect(told).toEqual(new Map(wanted));
  }

  #snapshot(sequence: number): ReadonlyMap<Serial, Entry> {
    const snapshot = this.world.snapshots.get(sequence);
    if (snapshot === undefined) throw new Error(`no state has the number ${sequence}`);
    return snapshot;
  }
}

const facts = (entry: Entry | CrlEntry) => ({
  at: "at" in entry ? entry.at : entry.revokedAt,
  reason: entry.reason,
});
