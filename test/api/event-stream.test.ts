/** The live feed as server-sent events, over real connections: frames, filters, refusals, ends. */

import { afterEach, describe, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";

import { systemClock, systemLater, systemStopwatch } from "#adapters/system.ts";
import { eventJson } from "#api/audit.ts";
import { eventStreamHandlers } from "#api/event-stream.ts";
import type { Principal } from "#core/access/principal.ts";
import type { EventDraft } from "#core/audit/actions.ts";
import { caId, tenantId } from "#core/ids.ts";
import { EventFeed } from "#domain/audit/feed/feed.ts";
import { operationOf } from "#operations";
import * as make from "#test/support/stores/records.ts";
import { createMemoryStore } from "#test/support/stores/memory-store.ts";
import { Heard } from "#test/support/instances/feed-client.ts";
import { until } from "#test/support/until.ts";
import { openPipeline } from "#test/support/worlds/asking.ts";
import { personNamed } from "#test/support/worlds/people.ts";
import { startStub } from "#test/support/worlds/stub-server.ts";
import { addressOf } from "#web/api.ts";

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

/** The feed behind a server; whoever asks with a word as password is the principal of that word. */
async function world(people: Readonly<Record<string, Partial<Principal>>> = {}) {
  const store = createMemoryStore();
  await store.atomically(async (tx) => {
    for (const id of ["web", "lab"]) await tx.tenants.insert(make.tenant(id));
  });
  const feed = new EventFeed({
    store,
    clock: systemClock,
    stopwatch: systemStopwatch,
    later: systemLater,
    told: { connected: () => {}, dropped: () => {} },
  });
  const server = await startStub(
    {},
    {
      perform: openPipeline({ store, clock: systemClock }),
      handlers: eventStreamHandlers({ store, feed }),
      authenticate: async ({ authorization }) => {
        if (authorization?.kind !== "basic") return undefined;
        const { password: subject } = authorization;
        return { principal: { ...somebody, subject, ...people[subject] } };
      },
    },
  );
  server.front.traffic.whenDraining(() => feed.stop());
  ends.push(() => server.stop());
  return {
    store,
    feed,
    server,
    commit: (...drafts: readonly Partial<EventDraft>[]) =>
      store.atomically(async (tx) => {
        for (const draft of drafts) await tx.audit.appendEvent(make.draft(draft), make.noon);
      }),
    ask: (query = "", headers: Readonly<Record<string, string>> = {}, method = "GET") =>
      fetch(`${server.origin}${addressOf("event.stream")}${query}`, {
        method,
        headers: { authorization: `Basic ${btoa(`a:${headers.who ?? "root"}`)}`, ...headers },
      }),
  };
}

const somebody: Principal = {
  subject: "",
  person: personNamed("somebody"),
  isRoot: false,
  roles: ["auditor"],
  tenantRoles: {},
  groups: [],
  mechanism: "basic",
};

describe("the stream", () => {
  test("5.5: begins with retry and a comment, and has an event on one line under its number", async () => {
    const { ask, commit, store } = await world();
    await commit({});
    const answer = await ask();
    expect(answer.status).toBe(200);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      "content-type": "text/event-stream",
      "cache-control": "no-cache",
      "x-accel-buffering": "no",
      "x-content-type-options": "nosniff",
    });
    const heard = new Heard(answer);
    await commit({ targetName: "two\nlines", detail: { method: "password" } }, {});
    await until(() => heard.of("audit").length === 2);
    const [, second, third] = store.listEvents();
    if (second === undefined || third === undefined) throw new Error("three were committed");
    const frame = (event: typeof second) =>
      `id: ${event.seq}\nevent: audit\ndata: ${JSON.stringify(eventJson(event))}\n\n`;
    expect(heard.text).toBe(`retry: 3000\n: connected\n\nid: 1\n\n${frame(second)}${frame(third)}`);
    expect(heard.of("audit").map(({ id, text }) => [id, JSON.parse(text)])).toEqual([
      ["2", eventJson(second)],
      ["3", eventJson(third)],
    ]);
  });

  test("44: goes on behind Last-Event-ID, and says nothing of where it would have begun", async () => {
    const { ask, commit } = await world();
    await commit({}, {}, {}, {});
    const heard = new Heard(await ask("", { "last-event-id": "2" }));
    await until(() => heard.of("audit").length === 2);
    await commit({});
    await until(() => heard.of("audit").length === 3);
    expect(heard.of("audit").map(({ id }) => id)).toEqual(["3", "4", "5"]);
    expect(heard.text).toStartWith("retry: 3000\n: connected\n\nid: 3\nevent: audit\n");
  });

  test("has what its filters select: an action or a group of them, and one tenant", async () => {
    const { ask, commit } = await world();
    const [all, one, group, tenant] = [
      new Heard(await ask()),
      new Heard(await ask("?action=token.create")),
      new Heard(await ask("?action=token.*")),
      new Heard(await ask("?tenant=web&action=token.*")),
    ];
    await commit(
      { action: "token.create", tenant: tenantId("lab") },
      { action: "token.revoke", tenant: tenantId("web") },
      { action: "cert.issue", tenant: tenantId("web") },
    );
    await until(() => all.of("audit").length === 3 && group.of("audit").length === 2);
    await until(() => one.of("audit").length === 1 && tenant.of("audit").length === 1);
    expect(one.of("audit")[0]?.id).toBe("1");
    expect(tenant.of("audit")[0]?.id).toBe("2");
  });

  test("11: of a tenant's auditor, or of a grant on one CA, contains no other tenant's event", async () => {
    const { ask, commit, store } = await world({
      web: { roles: [], tenantRoles: { web: ["auditor"] } },
    });
    const heard = new Heard(await ask("", { who: "web", "last-event-id": "0" }));
    const everywhere: Partial<EventDraft>[] = [
      { tenant: tenantId("web") },
      { tenant: tenantId("lab"), caId: caId("lab-ca") },
      {},
      { tenant: tenantId("web") },
    ];
    await commit(...everywhere);
    await until(() => heard.of("audit").length === 2);
    expect(heard.of("audit").map(({ id }) => id)).toEqual(["1", "4"]);
    expect(store.countRows("events")).toBe(4);
  });

  test("the stream admits 250 readers of a tenant at one address, and other tenants then", async () => {
    const tokens = Array.from({ length: 6 }, (_, n) => `token${n}`);
    const ofWeb = { roles: [], tenantRoles: { web: ["auditor"] } } as const;
    const { feed, ...client } = await world({
      ...Object.fromEntries(tokens.map((token) => [token, ofWeb])),
      lab: { roles: [], tenantRoles: { lab: ["auditor"] } },
    });
    const responses: Response[] = [];
    const follow = (subject: string) => client.ask("", { who: subject });
    for (const token of tokens.slice(0, 5)) {
      responses.push(...(await Promise.all(Array.from({ length: 50 }, () => follow(token)))));
    }
    expect(feed.size).toBe(250);
    const refused = await follow("token5");
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "30"]);
    for (const subject of ["lab", "root"]) responses.push(await follow(subject));
    expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 200));
    await Promise.all(responses.map(({ body }) => body?.cancel()));
  }, 30_000);

  test("asked for by HEAD says how it would be answered, and nobody reads it", async () => {
    const { ask, feed } = await world();
    const answer = await ask("", {}, "HEAD");
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
    expect(await answer.text()).toBe("");
    expect(feed.size).toBe(0);
  });

  test("ends with a word when the server stops, which does not wait for it", async () => {
    const { ask, server } = await world();
    const heard = new Heard(await ask());
    await until(() => heard.text !== "");
    const begun = performance.now();
    await server.listeners.close(20_000);
    await until(() => heard.over);
    expect(heard.of("end").map(({ text }) => JSON.parse(text))).toEqual([
      { code: "shutting_down" },
    ]);
    expect(performance.now() - begun).toBeLessThan(10_000);
  });
});

