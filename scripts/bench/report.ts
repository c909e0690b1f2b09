/**
 * The figures of a bench: what was measured, its floor, their ratio and the goal, as rows for a
 * person and as one JSON document for a program.
 */

/** What a figure is held against: another one that was measured in the same run. */
export interface Floor {
  readonly name: string;
  readonly value: number;
}

/** What a figure should be, or its ratio to the floor. It is printed beside it, never asserted. */
export interface Goal {
  readonly of: "value" | "ratio";
  readonly least?: number;
  readonly most?: number;
}

export interface Figure {
  /** Stable, and unique in a run: section and figure, `software.issuing.64.rate`. */
  readonly name: string;
  readonly label: string;
  /** Undefined where the machine does not tell. */
  readonly value: number | undefined;
  readonly unit: string;
  readonly floor?: Floor | undefined;
  readonly goal?: Goal | undefined;
  /** What else belongs on the line, for people. */
  readonly note?: string | undefined;
  /** The note says all there is to say, value and unit too. */
  readonly worded?: true;
}

/** Where the figures come from. */
export interface Machine {
  readonly cores: number;
  readonly kernel: string;
  readonly bun: string;
}

export interface Binary {
  readonly path: string;
  readonly version: string;
  readonly sha256: string;
}

/** Figures in the order they were measured; each is told to `line` as soon as it is there. */
export class Report {
  readonly figures: Figure[] = [];
  #section = "";

  constructor(private readonly line: (text: string) => void) {}

  /** Begins a section; its name comes before those of its figures. */
  section(name: string, title: string): void {
    this.#section = name;
    this.line(`\n${title}`);
  }

  /** Takes a figure; `name` is relative to the section. */
  add(figure: Figure): void {
    const name = `${this.#section}.${figure.name}`;
    // What a scenario measures again and again has the same label each time, and counts on.
    const same = this.figures.filter((one) => one.name === name || one.name.startsWith(`${name}#`));
    const unique = same.length === 0 ? name : `${name}#${same.length + 1}`;
    this.figures.push({ ...figure, name: unique });
    this.line(`  ${figure.label.padEnd(labelWidth)} ${written(figure)}`);
  }
}

/** Value, unit, ratio and goal on one line. */
export function written(figure: Figure): string {
  const { floor, goal, note } = figure;
  const ratio = ratioOf(figure);
  if (figure.worded === true && note !== undefined) return note;
  const parts = [
    amount(figure.value, figure.unit),
    ...(floor === undefined || ratio === undefined
      ? []
      : [`${ratio.toFixed(2)} of ${floor.name}, ${amount(floor.value, figure.unit)}`]),
    ...(note === undefined ? [] : [note]),
  ];
  return parts.join(", ") + (goal === undefined ? "" : ` (goal ${goalText(goal, figure.unit)})`);
}

/** A number as people read it, with its unit; `?` where there is none. */
export function amount(value: number | undefined, unit: string): string {
  if (value === undefined || !Number.isFinite(value)) return "?";
  const digits = Math.abs(value) >= 100 || Number.isInteger(value) ? 0 : value >= 10 ? 1 : 2;
  return `${value.toFixed(digits)}${unit.startsWith("/") || unit === "" ? "" : " "}${unit}`;
}

/** Figure divided by its floor; undefined without one. */
export function ratioOf({ value, floor }: Figure): number | undefined {
  if (value === undefined || floor === undefined || floor.value === 0) return undefined;
  return value / floor.value;
}

/** `≥ 0.5` of the floor, or `≤ 120 MB`. */
function goalText(goal: Goal, unit: string): string {
  const [sign, bound = 0] = goal.least === undefined ? ["≤", goal.most] : ["≥", goal.least];
  return goal.of === "ratio" ? `${sign} ${bound} of it` : `${sign} ${amount(bound, unit)}`;
}

/** True when the figure reaches its goal; undefined where there is none, or nothing to hold. */
export function reached(figure: Figure): boolean | undefined {
  const { goal } = figure;
  const held = goal?.of === "ratio" ? ratioOf(figure) : figure.value;
  if (goal === undefined || held === undefined || Number.isNaN(held)) return undefined;
  return held >= (goal.least ?? Number.NEGATIVE_INFINITY) && held <= (goal.most ?? Infinity);
}

/** One figure as programs read it: members that do not apply are null. */
export const figureJson = (figure: Figure) => ({
  name: figure.name,
  label: figure.label,
  value: finite(figure.value),
  unit: figure.unit,
  floor: figure.floor?.name ?? null,
  floor_value: finite(figure.floor?.value),
  ratio: finite(ratioOf(figure)),
  goal: figure.goal ?? null,
  reached: reached(figure) ?? null,
  note: figure.note ?? null,
});

/** The document of `--json`. */
export const reportJson = (machine: Machine, binary: Binary, figures: readonly Figure[]) => ({
  machine,
  binary,
  figures: figures.map(figureJson),
});

const finite = (value: number | undefined): number | null =>
  value === undefined || !Number.isFinite(value) ? null : value;

const labelWidth = 52;
