/** The live feed: each event once and in order, whatever readers, rights and the server do. */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import type { Reach } from "#core/access/principal.ts";
import type { EventDraft } from "#core/audit/actions.ts";
import { caId, parseSerial, tenantId } from "#core/ids.ts";
import { addSeconds } from "#core/time.ts";
import { fits } from "#domain/audit/event-filter.ts";
import type { EventFilter } from "#domain/audit/store.ts";
import { expectRefusal } from "#test/support/expect-refusal.ts";
import { only } from "#test/support/stores/reach.ts";
import { until } from "#test/support/until.ts";
import {
  type FeedWorld,
  feedWorld,
  follow,
  movingRights,
  nextTold,
} from "#test/support/worlds/feed-world.ts";

const [web, lab] = [tenantId("web"), tenantId("lab")];
const range = (first: number, last: number) =>
  Array.from({ length: Math.max(0, last - first + 1) }, (_, n) => first + n);
const some = (count: number, draft: Partial<EventDraft> = {}) =>
  Array.from({ length: count }, () => draft);

describe("a reader", () => {
  test("is told of what is committed after it began, and of nothing before", async () => {
    const { commit, read } = feedWorld();
    await commit({}, {});
    const reader = await read();
    await commit({ targetName: "after" });
    const heard = follow(reader);
    await commit({}, {});
    await until(() => heard.events.length === 3);
    expect(heard.told[0]).toMatchObject({ kind: "connected", lastSeq: 2, resumed: false });
    expect(heard.seqs).toEqual([3, 4, 5]);
  });

  test("44: that left off somewhere is told what is stored behind that, and goes on without gap or repeat", async () => {
    const { commit, read } = feedWorld();
    for (let n = 0; n < 6; n++) await commit(...some(101));
    const heard = follow(await read({ after: 17 }));
    for (let n = 0; n < 30; n++) await commit(...some(7));
    await until(() => heard.seqs.at(-1) === 606 + 210);
    expect(heard.told[0]).toMatchObject({ kind: "connected", lastSeq: 17, resumed: true });
    expect(heard.seqs).toEqual(range(18, 816));
  });

  test("that names an event which was never there, of a chain that was restored, is told what comes", async () => {
    const { commit, read } = feedWorld();
    await commit({}, {});
    const heard = follow(await read({ after: 900 }));
    await commit({});
    await until(() => heard.events.length > 0);
    expect(heard.seqs).toEqual([3]);
  });

  test("of more than ten thousand stored events is told of the newest, and how many came before", async () => {
    const { commit, read, counted } = feedWorld();
    await commit(...some(9000, { action: "cert.issue" }));
    await commit(...some(9000, { action: "cert.revoke" }));
    const all = follow(await read({ after: 0 }));
    const one = follow(
      await read({ after: 0, filter: { reach: "platform", action: "cert.issue" } }),
    );
    await until(() => all.seqs.at(-1) === 18_000 && one.events.length === 9000);
    expect(all.told[1]).toEqual({ kind: "lag", dropped: 8000, lastSeq: 8000 });
    expect(all.seqs).toEqual(range(8001, 18_000));
    expect(one.seqs).toEqual(range(1, 9000));
    expect(one.kinds()).not.toContain("lag");
    expect(counted).toEqual({ connected: 2, dropped: 8000 });
  });

  test("11: is told of no other tenant's event, live or stored", async () => {
    const { commit, read } = feedWorld();
    const own = caId("web-ca");
    const everybody: Partial<EventDraft>[] = [
      { tenant: web },
      { tenant: lab },
      {},
      { tenant: lab, caId: own },
    ];
    await commit(...everybody);
    const reach = only([web], [own]);
    const stored = follow(await read({ after: 0, filter: { reach } }));
    const named = follow(await read({ after: 0, filter: { reach: "platform", tenant: lab } }));
    await commit(...everybody);
    await until(() => stored.events.length === 4 && named.events.length === 4);
    expect(stored.seqs).toEqual([1, 4, 5, 8]);
    expect(named.seqs).toEqual([2, 4, 6, 8]);
  });

  test("that takes nothing is told how many it missed, the newest 256 and no more", async () => {
    const { commit, read, counted } = feedWorld();
    const reader = await read();
    expect((await reader.next())?.kind).toBe("connected");
    await commit({});
    expect(await reader.next()).toMatchObject({ kind: "events" });
    for (let n = 0; n < 100; n++) await commit(...some(10));
    expect(await reader.next()).toEqual({ kind: "lag", dropped: 744, lastSeq: 745 });
    const told = await reader.next();
    expect(told?.kind === "events" && told.events.map(({ seq }) => seq)).toEqual(range(746, 1001));
    expect(counted.dropped).toBe(744);
  });

  test("that keeps up misses nothing of what is committed together, however much it is", async () => {
    const { commit, read } = feedWorld();
    const heard = follow(await read());
    for (let n = 0; n < 4; n++) {
      await commit(...some(1000));
      await until(() => heard.events.length === (n + 1) * 1000);
    }
    expect(heard.kinds()).not.toContain("lag");
  });

  test("has a heartbeat every 15 seconds, whether anything happens or not", async () => {
    const { commit, read, pass, clock } = feedWorld();
    const heard = follow(await read());
    const beats = () => heard.told.filter(({ kind }) => kind === "heartbeat").length;
    pass(14);
    await Bun.sleep(1);
    expect(beats()).toBe(0);
    pass(1);
    await until(() => beats() === 1);
    await commit({});
    pass(15);
    await until(() => beats() === 2);
    const last = { kind: "heartbeat", at: clock.now(), lastSeq: 1 } as const;
    expect(heard.told.at(-1)).toEqual(last);
  });

  test("that has taken nothing for 45 seconds is cut off, and one that waits never is", async () => {
    const { read, pass, feed } = feedWorld();
    let cut = false;
    const stalled = await read();
    stalled.onCut(() => {
      cut = true;
    });
    await stalled.next();
    const heard = follow(await read());
    pass(44);
    expect([cut, feed.size]).toEqual([false, 2]);
    pass(2);
    expect([cut, feed.size, heard.over]).toEqual([true, 1, false]);
    expect(await stalled.next()).toBeUndefined();
  });
});

