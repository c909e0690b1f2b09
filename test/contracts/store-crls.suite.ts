/**
 * What a store guarantees about CRLs: numbers, published lists and their pieces, partitions, and
 * views that stand still.
 */

import { expect, test } from "bun:test";

import type { caId, Serial } from "#core/ids.ts";
import { type Instant, instant } from "#core/time.ts";
import type { RevocationView } from "#domain/revocation/store.ts";
import type { Store } from "#domain/store.ts";
import * as make from "#test/support/stores/records.ts";

const { noon } = make;
const year = 31_536_000;
const momentOf = (at: Instant) => ({ at, wanted: at, believed: true });
const later = (seconds: number) => instant(noon + seconds * 1000);

/** The guarantees, as tests of the store `given` holds. */
export function crlContract(
  given: () => { readonly store: Store; readonly home: ReturnType<typeof caId> },
): void {
  const revoke = (store: Store, home: ReturnType<typeof caId>, serial: string) =>
    store.atomically((tx) =>
      tx.revocations.put(make.revocation({ caId: home, serial: serial as Serial })),
    );

  test("CRL-1, CRL-2: numbers strictly increase per scope, and thisUpdate by whole seconds", async () => {
    const { store, home } = given();
    const reserve = (scope: string, milliseconds: number) =>
      store.atomically((tx) =>
        tx.revocations.reserveCrl(
          home,
          scope,
          { ...momentOf(later(60)), wanted: instant(noon + milliseconds) },
          0,
        ),
      );
    const nth = (number: number, thisUpdate: Instant) => ({
      number,
      thisUpdate,
      madeAt: expect.any(Number),
      resetFrom: undefined,
    });
    expect(await reserve("full", 900)).toEqual(nth(1, noon));
    expect(await reserve("full", 950)).toEqual(nth(2, later(1)));
    expect(await reserve("full", 60_000)).toEqual(nth(3, later(60)));
    expect(await reserve("full", 0)).toEqual(nth(4, later(61)));
    expect(await reserve("partition-1", 0)).toEqual(nth(1, noon));
  });

  test("IMP-2: a number that another program has come to is passed, and no lower one counts", async () => {
    const { store, home } = given();
    const raise = (number: number) =>
      store.atomically((tx) => tx.revocations.raiseCrlNumber(home, "full", number));
    const reserve = () =>
      store.atomically((tx) => tx.revocations.reserveCrl(home, "full", momentOf(noon), 0));
    expect(await raise(41)).toBe(true);
    expect([await raise(41), await raise(7)]).toEqual([false, false]);
    expect(await reserve()).toMatchObject({ number: 42, thisUpdate: noon, resetFrom: undefined });
    expect(await raise(42)).toBe(false);
    expect(await raise(100)).toBe(true);
    expect(await reserve()).toMatchObject({ number: 101 });
  });

  test("RES-2: a raised number is never below the floor that a restore has set", async () => {
    const { store, home } = given();
    await store.atomically((tx) => tx.instance.setValue("crl_number_floor", "5000000000000"));
    const raiseAndReserve = async (scope: string, number: number) => {
      await store.atomically((tx) => tx.revocations.raiseCrlNumber(home, scope, number));
      const reserved = await store.atomically((tx) =>
        tx.revocations.reserveCrl(home, scope, momentOf(noon), 0),
      );
      return reserved?.number;
    };
    expect(await raiseAndReserve("partition-8", 7)).toBe(5_000_000_000_001);
    expect(await raiseAndReserve("partition-9", 6_000_000_000_000)).toBe(6_000_000_000_001);
    // The other guarantees share the store.
    await store.atomically((tx) => tx.instance.setValue("crl_number_floor", "0"));
  });

  test("CRL-2: lists go back to the present when the clock that made the last one was ahead and is believed now", async () => {
    const { store, home } = given();
    const reserve = (seconds: number, believed = true) =>
      store.atomically((tx) =>
        tx.revocations.reserveCrl(home, "full", { ...momentOf(later(seconds)), believed }, 0),
      );
    await reserve(0);
    expect(await reserve(year)).toMatchObject({ number: 2, thisUpdate: later(year) });
    // In doubt it stays where it is, and so it does for a step that is no fault.
    expect(await reserve(10, false)).toEqual({
      number: 3,
      thisUpdate: later(year + 1),
      madeAt: later(year),
      resetFrom: undefined,
    });
    expect(await reserve(year - 5)).toMatchObject({ number: 4, thisUpdate: later(year + 2) });
    expect(await reserve(10)).toEqual({
      number: 5,
      thisUpdate: later(10),
      madeAt: later(10),
      resetFrom: later(year + 2),
    });
    expect(await reserve(9)).toMatchObject({
      number: 6,
      thisUpdate: later(11),
      resetFrom: undefined,
    });
  });

  test("lists that follow each other faster than seconds pass do not go back", async () => {
    const { store, home } = given();
    const reserve = () =>
      store.atomically((tx) => tx.revocations.reserveCrl(home, "full", momentOf(noon), 0));
    for (let number = 0; number < 20; number++) {
      expect(await reserve()).toMatchObject({ thisUpdate: later(number), resetFrom: undefined });
    }
  });

  test("a higher number is never given to a list that covers less", async () => {
    const { store, home } = given();
    const reserve = (sequence: number) =>
      store.atomically((tx) => tx.revocations.reserveCrl(home, "full", momentOf(noon), sequence));
    expect((await reserve(7))?.number).toBe(1);
    expect(await reserve(6)).toBeUndefined();
    expect((await reserve(7))?.number).toBe(2);
    expect((await reserve(9))?.number).toBe(3);
  });

  test("the newest list of a kind is the one with the highest number, and keeps its facts", async () => {
    const { store, home } = given();
    const { revocations } = store.read;
    expect(await revocations.crlHead(home, "full", "base")).toBeUndefined();
    const rows = [
      make.crl({ caId: home, number: 10, urls: ["http://a/1", "http://b/1"], modulus: 4 }),
      make.crl({ caId: home, number: 2, prior: { thisUpdate: noon, sequence: 3 } }),
      make.crl({ caId: home, number: 11, base: 10 }),
      make.crl({ caId: home, number: 12, scope: "partition-1" }),
    ] as const;
    for (const row of rows) await store.atomically((tx) => tx.revocations.publishCrl(row));
    expect(await revocations.crlHead(home, "full", "base")).toEqual(rows[0]);
    expect(await revocations.crlHead(home, "full", "delta")).toEqual(rows[2]);
    expect(await revocations.crlHead(home, "partition-1", "delta")).toBeUndefined();
    expect((await revocations.publishedScopes(home)).toSorted()).toEqual(["full", "partition-1"]);
  });

  test("a list is kept in pieces until it is pruned", async () => {
    const { store, home } = given();
    const [old, kept] = [3, 4].map((number) => make.crl({ caId: home, number }));
    for (const row of [old, kept]) {
      if (row === undefined) continue;
      await store.atomically(async (tx) => {
        for (const at of [0, 1]) await tx.revocations.putCrlPiece(row, at, Uint8Array.of(at));
        await tx.revocations.publishCrl(row);
      });
    }
    const piece = (number: number, position: number) =>
      store.read.revocations.crlPiece({ caId: home, scope: "full", number }, position);
    expect([...((await piece(3, 1)) ?? [])]).toEqual([1]);
    expect(await piece(3, 2)).toBeUndefined();
    for (let gone = 1; gone > 0; ) {
      gone = await store.atomically((tx) => tx.revocations.pruneCrls(home, "full", 4, 1));
    }
    expect(await piece(3, 0)).toBeUndefined();
    expect([...((await piece(4, 0)) ?? [])]).toEqual([0]);
    expect((await store.read.revocations.crlHead(home, "full", "base"))?.number).toBe(4);
  });

  test("the URL of a partition lasts to the end of the day of the latest certificate that has it", async () => {
    const { store, home } = given();
    const keep = (partition: number, url: string, seconds: number) =>
      store.atomically((tx) =>
        tx.revocations.keepShardUrl({ caId: home, partition, url, notAfter: later(seconds) }),
      );
    await keep(3, "http://a/3", 0);
    await keep(3, "http://a/3", 86_400);
    await keep(3, "http://a/3", 60);
    await keep(1, "http://a/1", 0);
    const at = async (seconds: number) =>
      (await store.read.revocations.shardUrls(home, later(seconds))).map(({ url }) => url);
    expect(await at(0)).toEqual(["http://a/1", "http://a/3"]);
    expect(await at(86_400)).toEqual(["http://a/3"]);
    expect(await at(3 * 86_400)).toEqual([]);
  });

  test("a view lists by serial and by change, and tells what was released", async () => {
    const { store, home } = given();
    const leaf = make.certificate({ caId: home, serial: "500" as Serial, crlPartition: 6 });
    await make.issue(store, leaf);
    for (const serial of ["7", "500", "31"]) await revoke(store, home, serial);
    const held = await revoke(store, home, "44");
    const released = await store.atomically((tx) => tx.revocations.remove(home, "44" as Serial));
    await store.read.revocations.view(async (view) => {
      expect(view.sequence).toBe(released);
      const [first, second] = await view.listed(home, undefined, 2, undefined);
      expect([first?.serial, second?.serial].map(String)).toEqual(["31", "500"]);
      const rest = await view.listed(home, undefined, 2, second?.serial);
      expect(rest.map(({ serial }) => String(serial))).toEqual(["7"]);
      const [one, two] = await view.changed(home, 2, 0);
      expect(one).toMatchObject({ serial: "7", kind: undefined, namedShard: undefined });
      expect(two).toMatchObject({
        serial: "500",
        kind: "leaf",
        namedShard: 6,
        reason: "keyCompromise",
      });
      expect(await view.changed(home, 9, two?.sequence ?? 0)).toHaveLength(1);
      expect(await view.released(home, 9, 0)).toMatchObject([
        { serial: "44", since: held, sequence: released, revokedAt: noon, kind: undefined },
      ]);
      expect(await view.released(home, 9, released)).toEqual([]);
    });
  });

  test("a view does not see what is committed after it was opened", async () => {
    const { store, home } = given();
    const before = await revoke(store, home, "1");
    const listed = (view: RevocationView) => view.listed(home, undefined, 9, undefined);
    await store.read.revocations.view(async (view) => {
      await revoke(store, home, "2");
      expect(view.sequence).toBe(before);
      expect((await listed(view)).map(({ serial }) => String(serial))).toEqual(["1"]);
    });
    await store.read.revocations.view(async (view) => {
      expect(await listed(view)).toHaveLength(2);
    });
  });

  test("the index tells the members of a partition, whatever it is asked under", async () => {
    const { store, home } = given();
    for (const serial of ["1", "2", "3"]) await revoke(store, home, serial);
    const member = (serial: string, partition: number, modulus: number) => ({
      serial: serial as Serial,
      partition,
      modulus,
    });
    const members = [member("1", 5, 8), member("2", 5, 0), member("2", 5, 0), member("3", 5, 16)];
    await store.atomically((tx) => tx.revocations.indexPartitions(home, 8, members, 3));
    await store.atomically((tx) => tx.revocations.indexPartitions(home, 8, members, 2));
    await store.read.revocations.view(async (view) => {
      expect([await view.indexed(home, 8), await view.indexed(home, 16)]).toEqual([3, 0]);
      const of = async (modulus: number) =>
        (await view.listed(home, { number: 5, modulus }, 9, undefined)).map(({ serial }) => serial);
      expect((await of(8)).map(String)).toEqual(["1", "2"]);
      expect((await of(16)).map(String)).toEqual(["2", "3"]);
      expect(await view.listed(home, { number: 4, modulus: 8 }, 9, undefined)).toEqual([]);
    });
  });

  test("exclusive work gives what it gives, and fails as it fails", async () => {
    const { store } = given();
    expect(await store.exclusively("one", async () => 7)).toBe(7);
    const failing = store.exclusively("one", () => Promise.reject(new Error("no")));
    await expect(failing).rejects.toThrow("no");
    expect(await store.exclusively("one", async () => 8)).toBe(8);
  });
}
