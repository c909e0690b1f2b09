/** Two binaries in turns: A B A B, so that a slow minute of the machine strikes both. */

import { amount, type Figure, figureJson } from "./report.ts";
import { median } from "./statistics.ts";

/** The same figure of both. */
export interface Compared {
  readonly name: string;
  readonly label: string;
  readonly unit: string;
  /** Medians over the turns. */
  readonly a: number;
  readonly b: number;
  /** The median of B by A of each turn: of neighbours, not of the medians. */
  readonly ratio: number;
  /** How far the ratios of the turns lie apart. */
  readonly lowest: number;
  readonly highest: number;
  readonly goal: Figure["goal"];
}

/** The figures of one turn. */
export interface Turn {
  readonly a: readonly Figure[];
  readonly b: readonly Figure[];
}

/**
 * Runs `measure` for one and the other, as often as `turns` says. Floors are measured with each, in
 * the same minute.
 */
export async function inTurns<T>(
  turns: number,
  measure: (which: "a" | "b", turn: number) => Promise<T>,
): Promise<{ readonly a: T; readonly b: T }[]> {
  const all: { a: T; b: T }[] = [];
  for (let turn = 1; turn <= turns; turn++) {
    all.push({ a: await measure("a", turn), b: await measure("b", turn) });
  }
  return all;
}

/** Medians and ratios of every figure that is a number in every turn of both. */
export function compared(turns: readonly Turn[]): Compared[] {
  return (turns[0]?.a ?? []).flatMap(({ name, label, unit, goal }) => {
    const pairs = turns.map(({ a, b }) => [valueIn(a, name), valueIn(b, name)] as const);
    const known = pairs.filter((pair): pair is readonly [number, number] => pair.every(isKnown));
    if (known.length < turns.length) return [];
    // Twice nothing is the same; something beside nothing has no ratio.
    const ratios = known.map(([a, b]) => (a === b ? 1 : b / a));
    return [
      {
        name,
        label,
        unit,
        goal,
        a: median(known.map(([a]) => a)),
        b: median(known.map(([, b]) => b)),
        ratio: median(ratios),
        lowest: Math.min(...ratios),
        highest: Math.max(...ratios),
      },
    ];
  });
}

/** The table people read. */
export function comparedTable(rows: readonly Compared[]): string {
  const cells = rows.map((row) => [
    row.name,
    amount(row.a, row.unit),
    amount(row.b, row.unit),
    row.ratio.toFixed(2),
    `${row.lowest.toFixed(2)}–${row.highest.toFixed(2)}`,
  ]);
  const all = [["", "A", "B", "B / A", "of turns"], ...cells];
  const widths = [0, 1, 2, 3, 4].map((at) => Math.max(...all.map((one) => one[at]?.length ?? 0)));
  const line = (one: readonly string[]) =>
    one
      .map((text, at) => (at === 0 ? text.padEnd(widths[at] ?? 0) : text.padStart(widths[at] ?? 0)))
      .join("  ")
      .trimEnd();
  return all.map(line).join("\n");
}

/** The same for programs; `turns` holds what was measured, turn by turn. */
export const comparedJson = (rows: readonly Compared[], turns: readonly Turn[]) => ({
  figures: rows.map((row) => ({
    name: row.name,
    label: row.label,
    unit: row.unit,
    a: row.a,
    b: row.b,
    ratio: Number.isFinite(row.ratio) ? row.ratio : null,
    lowest: Number.isFinite(row.lowest) ? row.lowest : null,
    highest: Number.isFinite(row.highest) ? row.highest : null,
    goal: row.goal ?? null,
  })),
  turns: turns.map(({ a, b }) => ({ a: a.map(figureJson), b: b.map(figureJson) })),
});

const valueIn = (figures: readonly Figure[], name: string): number | undefined =>
  figures.find((one) => one.name === name)?.value;

const isKnown = (value: number | undefined): value is number =>
  value !== undefined && Number.isFinite(value);