describe("is refused", () => {
  test.each([
    ["action", "?action=cert.fly", {}],
    ["tenant", "?tenant=nowhere", {}],
    ["tenant", "?tenant=lab", { who: "web" }],
    ["heartbeat_seconds", "?heartbeat_seconds=0", {}],
    ["last_event_id", "", { "last-event-id": "soon" }],
    ["last_event_id", "", { "last-event-id": "-1" }],
    ["last_event_id", "", { "last-event-id": "99999999999999999" }],
  ])("a wrong %s by its name: %s", async (parameter, query, headers) => {
    const { ask, feed } = await world({
      web: { roles: [], tenantRoles: { web: ["auditor"] } },
    });
    const answer = await ask(query, headers as Record<string, string>);
    expect([answer.status, await answer.json()]).toMatchObject([
      400,
      { code: "bad_query", parameter },
    ]);
    expect(feed.size).toBe(0);
  });

  test("a parameter nobody knows, and a header's member in the query", async () => {
    const { ask } = await world();
    for (const name of ["limit", "last_event_id"]) {
      expect(await (await ask(`?${name}=1`)).json()).toMatchObject({
        code: "unknown_parameter",
        parameter: name,
      });
    }
  });

  test("whoever may read no event, and whoever is nobody", async () => {
    const { ask, server } = await world({ approver: { roles: ["approver"] } });
    expect((await ask("", { who: "approver" })).status).toBe(403);
    expect((await fetch(`${server.origin}${addressOf("event.stream")}`)).status).toBe(401);
  });

  test("one more than a caller may have, which frees its place when it goes", async () => {
    const { ask, feed } = await world();
    const readers = await Promise.all(Array.from({ length: 50 }, () => ask()));
    const refused = await ask();
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "30"]);
    expect(await refused.json()).toMatchObject({ code: "rate_limited" });
    await readers[0]?.body?.cancel();
    await until(() => feed.size === 49);
    expect((await ask()).status).toBe(200);
  });
});

