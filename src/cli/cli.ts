/** The frame of the command line: finds the command, reads its flags, runs it, and renders how it ended (cli.md §2). */

import { parseArgs } from "node:util";

import { nearest } from "#config/nearest.ts";

import { Client } from "./client.ts";
import type { CliDeps, Command, Invocation } from "./command.ts";
import { nouns } from "./commands.ts";
import { Failure, Refusal, UsageError } from "./failure.ts";
import {
  type Flags,
  type Globals,
  type RawLine,
  globalFlags,
  parserOptions,
  readFlags,
  splitArguments,
} from "./flags.ts";
import { commandHelp, nounHelp, rootHelp } from "./help.ts";
import type { Io } from "./io.ts";
import { openReach } from "./open-reach.ts";
import { printable, textAt } from "./rows.ts";

/** Runs one command line (without the binary's name) and gives the exit code: 0 done, 1 refused or failed, 2 usage. */
export async function runCli(argv: readonly string[], io: Io, deps: CliDeps): Promise<number> {
  const json = argv.includes("--json");
  try {
    return (await dispatch(argv, io, deps)) ?? 0;
  } catch (error) {
    return report(error, io, json);
  }
}

async function dispatch(
  argv: readonly string[],
  io: Io,
  deps: CliDeps,
): Promise<number | undefined> {
  if (argv[0] === "--version") return version(argv.slice(1), io, deps);
  const found = find(argv);
  if (found.help !== undefined) {
    (found.code === 0 ? io.stdout : io.stderr).write(found.help);
    return found.code;
  }
  const { command, path, rest } = found;
  const raw = splitArguments(rest, { ...globalFlags, ...command.flags });
  const globals = readFlags(globalFlags, withoutOwn(raw, command));
  if (globals.help) {
    io.stdout.write(commandHelp(path, command));
    return 0;
  }
  checkWords(command, path, raw.words);
  if (command.local && globals.url !== undefined) {
    throw new UsageError(`pkid ${path} runs on this machine only; leave --url out.`);
  }
  const flags = readFlags(command.flags, raw);
  const client = new Client(() => openReach(globals, io, deps, command.local));
  try {
    return await command.run(invocation({ globals, flags, words: raw.words, io, deps, client }));
  } finally {
    await client.close();
  }
}

type Found =
  | { readonly help: string; readonly code: number }
  | {
      readonly help?: undefined;
      readonly command: Command;
      readonly path: string;
      readonly rest: readonly string[];
    };

/** The command of the first words; before and between them only global flags may stand. */
function find(argv: readonly string[]): Found {
  const args = argv[0] === "help" ? [...argv.slice(1), "--help"] : [...argv];
  const code = args.includes("--help") ? 0 : 2;
  const [first, second] = wordsOf(args);
  if (first === undefined) {
    splitArguments(args, { ...globalFlags });
    return { help: rootHelp(nouns), code };
  }
  const noun = Object.hasOwn(nouns, first.value) ? nouns[first.value] : undefined;
  if (!noun) throw unknownWord("command", first.value, Object.keys(nouns));
  if (!("verbs" in noun)) {
    return { command: noun, path: first.value, rest: args.toSpliced(first.index, 1) };
  }
  if (second === undefined) {
    return { help: nounHelp(first.value, noun.summary, noun.verbs), code };
  }
  const verb = Object.hasOwn(noun.verbs, second.value) ? noun.verbs[second.value] : undefined;
  if (!verb) throw unknownWord(`command ${first.value}`, second.value, Object.keys(noun.verbs));
  const rest = args.toSpliced(second.index, 1).toSpliced(first.index, 1);
  return { command: verb, path: `${first.value} ${second.value}`, rest };
}

/** The arguments that are neither flags nor values of global flags, with where they stand. */
function wordsOf(args: readonly string[]): readonly { value: string; index: number }[] {
  const { tokens } = parseArgs({
    args: [...args],
    options: parserOptions(globalFlags),
    ...{ strict: false, tokens: true },
  });
  return tokens.filter((token) => token.kind === "positional");
}

/** What was given without the command's own flags: `ocsp check --url` names a responder, not a server. */
function withoutOwn(raw: RawLine, command: Command): RawLine {
  const given = [...raw.given].filter(([name]) => !Object.hasOwn(command.flags, name));
  return { ...raw, given: new Map(given) };
}

function checkWords(command: Command, path: string, words: readonly string[]): void {
  const missing = command.takes[words.length];
  if (missing !== undefined) {
    throw new UsageError(`<${missing}> is missing: pkid ${path} <${command.takes.join("> <")}>.`);
  }
  const extra = words[command.takes.length];
  if (extra !== undefined) throw new UsageError(`"${extra}" is one argument too many.`);
}

function invocation(of: {
  globals: Globals;
  flags: Invocation<Flags>["flags"];
  words: readonly string[];
  io: Io;
  deps: CliDeps;
  client: Client;
}): Invocation<Flags> {
  const { globals, io } = of;
  return {
    ...of,
    print: (document, human) => {
      io.stdout.write(globals.json ? `${JSON.stringify(document)}\n` : human);
    },
    note: (sentence) => {
      if (!globals.quiet && !globals.json) io.stderr.write(`${sentence}\n`);
    },
  };
}

function version(rest: readonly string[], io: Io, deps: CliDeps): number {
  const raw = splitArguments(rest, { json: globalFlags.json });
  const { version: number, commit, runtime, schema_version } = deps.version;
  const known = [commit, runtime, `schema ${schema_version}`].filter((part) => part !== "");
  const line = `pkid ${number} (${known.join(", ")})\n`;
  io.stdout.write(raw.given.has("json") ? `${JSON.stringify(deps.version)}\n` : line);
  return 0;
}

/** Renders how a command failed; anything that is neither refusal, failure nor usage is a bug and shows its message only. */
function report(error: unknown, io: Io, json: boolean): number {
  if (error instanceof Refusal) {
    io.stderr.write(json ? `${JSON.stringify(error.body)}\n` : refusalText(error));
    return 1;
  }
  const usage = error instanceof UsageError;
  const message = error instanceof Error ? error.message : String(error);
  const code = usage ? "usage" : error instanceof Failure ? error.code : "failed";
  const facts = error instanceof Failure ? error.facts : {};
  if (json) io.stderr.write(`${JSON.stringify({ error: message, code, ...facts })}\n`);
  else
    io.stderr.write(
      error instanceof Failure && error.code === "config" ? message : `error: ${message}\n`,
    );
  return usage ? 2 : 1;
}

/** The sentence with code and request id, then one line per fact. */
function refusalText({ body }: Refusal): string {
  const { error, code, request_id, ...facts } = body;
  const lines = Object.keys(facts).map((key) => `  ${key}: ${printable(textAt(facts, key))}\n`);
  return `error: ${printable(String(error))} (${code}, request ${request_id})\n${lines.join("")}`;
}

function unknownWord(what: string, word: string, known: readonly string[]): UsageError {
  const close = nearest(word, known);
  return new UsageError(`There is no ${what} ${word}. Did you mean ${close}?`);
}
