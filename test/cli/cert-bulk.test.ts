/** `cert issue-bulk`: what a manifest may say, what is confirmed, and what is asked in slices. */

import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import fc from "fast-check";

import { type Answers, type Asked, shell } from "#test/support/instances/shell.ts";

const folder = mkdtempSync(join(tmpdir(), "pkid-bulk-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const id = "3e3d1b5c-0f2a-4a54-9d6e-2f1f5b7a9c10";
writeFileSync(join(folder, "a.csr"), "REQUEST A");
writeFileSync(join(folder, "b,c.csr"), "REQUEST B");

interface Sent {
  readonly items: readonly { readonly ref: string }[];
  readonly operation_id: string;
  readonly confirm_count: number;
}
const sentIn = ({ body }: Asked) => body as Sent; // The command sends nothing else.
const issuing: Answers = (asked) => {
  const { items, operation_id } = sentIn(asked);
  const results = items.map(({ ref }, index) => ({
    ref,
    index,
    status: "issued",
    serial: String(index + 1),
    chain: `CHAIN ${ref}`,
  }));
  const { length } = items;
  return { operation_id, requested: length, issued: length, pending: 0, failed: 0, items: results };
};

function run(manifest: string, ...args: readonly string[]) {
  const file = join(folder, "manifest");
  writeFileSync(file, manifest);
  const line = ["cert", "issue-bulk", "--ca", id, "--manifest", file, ...args];
  return shell(line, { answers: issuing });
}

test("CSV and JSON lines say the same, and request files are beside the manifest", async () => {
  const csv = 'ref,csr,profile,validity_days\nfirst,a.csr,client,3\n"second ""x""","b,c.csr",,\n';
  const json = [
    { ref: "first", csr: "a.csr", profile: "client", validity_days: 3 },
    { ref: 'second "x"', csr: "b,c.csr" },
  ];
  const items = [
    { ref: "first", csr: "REQUEST A", profile: "client", validity_days: 3 },
    { ref: 'second "x"', csr: "REQUEST B", profile: "email" },
  ];
  for (const manifest of [csv, json.map((one) => JSON.stringify(one)).join("\r\n")]) {
    const flags = ["--confirm", "2", "--operation-id", "op", "--profile", "email"];
    const { code, asked } = await run(manifest, ...flags);
    expect(code).toBe(0);
    expect(asked).toMatchObject([{ method: "POST", path: `/api/ca/${id}/certificates:bulk` }]);
    expect(asked[0]?.body).toEqual({
      dry_run: false,
      concurrency: 8,
      items,
      confirm_count: 2,
      operation_id: "op.0",
    });
  }
});

describe("a manifest is refused, and nothing is asked", () => {
  test.each([
    ["", "The manifest is empty."],
    ["csr\n", "The manifest is empty."],
    ["csr,ref\na.csr\n", "Line 2 of the manifest has not 2 columns."],
    ["ref\na\n", "Line 2 of the manifest names no csr file."],
    ["csr,colour\na.csr,red\n", "Line 2 of the manifest has an unknown column colour."],
    ['csr\n"a.csr\n', "Line 2 of the manifest is not CSV."],
    ['{"csr":"a.csr"}\n{"csr":\n', "Line 2 of the manifest is not a JSON object."],
    ["csr,validity_days\na.csr,1.5\n", "Line 2 of the manifest has a validity_days"],
    ["csr\na.csr\na.csr\n", "Two lines of the manifest have the same ref."],
    ["csr\nmissing.csr\n", "cannot be read"],
  ])("%j", async (manifest, sentence) => {
    const { code, asked, stdout, stderr } = await run(manifest, "--confirm", "1");
    expect([code, asked, stdout]).toEqual([1, [], ""]);
    expect(stderr).toContain(sentence);
  });

  test("whatever it holds", async () => {
    const manifests = fc.stringMatching(/^[ -~\n"',{}]{0,80}$/);
    await fc.assert(
      fc.asyncProperty(manifests, async (manifest) => {
        const { code, asked } = await run(`csr\nno-such-file\n${manifest}`, "--confirm", "1");
        expect([code, asked]).toEqual([1, []]);
      }),
      { numRuns: 50 },
    );
  });
});

test("issuing wants the number of lines, a dry run does not", async () => {
  const manifest = "csr\na.csr\n";
  expect(await run(manifest)).toMatchObject({ code: 2, asked: [] });
  const wrong = await run(manifest, "--confirm", "2");
  expect(wrong).toMatchObject({ code: 1, asked: [] });
  expect(wrong.stderr).toContain("has 1 lines, not 2");
  const { asked } = await run(manifest, "--dry-run");
  expect(asked[0]?.body).toMatchObject({ dry_run: true });
});

test("a long manifest is asked in slices under one name, and answered as one", async () => {
  const lines = Array.from({ length: 260 }, (_, at) => `a.csr,n${at}`);
  const flags = ["--confirm", "260", "--operation-id", "op", "--out-dir", join(folder, "out")];
  const { code, asked, stdout, stderr } = await run(`csr,ref\n${lines.join("\n")}\n`, ...flags);
  expect(code).toBe(0);
  const sent = asked.map(sentIn);
  expect(sent.map((body) => [body.operation_id, body.items.length, body.confirm_count])).toEqual([
    ["op.0", 250, 250],
    ["op.1", 10, 10],
  ]);
  expect(stdout).toContain("issued:       260");
  expect(stderr).toContain("250 of 260");
  expect(readFileSync(join(folder, "out", "n259.pem"), "utf8")).toBe("CHAIN n259");
});

test("no ref leads out of the directory", async () => {
  const out = join(folder, "safe");
  const manifest = "csr,ref\na.csr,../escaped\n";
  expect((await run(manifest, "--confirm", "1", "--out-dir", out)).code).toBe(0);
  expect(existsSync(join(folder, "escaped.pem"))).toBe(false);
  expect(existsSync(join(out, "1.pem"))).toBe(true);
});
