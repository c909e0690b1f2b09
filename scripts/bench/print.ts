/** Where the scenarios tell their figures: to people at once, and to the report of the run. */

import { type Figure, Report } from "./report.ts";

let report = new Report((line) => console.log(line));

/** Begins a section: a stable name, and its heading. */
export const section = (name: string, title: string): void => report.section(name, title);

/** One figure; its name is relative to the section. */
export const figure = (of: Figure): void => report.add(of);

/**
 * A figure told in words, which begin with its number and unit where it has one; it is named by its
 * label.
 */
export function row(label: string, text: string): void {
  const [, number, unit = ""] =
    /^(-?\d+(?:\.\d+)?)(?: ?(\/s|ms|µs|s|MB\/s|MB|kB|%)(?![\w/]))?/.exec(text) ?? [];
  const name = label
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
  const value = number === undefined ? undefined : Number(number);
  report.add({ name, label, value, unit, note: text, worded: true });
}

/** `0.43` of the floor. */
export const ratio = (value: number, floor: number): string => (value / floor).toFixed(2);

/** Runs a part of the bench, its figures kept instead of printed where `line` says nothing. */
export async function reported(
  line: (text: string) => void,
  run: () => Promise<void>,
): Promise<readonly Figure[]> {
  const own = new Report(line);
  report = own;
  await run();
  return own.figures;
}
