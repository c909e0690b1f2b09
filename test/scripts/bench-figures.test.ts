/** Figures, floors, goals and turns of the bench come out as they were measured. */

import fc from "fast-check";

import { expect, test } from "bun:test";

import { reported, row } from "#scripts/bench/print.ts";
import { costOfEach } from "#scripts/bench/processor.ts";
import {
  amount,
  type Figure,
  Report,
  reached,
  reportJson,
  written,
} from "#scripts/bench/report.ts";
import { median, percentile } from "#scripts/bench/statistics.ts";
import { compared, comparedTable, inTurns } from "#scripts/bench/turns.ts";

const rate: Figure = {
  name: "rate",
  label: "issues",
  value: 1800,
  unit: "/s",
  floor: { name: "the bare CA", value: 5000 },
  goal: { of: "ratio", least: 0.5 },
};

test("a percentile is the smallest value that so many do not pass", () => {
  const values = Array.from({ length: 1000 }, (_, at) => 1000 - at);
  expect([50, 90, 99, 99.9, 100].map((percent) => percentile(values, percent))).toEqual([
    500, 900, 990, 999, 1000,
  ]);
  expect([median([3]), median([9, 1, 2]), median([4, 1])]).toEqual([3, 2, 2.5]);
  expect(median([])).toBeNaN();
  expect(percentile([], 50)).toBeNaN();
});

test("a percentile is one of the values, and never falls as the percent rises", () => {
  const values = fc.array(fc.double({ noNaN: true }), { minLength: 1 });
  fc.assert(
    fc.property(values, fc.integer({ min: 1, max: 99 }), (some, percent) => {
      const found = percentile(some, percent);
      expect(some).toContain(found);
      expect(percentile(some, percent + 1)).toBeGreaterThanOrEqual(found);
    }),
  );
});

test("a figure is written with its ratio to the floor and its goal", () => {
  expect(written(rate)).toBe("1800/s, 0.36 of the bare CA, 5000/s (goal ≥ 0.5 of it)");
  const memory: Figure = { ...rate, value: 116.5, unit: "MB", floor: undefined, note: "of two" };
  expect(written({ ...memory, goal: { of: "value", most: 120 } })).toBe(
    "117 MB, of two (goal ≤ 120 MB)",
  );
});

test("a goal is reached at its bound, and missed beside it", () => {
  expect(reached(rate)).toBe(false);
  expect(reached({ ...rate, value: 2500 })).toBe(true);
  expect(reached({ ...rate, value: 120, goal: { of: "value", most: 120 } })).toBe(true);
  expect(reached({ ...rate, value: 121, goal: { of: "value", most: 120 } })).toBe(false);
  expect(reached({ ...rate, value: undefined })).toBeUndefined();
  expect(reached({ ...rate, goal: undefined })).toBeUndefined();
});

test("what the machine does not tell is a question mark for people and null for programs", () => {
  expect(amount(undefined, "MB")).toBe("?");
  expect(amount(Number.NaN, "MB")).toBe("?");
  const machine = { cores: 2, kernel: "6.1", bun: "1.4.4" };
  const binary = { path: "/pkid", version: "pkid 1", sha256: "00" };
  const [json] = reportJson(machine, binary, [{ ...rate, value: Number.NaN }]).figures;
  expect(json).toMatchObject({ value: null, ratio: null, reached: null });
});

test("the document of a run holds machine, binary and every figure with stable members", () => {
  const machine = { cores: 2, kernel: "6.1", bun: "1.4.4" };
  const binary = { path: "/pkid", version: "pkid 1", sha256: "00" };
  expect(reportJson(machine, binary, [rate])).toEqual({
    machine,
    binary,
    figures: [
      {
        name: "rate",
        label: "issues",
        value: 1800,
        unit: "/s",
        floor: "the bare CA",
        floor_value: 5000,
        ratio: 0.36,
        goal: { of: "ratio", least: 0.5 },
        reached: false,
        note: null,
      },
    ],
  });
});

test("figures are named by their section, and counted where one is measured again", () => {
  const report = new Report(() => undefined);
  report.section("gates", "gates");
  report.add(rate);
  report.add(rate);
  report.add({ ...rate, name: "rate_tls" });
  expect(report.figures.map(({ name }) => name)).toEqual([
    "gates.rate",
    "gates.rate#2",
    "gates.rate_tls",
  ]);
});

test("a row told in words is a figure where it begins with a number", async () => {
  const lines: string[] = [];
  const figures = await reported(
    (line) => lines.push(line),
    async () => {
      row("Plan, superseded", "1.5 s, 99 found");
      row("audit chain", "valid, 7 events");
      row("rate", "1200/s");
      row("API token", "22 of 1146 µs, 2.0 % on top");
    },
  );
  expect(figures).toMatchObject([
    { name: ".plan-superseded", value: 1.5, unit: "s", note: "1.5 s, 99 found" },
    { name: ".audit-chain", value: undefined, unit: "", note: "valid, 7 events" },
    { name: ".rate", value: 1200, unit: "/s", note: "1200/s" },
    { name: ".api-token", value: 22, unit: "", note: "22 of 1146 µs, 2.0 % on top" },
  ]);
  expect(lines[1]).toEndWith(" valid, 7 events");
  expect(lines[3]).toEndWith(" 22 of 1146 µs, 2.0 % on top");
});

test("two have their turns one after the other", async () => {
  const order: string[] = [];
  await inTurns(3, async (which, turn) => void order.push(`${which}${turn}`));
  expect(order).toEqual(["a1", "b1", "a2", "b2", "a3", "b3"]);
});

test("ratios are of neighbours, so that a slow turn strikes neither", () => {
  const turn = (a: number, b: number) => ({
    a: [{ ...rate, value: a }],
    b: [{ ...rate, value: b }],
  });
  const [both] = compared([turn(100, 200), turn(10, 20), turn(100, 210)]);
  expect(both).toMatchObject({ a: 100, b: 200, ratio: 2, lowest: 2, highest: 2.1 });
});

test("a figure that only one of two has is left out, and nothing beside nothing is the same", () => {
  const other = { ...rate, name: "failed", value: 0 };
  const turns = [{ a: [rate, other], b: [other] }];
  const rows = compared(turns);
  expect(rows.map(({ name, ratio }) => [name, ratio])).toEqual([["failed", 1]]);
  expect(comparedTable(rows).split("\n")).toHaveLength(2);
});

test("what a load cost is shared by its certificates", () => {
  const before = { serverSeconds: 1, signerSeconds: 2, writtenBytes: 1000 };
  const after = { serverSeconds: 3, signerSeconds: 2.5, writtenBytes: 51_000 };
  expect(costOfEach(before, after, 1000)).toEqual({
    serverMs: 2,
    signerMs: 0.5,
    writtenBytes: 50,
  });
});
