/**
 * The run of preflight: all checks at once, each with its own limit, and none that ends the others.
 */

import { describe, expect, test } from "bun:test";

import { systemPatience } from "#adapters/system.ts";
import { checkNames } from "#core/preflight/checks.ts";
import { passed } from "#core/preflight/finding.ts";
import { refuse } from "#core/problems.ts";
import {
  type Check,
  type Checks,
  type PreflightRequest,
  runPreflight,
} from "#domain/preflight/run.ts";
import { testClock } from "#test/support/ports.ts";

const clock = testClock();
const deps = {
  clock,
  stopwatch: clock.stopwatch,
  patience: systemPatience,
  configPath: "/etc/pkid/pkid.yaml",
  missing: {},
};
const request: PreflightRequest = {
  deep: true,
  only: [],
  timeoutSeconds: 5,
  network: true,
  expiryWarnDays: 30,
  expiryFailDays: 7,
  auditSample: 10,
};
const all = (check: Check): Checks =>
  // One function for each name of the table.
  Object.fromEntries(checkNames.map((name) => [name, check])) as Checks;

test("every row of the table is run once and reported in its order", async () => {
  let runs = 0;
  const counted = () => {
    runs += 1;
    return passed("good");
  };
  const report = await runPreflight(deps, all(counted), request);
  expect(report.checks.map(({ name }) => name)).toEqual([...checkNames]);
  expect([runs, report.summary.pass, report.ok]).toEqual([
    checkNames.length,
    checkNames.length,
    true,
  ]);
  expect(report).toMatchObject({
    checked_at: "2026-06-01T12:00:00.000000Z",
    config_path: "/etc/pkid/pkid.yaml",
  });
});

test("one that throws is a failure with its sentence, and the others go on", async () => {
  const checks: Checks = {
    ...all(() => passed("good")),
    "disk.space": () => {
      throw new Error("statfs: EIO");
    },
    "keys.ca": async () => {
      throw refuse("key_unavailable");
    },
  };
  const report = await runPreflight(deps, checks, request);
  expect(report.summary).toMatchObject({ fail: 2, pass: checkNames.length - 2 });
  const said = (name: string) => report.checks.find((check) => check.name === name)?.detail;
  expect(said("disk.space")).toBe("statfs: EIO");
  expect(said("keys.ca")).toBe("The key store does not answer. (key_unavailable)");
});

test("one that does not end is a failure when its time is up, and holds up nobody", async () => {
  const checks: Checks = {
    ...all(() => passed("good")),
    "disk.space": () => new Promise(() => {}),
  };
  const report = await runPreflight(deps, checks, { ...request, timeoutSeconds: 0.01 });
  expect(report.summary).toMatchObject({ fail: 1, pass: checkNames.length - 1 });
  expect(report.checks.find(({ status }) => status === "fail")?.detail).toContain("did not end");
});

test("they run at the same time", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  let waiting = 0;
  const report = await runPreflight(
    deps,
    all(async () => {
      waiting += 1;
      if (waiting === checkNames.length) resolve();
      await promise;
      return passed("good");
    }),
    request,
  );
  expect(report.summary.pass).toBe(checkNames.length);
});

describe("passed over", () => {
  const run = (wanted: Partial<PreflightRequest>, missing = {}) =>
    runPreflight(
      { ...deps, missing },
      all(() => passed("good")),
      { ...request, ...wanted },
    );

  test("is what was not asked for", async () => {
    const { checks } = await run({ only: ["keys.ca", "config.parse"] });
    expect(checks.map(({ name }) => name)).toEqual(["config.parse", "keys.ca"]);
  });

  test("is what reads the whole database, unless --deep is given", async () => {
    const [deep] = (await run({ deep: false, only: ["db.integrity"] })).checks;
    expect(deep).toMatchObject({ status: "skip", detail: expect.stringContaining("--deep") });
    expect((await run({ only: ["db.integrity"] })).checks[0]).toMatchObject({ status: "pass" });
  });

  test("is what needs something that is not there, with the reason", async () => {
    const { checks } = await run(
      { only: ["keys.extractable"] },
      { store: "There is no instance here yet." },
    );
    expect(checks[0]).toMatchObject({ status: "skip", detail: "There is no instance here yet." });
  });
});
