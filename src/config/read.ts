/** Finds the configuration file, reads it and the environment, and loads what they say (CFG-1). */

import { existsSync, readFileSync, statSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";

import { type Environment, variableOf } from "./environment.ts";
import { fileFaults } from "./files.ts";
import type { Fault } from "./faults.ts";
import { type ConfigFile, type Loaded, loadConfig } from "./load.ts";
import { findDistrust } from "./trust.ts";
import type { ReadDocument } from "./yaml.ts";

/**
 * Where to look: the environment, the value of `--config`, and raw values of keys by path from
 * other flags.
 */
export interface Surroundings {
  readonly env: Environment;
  readonly configFile?: string | undefined;
  readonly flags?: Readonly<Record<string, unknown>>;
}

/** What was read, and from which file; undefined when there was none (CFG-6). */
export interface Read {
  readonly loaded: Loaded;
  readonly fileName: string | undefined;
}

/**
 * Reads the configuration of this machine. A file that was named
 * and is missing is a fault; nothing is opened or created beyond files the configuration names.
 */
export function readConfig(from: Surroundings): Read {
  const found = textOf(from);
  if ("faults" in found) return unread(found);
  return { loaded: loadFrom(from, found.file), fileName: found.file?.name };
}

/** Reads the text of a file as YAML, wherever that takes nobody's time. */
export type YamlReader = (text: string, name: string) => Promise<ReadDocument>;

/** The same for a server that others wait for: `yaml` is what takes long. */
export async function readConfigAside(from: Surroundings, yaml: YamlReader): Promise<Read> {
  const found = textOf(from);
  if ("faults" in found) return unread(found);
  if (found.file === undefined) return { loaded: loadFrom(from, undefined), fileName: undefined };
  const { name, text } = found.file;
  const file = { name, read: await yaml(text, name) };
  return { loaded: loadFrom(from, file), fileName: name };
}

interface Unread {
  readonly name: string;
  readonly faults: readonly Fault[];
}

const unread = ({ name, faults }: Unread): Read => ({
  loaded: { ok: false, faults, warnings: [] },
  fileName: name,
});

/** The text of the file, where there is one; or why it cannot be had. */
function textOf(from: Surroundings): { file: { name: string; text: string } | undefined } | Unread {
  const named = from.configFile ?? from.env.PKID_CONFIG;
  const name = named ?? findConfigFile(from);
  if (name === undefined) return { file: undefined };
  const distrust = named === undefined ? findDistrust(name) : undefined;
  if (distrust !== undefined) return { name, faults: [{ path: name, sentence: distrust }] };
  const text = readLimited(name);
  if (typeof text === "string") return { file: { name, text } };
  return { name, faults: [{ path: name, sentence: text.message }] };
}

function loadFrom(from: Surroundings, file: ConfigFile | undefined): Loaded {
  const loaded = loadConfig({
    ...(file ? { file } : {}),
    env: from.env,
    flags: from.flags ?? {},
    host: hostname(),
    readFile: readSecretFile,
  });
  return loaded.ok ? withFiles(loaded) : loaded;
}

function withFiles(loaded: Extract<Loaded, { ok: true }>): Loaded {
  const faults = fileFaults(loaded.config);
  return faults.length === 0 ? loaded : { ok: false, faults, warnings: loaded.warnings };
}

/** Returns the first of the three places that has a file. */
const findConfigFile = ({ env, flags }: Surroundings): string | undefined =>
  configPlaces({ env, flags: flags ?? {} }).find((place) => existsSync(place));

/** Where a configuration file is looked for that nobody has named, in this order. */
export function configPlaces({
  env,
  flags,
}: {
  readonly env: Environment;
  readonly flags: Readonly<Record<string, unknown>>;
}): readonly string[] {
  const dataDir = flags.data_dir ?? env[variableOf("data_dir")] ?? "./pkid-data";
  return ["./pkid.yaml", join(String(dataDir), "pkid.yaml"), "/etc/pkid/pkid.yaml"];
}

function readLimited(name: string): string | Error {
  try {
    if (statSync(name).size > fileBytesMax) return new Error("The file is larger than 1 MiB.");
    return readFileSync(name, "utf8");
  } catch (error) {
    const missing = error instanceof Error && "code" in error && error.code === "ENOENT";
    return new Error(missing ? "The file does not exist." : "The file cannot be read.");
  }
}

/** Text of a file named by a `_FILE` variable, one trailing newline removed (ENV-3). */
function readSecretFile(path: string): string {
  const text = readLimited(path);
  if (typeof text !== "string") throw text;
  if (text.length > secretBytesMax) throw new Error("The file is larger than 64 KiB.");
  return text.replace(/\r?\n$/, "");
}

const fileBytesMax = 1_048_576;
const secretBytesMax = 65_536;
