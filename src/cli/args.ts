/**
 * Arguments of commands, declared once in the words of citty: it parses by them, the frame refuses
 * by them, the help shows them.
 */

import type { ArgDef } from "citty";

import { serialFormats } from "#core/ids.ts";
import { Problem } from "#core/problems.ts";
import { type KeyType, keyTypes, parseKeyType } from "#core/x509/algorithms.ts";
import { parseReason, type RevocationReason, revocationReasons } from "#core/x509/reasons.ts";

import { UsageError } from "./failure.ts";

/** One argument, and how what citty parsed becomes its value. */
export type Arg<T> = ArgDef & {
  /** May be repeated, or given once with commas. */
  readonly many?: true;
  /**
   * The value of the flag when it stands alone; only what looks like a duration behind it is then
   * its own.
   */
  readonly alone?: string;
  /** What a value can be, where these are few words and citty knows none of them. */
  readonly words?: readonly string[];
  read(given: unknown, name: string): T;
};
export type Args = Readonly<Record<string, Arg<unknown>>>;
export type Given<A extends Args> = { readonly [K in keyof A]: ReturnType<A[K]["read"]> };

/** A word of its own, without dashes; it must be given. */
export const word = (): Arg<string> => ({ type: "positional", read: String });

/** A word that may be left out, behind those that must be given. */
export const optionalWord = (): Arg<string | undefined> => ({
  type: "positional",
  required: false,
  read: text,
});

/** A switch: true when given. */
export const toggle = (description: string): Arg<boolean> => ({
  type: "boolean",
  description,
  read: (given) => given === true,
});

/** A switch that is on until it is given as `--no-<name>`. */
export const unless = (negativeDescription: string): Arg<boolean> => ({
  type: "boolean",
  negativeDescription,
  default: true,
  read: (given) => given === true,
});

/** A flag with a value; undefined when not given. */
export const value = (description: string, valueHint: string): Arg<string | undefined> => ({
  type: "string",
  description,
  valueHint,
  read: text,
});

/** A flag with a value and a default. */
export const valueOr = (description: string, valueHint: string, fallback: string): Arg<string> => ({
  type: "string",
  description,
  valueHint,
  default: fallback,
  read: String,
});

/**
 * A flag whose value is a duration, which may be left out; undefined when the flag is not given.
 */
export const durationOr = (description: string, alone: string): Arg<string | undefined> => ({
  type: "string",
  description,
  valueHint: "duration",
  alone,
  read: text,
});

/** A flag whose value is one of these words, the first when not given. */
export const choice = <const W extends string>(
  description: string,
  valueHint: string,
  words: readonly [W, ...W[]],
): Arg<W> => ({
  type: "enum",
  description,
  valueHint,
  options: [...words],
  default: words[0],
  read: (given) => words.find((one) => one === given) ?? words[0],
});

/** A flag whose value is one of these words; undefined when not given. */
export const oneOf = <const W extends string>(
  description: string,
  valueHint: string,
  words: readonly [W, ...W[]],
): Arg<W | undefined> => ({
  type: "enum",
  description: `${description} One of ${words.join(", ")}.`,
  valueHint,
  options: [...words],
  read: (given) => words.find((one) => one === given),
});

/** A flag whose value is a key type; undefined when not given. */
export const keyType = (
  description: string,
  types: readonly KeyType[] = allKeyTypes,
): Arg<string | undefined> => ({
  type: "string",
  description: `${description} One of ${types.join(", ")}.`,
  valueHint: "type",
  words: types,
  read: (given, name) => {
    const type = text(given);
    if (type === undefined) return undefined;
    const known = parseKeyType(type);
    if (known !== undefined && types.includes(known)) return type;
    throw new UsageError(`--${name} must be one of ${types.join(", ")}.`);
  },
});

/** A flag whose value is the name of a revocation reason, in any case. */
export const reason = (fallback: RevocationReason): Arg<RevocationReason> => ({
  type: "string",
  description: `Revocation reason. One of ${Object.keys(revocationReasons).join(", ")}.`,
  valueHint: "reason",
  words: Object.keys(revocationReasons),
  default: fallback,
  read: (given, name) => {
    try {
      return parseReason(String(given));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      const names = Object.keys(revocationReasons).join(", ");
      throw new UsageError(`--${name} must be one of ${names}.`);
    }
  },
});

