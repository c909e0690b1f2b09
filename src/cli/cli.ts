/**
 * The frame of the command line: finds the command, reads its flags, runs it, and renders how it
 * ended (OUT-1).
 */

import { runCommand } from "citty";

import { near } from "#config/nearest.ts";

import { type Args, globalArgs, readArgs } from "./args.ts";
import { Client } from "./client.ts";
import { type CliDeps, type Command, commandTree, type Invocation, type Noun } from "./command.ts";
import { nouns } from "./commands.ts";
import { confirmed } from "./confirm.ts";
import { Failure, ReaderGone, Refusal, UsageError } from "./failure.ts";
import { commandHelp, nounHelp, rootHelp } from "./help.ts";
import type { Io } from "./io.ts";
import { canonical, checkComplete, pieces, readLine } from "./line.ts";
import { openReach, credentialFlags, secondsOf } from "./open-reach.ts";
import { patiently } from "./progress.ts";
import { jsonFor, printableLines } from "./rows.ts";
import type { Fitting } from "./table.ts";
import { refusalText } from "./refusal-text.ts";

/**
 * Runs one command line (without the binary's name) and gives the exit code: 0 done, 1 refused or
 * failed, 2 usage.
 */
export async function runCli(given: readonly string[], io: Io, deps: CliDeps): Promise<number> {
  const argv = spelledOut(given);
  const json = argv.includes("--json");
  try {
    return (await dispatch(argv, io, deps)) ?? 0;
  } catch (error) {
    return report(error, io, json);
  }
}

/** The line with `-h`, which everybody tries, as the flag it stands for. */
function spelledOut(argv: readonly string[]): readonly string[] {
  const end = argv.indexOf("--");
  return argv.map((one, at) => (one === "-h" && (end < 0 || at < end) ? "--help" : one));
}

async function dispatch(
  argv: readonly string[],
  io: Io,
  deps: CliDeps,
): Promise<number | undefined> {
  if (argv[0] === "--version" || argv[0] === "version") return version(argv.slice(1), io, deps);
  const found = find(argv);
  if ("help" in found) {
    (found.code === 0 ? io.stdout : io.stderr).write(found.help);
    return found.code;
  }
  const { command, path, rest } = found;
  const declared = { ...globalArgs, ...command.args };
  const line = readLine(rest, declared);
  if (line.given.has("--help")) {
    io.stdout.write(commandHelp(path.join(" "), command));
    return 0;
  }
  checkComplete(line, path.join(" "), command.args);
  if (command.local && line.given.has("--url")) {
    throw new UsageError(`pkid ${path.join(" ")} runs on this machine only; leave --url out.`);
  }
  const idle = command.local
    ? credentialFlags.find((name) => line.given.has(`--${name}`))
    : undefined;
  if (idle !== undefined && !Object.hasOwn(command.args, idle)) {
    throw new UsageError(
      `pkid ${path.join(" ")} runs on this machine only; --${idle} is for a remote server.`,
    );
  }
  let code: number | undefined;
  const tree = commandTree(nouns, async (chosen, parsed) => {
    await confirmed(["pkid", ...path, ...line.words], chosen, line.given.has("--yes"), io);
    const given = (name: string) => line.given.has(`--${name}`);
    code = await perform(chosen, { parsed, given }, io, deps);
  });
  await runCommand(tree, { rawArgs: [...path, ...canonical(line, declared)] });
  return code;
}

/** A line as citty parsed it, and which flags stand on it. */
interface Parsed {
  readonly parsed: Readonly<Record<string, unknown>>;
  readonly given: (name: string) => boolean;
}

/**
 * Runs a command with what citty parsed; a global flag it declares itself is its own: `ocsp check
 * --url` names a responder.
 */
async function perform(
  command: Command,
  { parsed, given }: Parsed,
  io: Io,
  deps: CliDeps,
): Promise<number | undefined> {
  const inherited = Object.entries(parsed).filter(([name]) => !Object.hasOwn(command.args, name));
  const globals = readArgs(globalArgs, Object.fromEntries(inherited));
  if (globals.tenant !== undefined) throw new UsageError("This command takes no --tenant.");
  const args = readArgs(command.args, parsed);
  const print: Invocation<Args>["print"] = (document, human) => {
    const { columns } = io.stdout;
    const text = typeof human === "string" ? human : fittedTo(human, columns);
    io.stdout.write(globals.json ? `${jsonFor(io.stdout, document)}\n` : text);
  };
  const note = (sentence: string) => {
    if (!globals.quiet && !globals.json) io.stderr.write(`${printableLines(sentence)}\n`);
  };
  const quiet = globals.quiet || globals.json;
  const wait: Invocation<Args>["patiently"] = (work) => (quiet ? work : patiently(io, work));
  const waiting =
    globals.wait === undefined
      ? undefined
      : { seconds: secondsOf("--wait", globals.wait), note, sleep: Bun.sleep };
  const client = new Client(() => openReach(globals, io, deps, command), {
    waiting,
    patiently: wait,
  });
  try {
    return await command.run({
      args,
      globals,
      io,
      deps,
      client,
      given,
      print,
      note,
      complain: (sentence, error) => complain(io, globals.json, sentence, error),
      patiently: wait,
    });
  } finally {
    await client.close();
  }
}