test("a reader that takes nothing costs no memory and holds nobody up, and learns what it missed", async () => {
  const { server, commit, ask, feed } = await world();
  const slow = await reading(server.origin);
  slow.pause();
  const fast = new Heard(await ask());
  await until(() => feed.size === 2 && fast.text !== "");
  const texts = { targetName: "x".repeat(900) };
  const batch = Array.from({ length: 200 }, () => texts);
  // Far more than the kernel holds for it.
  for (let n = 1; n <= 60; n++) {
    await commit(...batch);
    await until(() => fast.of("audit").length === n * 200);
  }
  expect(fast.of("lag")).toEqual([]);
  const taken: string[] = [];
  slow.on("data", (octets) => taken.push(octets.toString("latin1")));
  slow.resume();
  await commit({ targetName: "the last" });
  await until(() => taken.join("").includes("the last"));
  const text = taken.join("");
  const seqs = [...text.matchAll(/^id: (\d+)\nevent: audit$/gm)].map(([, seq]) => Number(seq));
  const [, dropped, last] =
    /event: lag\ndata: \{"dropped":(\d+),"last_seq":(\d+)\}/.exec(text) ?? [];
  expect(seqs).toEqual(seqs.toSorted((a, b) => a - b));
  expect(seqs.length + Number(dropped)).toBe(60 * 200 + 1);
  expect(seqs).toContain(Number(last) + 1);
  expect(seqs).not.toContain(Number(last));
  slow.destroy();
}, 60_000);

test("the console asks where the table says", () => {
  expect(`GET ${addressOf("event.stream")}`).toBe(operationOf("event.stream").route);
});

/** A connection whose reading a test has in hand. */
function reading(origin: string): Promise<Socket> {
  return new Promise((resolve) => {
    const { hostname, port } = new URL(origin);
    const socket = connect({ host: hostname, port: Number(port) }, () => {
      const lines = [
        `GET ${addressOf("event.stream")} HTTP/1.1`,
        "host: here",
        `authorization: Basic ${btoa("a:root")}`,
      ];
      socket.write(`${lines.join("\r\n")}\r\n\r\n`);
      resolve(socket);
    });
  });
}