describe("whoever may not read any more", () => {
  test("is told the end at once when its token is revoked, and others go on", async () => {
    const { commit, read, feed } = feedWorld();
    const { rights, standing } = movingRights("platform");
    const heard = follow(await read({ subject: "token:7", standing }));
    const other = follow(await read({ subject: "token:8" }));
    rights.reach = undefined;
    await commit({ action: "token.revoke", target: "7" }, {});
    await until(() => heard.over && other.events.length === 2);
    expect(heard.told.at(-1)).toEqual({ kind: "end", code: "forbidden" });
    expect(heard.events).toEqual([]);
    expect([feed.size, other.over, rights.asked]).toEqual([1, false, 1]);
  });

  test("is told so when the session ends, by its owner, an admin or the clock", async () => {
    const { commit, read, clock, pass } = feedWorld();
    const { rights, standing } = movingRights("platform");
    const endsAt = addSeconds(clock.now(), 10);
    const ended = follow(await read({ standing, session: "a", until: endsAt }));
    const expires = follow(await read({ standing, session: "b", until: endsAt }));
    rights.reach = undefined;
    await commit({ action: "auth.logout", target: "a" });
    await until(() => ended.over);
    expect(expires.over).toBe(false);
    pass(11);
    await until(() => expires.over);
    for (const { told } of [ended, expires]) {
      expect(told.at(-1)).toEqual({ kind: "end", code: "forbidden" });
    }
  });

  test("is told so when a certificate it showed is revoked or suspended, and others are not asked", async () => {
    const { commit, read } = feedWorld();
    const { rights, standing } = movingRights("platform");
    const [own, issuer] = [parseSerial("6101"), parseSerial("702")];
    const [first, second] = [
      follow(await read({ standing, shown: [own, issuer] })),
      follow(await read({ standing, shown: [own, issuer] })),
    ];
    const third = follow(await read({ shown: [parseSerial("61016101")] }));
    await commit({ action: "cert.revoke", result: "denied", serial: own }, { serial: own });
    await until(() => third.events.length === 2);
    expect(rights.asked).toBe(0);
    rights.reach = undefined;
    await commit({ action: "cert.suspend", serial: issuer });
    await until(() => first.over && second.over);
    await commit({ action: "cert.revoke", serial: own });
    await until(() => third.events.length === 4);
    expect([first.events.length, second.events.length, third.over]).toEqual([2, 2, false]);
  });

  test("is looked at within a minute, whatever took the right away", async () => {
    const { read, pass } = feedWorld();
    const { rights, standing } = movingRights("platform");
    const heard = follow(await read({ standing }));
    rights.reach = undefined;
    pass(60);
    await until(() => heard.over);
    expect(heard.told.at(-1)).toEqual({ kind: "end", code: "forbidden" });
  });

  test("is told nothing of what was waiting for it", async () => {
    const { commit, read } = feedWorld();
    const { rights, standing } = movingRights("platform");
    const reader = await read({ subject: "token:7", standing });
    await reader.next();
    await commit({}, {});
    rights.reach = undefined;
    await commit({ action: "token.revoke", target: "7" });
    expect(await reader.next()).toEqual({ kind: "end", code: "forbidden" });
    expect(await reader.next()).toBeUndefined();
  });

  test("ends with the question when nobody can say", async () => {
    const { read, feed } = feedWorld();
    const reader = await read({ standing: () => Promise.reject(new Error("away")) });
    await reader.next();
    feed.doubt();
    await expect(reader.next()).rejects.toThrow("away");
    expect(feed.size).toBe(0);
  });
});