/** What failed while a command goes on, as `report` tells what ends one. */
function complain({ stderr }: Io, json: boolean, sentence: string, error: unknown): void {
  if (!json) {
    stderr.write(`${printableLines(sentence)}\n`);
    return;
  }
  const facts = error instanceof Refusal ? error.body : error instanceof Failure ? error.facts : {};
  const code = error instanceof Failure ? error.code : "failed";
  stderr.write(`${jsonFor(stderr, { code, ...facts, error: sentence })}\n`);
}

const fittedTo = (human: Fitting, columns: number | undefined): string =>
  columns === undefined ? String(human) : human.fitted(columns);

type Found =
  | { readonly help: string; readonly code: number }
  | {
      readonly command: Command;
      readonly path: readonly string[];
      readonly rest: readonly string[];
    };

/**
 * The command of the first words, one or several; before and between them only global flags may
 * stand.
 */
function find(argv: readonly string[]): Found {
  const args = argv[0] === "help" ? [...argv.slice(1), "--help"] : [...argv];
  const code = args.includes("--help") ? 0 : 2;
  const words = [...pieces(args, globalArgs)].filter(({ isFlag }) => !isFlag);
  if (words.length === 0) {
    readLine(args, globalArgs);
    return { help: rootHelp(nouns), code };
  }
  const path: string[] = [];
  let found: Noun = { summary: "", verbs: nouns };
  while ("verbs" in found) {
    const word = words[path.length];
    if (word === undefined) {
      return { help: nounHelp(path.join(" "), found.summary, found.verbs), code };
    }
    found = known(["command", ...path].join(" "), word.text, found.verbs);
    path.push(word.text);
  }
  const taken = words.slice(0, path.length).map(({ at }) => at);
  return { command: found, path, rest: args.filter((_, at) => !taken.includes(at)) };
}

function version(rest: readonly string[], io: Io, deps: CliDeps): number {
  const { given } = readLine(rest, { json: globalArgs.json });
  const { version: number, commit, runtime, schema_version } = deps.version;
  const known = [commit, runtime, `schema ${schema_version}`].filter((part) => part !== "");
  const line = `pkid ${number} (${known.join(", ")})\n`;
  io.stdout.write(given.has("--json") ? `${JSON.stringify(deps.version)}\n` : line);
  return 0;
}

/**
 * Renders how a command failed; anything that is neither refusal, failure nor usage is a bug and
 * shows its message only.
 */
function report(error: unknown, io: Io, json: boolean): number {
  if (error instanceof ReaderGone) return 1;
  if (error instanceof Refusal) {
    io.stderr.write(json ? `${jsonFor(io.stderr, error.body)}\n` : refusalText(error));
    return 1;
  }
  const usage = error instanceof UsageError;
  const message = sentenceOf(error);
  const shown = printableLines(message);
  const code = usage ? "usage" : error instanceof Failure ? error.code : "failed";
  const facts = error instanceof Failure ? error.facts : {};
  if (json) io.stderr.write(`${jsonFor(io.stderr, { error: message, code, ...facts })}\n`);
  else
    io.stderr.write(
      error instanceof Failure && error.code === "config" ? shown : `error: ${shown}\n`,
    );
  return usage ? 2 : 1;
}

/** The message; of an error of the operating system what it is about, and the kind of it. */
function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (!("code" in error && "path" in error && "syscall" in error)) return error.message;
  return `${error.path} cannot be used: ${error.code}.`;
}

function known<T>(what: string, word: string, table: Readonly<Record<string, T>>): T {
  const found = Object.hasOwn(table, word) ? table[word] : undefined;
  if (found !== undefined) return found;
  const own = what === "command" ? ["version", "help"] : [];
  const close = near(word, [...Object.keys(table), ...own]);
  const hint = close === undefined ? "pkid --help lists them." : `Did you mean ${close}?`;
  throw new UsageError(`There is no ${what} ${word}. ${hint}`);
}
