/** Flags of commands: declared with a sentence, read strictly, and the same global ones everywhere. */

import { parseArgs } from "node:util";

import { nearest } from "#config/nearest.ts";

import { UsageError } from "./failure.ts";

/** One flag; `hint` is what the help shows for its value, absent for a switch. */
export interface Flag<T> {
  readonly sentence: string;
  readonly hint?: string;
  readonly required?: boolean;
  readonly many?: boolean;
  readonly fallback?: string;
  read(given: readonly string[], name: string): T;
}
export type Flags = Readonly<Record<string, Flag<unknown>>>;
export type Given<F extends Flags> = {
  readonly [K in keyof F]: F[K] extends Flag<infer T> ? T : never;
};

/** A switch: true when given. */
export const toggle = (sentence: string): Flag<boolean> => ({
  sentence,
  read: (given) => given.length > 0,
});

/** A flag with a value; undefined when not given. */
export const value = (sentence: string, hint: string): Flag<string | undefined> => ({
  sentence,
  hint,
  read: (given) => given[0],
});

/** A flag with a value and a default. */
export const valueOr = (sentence: string, hint: string, fallback: string): Flag<string> => ({
  ...{ sentence, hint, fallback },
  read: (given) => given[0] ?? fallback,
});

/** A flag that must be given. */
export const required = (sentence: string, hint: string): Flag<string> => ({
  ...{ sentence, hint, required: true },
  read: (given, name) => {
    const [first] = given;
    if (first === undefined || first === "") throw new UsageError(`--${name} ${hint} is required.`);
    return first;
  },
});

/** A flag that may be repeated, or given once with commas. */
export const many = (sentence: string, hint: string): Flag<readonly string[]> => ({
  ...{ sentence, hint, many: true },
  read: (given) => given.flatMap((text) => text.split(",")).filter((text) => text !== ""),
});

/** A whole number; undefined when not given. */
export const number = (sentence: string, hint: string): Flag<number | undefined> => ({
  sentence,
  hint,
  read: (given, name) => {
    const [first] = given;
    if (first === undefined) return undefined;
    if (!/^\d{1,9}$/.test(first)) throw new UsageError(`--${name} must be a whole number.`);
    return Number(first);
  },
});

/** Flags every command takes. */
export const globalFlags = {
  config: value("Configuration file.", "<file>"),
  "data-dir": value("Data directory of the instance.", "<dir>"),
  url: value("Base address of a remote server; else PKID_URL, else this machine.", "<url>"),
  token: value(
    "API token for the remote server, - reads it from stdin; else PKID_TOKEN.",
    "<token>",
  ),
  "ca-file": value("PEM file of the CAs to trust for the remote server.", "<file>"),
  timeout: valueOr("Longest time for one request.", "<duration>", "30s"),
  json: toggle("Print the answer as one JSON document."),
  quiet: toggle("Print no notes on stderr."),
  "no-color": toggle("Print no colour, as NO_COLOR does."),
  help: toggle("Explain the command."),
} as const satisfies Flags;

export type Globals = Given<typeof globalFlags>;

/** What a command line holds after the command's own words. */
export interface Line<F extends Flags> {
  readonly globals: Globals;
  readonly flags: Given<F>;
  readonly words: readonly string[];
}

/** Every flag found, by name, before any is read; words that are none in their order. */
export interface RawLine {
  readonly given: ReadonlyMap<string, readonly string[]>;
  readonly words: readonly string[];
}

/** Splits arguments into flags and words. Refuses unknown flags with the nearest known one, and values where none is due. */
export function splitArguments(args: readonly string[], known: Flags): RawLine {
  const options = parserOptions(known);
  const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true });
  const given = new Map<string, string[]>();
  const words: string[] = [];
  for (const token of tokens) {
    if (token.kind === "positional") words.push(token.value);
    if (token.kind !== "option") continue;
    const flag = Object.hasOwn(known, token.name) ? known[token.name] : undefined;
    if (!flag) throw unknownFlag(token.rawName, known);
    const values = given.get(token.name) ?? [];
    if (values.length > 0 && !flag.many) throw new UsageError(`${token.rawName} is given twice.`);
    given.set(token.name, [...values, textOf(token, flag)]);
  }
  return { given, words };
}

/** The same flags in the words of the runtime's parser. */
export const parserOptions = (known: Flags) =>
  Object.fromEntries(
    Object.entries(known).map(([name, flag]) => [
      name,
      {
        type: flag.hint === undefined ? ("boolean" as const) : ("string" as const),
        multiple: true,
      },
    ]),
  );

/** Reads the flags of a command from what was given. */
export function readFlags<const F extends Flags>(known: F, raw: RawLine): Given<F> {
  const read = Object.entries(known).map(([name, flag]) => [
    name,
    flag.read(raw.given.get(name) ?? [], name),
  ]);
  return Object.fromEntries(read) as Given<F>; // Every flag was read by its own declaration.
}

function textOf(
  token: { rawName: string; value?: string | undefined; inlineValue?: boolean | undefined },
  flag: Flag<unknown>,
): string {
  if (flag.hint === undefined) {
    if (token.value === undefined) return "true";
    throw new UsageError(`${token.rawName} takes no value.`);
  }
  const given = token.value;
  // A flag where a value is due is a forgotten value, unless it was written with `=`; a lone dash is stdin.
  const looksLikeFlag = given?.startsWith("-") === true && given !== "-" && !token.inlineValue;
  if (given === undefined || looksLikeFlag) {
    throw new UsageError(`${token.rawName} needs a value: ${token.rawName} ${flag.hint}.`);
  }
  return given;
}

function unknownFlag(name: string, known: Flags): UsageError {
  const close = nearest(name.replace(/^-+/, ""), Object.keys(known));
  const hint = close === undefined ? "" : ` Did you mean --${close}?`;
  return new UsageError(`There is no flag ${name}.${hint}`);
}
