/** Renders help from the declarations of commands and flags. */

import type { Command, Noun } from "./command.ts";
import { type Flags, globalFlags } from "./flags.ts";

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
    ...flagLines(globalFlags),
    "",
    "pkid <noun> --help lists its verbs, pkid <noun> <verb> --help explains one.",
    "pkid --version [--json] tells what is running.",
    "",
  ].join("\n");
}

/** The page of a noun with its verbs. */
export function nounHelp(
  name: string,
  summary: string,
  verbs: Readonly<Record<string, Command>>,
): string {
  const rows = Object.entries(verbs).map(
    ([verb, command]) => [`${name} ${verb}`, command.summary] as const,
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
  const words = command.takes.map((word) => ` <${word}>`).join("");
  const own = Object.keys(command.flags).length > 0;
  return [
    command.summary,
    "",
    `Usage: pkid ${path}${words} [flags]`,
    ...(command.local ? ["", "Runs on this machine only, not with --url."] : []),
    ...(own ? ["", "Flags:", ...flagLines(command.flags)] : []),
    "",
    "Flags of every command:",
    ...flagLines(inherited(command)),
    "",
  ].join("\n");
}

/** Global flags the command does not use for something of its own. */
const inherited = (command: Command): Flags =>
  Object.fromEntries(
    Object.entries(globalFlags).filter(([name]) => !Object.hasOwn(command.flags, name)),
  );

function flagLines(flags: Flags): readonly string[] {
  return aligned(
    Object.entries(flags).map(([name, flag]) => {
      const left = flag.hint === undefined ? `--${name}` : `--${name} ${flag.hint}`;
      const notes = [
        ...(flag.required ? ["required"] : []),
        ...(flag.many ? ["repeatable"] : []),
        ...(flag.fallback === undefined ? [] : [`default ${flag.fallback}`]),
      ];
      return [left, `${flag.sentence}${notes.length > 0 ? ` (${notes.join(", ")})` : ""}`] as const;
    }),
  );
}

function aligned(rows: readonly (readonly [string, string])[]): readonly string[] {
  const width = Math.max(0, ...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}
