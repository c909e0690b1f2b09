/** The judgements of preflight over facts, at every boundary where one turns into another. */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { preflightChecks } from "#core/preflight/checks.ts";
import {
  type FileFacts,
  judgeConfigFile,
  judgePrivate,
  judgeSocket,
} from "#core/preflight/files.ts";
import {
  failed,
  type Finding,
  gathered,
  passed,
  skipped,
  warned,
} from "#core/preflight/finding.ts";
import {
  judgeClock,
  judgeDurability,
  judgeEngine,
  judgeLeadership,
  judgeProcess,
  judgeVolume,
} from "#core/preflight/host.ts";
import { preflightReport } from "#core/preflight/report.ts";
import { entropyBits, isKnownDefault, judgeSecrets } from "#core/preflight/secrets.ts";

const file = (mode: number, more: Partial<FileFacts> = {}): FileFacts => ({
  path: "/x",
  kind: "file",
  owner: 0,
  mode,
  ...more,
});

test("the worst finding decides, and what is only good is not told beside it", () => {
  expect(gathered([passed("a"), warned("b"), failed("c"), skipped("d")], "good")).toEqual(
    failed("c b"),
  );
  expect(gathered([passed("a"), skipped("d")], "good")).toEqual(passed("good"));
  const many = gathered(
    Array.from({ length: 12 }, (_, n) => warned(`w${n}`)),
    "good",
  );
  expect(many.detail).toEndWith("w9 And 2 more.");
});

test("a report has a remedy where something is to be remedied, counts everything, and is ok without failures", () => {
  const run = (finding: Finding) => ({ name: "disk.space", finding, elapsedMs: 3 }) as const;
  const about = { checkedAt: "2026-01-01T00:00:00.000000Z", configPath: "" };
  const report = preflightReport({
    ...about,
    runs: [passed("a"), warned("b"), skipped("c")].map(run),
  });
  expect(report.checks.map(({ remedy }) => remedy)).toEqual([
    "",
    preflightChecks["disk.space"].remedy,
    "",
  ]);
  expect([report.summary, report.ok]).toEqual([{ pass: 1, warn: 1, fail: 0, skip: 1 }, true]);
  expect(preflightReport({ ...about, runs: [run(failed("d"))] }).ok).toBe(false);
});

describe("files", () => {
  // biome-ignore format: the table is read by column.
  const modes = [
    [0o600, [],           "pass"],
    [0o644, [],           "pass"],
    [0o640, ["pkcs11.pin"], "warn"],
    [0o604, ["pkcs11.pin"], "warn"],
    [0o600, ["pkcs11.pin"], "pass"],
    [0o620, [],           "fail"],
    [0o602, [],           "fail"],
  ] as const;
  test.each(modes)(
    "a configuration file of mode %o with inline secrets %p",
    (mode, secrets, status) => {
      expect(judgeConfigFile(file(mode), secrets).status).toBe(status);
    },
  );

  test("anything of others on a private file fails, and absent files are of no concern", () => {
    expect(judgePrivate([file(0o700), file(0o600), file(0, { kind: "absent" })]).status).toBe(
      "pass",
    );
    for (const mode of [0o610, 0o640, 0o601, 0o602]) {
      expect(judgePrivate([file(0o600), file(mode)])).toMatchObject({
        status: "fail",
        detail: `/x has mode ${mode.toString(8)}.`,
      });
    }
  });

  test("a directory of archives that others may read warns, for they are encrypted", () => {
    expect(judgePrivate([file(0o700)], [file(0o700), file(0, { kind: "absent" })])).toEqual({
      status: "pass",
      detail: "2 files and directories are open to their owner only.",
    });
    expect(judgePrivate([file(0o700)], [file(0o755)])).toEqual({
      status: "warn",
      detail: "/x has mode 755.",
    });
    expect(judgePrivate([file(0o640)], [file(0o755)]).status).toBe("fail");
  });

  test("a socket is ours, answers, and is open to its owner only", () => {
    const socket = (mode: number, owner = 7) => file(mode, { kind: "socket", owner });
    expect(judgeSocket(socket(0o600), true, 7).status).toBe("pass");
    expect(judgeSocket(socket(0o660), true, 7).status).toBe("warn");
    expect(judgeSocket(socket(0o600), false, 7).detail).toContain("stale");
    expect(judgeSocket(socket(0o600, 8), true, 7).status).toBe("fail");
    expect(judgeSocket(socket(0o660), true, 7, 0o660).status).toBe("pass");
    expect(judgeSocket(socket(0o666), true, 7, 0o660)).toEqual({
      status: "warn",
      detail: "/x has mode 666 instead of 660.",
    });
    expect(judgeSocket(file(0o600), true, 7).status).toBe("fail");
    expect(judgeSocket(file(0, { kind: "absent" }), false, 7).status).toBe("pass");
  });
});

