/** The audit chain as a file: which events, in which format, recorded before, read while sent. */

import { expect, test } from "bun:test";

import { auditHandlers, eventJson } from "#api/audit.ts";
import { verifyChainFile } from "#core/audit/chain-file.ts";
import { cefLine, rfc5424Line } from "#core/audit/formats.ts";
import { addSeconds, type Instant, timestamp } from "#core/time.ts";
import { type Document, Outcome } from "#domain/access/outcome.ts";
import { renderOutcome } from "#http/answer.ts";
import type { Exchange } from "#http/exchange.ts";
import { createMemoryStore } from "#test/support/stores/memory-store.ts";
import { testClock } from "#test/support/ports.ts";
import { askJson, openPipeline } from "#test/support/worlds/asking.ts";
import { rootOrigin } from "#test/support/worlds/issuance.ts";

const lines = { host: "ca1", processId: 1, version: "1.2.3", enterpriseId: 32473 };
const began = testClock().now();
const at = (seconds: number) => addSeconds(began, seconds);

/** An instance whose events happened at these times. */
async function world(times: readonly Instant[]) {
  const store = createMemoryStore();
  await store.atomically(async (tx) => {
    for (const time of times) {
      const draft = { action: "auth.logout", result: "success", actor: "a" } as const;
      await tx.audit.appendEvent(draft, time);
    }
  });
  const clock = testClock(timestamp(at(86_400)));
  const reads: number[] = [];
  const eventsAfter: typeof store.read.audit.eventsAfter = async (after, limit) => {
    reads.push(after);
    return await store.read.audit.eventsAfter(after, limit);
  };
  const counted = {
    ...store,
    read: { ...store.read, audit: { ...store.read.audit, eventsAfter } },
  };
  const handlers = auditHandlers({ store: counted, clock, lines });
  const perform = openPipeline({ store: counted, clock });
  const ask = async (query: Readonly<Record<string, string>> = {}): Promise<Document> => {
    const asked = { origin: rootOrigin, path: {}, query: new URLSearchParams(query) };
    const call = { ...asked, operation: "event.export", body: async () => undefined } as const;
    const { document } = await askJson(perform, call, handlers["event.export"]);
    if (document === undefined) throw new Error("the answer is no file");
    return document;
  };
  return { store, ask, reads };
}

/** As it is sent. */
async function sent(document: Document): Promise<Response> {
  const exchange = { requestId: "r", secure: false } as Exchange; // What rendering looks at.
  return (await renderOutcome(exchange, new Outcome("done", document))).response;
}

async function seqs(document: Document): Promise<readonly number[]> {
  const text = await (await sent(document)).text();
  const lines = text.split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line).seq);
}

async function* pieceOf(text: string) {
  yield Buffer.from(text);
}

const range = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, n) => first + n);

test("JSON lines are the whole chain before the export, oldest first, with all that links them", async () => {
  const { store, ask } = await world(range(1, 620).map(at));
  const document = await ask();
  const { headers } = await sent(await ask());
  expect(headers.get("content-type")).toBe("application/x-ndjson");
  expect(headers.get("content-disposition")).toBe('attachment; filename="events.ndjson"');
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  const text = await (await sent(document)).text();
  const stored = store.listEvents().slice(0, 620);
  expect(text).toBe(stored.map((event) => `${JSON.stringify(eventJson(event))}\n`).join(""));
  const head = { seq: 620, hash: stored.at(-1)?.hash ?? "" };
  expect(await verifyChainFile(pieceOf(text))).toEqual({
    valid: true,
    events: 620,
    firstSeq: 1,
    head,
  });
});

test("the other formats are text, a line for each event", async () => {
  const { store, ask } = await world([at(1), at(2)]);
  const stored = store.listEvents();
  for (const [format, write, name] of [
    ["rfc5424", rfc5424Line, "events.log"],
    ["cef", cefLine, "events.cef"],
  ] as const) {
    const to = timestamp(at(3));
    const response = await sent(await ask({ format, to }));
    expect(response.headers.get("content-type")).toBe("text/plain");
    expect(response.headers.get("content-disposition")).toContain(name);
    expect(await response.text()).toBe(stored.map((event) => `${write(event, lines)}\n`).join(""));
  }
});

test("a span is the events from one time up to another, without it", async () => {
  const { ask } = await world(range(1, 600).map(at));
  const span = (from: number, to: number) => ({ from: timestamp(at(from)), to: timestamp(at(to)) });
  expect(await seqs(await ask(span(3, 6)))).toEqual([3, 4, 5]);
  expect(await seqs(await ask({ from: timestamp(at(598)), to: timestamp(at(900)) }))).toEqual([
    598, 599, 600,
  ]);
  expect(await seqs(await ask({ to: timestamp(at(3)) }))).toEqual([1, 2]);
  expect(await seqs(await ask(span(3, 3)))).toEqual([]);
  expect(await seqs(await ask({ from: "9999-01-01" }))).toEqual([]);
});

test("where the clock was set back a span is one piece of the chain, and nothing of it is missing", async () => {
  const { ask } = await world([1, 2, 10, 11, 3, 4, 12, 5, 13].map(at));
  const asked = async (from: number, to: number) =>
    seqs(await ask({ from: timestamp(at(from)), to: timestamp(at(to)) }));
  expect(await asked(10, 100)).toEqual(range(3, 9));
  expect(await asked(12, 100)).toEqual(range(7, 9));
  expect(await asked(4, 6)).toEqual(range(3, 8));
});

test("an export is an event with its span and its rows before the first octet of it", async () => {
  const { store, ask, reads } = await world(range(1, 5).map(at));
  await ask({ from: timestamp(at(2)), to: timestamp(at(4)), format: "cef" });
  expect(reads).toEqual([]);
  const { items } = await store.read.audit.events({ reach: "platform", action: "audit.export" }, 9);
  expect(items).toMatchObject([
    {
      actor: rootOrigin.principal.subject,
      result: "success",
      detail: `kind=events from=${timestamp(at(2))} to=${timestamp(at(4))} rows=2`,
    },
  ]);
  store.checkWrite = () => {
    throw new Error("no room");
  };
  await expect(ask()).rejects.toThrow();
});

test("it is read page by page as it is taken, and whoever goes away ends the reading", async () => {
  const { ask, reads } = await world(range(1, 1500).map(at));
  const reader = (await sent(await ask())).body?.getReader();
  await reader?.read();
  await Bun.sleep(20);
  const ahead = reads.length;
  expect(ahead).toBeLessThan(4);
  await reader?.cancel();
  await Bun.sleep(20);
  expect(reads.length).toBeLessThanOrEqual(ahead + 1);
});

test.each([
  ["format", { format: "csv" }],
  ["from", { from: "soon" }],
  ["to", { to: "2026-13-01" }],
  ["from", { from: "2026-06-02", to: "2026-06-01" }],
])("a wrong %s is refused by name, and nothing is recorded", async (parameter, query) => {
  const { store, ask } = await world([at(1)]);
  await expect(ask(query as Record<string, string>)).rejects.toMatchObject({
    code: "bad_query",
    facts: { parameter },
  });
  expect(store.countRows("events")).toBe(1);
});
