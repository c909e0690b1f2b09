/** A long answer is written in turns, octet for octet as it would be at once. */

import { expect, test } from "bun:test";

import { Outcome } from "#domain/access/outcome.ts";
import { startStub } from "#test/support/worlds/stub-server.ts";

test("an answer with lists of any length is the JSON of its value, with its length", async () => {
  for (const length of [0, 500, 501, 1000, 1777]) {
    const items = Array.from({ length }, (_, at) => ({ at, name: `ü${at}`, none: undefined }));
    const body = { a: 1, items, gone: undefined, more: { items }, last: null };
    const server = await startStub({}, { perform: async () => new Outcome("done", body) });
    const headers = { authorization: `Basic ${btoa("root:secret")}` };
    const answer = await fetch(`${server.origin}/api/tenants`, { headers });
    const octets = new Uint8Array(await answer.arrayBuffer());
    expect(new TextDecoder().decode(octets)).toBe(JSON.stringify(body));
    expect(answer.headers.get("content-length")).toBe(String(octets.length));
    await server.stop();
  }
});