describe("secrets", () => {
  test.each(["changeme", "Password", "password1", "secret!", "12345678", "PKID", "root-123"])(
    "%s is a known default",
    (value) => {
      expect(isKnownDefault(value)).toBe(true);
      expect(judgeSecrets([{ key: "root_user.password", value }])).toEqual(
        failed("root_user.password is a known default."),
      );
    },
  );

  test("what withstands fewer than 2^64 guesses warns, and its value is not told", () => {
    const { status, detail } = judgeSecrets([{ key: "k", value: "zkqwvx" }]);
    expect([status, detail]).toEqual(["warn", "k withstands about 2^24 guesses."]);
    expect(isKnownDefault("tr0ub4dor&3")).toBe(false);
    expect(judgeSecrets([{ key: "k", value: "Zk7q-Wv2x-Hp9m" }]).status).toBe("pass");
  });

  test("where a token stops whoever guesses, a short one passes, and a known default does not", () => {
    const pin = (value: string) => judgeSecrets([{ key: "pkcs11.pin", value, fewGuesses: true }]);
    expect([pin("924715").status, pin("1234").status]).toEqual(["pass", "fail"]);
  });

  test("runs and repetitions count little, and no text counts more than its characters can", () => {
    expect(entropyBits("a".repeat(64))).toBeLessThan(70);
    expect(entropyBits("abcdefghijklmnop")).toBeLessThan(21);
    fc.assert(
      fc.property(fc.string({ maxLength: 100 }), (value) => {
        const bits = entropyBits(value);
        expect(bits).toBeGreaterThanOrEqual(0);
        expect(bits).toBeLessThanOrEqual([...value].length * Math.log2(95));
      }),
    );
  });
});

describe("disk", () => {
  const gigabyte = 2 ** 30;
  const limits = { minFreeMegabytes: 256, bytesPerDay: undefined };
  const volume = {
    path: "/v",
    holds: "data" as const,
    bytesTotal: 100 * gigabyte,
    bytesFree: 50 * gigabyte,
  };
  const inodes = { inodesTotal: 1000, inodesFree: 500 };
  const judged = (more: object, other: object = {}) =>
    judgeVolume({ ...volume, ...inodes, ...more }, { ...limits, ...other }).status;

  test("warns under a tenth, under 2 GiB and under 14 days of growth", () => {
    expect(judged({})).toBe("pass");
    expect(judged({ bytesFree: 10 * gigabyte })).toBe("pass");
    expect(judged({ bytesFree: 10 * gigabyte - 1 })).toBe("warn");
    expect(judged({ bytesTotal: 3 * gigabyte, bytesFree: 2 * gigabyte - 1 })).toBe("warn");
    expect(judged({}, { bytesPerDay: (50 * gigabyte) / 14 })).toBe("pass");
    expect(judged({}, { bytesPerDay: (50 * gigabyte) / 13 })).toBe("warn");
  });

  test("fails under twice what stops issuance and under a hundredth of the inodes", () => {
    expect(judged({ bytesFree: 512 * 2 ** 20 })).toBe("warn");
    expect(judged({ bytesFree: 512 * 2 ** 20 - 1 })).toBe("fail");
    expect(judged({ inodesFree: 9 })).toBe("fail");
    expect(judged({ inodesTotal: 0, inodesFree: 0 })).toBe("pass");
  });

  test("of archives and snapshots the same room is wanted, and growth of the database is not theirs", () => {
    for (const holds of ["backups", "snapshots"]) {
      expect(judged({ holds, bytesFree: 512 * 2 ** 20 - 1 })).toBe("fail");
      expect(judged({ holds, bytesFree: 10 * gigabyte - 1 })).toBe("warn");
      expect(judged({ holds }, { bytesPerDay: (50 * gigabyte) / 13 })).toBe("pass");
    }
  });

  test("a setting that may lose a commit and locks that do not hold fail, a slow disk warns", () => {
    const settings = [{ name: "fsync", value: "on", durable: true }];
    const good = { settings, writesMs: [1, 50, 900], withoutLocks: false };
    expect(judgeDurability(good).status).toBe("pass");
    expect(judgeDurability({ ...good, writesMs: [1, 51, 52] }).status).toBe("warn");
    expect(judgeDurability({ ...good, withoutLocks: true }).status).toBe("fail");
    const off = [{ name: "fsync", value: "off", durable: false }];
    expect(judgeDurability({ ...good, settings: off })).toEqual(failed("fsync is off."));
    expect(judgeDurability({ settings: [], writesMs: [], withoutLocks: false }).status).toBe(
      "pass",
    );
  });
});

