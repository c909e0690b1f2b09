/**
 * What a store on a database must survive: concurrency, kills, tampering, schemas of other
 * versions.
 */

import { afterEach, describe, expect, test } from "bun:test";

import { type ChainHead, genesis, violation } from "#core/audit/chain.ts";
import { ledgerHash } from "#core/audit/ledger.ts";
import type { Serial } from "#core/ids.ts";
import { addSeconds } from "#core/time.ts";
import { nothingWritten, type Store } from "#domain/store.ts";
import { certificate, draft, issue, ledgerDraft, noon } from "#test/support/stores/records.ts";
import { type DatabaseUnderTest, startWriter } from "#test/support/stores/stores.ts";

import { until } from "#test/support/until.ts";

/** Declares the suite for one dialect; `create` gives a database nobody has opened. */
export function durableStoreContract(
  name: string,
  create: () => DatabaseUnderTest | Promise<DatabaseUnderTest>,
): void {
  describe(`Durable store on ${name}`, () => {
    const opened: Store[] = [];
    const open = async (database: DatabaseUnderTest) => {
      const store = await database.open();
      opened.push(store);
      return store;
    };
    afterEach(async () => {
      for (const store of opened.splice(0)) await store.close();
    });
    const given = { create, open };

    concurrency(given);
    texts(given);
    forgetting(given);
    readingBack(given);
    reopening(given);
    tampering(given);
    schemas(given);
  });
}

interface Given {
  readonly create: () => DatabaseUnderTest | Promise<DatabaseUnderTest>;
  readonly open: (database: DatabaseUnderTest) => Promise<Store>;
}

function concurrency({ create, open }: Given): void {
  test("64 concurrent units with random failures leave both chains whole", async () => {
    const store = await open(await create());
    const outcomes = await Promise.allSettled(
      Array.from({ length: 64 * 5 }, async (_, index) => {
        const opId = crypto.randomUUID();
        await store.atomically(async (tx) => {
          await tx.audit.appendLedger(ledgerDraft("intent", opId));
          if (index % 3 === 0) throw new Error("fails before its event");
          await tx.audit.appendEvent(draft({ requestId: opId }), noon);
          await tx.instance.setValue(opId, "kept");
          if (index % 7 === 0) throw new Error("fails after its event");
        });
        return opId;
      }),
    );
    const kept = outcomes.flatMap((outcome) =>
      outcome.status === "fulfilled" ? [outcome.value] : [],
    );
    expect(kept.length).toBeGreaterThan(100);
    const events = await wholeChain(store);
    expect(events.map(({ requestId }) => requestId).sort()).toEqual(kept.sort());
    const entries = await wholeLedger(store);
    expect(entries).toHaveLength(kept.length);
  });

  test("a unit sees its own writes under the writer's lock", async () => {
    const store = await open(await create());
    const row = certificate();
    await issue(store, row);
    const statuses = await Promise.all(
      Array.from({ length: 10 }, () =>
        store.atomically(async (tx) => {
          const before = await tx.certificates.lock(row.caId, row.serial);
          await tx.certificates.setStatus(row.caId, row.serial, "held", noon, "certificateHold");
          return before?.status;
        }),
      ),
    );
    expect(statuses.filter((status) => status === "good")).toHaveLength(1);
  });
}

function texts({ create, open }: Given): void {
  test("an event no database can hold fails its unit, not the units beside it", async () => {
    const store = await open(await create());
    const append = (actorName: string, actor = "root") =>
      store.atomically((tx) => tx.audit.appendEvent(draft({ actor, actorName }), noon));
    const outcomes = await Promise.allSettled([
      append("a"),
      append("b\0"),
      append("\ud800 half a pair"),
      append("c", "x".repeat(3000)),
      append("😀"),
      append("d"),
    ]);
    const rejected = outcomes.map(({ status }) => status === "rejected");
    expect(rejected).toEqual([false, true, false, true, false, false]);
    const names = (await wholeChain(store)).map(({ actorName }) => actorName);
    expect(names).toEqual(["a", "\ufffd half a pair", "😀", "d"]);
  });

  test("the ledger is paged newest first, by kind, key and number", async () => {
    const store = await open(await create());
    for (const opId of ["a", "b", "c"]) {
      await store.atomically((tx) => tx.audit.appendLedger(ledgerDraft("intent", opId)));
      await store.atomically((tx) => tx.audit.appendLedger(ledgerDraft("outcome", opId)));
    }
    const first = await store.read.audit.ledger({ fromNumber: 2 }, 3);
    expect([first.items.map(({ number }) => number), first.total]).toEqual([[6, 5, 4], 5]);
    const second = await store.read.audit.ledger({ fromNumber: 2 }, 3, first.next?.at);
    expect(second.items.map(({ number }) => number)).toEqual([3, 2]);
    const intents = await store.read.audit.ledger({ kind: "intent", toNumber: 3 }, 10);
    expect(intents.items.map(({ opId }) => opId)).toEqual(["b", "a"]);
    expect((await store.read.audit.ledger({ signerFingerprint: "none" }, 10)).total).toBe(0);
  });

  test("a text with a NUL is refused as such, and nothing of its unit is written", async () => {
    const store = await open(await create());
    const refused = store.atomically(async (tx) => {
      await tx.instance.setValue("before", "written");
      await tx.instance.setValue("name", "b\0");
    });
    const error = await refused.then(
      () => undefined,
      (reason) => reason,
    );
    expect(error).toMatchObject({ code: "invalid_field", facts: { reason: "nul" } });
    expect(nothingWritten(error)).toBe(true);
    expect(await store.read.instance.value("before")).toBeUndefined();
  });

  test("the access log keeps rows that hold what no database can", async () => {
    const database = await create();
    const store = await database.open();
    const row = { at: noon, requestId: "r", subject: "", method: "GET", route: "/", status: 200 };
    const rest = { durationMs: 1.6, bytesOut: 5, ip: "192.0.2.1" };
    for (const path of ["/a\0b", "/\udc00", "/c"]) {
      store.logAccess({ ...row, ...rest, path, userAgent: "u".repeat(100_000) });
    }
    await store.close();
    expect(store.droppedAccessRows()).toBe(0);
    const rows = await database.accessRows();
    expect(rows.map(({ path }) => path)).toEqual(["/ab", "/\ufffd", "/c"]);
    expect(rows[0]?.durationMs).toBe(2);
  });
}

