/**
 * A command gives the members of an operation and the client puts them where the row has them;
 * names that the operation does not have do not compile.
 */

import { describe, expect, test } from "bun:test";

import { Client } from "#cli/client.ts";
import type { RequestBody } from "#cli/reach.ts";
import { facts, rowAt, rowsAt, textAt } from "#cli/rows.ts";

interface Sent {
  readonly line: string;
  readonly body: string | undefined;
}

/** A client whose requests are kept, each answered by the next of the answers, else by `{}`. */
function recording(...answers: readonly object[]) {
  const sent: Sent[] = [];
  const send = async (method: string, path: string, body?: RequestBody) => {
    sent.push({ line: `${method} ${path}`, body: body && String(body.content) });
    return Response.json(answers[sent.length - 1] ?? {});
  };
  const reach = async () => ({ way: "socket" as const, send, close: async () => undefined });
  return { sent, client: new Client(reach) };
}

const id = "0190f0f0-0000-7000-8000-000000000001";

describe("members stand where the row has them", () => {
  test("in path and body of a change", async () => {
    const { sent, client } = recording();
    await client.ask("cert.revoke", { id, serial: "7", reason: "superseded" });
    expect(sent).toEqual([
      { line: `POST /api/ca/${id}/revoke`, body: '{"serial":"7","reason":"superseded"}' },
    ]);
  });

  test("in path and query of a read, percent-encoded", async () => {
    const { sent, client } = recording();
    await client.list("cert.list", { id: "a/b", q: "ä&b", limit: 5 }, false);
    expect(sent).toEqual([
      { line: "GET /api/ca/a%2Fb/certificates?q=%C3%A4%26b&limit=5", body: undefined },
    ]);
  });

  test("in the query of a change whose row says so", async () => {
    const { sent, client } = recording();
    await client.ask("ca.delete", { id, destroy_key: true });
    expect(sent).toEqual([{ line: `DELETE /api/ca/${id}?destroy_key=true`, body: undefined }]);
  });

  test("and are left out where they are undefined, here and within", async () => {
    const { sent, client } = recording();
    await client.ask("ca.list", { status: undefined });
    await client.ask("ca.csr", { label: "a", subject: { cn: "A", o: undefined } });
    await client.ask("ca.rotate", { id, new_label: undefined });
    expect(sent).toEqual([
      { line: "GET /api/ca", body: undefined },
      { line: "POST /api/ca/csr", body: '{"label":"a","subject":{"cn":"A"}}' },
      { line: `POST /api/ca/${id}/rotate`, body: undefined },
    ]);
  });

  test("on every page, beside the cursor of the one before", async () => {
    const [first, last] = [
      { items: [{ id: "1" }], next_cursor: "c", has_more: true, total: 2 },
      {},
    ];
    const { sent, client } = recording(first, { ...last, items: [{ id: "2" }], has_more: false });
    const all = await client.list("token.list", { limit: 1 }, true);
    expect(sent.map(({ line }) => line)).toEqual([
      "GET /api/tokens?limit=1",
      "GET /api/tokens?limit=1&cursor=c",
    ]);
    expect(all).toEqual({
      items: [{ id: "1" }, { id: "2" }],
      total: 2,
      has_more: false,
    });
  });
});

describe("a name that an operation does not have does not compile", () => {
  test("of what it is asked with, also in a variable", async () => {
    const { sent, client } = recording();
    // @ts-expect-error: it is `reason`.
    await client.ask("cert.revoke", { id, serial: "7", resaon: "superseded" });
    const members = { limit: 1, curser: "c" };
    // @ts-expect-error: it is `cursor`.
    await client.list("ca.list", members, false);
    expect(sent).toHaveLength(2);
  });

  test("nor does a question whose route lacks a member", async () => {
    const { sent, client } = recording();
    // @ts-expect-error: nobody is named.
    await client.ask("cert.show", { id });
    // @ts-expect-error: neither here.
    await client.ask("ca.show");
    expect(sent).toHaveLength(2);
  });

  test("of what it answers, and of what stands within that", async () => {
    const { client } = recording({ items: [{ label: "a" }] }, { ca: { label: "b" } });
    const list = await client.ask("ca.list");
    const [ca = {}] = rowsAt(list, "items");
    // @ts-expect-error: it is `label`.
    expect([textAt(ca, "label"), textAt(ca, "lable")]).toEqual(["a", ""]);
    // @ts-expect-error: it is `items`.
    expect(rowsAt(list, "item")).toEqual([]);
    const made = rowAt(await client.ask("ca.csr", { label: "b" }), "ca");
    // @ts-expect-error: it is `label`.
    expect(facts(made, ["label", "lable"])).toBe("label: b\n");
  });

  test("and a value is believed by nobody, whatever its name promises", async () => {
    const { client } = recording({ items: { label: "a" } }, [1]);
    expect(rowsAt(await client.ask("ca.list"), "items")).toEqual([]);
    expect(textAt(await client.ask("ca.show", { id }), "label")).toBe("");
  });
});
