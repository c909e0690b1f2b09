/**
 * What a command line says, judged before citty reads it: citty lets unknown flags pass and keeps
 * the last of repeated ones.
 */

import { near } from "#config/nearest.ts";

import { type Arg, type Args, flagsOf, isOptionalWord, wordsOf } from "./args.ts";
import { UsageError } from "./failure.ts";

/**
 * Flags as written with their values, none for a switch, and the words that are no flags in their
 * order.
 */
export interface Line {
  readonly given: ReadonlyMap<string, readonly string[]>;
  readonly words: readonly string[];
}

/**
 * Takes a line apart. Refuses unknown flags with the nearest known one, repeated flags, and values
 * where none is due or wrong.
 */
export function readLine(args: readonly string[], declared: Args): Line {
  const flags = flagsOf(declared);
  const given = new Map<string, readonly string[]>();
  const words: string[] = [];
  for (const { text: written, isFlag, value } of pieces(args, declared)) {
    if (!isFlag) {
      words.push(written);
      continue;
    }
    const arg = flags.find((flag) => flag.written === written)?.arg;
    if (arg === undefined) throw unknownFlag(written, flags);
    const before = given.get(written);
    if (before !== undefined && !arg.many) throw new UsageError(`${written} is given twice.`);
    given.set(written, [...(before ?? []), ...judged(written, arg, value)]);
  }
  return { given, words };
}

/** Refuses a line in which a word or a required flag is missing, or a word is too many. */
export function checkComplete({ given, words }: Line, path: string, declared: Args): void {
  const takes = wordsOf(declared);
  const missing = takes[words.length];
  if (missing !== undefined && !isOptionalWord(declared, missing)) {
    throw new UsageError(`<${missing}> is missing: pkid ${path} <${takes.join("> <")}>.`);
  }
  const extra = words[takes.length];
  if (extra !== undefined) throw new UsageError(`"${extra}" is one argument too many.`);
  for (const { written, arg } of flagsOf(declared)) {
    if (!arg.required || (given.get(written)?.[0] ?? "") !== "") continue;
    throw new UsageError(`${written} <${arg.valueHint}> is required.`);
  }
}

/**
 * The line as citty reads it right: values behind `=`, repeated ones joined, and words where none
 * looks like a flag.
 */
export function canonical({ given, words }: Line, declared: Args): string[] {
  const flags = [...given].map(([written, values]) => {
    const arg = declared[written.slice(2)];
    // What begins with `no-` citty takes for the negation of another flag, whatever is declared.
    const name = arg?.type === "boolean" && arg.alias !== undefined ? `--${arg.alias}` : written;
    return values.length === 0 ? name : `${name}=${values.join(",")}`;
  });
  return [...flags, "--", ...words];
}

/** A flag as written with what may be its value, or a word; `at` is where it stands. */
interface Piece {
  readonly at: number;
  readonly text: string;
  readonly isFlag: boolean;
  readonly value?: string | undefined;
}

/**
 * Flags stand before `--`; the next argument is the value of a flag that takes one, unless it looks
 * like a flag.
 */
export function* pieces(args: readonly string[], declared: Args): Generator<Piece> {
  const valued = flagsOf(declared).filter(({ arg }) => arg.type !== "boolean");
  const takes = (written: string, next: string) => {
    const flag = valued.find((one) => one.written === written);
    if (flag === undefined || looksLikeFlag(next)) return false;
    return flag.arg.alone === undefined || /^\d+[smhd]$/.test(next);
  };
  const end = args.includes("--") ? args.indexOf("--") : args.length;
  for (let at = 0; at < args.length; at++) {
    const text = args[at] ?? "";
    const equals = text.indexOf("=");
    const next = args[at + 1] ?? "--";
    if (at === end) continue;
    if (at > end || !looksLikeFlag(text)) yield { at, text, isFlag: false };
    else if (equals > 0) {
      yield { at, text: text.slice(0, equals), isFlag: true, value: text.slice(equals + 1) };
    } else if (takes(text, next)) {
      yield { at, text, isFlag: true, value: next };
      at++;
    } else yield { at, text, isFlag: true };
  }
}

function judged(written: string, arg: Arg<unknown>, value: string | undefined): readonly string[] {
  if (arg.type === "boolean") {
    if (value === undefined) return [];
    throw new UsageError(`${written} takes no value.`);
  }
  if (value === undefined && arg.alone !== undefined) return [arg.alone];
  if (value === undefined) {
    throw new UsageError(`${written} needs a value: ${written} <${arg.valueHint}>.`);
  }
  const words = arg.type === "enum" ? (arg.options ?? []) : [];
  if (words.length > 0 && !words.includes(value)) throw new UsageError(mustBe(written, words));
  arg.read(value, written.slice(2));
  return [value];
}

/** The sentence of a value that is none of the words a flag takes. */
export const mustBe = (written: string, words: readonly string[]): string =>
  words.length < 4
    ? `${written} must be ${words.join(" or ")}.`
    : `${written} must be one of ${words.join(", ")}.`;

function unknownFlag(written: string, flags: ReturnType<typeof flagsOf>): UsageError {
  const close = near(
    written,
    flags.map((flag) => flag.written),
  );
  const hint = close === undefined ? "" : ` Did you mean ${close}?`;
  return new UsageError(`There is no flag ${written}.${hint}`);
}

/** A lone dash is standard input. */
const looksLikeFlag = (text: string): boolean => text.startsWith("-") && text !== "-";