function forgetting({ create }: Given): void {
  test("access log rows before an instant are deleted, however many, and no others", async () => {
    const database = await create();
    const store = await database.open();
    const row = {
      requestId: "r",
      subject: "",
      method: "GET",
      route: "/",
      path: "/",
      userAgent: "",
    };
    const rest = { durationMs: 1, bytesOut: 5, ip: "192.0.2.1", status: 200 };
    for (let n = 0; n < 6000; n++) {
      store.logAccess({ ...row, ...rest, at: n < 5500 ? addSeconds(noon, -1) : noon });
    }
    await until(async () => (await database.accessRows()).length === 6000);
    await store.pruneAccessLog(noon);
    expect((await database.accessRows()).length).toBe(500);
    await store.close();
  });
}

function readingBack({ create }: Given): void {
  test("the access log is read newest first, by every filter, page by page", async () => {
    const database = await create();
    const store = await database.open();
    const row = { requestId: "r", method: "GET", route: "/", userAgent: "", ip: "192.0.2.1" };
    for (let n = 0; n < 1100; n++) {
      const who = { subject: n % 2 === 0 ? "root" : "", status: n % 3 === 0 ? 200 : 404 };
      const path = n < 4 ? `/a_%/${n}` : `/b/${n}`;
      const at = addSeconds(noon, n);
      store.logAccess({ ...row, ...who, path, at, durationMs: n, bytesOut: 5 });
    }
    await until(async () => (await database.accessRows()).length === 1100);
    const read = store.read.accessLog;
    const first = await read.page({}, 2);
    expect(first.items.map(({ path }) => path)).toEqual(["/b/1099", "/b/1098"]);
    expect(first.total).toBe(1100);
    const second = await read.page({}, 2, first.next);
    expect(second.items.map(({ path }) => path)).toEqual(["/b/1097", "/b/1096"]);
    expect(second.total).toBe(1100);
    expect(second.items[0]).toMatchObject({ at: addSeconds(noon, 1097), durationMs: 1097 });

    const totals = async (filter: Parameters<typeof read.page>[0]) =>
      (await read.page(filter, 1)).total;
    expect(await totals({ subject: "root" })).toBe(550);
    expect(await totals({ subject: "" })).toBe(550);
    expect(await totals({ status: 200, subject: "root" })).toBe(184);
    expect(await totals({ pathPrefix: "/a_%/" })).toBe(4);
    expect(await totals({ pathPrefix: "/A" })).toBe(0);
    expect(await totals({ from: addSeconds(noon, 100), to: addSeconds(noon, 110) })).toBe(10);
    expect(await totals({ from: addSeconds(noon, 5000) })).toBe(0);
    expect((await read.page({ pathPrefix: "/a_%/" }, 4)).next).toBeUndefined();
    await store.close();
  });
}

