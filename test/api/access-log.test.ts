/** The access log in JSON, through the pipeline: filters, pages, and the file that is an event. */

import { askJson, openPipeline } from "#test/support/worlds/asking.ts";
import { expect, test } from "bun:test";

import { accessLogHandlers } from "#api/access-log.ts";
import { addSeconds } from "#core/time.ts";
import { type Document, Outcome } from "#domain/access/outcome.ts";
import { renderOutcome } from "#http/answer.ts";
import type { Exchange } from "#http/exchange.ts";
import { until } from "#test/support/until.ts";
import { issuanceWorld, rootOrigin } from "#test/support/worlds/issuance.ts";

const { store, clock } = issuanceWorld();
const handlers = accessLogHandlers({ store, clock });
const perform = openPipeline({ store, clock });
const began = clock.now();
function textOf(raw: Document["content"]): string {
  if (typeof raw === "string") return raw;
  if (Symbol.asyncIterator in raw) throw new Error("the answer is made while it is sent");
  return Buffer.concat([raw].flat()).toString();
}

for (let n = 0; n < 620; n += 1) {
  store.logAccess({
    at: addSeconds(began, n),
    requestId: `r${n}`,
    subject: n % 2 === 0 ? "" : "root",
    method: "GET",
    route: "/api/ca",
    path: "/api/ca",
    status: n === 7 ? 404 : 200,
    durationMs: 1,
    bytesOut: 2,
    ip: "192.0.2.1",
    userAgent: "curl",
  });
}
// The store writes rows of the access log with a delay.
await until(async () => (await store.read.accessLog.page({}, 1)).total === 620);

async function ask(query: Readonly<Record<string, string>>) {
  const asked = { origin: rootOrigin, path: {}, query: new URLSearchParams(query) };
  const call = { ...asked, operation: "access_log.list", body: async () => undefined } as const;
  return askJson(perform, call, handlers["access_log.list"]);
}

/** The headers it is sent with. */
async function sent(document: Document): Promise<Headers> {
  const exchange = { requestId: "r", secure: false } as Exchange; // What rendering looks at.
  return (await renderOutcome(exchange, new Outcome("done", document))).response.headers;
}

async function list(query: Readonly<Record<string, string>>) {
  const answer = await ask(query);
  return answer.body as {
    items: ({ id: number } & Record<string, unknown>)[];
    next_cursor: string;
    total: number;
  };
}

test("a row shows everything and nothing else", async () => {
  const { items, total } = await list({ status: "404" });
  expect(total).toBe(1);
  expect(items).toEqual([
    {
      id: 8,
      timestamp: expect.stringMatching(/^\d{4}-.*\.\d{6}Z$/),
      request_id: "r7",
      user_sub: "root",
      method: "GET",
      route: "/api/ca",
      path: "/api/ca",
      status: 404,
      duration_ms: 1,
      bytes_out: 2,
      ip: "192.0.2.1",
      user_agent: "curl",
    },
  ]);
});

test("filters and pages go together, and a cursor belongs to its filter", async () => {
  const first = await list({ user_sub: "", limit: "100" });
  expect([first.items.length, first.total]).toEqual([100, 310]);
  const second = await list({ user_sub: "", limit: "100", cursor: first.next_cursor });
  expect(second.items[0]?.id).toBe((first.items.at(-1)?.id ?? 0) - 2);
  await expect(list({ cursor: first.next_cursor })).rejects.toMatchObject({ code: "bad_cursor" });
});

test("what is no filter value is refused by name", async () => {
  for (const query of [{ status: "abc" }, { status: "42" }, { from: "soon" }, { export: "csv" }]) {
    await expect(ask(query)).rejects.toMatchObject({
      code: "bad_query",
      facts: { parameter: Object.keys(query)[0] },
    });
  }
  await expect(ask({ path: "/" })).rejects.toMatchObject({ code: "unknown_parameter" });
});

test("the file holds every row that matches, and is an event with its count", async () => {
  const answer = await ask({ export: "json", path_prefix: "/api/" });
  const { document } = answer;
  if (document === undefined) throw new Error("the answer is not a file");
  expect(Array.isArray(document.content)).toBe(true); // A piece for each page.
  expect((await sent(document)).get("content-disposition")).toBe(
    'attachment; filename="access-log.json"',
  );
  const rows = JSON.parse(textOf(document.content)) as { request_id: string }[];
  expect(rows.map(({ request_id }) => request_id)).toEqual(
    Array.from({ length: 620 }, (_, n) => `r${619 - n}`),
  );
  const { items } = await store.read.audit.events({ reach: "platform", action: "audit.export" }, 9);
  expect(items.map(({ detail }) => detail)).toEqual(["kind=access_log rows=620"]);

  const none = await ask({ export: "json", path_prefix: "/none", from: "2026-01-01" });
  expect(JSON.parse(textOf(none.document?.content ?? ""))).toEqual([]);
});