test("a reader whose rights grow is told of the first event they cover, and none twice", async () => {
  const { commit, read } = feedWorld();
  const [one, two] = [caId("one"), caId("two")];
  const { rights, standing } = movingRights(only([], [one]));
  const heard = follow(await read({ standing, filter: { reach: only([], [one]) } }));
  await commit({ caId: one }, { caId: two });
  await until(() => heard.events.length === 1);
  rights.reach = only([], [one, two]);
  // A CA below one that a grant reaches, and the first certificate of it.
  await commit({ caId: one }, { action: "ca.issue_intermediate", caId: two }, { caId: two });
  await commit({ caId: two }, { caId: one });
  await until(() => heard.events.length === 6);
  expect(heard.seqs).toEqual([1, 3, 4, 5, 6, 7]);
});

test("what was refused changes nobody's rights", async () => {
  const { commit, read } = feedWorld();
  const { rights, standing } = movingRights(only([web]));
  const heard = follow(await read({ standing, filter: { reach: only([web]) } }));
  await commit({ action: "resource.grant", result: "denied", tenant: web });
  await until(() => heard.events.length === 1);
  expect(rights.asked).toBe(0);
});

test("a server that stops says so to every reader, and lets nobody begin", async () => {
  const { commit, read, feed, pass } = feedWorld();
  const heard = follow(await read());
  let cut = false;
  const stalled = await read();
  stalled.onCut(() => {
    cut = true;
  });
  await stalled.next();
  await commit({});
  feed.stop();
  await until(() => heard.over);
  expect(heard.told.at(-1)).toEqual({ kind: "end", code: "shutting_down" });
  pass(1);
  expect([cut, feed.size]).toEqual([true, 0]);
  await expectRefusal(read(), "shutting_down", { retry_after: 5 });
});

test("one caller may read 50 times at once, and all together 1000 times", async () => {
  const { read, feed } = feedWorld();
  const first = await read({ subject: "a" });
  for (let n = 1; n < 50; n++) await read({ subject: "a" });
  await expectRefusal(read({ subject: "a" }), "rate_limited", { retry_after: 30 });
  for (let n = 50; n < 1000; n++) await read({ subject: `b${n >> 4}` });
  expect(feed.size).toBe(1000);
  await expectRefusal(read({ subject: "c" }), "overloaded", { retry_after: 30 });
  first.close();
  await read({ subject: "c" });
});

