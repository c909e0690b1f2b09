/** What a store guarantees about bulk revocations, whoever keeps it. */

import { expect, test } from "bun:test";

import { type CaId, caId, parseSerial, type Serial } from "#core/ids.ts";
import { instant } from "#core/time.ts";
import type { BulkRunFacts, Candidate, CandidateRange } from "#domain/revocation/bulk-store.ts";
import type { Store } from "#domain/store.ts";
import { certificate, issue, noon, revocation } from "#test/support/stores/records.ts";
import { somebody } from "#test/support/worlds/governed-world.ts";

/** The guarantees, as tests of the store `given` holds. */
export function bulkRevocationContract(given: () => { readonly store: Store }): void {
  const facts = (wanted: Partial<BulkRunFacts> = {}): BulkRunFacts => ({
    lineage: caId(crypto.randomUUID()),
    id: crypto.randomUUID(),
    caId: caId(crypto.randomUUID()),
    reason: "superseded",
    digest: "ab".repeat(32),
    filter: "all",
    batchSize: 500,
    startedAt: noon,
    actor: "root",
    actorName: "",
    actorRoles: "root",
    ip: "192.0.2.1",
    requestId: "r",
    approval: "",
    maker: somebody("alice", ["admin"]),
    ...wanted,
  });
  const serials = (...texts: string[]) => texts.map(parseSerial);
  const toRunSerials = (caId: CaId, its: readonly Serial[]) =>
    its.map((serial) => ({ caId, serial }));
  const begin = async (run: BulkRunFacts, left: readonly Serial[]) => {
    await given().store.atomically(async (tx) => {
      await tx.bulkRevocations.claim(run);
      await tx.bulkRevocations.stage(run, toRunSerials(run.caId, left));
      await tx.bulkRevocations.start(run, left.length);
    });
  };

  test("a run is taken once, keeps what it stands for, and is nobody's once it has finished", async () => {
    const { store } = given();
    const run = facts();
    const first = await store.atomically((tx) => tx.bulkRevocations.claim(run));
    const begun = { ...run, planned: 0, revoked: 0, upgraded: 0, skipped: 0, batches: 0 };
    expect(first).toEqual({ run: { ...begun, state: "selecting" }, mine: true });
    await store.atomically((tx) => tx.bulkRevocations.start(run, 3));
    const other = { ...run, digest: "cd".repeat(32) };
    const again = await store.atomically((tx) => tx.bulkRevocations.claim(other));
    expect(again.run).toEqual({ ...begun, planned: 3, state: "running" });
    await store.atomically((tx) => tx.bulkRevocations.settle(run, "finished"));
    const last = await store.atomically((tx) => tx.bulkRevocations.claim(run));
    expect([last.run.state, last.mine]).toEqual(["finished", false]);
    expect(await store.read.bulkRevocations.run({ ...run, id: "none" })).toBeUndefined();
  });

  test("an id is another run in another lineage", async () => {
    const { store } = given();
    const mine = facts();
    const foreign = facts({ id: mine.id, digest: "cd".repeat(32) });
    await begin(mine, serials("1", "2"));
    await begin(foreign, serials("3"));
    const next = (run: BulkRunFacts) => store.atomically((tx) => tx.bulkRevocations.next(run, 9));
    expect((await next(mine)).map(({ serial }) => String(serial))).toEqual(["1", "2"]);
    expect((await next(foreign)).map(({ serial }) => String(serial))).toEqual(["3"]);
    await store.atomically((tx) => tx.bulkRevocations.settle(foreign, "finished"));
    expect(await store.read.bulkRevocations.run(mine)).toMatchObject({ state: "running" });
    expect(await store.read.bulkRevocations.run(foreign)).toMatchObject({ state: "finished" });
  });

  test("serials are worked off in the order of their numbers, and what is done is counted", async () => {
    const { store } = given();
    const run = facts();
    await begin(run, serials("100", "9", "1000000000000000000000000000000000000000", "11"));
    const next = (limit: number) => store.atomically((tx) => tx.bulkRevocations.next(run, limit));
    expect((await next(2)).map(({ serial }) => String(serial))).toEqual(["9", "11"]);
    await store.atomically((tx) => {
      const more = { revoked: 1, upgraded: 1, skipped: 1, batches: 1 };
      return tx.bulkRevocations.advance(run, { caId: run.caId, serial: parseSerial("11") }, more);
    });
    expect((await next(9)).map(({ serial }) => String(serial))).toEqual([
      "100",
      "1000000000000000000000000000000000000000",
    ]);
    expect((await store.read.bulkRevocations.active()).has(run.caId)).toBe(true);
    expect(await store.read.bulkRevocations.run(run)).toMatchObject({
      planned: 4,
      revoked: 1,
      upgraded: 1,
      skipped: 1,
      batches: 1,
      state: "running",
    });
  });

  test("a serial of a run is shown as it stands: certificate, entry, or neither", async () => {
    const { store } = given();
    const run = facts();
    const row = certificate({ caId: run.caId, serial: parseSerial("1") });
    await issue(store, row);
    const entry = revocation({ caId: run.caId, serial: parseSerial("2"), known: false });
    await store.atomically((tx) => tx.revocations.put(entry));
    await begin(run, serials("1", "2", "3"));
    const { kind, status, notAfter, profile, spkiSha256 } = row;
    const { reason, revokedAt } = entry;
    const [one, two, three] = await store.atomically((tx) => tx.bulkRevocations.next(run, 9));
    expect(one?.certificate).toMatchObject({ kind, status, notAfter, profile, spkiSha256 });
    expect(one?.entry).toBeUndefined();
    expect(two?.certificate).toBeUndefined();
    expect(two?.entry).toMatchObject({ reason, revokedAt });
    expect([three?.certificate, three?.entry]).toEqual([undefined, undefined]);
    const known = await store.read.bulkRevocations.named(run.caId, serials("1", "2", "3"));
    expect(known.map(({ serial }) => serial)).toEqual([row.serial]);
    const bare = await store.read.bulkRevocations.bare(run.caId, serials("1", "2", "3"));
    expect([...bare]).toEqual([[parseSerial("2"), "revoked"]]);
  });

  test("serials of several CAs of a lineage keep their CA, in the order of numbers", async () => {
    const { store } = given();
    const run = facts();
    const other = caId(crypto.randomUUID());
    const [one, two, ten] = serials("1", "2", "10");
    if (!one || !two || !ten) throw new Error("three were named");
    await issue(store, certificate({ caId: run.caId, serial: two }));
    await issue(store, certificate({ caId: other, serial: ten }));
    await begin(run, [ten, two]);
    const more = [...toRunSerials(other, [ten, one]), { caId: run.caId, serial: one }];
    await store.atomically((tx) => tx.bulkRevocations.stage(run, more));
    const next = () => store.atomically((tx) => tx.bulkRevocations.next(run, 9));
    const order = [
      [run.caId, one, undefined],
      [other, one, undefined],
      [run.caId, two, "leaf"],
      [run.caId, ten, undefined],
      [other, ten, "leaf"],
    ];
    const shown = (await next()).map((left) => [left.caId, left.serial, left.certificate?.kind]);
    expect(shown).toEqual(order as never);
    const count = (cas: readonly CaId[], hold: boolean) =>
      store.atomically((tx) => tx.bulkRevocations.changeable(run, cas, hold));
    expect([await count([run.caId], false), await count([other], false)]).toEqual([3, 2]);
    expect([await count([run.caId, other], true), await count([other], true)]).toEqual([2, 1]);
    const done = { revoked: 1, upgraded: 0, skipped: 0, batches: 1 };
    const through = { caId: other, serial: one };
    await store.atomically((tx) => tx.bulkRevocations.advance(run, through, done));
    expect((await next()).map((left) => [left.caId, left.serial])).toEqual(
      order.slice(2).map(([ca, serial]) => [ca, serial]) as never,
    );
  });

  test("what a run would change is counted as it stands, for a hold without what is held", async () => {
    const { store } = given();
    const run = facts();
    const named = serials("1", "2", "3", "4", "5");
    for (const serial of named.slice(0, 3)) {
      await issue(store, certificate({ caId: run.caId, serial }));
    }
    await begin(run, named);
    const count = (hold: boolean) =>
      store.atomically((tx) => tx.bulkRevocations.changeable(run, [run.caId], hold));
    expect([await count(false), await count(true)]).toEqual([5, 3]);
    const [first, second, , fourth] = named;
    if (!first || !second || !fourth) throw new Error("five were named");
    await store.atomically(async (tx) => {
      const at = { revokedAt: noon } as const;
      await tx.certificates.setStatuses(run.caId, [first], {
        ...at,
        status: "revoked",
        reason: "superseded",
      });
      await tx.certificates.setStatuses(run.caId, [second], {
        ...at,
        status: "held",
        reason: "certificateHold",
      });
      const bare = revocation({ caId: run.caId, serial: fourth, known: false });
      await tx.revocations.putMany(run.caId, [bare]);
    });
    expect([await count(false), await count(true)]).toEqual([3, 1]);
    const stored = await store.read.certificates.bySerial(run.caId, second);
    expect(stored).toMatchObject({ status: "held", revokedAt: noon, reason: "certificateHold" });
  });

  test("many entries take a sequence number each, replace what was there, and move the CA's last", async () => {
    const { store } = given();
    const ca = caId(crypto.randomUUID());
    const held = revocation({ caId: ca, serial: parseSerial("1"), reason: "certificateHold" });
    const before = await store.atomically((tx) => tx.revocations.put(held));
    const entries = ["1", "2", "3"].map((serial) =>
      revocation({ caId: ca, serial: parseSerial(serial), revokedAt: instant(noon + 1000) }),
    );
    const numbers = await store.atomically((tx) => tx.revocations.putMany(ca, entries));
    expect(numbers).toEqual([before + 1, before + 2, before + 3]);
    const { items } = await store.read.revocations.page({ caId: ca }, 9);
    expect(items.map(({ serial, sequence }) => [String(serial), sequence])).toEqual([
      ["3", before + 3],
      ["2", before + 2],
      ["1", before + 1],
    ]);
    expect(items.at(-1)).toMatchObject({ reason: "keyCompromise", revokedAt: noon + 1000 });
    expect(await store.read.revocations.lastChange(ca)).toBe(before + 3);
    const last = await store.atomically((tx) => tx.bulkRevocations.lastChange(ca));
    expect(last).toBe(before + 3);
    await store.atomically((tx) => tx.revocations.putMany(ca, []));
  });

  test("candidates are the leaves of the CA in the order they were stored, in pages up to a place", async () => {
    const { store } = given();
    const ca = caId(crypto.randomUUID());
    const after = await store.read.bulkRevocations.end();
    const wanted = [{}, { profile: "client" }, { kind: "ca" as const }, {}, { caId: caId("x") }];
    for (const own of wanted) await issue(store, certificate({ caId: ca, ...own }));
    const upTo = await store.read.bulkRevocations.end();
    await issue(store, certificate({ caId: ca }));
    const range = { caId: ca, after, upTo };
    const all = await walked(store, range, 2);
    expect(all.map(({ profile }) => profile)).toEqual(["tls-server", "client", "tls-server"]);
    const narrowed = await walked(store, { ...range, profile: "client" }, 9);
    expect(narrowed[0]).toMatchObject({
      commonName: "a.example",
      sans: ["dns:a.example", "ip:192.0.2.1"],
      createdAt: noon,
      kind: "leaf",
      status: "good",
      spkiSha256: "ab".repeat(32),
    });
    expect(narrowed.length).toBe(1);
  });

  test("a candidate says when and why it was revoked or held, for as long as it is", async () => {
    const { store } = given();
    const ca = caId(crypto.randomUUID());
    const row = certificate({ caId: ca });
    await issue(store, row);
    const look = async () => {
      const upTo = await store.read.bulkRevocations.end();
      const found = await walked(store, { caId: ca, after: 0, upTo }, 9);
      const named = await store.read.bulkRevocations.named(ca, [row.serial]);
      return [...found, ...named].map(({ status, revokedAt, reason }) => ({
        status,
        revokedAt,
        reason,
      }));
    };
    const good = { status: "good" as const, revokedAt: undefined, reason: undefined };
    expect(await look()).toEqual([good, good]);
    const held = { status: "held", revokedAt: noon, reason: "certificateHold" } as const;
    await store.atomically((tx) => tx.certificates.setStatuses(ca, [row.serial], held));
    expect(await look()).toEqual([held, held]);
    await store.atomically((tx) =>
      tx.certificates.setStatus(ca, row.serial, "good", undefined, undefined),
    );
    expect(await look()).toEqual([good, good]);
  });

  test("a run that never began leaves nothing, and one that stopped goes on where it was", async () => {
    const { store } = given();
    const [lost, stopped] = [facts(), facts()];
    await store.atomically(async (tx) => {
      await tx.bulkRevocations.claim(lost);
      await tx.bulkRevocations.stage(lost, toRunSerials(lost.caId, serials("1", "2")));
    });
    await store.atomically((tx) => tx.bulkRevocations.drop(lost));
    expect(await store.read.bulkRevocations.run(lost)).toBeUndefined();
    await begin(stopped, serials("1", "2"));
    await store.atomically((tx) => tx.bulkRevocations.settle(stopped, "stopped"));
    expect((await store.read.bulkRevocations.active()).has(stopped.caId)).toBe(false);
    const open = await store.read.bulkRevocations.abandoned(true);
    expect(open.some(({ id }) => id === stopped.id)).toBe(false);
    const again = await store.atomically((tx) => tx.bulkRevocations.claim(stopped));
    expect([again.run.state, again.mine]).toEqual(["stopped", true]);
    const left = await store.atomically((tx) => tx.bulkRevocations.next(stopped, 9));
    expect(left.length).toBe(2);
  });

  test("what was collected before a crash never began: its id is taken anew by whatever is asked", async () => {
    const { store } = given();
    const run = facts();
    await store.atomically(async (tx) => {
      await tx.bulkRevocations.claim(run);
      await tx.bulkRevocations.stage(run, toRunSerials(run.caId, serials("1", "2")));
    });
    const found = await store.read.bulkRevocations.abandoned(true);
    expect(found.find(({ id }) => id === run.id)?.state).toBe("selecting");
    expect(await store.read.bulkRevocations.abandoned(false)).toEqual([]);
    const other = { ...run, digest: "cd".repeat(32), startedAt: instant(noon + 1000) };
    const taken = await store.atomically((tx) => tx.bulkRevocations.claim(other));
    expect([taken.run, taken.mine]).toMatchObject([{ ...other, state: "selecting" }, true]);
    const left = await store.atomically((tx) => tx.bulkRevocations.next(run, 9));
    expect(left).toEqual([]);
  });

  test("many keys are blocked at once, and only those that were not blocked come back", async () => {
    const { store } = given();
    const record = (spkiSha256: string) => ({
      id: crypto.randomUUID(),
      spkiSha256,
      reason: "leaked",
      source: "revocation" as const,
      tenant: undefined,
      createdBy: "root",
      createdAt: noon,
    });
    const digests = [0, 1, 2].map(() => crypto.randomUUID().replaceAll("-", "").repeat(2));
    const [one, two, three] = digests.map(record);
    if (!one || !two || !three) throw new Error("three were made");
    await store.atomically((tx) => tx.keyChecks.block(two));
    const fresh = await store.atomically((tx) => tx.keyChecks.blockMany([one, two, three]));
    expect(fresh).toEqual([one, three]);
    expect(await store.read.keyChecks.blocked(three.id)).toEqual(three);
  });
}

/** What a walk finds, page by page: one may end before it is full, but each goes on. */
async function walked(store: Store, range: CandidateRange, limit: number) {
  const found: Candidate[] = [];
  for (let { after } = range; after < range.upTo; ) {
    const { items, reached } = await store.read.bulkRevocations.candidates(
      { ...range, after },
      limit,
    );
    expect(items.length).toBeLessThanOrEqual(limit);
    expect(reached).toBeGreaterThan(after);
    found.push(...items);
    after = reached;
  }
  return found;
}
