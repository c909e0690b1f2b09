/**
 * `pkid preflight` as people and scripts see it: the table, the document, the exit codes, what it
 * is asked with.
 */

import { expect, test } from "bun:test";
import fc from "fast-check";

import { shownReport } from "#cli/commands/preflight.ts";
import type { Noun } from "#cli/command.ts";
import { nouns } from "#cli/commands.ts";
import { preflightChecks } from "#core/preflight/checks.ts";
import { failed, passed, skipped, warned } from "#core/preflight/finding.ts";
import { preflightReport } from "#core/preflight/report.ts";
import type { PreflightRequest } from "#domain/preflight/run.ts";
import { expectGolden } from "#test/support/golden.ts";
import { shell } from "#test/support/instances/shell.ts";

const finding = {
  good: passed("Valid."),
  bad: failed("EIO."),
  poor: warned("9 %."),
  none: skipped("Off."),
};

function reportOf(...found: readonly (keyof typeof finding)[]) {
  const names = ["config.parse", "keys.ocsp_delegate", "disk.space", "pin.source"] as const;
  return preflightReport({
    checkedAt: "2026-06-01T12:00:00.000000Z",
    configPath: "/etc/pkid/pkid.yaml",
    runs: found.map((key, index) => ({
      name: names[index] ?? "keys.ca",
      finding: finding[key],
      elapsedMs: index,
    })),
  });
}

/** Runs the command where no server answers; gives also what it asked for. */
async function run(argv: readonly string[], report = reportOf("good")) {
  const requests: PreflightRequest[] = [];
  const preflight = async (_read: unknown, _env: unknown, request: PreflightRequest) => {
    requests.push(request);
    return report;
  };
  const ended = await shell(["preflight", ...argv], { deps: { preflight } });
  return { ...ended, request: requests[0] };
}

test("the table is the one people reviewed: a remedy below what warns or fails, and the counts", async () => {
  const { stdout } = await run([], reportOf("good", "poor", "bad", "none"));
  expectGolden("preflight.txt", stdout);
});

test("on a terminal every line fits, whatever was found, and nothing of it is lost", () => {
  const text = fc.string({ unit: "grapheme", maxLength: 200 });
  const checked = fc.record({ name: fc.constantFrom("pin.source", "certs.responder_expiry") });
  fc.assert(
    fc.property(fc.integer({ min: 40, max: 200 }), checked, text, text, (width, one, ...said) => {
      const [detail, remedy] = said;
      const report = { checks: [{ ...one, status: "fail", detail, remedy }], summary: {} };
      const shown = shownReport(report, false);
      const lines = shown.fitted(width).split("\n");
      for (const line of lines) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(width);
      const solid = (of: string) => of.replace("DETAIL", "").replace(/\s/g, "");
      expect(solid(shown.fitted(width))).toBe(solid(String(shown)));
    }),
  );
});

test("--json is the report and nothing else", async () => {
  const report = reportOf("good", "poor");
  const { stdout, stderr } = await run(["--json"], report);
  expect([JSON.parse(stdout), stderr]).toEqual([report, ""]);
});

test("exit 0 when all pass, 1 with warnings, 2 with failures", async () => {
  const codeOf = async (...found: readonly (keyof typeof finding)[]) =>
    (await run([], reportOf(...found))).code;
  expect(await codeOf("good", "none")).toBe(0);
  expect(await codeOf("good", "poor")).toBe(1);
  expect(await codeOf("poor", "bad")).toBe(2);
});

test("its flags reach the run, and without them the defaults do", async () => {
  expect((await run([])).request).toEqual({
    deep: false,
    only: [],
    timeoutSeconds: 60,
    network: true,
    expiryWarnDays: 30,
    expiryFailDays: 7,
    auditSample: 1000,
  });
  const flags = "--deep --only keys.ca,disk.space --timeout 5s --expiry-warn-days 60".split(" ");
  const more = "--expiry-fail-days 14 --audit-sample 50 --no-network".split(" ");
  expect((await run([...flags, ...more])).request).toEqual({
    deep: true,
    only: ["keys.ca", "disk.space"],
    timeoutSeconds: 5,
    network: false,
    expiryWarnDays: 60,
    expiryFailDays: 14,
    auditSample: 50,
  });
});

test("an unknown check, a time that is none and a remote server are wrong usage", async () => {
  const wrong = async (...argv: readonly string[]) => {
    const { code, stderr, request } = await run(argv);
    return [code, stderr.trim(), request];
  };
  expect(await wrong("--only", "key.ca")).toEqual([
    2,
    "error: There is no check key.ca. Did you mean keys.ca?",
    undefined,
  ]);
  expect(await wrong("--timeout", "0s")).toEqual([
    2,
    expect.stringContaining("--timeout"),
    undefined,
  ]);
  expect(await wrong("--url", "https://pki.test")).toEqual([
    2,
    expect.stringContaining("this machine only"),
    undefined,
  ]);
});

test("a configuration with faults is looked at all the same", async () => {
  const preflight = async (read: { readonly loaded: { readonly ok: boolean } }) => {
    expect(read.loaded.ok).toBe(false);
    return reportOf("bad");
  };
  const env = { PKID_SERVER_PORT: "x" };
  expect((await shell(["preflight"], { env, deps: { preflight } })).code).toBe(2);
});

test("what a remedy says to run is there", () => {
  const lines = Object.values(preflightChecks).flatMap(({ remedy }) =>
    [...remedy.matchAll(/`pkid ([a-z -]+)`/g)].map(([, line = ""]) => line.trim().split(" ")),
  );
  expect(lines.length).toBeGreaterThan(5);
  for (const words of lines) {
    let found: Noun | undefined = { summary: "", verbs: nouns };
    for (const word of words) {
      found = found !== undefined && "verbs" in found ? found.verbs[word] : undefined;
    }
    expect([words, found !== undefined]).toEqual([words, true]);
  }
});