test("SQLite before 3.45 and PostgreSQL before 14 fail, a replica over 10 s behind warns", () => {
  const judged = (
    engine: "sqlite" | "postgres",
    version: string,
    replicaLagSeconds?: number,
  ): string =>
    judgeEngine({ engine, version, replicaLagSeconds, isReplicatedAsynchronously: false }).status;
  expect([judged("sqlite", "3.45.0"), judged("sqlite", "3.44.9"), judged("sqlite", "4.0")]).toEqual(
    ["pass", "fail", "pass"],
  );
  expect([judged("postgres", "14.0"), judged("postgres", "13.22"), judged("postgres", "")]).toEqual(
    ["pass", "fail", "fail"],
  );
  expect([judged("postgres", "17.4", 10), judged("postgres", "17.4", 11)]).toEqual([
    "pass",
    "warn",
  ]);
});

/** Limits of a process that are just good enough. */
const enoughForProcess = {
  openFilesMax: 8192,
  openFilesOwn: 64,
  filesPerConnection: 1,
  memory: { bytesMax: 512 * 1_048_576, saidBy: "memory.max" },
  unwritable: [],
  unexecutable: [],
};

test("memory warns under 512 MiB and fails under what a busy instance takes, and says who allows it", () => {
  const judged = (megabytes: number) =>
    judgeProcess(
      {
        ...enoughForProcess,
        memory: { bytesMax: megabytes * 1_048_576, saidBy: "/sys/fs/cgroup/memory.max" },
      },
      false,
    );
  expect([512, 511, 256, 255].map((size) => judged(size).status)).toEqual([
    "pass",
    "warn",
    "warn",
    "fail",
  ]);
  const said = "255 MiB of memory may be used (/sys/fs/cgroup/memory.max).";
  expect(judged(255).detail).toStartWith(`${said} Server and signers take about 256 MiB`);
});

test("open files are told with the connections they are enough for", () => {
  const told = (more: object) => judgeProcess({ ...enoughForProcess, ...more }, false).detail;
  expect(told({})).toStartWith("8192 files may be open, enough for 8128 connections at once");
  expect(told({ filesPerConnection: 4, openFilesMax: 1024 })).toBe(
    "1024 files may be open, enough for 240 connections at once, which take 4 each.",
  );
  expect(told({ openFilesMax: 10 })).toContain("enough for 0 connections");
});

test("open files warn under 8,192 and fail under 1,024; directories matter as they are used", () => {
  const good = enoughForProcess;
  const judged = (more: object, tokens = false): string =>
    judgeProcess({ ...good, ...more }, tokens).status;
  expect([judged({}), judged({ openFilesMax: undefined })]).toEqual(["pass", "pass"]);
  expect([judged({ openFilesMax: 8191 }), judged({ openFilesMax: 1023 })]).toEqual([
    "warn",
    "fail",
  ]);
  expect(judged({ unwritable: ["/tmp"] })).toBe("fail");
  expect([judged({ unexecutable: ["/t"] }), judged({ unexecutable: ["/t"] }, true)]).toEqual([
    "pass",
    "fail",
  ]);
});

test("work that stands still fails; late jobs, two holders and leases lost again and again warn", () => {
  const good = { late: [], idleSeconds: 60, shared: 0, lost: 3 };
  expect(judgeLeadership(good).status).toBe("pass");
  expect(judgeLeadership({ ...good, idleSeconds: 61 })).toEqual(
    failed("No job has succeeded for 61 s."),
  );
  expect(judgeLeadership({ ...good, shared: 1 }).status).toBe("warn");
  expect(judgeLeadership({ ...good, lost: 4 })).toEqual(warned("Leases lost in the last hour: 4."));
  expect(judgeLeadership({ ...good, late: ["crl.renew", "kek.finish"] })).toEqual(
    warned("Jobs that did not succeed in time: crl.renew, kek.finish."),
  );
});

test("clocks 10 s apart pass, further warn, over a minute fail, and so does an event in the future", () => {
  const judged = (
    databaseSeconds: number | undefined,
    newestEventSeconds: number | undefined,
  ): string => judgeClock({ databaseSeconds, newestEventSeconds }).status;
  expect([judged(undefined, undefined), judged(10, -5), judged(-10, 0)]).toEqual([
    "pass",
    "pass",
    "pass",
  ]);
  expect([judged(11, -5), judged(-60, -5), judged(61, -5)]).toEqual(["warn", "warn", "fail"]);
  expect([judged(0, 5), judged(undefined, 6)]).toEqual(["pass", "fail"]);
});