/** A flag that must be given. */
export const required = (description: string, valueHint: string): Arg<string> => ({
  type: "string",
  description,
  valueHint,
  required: true,
  read: String,
});

/** A flag that may be repeated, or given once with commas. */
export const many = (description: string, valueHint: string): Arg<readonly string[]> => ({
  type: "string",
  description,
  valueHint,
  many: true,
  read: (given) => (text(given) ?? "").split(",").filter((one) => one !== ""),
});

/** A whole number; undefined when not given. */
export const number = (description: string, valueHint: string): Arg<number | undefined> => ({
  type: "string",
  description,
  valueHint,
  read: (given, name) => {
    const digits = text(given);
    if (digits === undefined) return undefined;
    if (!/^\d{1,9}$/.test(digits)) throw new UsageError(`--${name} must be a whole number.`);
    return Number(digits);
  },
});

/** A day as the midnight it starts with, in UTC; anything else as given (CLI-5). */
export const wholeTime = (given: string | undefined): string | undefined =>
  given !== undefined && /^\d{4}-\d{2}-\d{2}$/.test(given) ? `${given}T00:00:00Z` : given;

/** For commands that concern a tenant; every other refuses the flag rather than passing it over. */
export const tenantArg = value("Tenant, by id or slug.", "tenant");

/** Flags every command takes. */
export const globalArgs = {
  config: value(
    "Configuration file; else PKID_CONFIG, ./pkid.yaml, <data dir>/pkid.yaml, /etc/pkid/pkid.yaml.",
    "file",
  ),
  "data-dir": value(
    "Data directory of the instance; else PKID_DATA_DIR, the configuration, ./pkid-data.",
    "dir",
  ),
  url: value("Base address of a remote server; else PKID_URL, else this machine.", "url"),
  token: value("API token for the remote server, - reads it from stdin; else PKID_TOKEN.", "token"),
  "token-file": value(
    "File with the API token, read at each connection, instead of --token.",
    "file",
  ),
  "client-cert": value(
    "PEM file of the certificate to show the remote server, instead of a token.",
    "file",
  ),
  "client-key": value("PEM file of the key of that certificate.", "file"),
  "ca-file": value(
    "PEM file of the CAs to trust for the remote server; else PKID_CA_FILE.",
    "file",
  ),
  tenant: value("Tenant to work in, by id or slug, where a command concerns one.", "tenant"),
  timeout: valueOr("Longest time for one request.", "duration", "30s"),
  wait: durationOr("Wait until a parked operation is decided, at most so long; 72h.", "72h"),
  json: toggle("Print the answer as one JSON document."),
  quiet: toggle("Print no notes on stderr."),
  "serial-format": oneOf(
    "Base of a serial that is digits alone; without it both are looked up.",
    "format",
    serialFormats,
  ),
  yes: toggle("Go on without asking, where a command asks first."),
  color: unless("Print no colour, as NO_COLOR does."),
  help: toggle("Explain the command; -h too."),
} as const satisfies Args;

/** Flags of commands that list. */
export const pageArgs = {
  limit: number("Rows per page.", "n"),
  cursor: value("Where the last page ended.", "cursor"),
  all: toggle("Follow every page."),
} as const satisfies Args;

export type Globals = Given<typeof globalArgs>;

/** The value of each argument, from what citty parsed by the same declaration. */
export function readArgs<const A extends Args>(
  declared: A,
  parsed: Readonly<Record<string, unknown>>,
): Given<A> {
  const read = Object.entries(declared).map(([name, arg]) => [name, arg.read(parsed[name], name)]);
  return Object.fromEntries(read) as Given<A>; // Every argument was read by its own declaration.
}

/** The names of the words a command takes, in their order. */
export const wordsOf = (args: Args): readonly string[] =>
  Object.keys(args).filter((name) => args[name]?.type === "positional");

/** True for a word that may be left out. */
export const isOptionalWord = (args: Args, name: string): boolean => args[name]?.required === false;

/** The flags as they are written, with their names and declarations. */
export const flagsOf = (args: Args) =>
  Object.entries(args)
    .filter(([, arg]) => arg.type !== "positional")
    .map(([name, arg]) => {
      const negated = "negativeDescription" in arg;
      return { written: negated ? `--no-${name}` : `--${name}`, name, arg };
    });

const allKeyTypes = Object.keys(keyTypes) as KeyType[]; // The keys of the table.

function text(given: unknown): string | undefined {
  return given === undefined ? undefined : String(given);
}