function reopening({ create, open }: Given): void {
  test("what was committed is there after a close and a reopen, and numbers go on", async () => {
    const database = await create();
    const before = await open(database);
    const row = certificate();
    await issue(before, row);
    const { caId, serial } = row;
    const entry = { caId, serial, revokedAt: noon, reason: "superseded", known: true } as const;
    const put = (store: Store) =>
      store.atomically((tx) => tx.revocations.put({ ...entry, expiresAt: undefined }));
    expect(await put(before)).toBe(1);
    await before.close();
    const after = await open(database);
    expect(await after.read.certificates.bySerial(caId, serial)).toEqual(row);
    expect(await after.read.revocations.sequence()).toBe(1);
    expect(await put(after)).toBe(2);
    await issue(after, certificate());
    expect(await wholeChain(after)).toHaveLength(2);
    await wholeLedger(after);
  });

  test("a closed store refuses units, and one that waited has run", async () => {
    const store = await (await create()).open();
    const waiting = store.atomically((tx) => tx.instance.setValue("a", "b"));
    await store.close();
    await waiting;
    const late = store.atomically((tx) => tx.instance.setValue("a", "c"));
    await expect(late).rejects.toMatchObject({ code: "shutting_down" });
  });

  test("kill -9 of a process that writes loses no acknowledged unit and leaves no gap", async () => {
    const database = await create();
    await (await database.open()).close();
    for (let round = 0; round < 3; round++) {
      const writer = startWriter(database.target, 16);
      await until(() => writer.said.length > 50 * (round + 1));
      await writer.kill();
      const store = await database.open();
      const issued = new Set((await wholeChain(store)).map(({ serial }) => serial));
      for (const line of writer.said) {
        const serial = line.replace("issued ", "");
        expect(issued.has(serial)).toBe(true);
        // As issued.
        const found = await store.read.certificates.bySerial(certificate().caId, serial as Serial);
        expect(found?.serial === serial).toBe(true);
      }
      await wholeLedger(store);
      // Every intent without certificate is known as such, so none is mistaken for never signed.
      const open = await store.read.audit.openLedgerIntents(1000);
      const orphans = await store.atomically((tx) => tx.certificates.orphanOpenIntents());
      expect(open.map(({ opId }) => opId).sort()).toEqual(orphans.map(({ opId }) => opId).sort());
      for (const { opId } of open) {
        await store.atomically((tx) => tx.audit.appendLedger(ledgerDraft("outcome", opId)));
      }
      await store.close();
    }
  });
}

function tampering({ create, open }: Given): void {
  for (const [what, statement] of [
    ["the head row names another hash", "update heads set event_hash = ledger_hash"],
    ["the last event is gone", "delete from events where seq = 2"],
    ["the last event was edited", "update events set actor = 'nobody' where seq = 2"],
    ["the ledger's tail is gone", "delete from ledger where number > 1"],
    ["the ledger's last entry was edited", "update ledger set result = 'error' where number = 4"],
    ["the ledger's head row is behind", "update heads set ledger_number = 3"],
  ] as const) {
    test(`V-29: a store does not open when ${what}`, async () => {
      const database = await create();
      const store = await database.open();
      await issue(store, certificate());
      await issue(store, certificate());
      await store.close();
      await database.tamper(statement);
      await expect(database.open()).rejects.toMatchObject({ reason: "head_mismatch" });
    });
  }

  test("an event in the middle that was edited is still readable, for verify to name it", async () => {
    const database = await create();
    const store = await database.open();
    await issue(store, certificate());
    await issue(store, certificate());
    await store.close();
    await database.tamper("update events set actor = 'nobody' where seq = 1");
    const again = await open(database);
    const [first] = await again.read.audit.eventsAfter(0, 1);
    expect(first && violation(genesis, first)).toBe("hash");
  });
}

function schemas({ create }: Given): void {
  test("V-28: a schema that is newer than the binary is refused", async () => {
    const database = await create();
    const store = await database.open();
    expect(store.schemaVersion).toBeGreaterThan(0);
    await store.close();
    await database.tamper("insert into schema_migrations (version, hash) values (1000, 'later')");
    await expect(database.open()).rejects.toMatchObject({ reason: "schema_newer" });
  });

  test("V-28: a schema made by another migration of the same number is refused", async () => {
    const database = await create();
    await (await database.open()).close();
    await database.tamper("update schema_migrations set hash = 'other' where version = 1");
    await expect(database.open()).rejects.toMatchObject({ reason: "schema_altered" });
  });
}

/** Every event, checked link by link up to the stored head. */
export async function wholeChain(store: Store) {
  const events = await store.read.audit.eventsAfter(0, 100_000);
  let head: ChainHead = genesis;
  for (const event of events) {
    expect(violation(head, event)).toBeUndefined();
    head = { seq: event.seq, hash: event.hash };
  }
  expect(await store.read.audit.eventHead()).toEqual(head);
  return events;
}

/** Every ledger entry, checked link by link up to the stored head. */
export async function wholeLedger(store: Store) {
  const entries = await store.read.audit.ledgerAfter(0, 100_000);
  let head: ChainHead = genesis;
  for (const entry of entries) {
    expect([entry.number, entry.prevHash]).toEqual([head.seq + 1, head.hash]);
    expect(ledgerHash(entry)).toBe(entry.hash);
    head = { seq: entry.number, hash: entry.hash };
  }
  expect(await store.read.audit.ledgerHead()).toEqual(head);
  return entries;
}
