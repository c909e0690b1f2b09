/** Long answers: the same JSON as at once, sent piece by piece while others are served. */

import { expect, test } from "bun:test";

import { Document, Outcome } from "#domain/access/outcome.ts";
import { renderOutcome } from "#http/answer.ts";
import type { Exchange } from "#http/exchange.ts";
import { startStub } from "#test/support/worlds/stub-server.ts";

const exchange = { requestId: "r", secure: false } as Exchange; // What rendering looks at.
const entry = { certificate: "a".repeat(2000), note: "größer" };
const documentOf = (content: readonly Uint8Array[]) =>
  new Outcome("done", new Document({ content, type: "application/json" }));
const long = { items: Array<object>(3000).fill(entry), total: 3000 };

test("a list of megabytes is the JSON it would be at once, with its length", async () => {
  const { response, bytes } = await renderOutcome(exchange, new Outcome("done", long));
  const octets = await response.bytes();
  expect(JSON.parse(new TextDecoder().decode(octets))).toEqual(long);
  expect([bytes, response.headers.get("content-length")]).toEqual([
    octets.length,
    String(octets.length),
  ]);
});

test("no turn sends more than one piece of it", async () => {
  const { response } = await renderOutcome(exchange, new Outcome("done", long));
  let [turn, over] = [0, false];
  const count = () => {
    turn++;
    if (!over) setImmediate(count);
  };
  setImmediate(count);
  const turns = new Set<number>();
  let pieces = 0;
  for await (const _ of response.body ?? []) {
    pieces++;
    turns.add(turn);
  }
  over = true;
  expect(pieces).toBeGreaterThanOrEqual(6);
  expect(turns.size).toBeGreaterThanOrEqual(pieces - 1);
});

test("whoever stops reading ends it", async () => {
  const raw = Array<Uint8Array>(40).fill(new Uint8Array(100_000));
  const { response } = await renderOutcome(exchange, documentOf(raw));
  const reader = response.body?.getReader();
  expect((await reader?.read())?.value?.length).toBe(100_000);
  await reader?.cancel();
  expect(await reader?.read()).toMatchObject({ done: true });
});

test("pieces that are short together are sent as one", async () => {
  const raw = [Buffer.from("[1,"), Buffer.from("2]")];
  const { response } = await renderOutcome(exchange, documentOf(raw));
  expect([await response.text(), response.headers.get("content-length")]).toEqual(["[1,2]", "5"]);
});

test("over the wire it comes whole, and the connection serves the next request", async () => {
  const server = await startStub({}, { perform: async () => new Outcome("done", long) });
  const headers = { authorization: `Basic ${btoa("root:secret")}` };
  for (let round = 0; round < 3; round++) {
    const answer = await fetch(`${server.origin}/api/tenants`, { headers });
    expect(await answer.text()).toBe(JSON.stringify(long));
  }
  const head = await fetch(`${server.origin}/api/tenants`, { headers, method: "HEAD" });
  expect([head.status, await head.text()]).toEqual([200, ""]);
  await server.stop();
});
