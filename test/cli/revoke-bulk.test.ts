/** `revoke bulk`: what it asks, how a file of serials is read, and when nothing is revoked. */

import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import fc from "fast-check";

import { Failure } from "#cli/failure.ts";
import { type Answers, shell } from "#test/support/instances/shell.ts";

const folder = mkdtempSync(join(tmpdir(), "pkid-serials-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const ca = "3e3d1b5c-0f2a-4a54-9d6e-2f1f5b7a9c10";
const plan = {
  operation_id: "op",
  reason: "keyCompromise",
  filter: "all",
  total: 3,
  known: 3,
  unknown: 0,
  held: 0,
  already_revoked: 0,
  filtered_out: 0,
  expired_excluded: 0,
  sample: [{ serial: "7", common_name: "web", profile: "server", known: true }],
};
const result = { operation_id: "op", planned: 3, revoked: 3, upgraded: 0, crl_scopes: ["full"] };
const answers: Answers = ({ path, body }) => {
  if (path.startsWith(`/api/ca/${ca}/revoked`)) return { items: [], total: 0 };
  return (body as { dry_run?: boolean }).dry_run ? plan : result; // The command sends nothing else.
};
const run = (...args: readonly string[]) =>
  shell(["revoke", "bulk", "--ca", ca, ...args], { answers });
const sent = (asked: Awaited<ReturnType<typeof run>>["asked"]) =>
  asked.filter(({ method }) => method === "POST");

function serialsFile(text: string): string {
  const file = join(folder, "serials");
  writeFileSync(file, text);
  return file;
}

test("without a number it shows the plan, revokes nothing, and prints the line to repeat", async () => {
  const { code, stdout, stderr, asked } = await run("--pattern", "*.a b", "--include-expired");
  expect(code).toBe(1);
  expect(sent(asked)).toMatchObject([{ path: `/api/ca/${ca}/revocations:bulk` }]);
  expect(sent(asked)[0]?.body).toEqual({
    dry_run: true,
    reason: "keyCompromise",
    filter: { pattern: "*.a b", include_expired: true },
  });
  expect(stdout).toMatch(/total: +3\n/);
  expect(stdout).toContain("web");
  expect(stderr).toContain(
    `pkid revoke bulk --ca ${ca} --pattern '*.a b' --include-expired --reason keyCompromise --confirm 3`,
  );
});

test("a dry run that was asked for ends well", async () => {
  const { code, stderr } = await run("--all", "--dry-run");
  expect([code, stderr]).toEqual([0, ""]);
  expect((await run("--all", "--dry-run", "--confirm", "3")).code).toBe(2);
});

test("where ACME is on it says how the clients of what was revoked are spread", async () => {
  const flags = ["revoke", "bulk", "--ca", ca, "--all", "--confirm", "3", "--operation-id", "op"];
  const line = `pkid acme replace --ca ${ca} --operation-id op --within 24h`;
  const on: Answers = (asked) =>
    asked.path.startsWith("/api/acme/replacements") ? { items: [], total: 0 } : answers(asked);
  expect((await shell(flags, { answers: on })).stderr).toContain(line);
  expect((await shell([...flags, "--quiet"], { answers: on })).stderr).toBe("");
  const idle: Answers = (asked) =>
    asked.path.includes("revocations:bulk") ? { ...result, revoked: 0 } : on(asked);
  expect((await shell(flags, { answers: idle })).stderr).not.toContain(line);
  const off: Answers = (asked) => {
    if (!asked.path.startsWith("/api/acme/")) return answers(asked);
    throw new Failure("ACME is off.", "feature_disabled", {});
  };
  const quiet = await shell(flags, { answers: off });
  expect([quiet.code, quiet.stderr.includes(line)]).toEqual([0, false]);
});

test("with the number it revokes, under an id that is told first", async () => {
  const flags = ["--all", "--reason", "superseded", "--confirm", "3", "--batch-size", "100"];
  const { code, stdout, stderr, asked } = await run(...flags, "--operation-id", "op");
  expect(code).toBe(0);
  expect(sent(asked)[0]?.body).toEqual({
    reason: "superseded",
    filter: {},
    all: true,
    batch_size: 100,
    confirm_count: 3,
    operation_id: "op",
    force: false,
  });
  expect(stderr).toContain("repeat it with --operation-id op");
  expect(stdout).toMatch(/revoked: +3\n/);
});

test("with --force no number is sent, and a run without an id gets one", async () => {
  const { asked } = await run("--all", "--force");
  expect(sent(asked)[0]?.body).toMatchObject({ force: true });
  expect(sent(asked)[0]?.body).toMatchObject({
    operation_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
  });
});

test("a connection that is lost is made anew under the same id, until the run has ended", async () => {
  const bodies: unknown[] = [];
  const running = { error: "The operation is already running.", code: "operation_running" };
  const lossy: Answers = ({ method, body }) => {
    if (method === "GET") return { items: [], total: 0 };
    bodies.push(body);
    if (bodies.length === 1) throw new Failure("The server cannot be reached.", "unreachable");
    return bodies.length === 2 ? Response.json(running, { status: 409 }) : result;
  };
  const line = ["revoke", "bulk", "--ca", ca, "--all", "--confirm", "3"];
  const { code, stdout } = await shell(line, { answers: lossy });
  expect(code).toBe(0);
  expect(stdout).toMatch(/revoked: +3\n/);
  expect(new Set(bodies.map((body) => JSON.stringify(body))).size).toBe(1);
});

test("a run that somebody else works on, and a server that is gone, are no reason to wait", async () => {
  const refusal = { error: "The operation is already running.", code: "operation_running" };
  const busy: Answers = ({ method }) =>
    method === "GET" ? { items: [] } : Response.json(refusal, { status: 409 });
  const gone: Answers = ({ method }) => {
    if (method === "GET") return { items: [] };
    throw new Failure("The server cannot be reached.", "unreachable");
  };
  const line = ["revoke", "bulk", "--ca", ca, "--all", "--force"];
  const ended = await shell(line, { answers: busy });
  expect([ended.code, ended.stderr.includes("operation_running")]).toEqual([1, true]);
  const lost = await shell(line, { answers: gone });
  expect([lost.code, lost.asked.filter(({ method }) => method === "POST").length]).toEqual([1, 2]);
});

test("a file of serials is read in the spelling it is said to have", async () => {
  const asked = async (text: string, format: "decimal" | "hex") => {
    const flags = ["--serials-file", serialsFile(text), "--serial-format", format, "--dry-run"];
    const ended = await run(...flags);
    expect(ended.stderr).toBe("");
    // As above.
    const body = sent(ended.asked)[0]?.body as { filter: { serials: string[] } } | undefined;
    return body?.filter.serials;
  };
  expect(await asked("# leaked\r\n10\r\n\r\n 011 \n10\n", "decimal")).toEqual(["10", "11"]);
  expect(await asked("10\n0x0B\n00:00:0c\nff\n", "hex")).toEqual(["16", "11", "12", "255"]);
  expect((await run("--serials-file", "-", "--dry-run")).stderr).toContain("has no serial");
});

describe("a file with something else is refused by its line, and nothing is asked", () => {
  test.each([
    ["1\nff\n", "decimal", "Line 2 is not a serial in decimal."],
    ["1\n\n0x10\n", "decimal", "Line 3 is not a serial in decimal."],
    ["-1\n", "decimal", "Line 1 is not a serial in decimal."],
    ["0\n", "decimal", "Line 1 is not a serial in decimal."],
    ["1 2\n", "decimal", "Line 1 is not a serial in decimal."],
    ["xyz\n", "hex", "Line 1 is not a serial in hex."],
    [`${"f".repeat(41)}\n`, "hex", "Line 1 is not a serial in hex."],
    ["\n# none\n", "hex", "has no serial"],
  ] as const)("%j in %s", async (text, format, sentence) => {
    const flags = ["--serials-file", serialsFile(text), "--serial-format", format, "--force"];
    const { code, stderr, asked } = await run(...flags);
    expect(code).toBe(1);
    expect(stderr).toContain(sentence);
    expect(sent(asked)).toEqual([]);
  });
  test("and so is one with more than 100,000", async () => {
    const text = Array.from({ length: 100_001 }, (_, at) => `${at + 1}\n`).join("");
    const { stderr, asked } = await run("--serials-file", serialsFile(text), "--force");
    expect(stderr).toContain("has 100001 serials; at most 100000 go at once");
    expect(sent(asked)).toEqual([]);
  });
});

test("whatever a file holds, it is read or refused with a sentence", async () => {
  await fc.assert(
    fc.asyncProperty(fc.string(), fc.constantFrom("decimal", "hex"), async (text, format) => {
      const flags = ["--serials-file", serialsFile(text), "--serial-format", format, "--dry-run"];
      const { code, stderr } = await run(...flags);
      expect(code === 0 || (code === 1 && stderr.startsWith("error: "))).toBe(true);
    }),
    { numRuns: 50 },
  );
});
