/** Renders help from the declarations of commands and flags. */

import type { Command, Noun } from "./command.ts";
import { type Arg, type Args, flagsOf, globalArgs, isOptionalWord, wordsOf } from "./args.ts";
import { wrapped } from "./wrapped.ts";

/** The page of `pkid --help`. */
export function rootHelp(nouns: Readonly<Record<string, Noun>>): string {
  const rows = Object.entries(nouns).map(([name, noun]) => [name, noun.summary] as const);
  return [
    "pkid: a certificate authority in one binary.",
    "",
    "Usage: pkid <noun> [verb] [arguments] [flags]",
    "",
    ...aligned(rows),
    "",
    "Flags of every command:",
    ...flagLines(globalArgs),
    "",
    "pkid <noun> --help lists its verbs, pkid <noun> <verb> --help explains one.",
    "pkid version [--json] tells what is running.",
    "",
  ].join("\n");
}

/** The page of a noun with its verbs. */
export function nounHelp(
  name: string,
  summary: string,
  verbs: Readonly<Record<string, Noun>>,
): string {
  const rows = Object.entries(verbs).map(
    ([verb, { summary: what }]) => [`${name} ${verb}`, what] as const,
  );
  return [
    summary,
    "",
    `Usage: pkid ${name} <verb> [arguments] [flags]`,
    "",
    ...aligned(rows),
    "",
  ].join("\n");
}

/** The page of one command. */
export function commandHelp(path: string, command: Command): string {
  const words = wordsOf(command.args)
    .map((word) => (isOptionalWord(command.args, word) ? ` [${word}]` : ` <${word}>`))
    .join("");
  const own = flagLines(command.args);
  return [
    ...wrapped(command.summary, lineWidth),
    "",
    `Usage: pkid ${path}${words} [flags]`,
    ...(command.local ? ["", "Runs on this machine only, not with --url."] : []),
    ...(command.destroys
      ? ["", ...wrapped(command.destroys, lineWidth), "It asks first; --yes goes on without."]
      : []),
    ...(own.length > 0 ? ["", "Flags:", ...own] : []),
    "",
    "Flags of every command:",
    ...flagLines(inherited(command)),
    "",
  ].join("\n");
}

/** Global flags the command does not use for something of its own. */
const inherited = (command: Command): Args =>
  Object.fromEntries(
    Object.entries(globalArgs).filter(([name]) => !Object.hasOwn(command.args, name)),
  );

function flagLines(args: Args): readonly string[] {
  return aligned(
    flagsOf(args).map(({ written, arg }) => {
      const hint = hintOf(arg);
      const sentence = "negativeDescription" in arg ? arg.negativeDescription : arg.description;
      return [hint === "" ? written : `${written} ${hint}`, `${sentence}${notesOf(arg)}`] as const;
    }),
  );
}

/** What stands for the value of a flag; empty for a switch. */
export function hintOf({ valueHint, alone }: Arg<unknown>): string {
  if (valueHint === undefined) return "";
  return alone === undefined ? `<${valueHint}>` : `[${valueHint}]`;
}

/** What there is to know of a flag beside its sentence, in parentheses behind it. */
export function notesOf(arg: Arg<unknown>): string {
  const notes = [
    ...(arg.required ? ["required"] : []),
    ...(arg.many ? ["repeatable"] : []),
    ...(typeof arg.default === "string" ? [`default ${arg.default}`] : []),
  ];
  return notes.length > 0 ? ` (${notes.join(", ")})` : "";
}

/** Two columns, the right one broken between words so that a line has at most 80 characters. */
function aligned(rows: readonly (readonly [string, string])[]): readonly string[] {
  const width = Math.max(0, ...rows.map(([left]) => left.length));
  const room = Math.max(roomMin, lineWidth - width - 4);
  return rows.flatMap(([left, right]) =>
    wrapped(right, room).map((part, at) =>
      `  ${(at === 0 ? left : "").padEnd(width)}  ${part}`.trimEnd(),
    ),
  );
}

const lineWidth = 80;
const roomMin = 30;