describe("tenants and addresses share the readers", () => {
  /** Reads as an API token of its own; returns false where that is refused. */
  async function isAdmitted(
    { read }: FeedWorld,
    tenant: string | undefined,
    block: string,
  ): Promise<boolean> {
    const reader = await read({ subject: `token:${crypto.randomUUID()}`, tenant, block }).catch(
      (error: { code: string }) => error.code,
    );
    if (typeof reader === "string") expect(reader).toBe("rate_limited");
    return typeof reader !== "string";
  }

  test("a tenant has half of the readers at most, with any number of tokens and addresses", async () => {
    const world = feedWorld();
    for (let n = 0; n < 600; n++) {
      expect(await isAdmitted(world, "web", `192.0.${n >> 8}.${n & 255}`)).toBe(n < 500);
    }
    expect(await isAdmitted(world, "lab", "192.0.2.1")).toBe(true);
    expect(await isAdmitted(world, undefined, "192.0.2.1")).toBe(true);
  });

  test("a third tenant finds readers left when two have as many as they may", async () => {
    const world = feedWorld();
    for (const tenant of ["web", "lab"]) {
      for (let n = 0; n < 600; n++) await isAdmitted(world, tenant, `192.0.2.${n}`);
    }
    expect(world.feed.size).toBe(750);
    expect(await isAdmitted(world, "dev", "192.0.2.1")).toBe(true);
  });

  test("an address has half of the readers of its tenant at most", async () => {
    const world = feedWorld();
    for (let n = 0; n < 300; n++) {
      expect(await isAdmitted(world, "web", "192.0.2.1")).toBe(n < 250);
    }
    expect(await isAdmitted(world, "web", "192.0.2.2")).toBe(true);
  });
});

test("readers with the same filter and scopes share what they are told, to the list", async () => {
  const { commit, read } = feedWorld();
  const filter: EventFilter = { reach: only([web, lab]), action: "cert.*" };
  const same: EventFilter = { reach: only([lab, web]), action: "cert.*" };
  const readers = [await read({ filter }), await read({ filter: same })];
  for (const reader of readers) await reader.next();
  const waiting = Promise.all(readers.map(nextTold));
  await commit({ action: "cert.issue", tenant: web });
  const [one, two] = await waiting;
  if (one?.kind !== "events" || two?.kind !== "events") throw new Error("no events were told");
  expect(one.events).toBe(two.events);
});

test("whatever is committed, broken off and resumed, each event that fits is told once, in order", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyFilter, { minLength: 1, maxLength: 4 }),
      fc.array(anyStep, { maxLength: 40 }),
      async (filters, steps) => {
        const { commit, read, store, feed } = feedWorld();
        const readers = await Promise.all(
          filters.map(async (one) => ({
            filter: one,
            seqs: [] as number[],
            ...(await begun(one)),
          })),
        );
        async function begun(one: EventFilter, after?: number) {
          const reader = await read({ filter: one, after });
          return { reader, heard: follow(reader) };
        }
        const broken = async (reader: (typeof readers)[number]) => {
          reader.reader.close();
          await until(() => reader.heard.over);
          reader.seqs.push(...reader.heard.seqs);
          Object.assign(reader, await begun(reader.filter, reader.seqs.at(-1) ?? 0));
        };
        for (const one of steps) {
          if (one.do === "commit") await commit(...one.drafts);
          if (one.do === "doubt") feed.doubt();
          if (one.do === "rest") await Bun.sleep(0);
          const reader = one.do === "break" ? readers[one.at] : undefined;
          if (reader !== undefined) await broken(reader);
        }
        for (const reader of readers) {
          const all = store.listEvents().filter((event) => fits(reader.filter, event));
          const wanted = all.map(({ seq }) => seq);
          const told = () => [...reader.seqs, ...reader.heard.seqs];
          await until(() => told().length >= wanted.length);
          expect(told()).toEqual(wanted);
          reader.reader.close();
        }
      },
    ),
    { numRuns: 60 },
  );
}, 60_000);

const reaches: readonly Reach[] = ["platform", only([web]), only([], [caId("c1")])];
const actions = ["cert.issue", "cert.revoke", "token.create", "ca.rotate"] as const;
const anyDraft = fc.record({
  action: fc.constantFrom(...actions),
  tenant: fc.constantFrom(web, lab, undefined),
  caId: fc.constantFrom(caId("c1"), caId("c2"), undefined),
});
const anyStep = fc.oneof(
  fc.record({ do: fc.constant("commit" as const), drafts: fc.array(anyDraft, { maxLength: 40 }) }),
  fc.record({ do: fc.constantFrom("break" as const, "doubt" as const), at: fc.nat(3) }),
  fc.record({ do: fc.constant("rest" as const) }),
);
const anyFilter: fc.Arbitrary<EventFilter> = fc.record({
  reach: fc.constantFrom(...reaches),
  action: fc.constantFrom("cert.*", "cert.issue", undefined),
});
