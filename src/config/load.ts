/**
 * Loads the configuration: default, file, environment, flags, derived values, then every fault at
 * once (CFG-2, CFG-4).
 */

import { isObject } from "#core/shape.ts";

import { assignments, type Environment } from "./environment.ts";
import { clientWarnings } from "./client-rules.ts";
import { type Fault, placeIn } from "./faults.ts";
import { ruleFaults } from "./rules.ts";
import { aliases, type Config, configSchema } from "./schema.ts";
import {
  isDerived,
  type Leaf,
  leaves,
  own,
  readField,
  readSecret,
  reportUnknown,
  type Section,
} from "./section.ts";
import { readDocument, type ReadDocument } from "./yaml.ts";

/** What a configuration is made from; nothing else is read. */
export interface Ingredients {
  /** Name and content of the file, when there is one. */
  readonly file?: ConfigFile;
  readonly env: Environment;
  /** Raw values by path, from command flags. */
  readonly flags?: Readonly<Record<string, unknown>>;
  /** This machine's name, for defaults that carry it. */
  readonly host: string;
  /** Text of a file named by a `_FILE` variable; throws a sentence when it cannot be read. */
  readonly readFile: (path: string) => string;
}

/** Its text, or what it holds where that has been read already. */
export type ConfigFile = { readonly name: string } & (
  | { readonly text: string }
  | { readonly read: ReadDocument }
);

/** Where the value of a key came from: `default`, `<file>:<line>`, `env`, `flag`. */
export type Origins = ReadonlyMap<string, string>;

export type Loaded =
  | {
      readonly ok: true;
      readonly config: Config;
      readonly origins: Origins;
      readonly warnings: readonly string[];
    }
  | { readonly ok: false; readonly faults: readonly Fault[]; readonly warnings: readonly string[] };

/**
 * Loads and validates; gives the configuration, or every fault. Opens, creates and changes nothing.
 */
export function loadConfig(from: Ingredients): Loaded {
  const faults: Fault[] = [];
  const warnings: string[] = [];
  const declared = leaves(configSchema);
  const layers = new Layers();
  if (from.file) addFile(layers, from.file, faults);
  const accepted = [...declared, ...aliasLeaves(declared)];
  for (const given of assignments(accepted, from.env, from.readFile, { faults, warnings })) {
    layers.set(unaliased(given.path), given.raw, "env");
  }
  for (const [path, raw] of Object.entries(from.flags ?? {})) layers.set(path, raw, "flag");

  const reading = new Reading(declared, layers, from.host, faults, warnings);
  for (const leaf of declared) reading.value(leaf.path);
  // Every leaf was read by its own field; when one was not, `faults` says so and the result is
  // never given out.
  const config = assembled(configSchema, "", reading) as unknown as Config;
  const isSet = (path: string): boolean => reading.origins.get(path) !== "default";
  if (faults.length === 0) faults.push(...ruleFaults(config, from.env, isSet));
  if (faults.length > 0) return { ok: false, faults, warnings };
  warnings.push(...clientWarnings(config));
  return { ok: true, config, origins: reading.origins, warnings };
}

/** One line per fault (CFG-4). */
export const faultLine = (fault: Fault): string => `config: ${fault.path}: ${fault.sentence}`;

/**
 * Raw values by the path of their key; a later layer replaces the value of an earlier one whole.
 */
class Layers {
  readonly #raw = new Map<string, { raw: unknown; origin: string }>();

  set(path: string, raw: unknown, origin: string): void {
    // A later value replaces the source an earlier layer gave, and the reverse (SEC-2 decides only
    // within one layer).
    const other = path.endsWith("_source") ? path.slice(0, -"_source".length) : `${path}_source`;
    const shadowed = this.#raw.get(other);
    if (shadowed && !sameLayer(shadowed.origin, origin)) this.#raw.delete(other);
    this.#raw.set(path, { raw, origin });
  }

  at(path: string): { raw: unknown; origin: string } | undefined {
    return this.#raw.get(path);
  }
}

const sameLayer = (one: string, other: string): boolean =>
  one === other || (one.includes(":") && other.includes(":"));

function addFile(layers: Layers, file: ConfigFile, faults: Fault[]): void {
  const { document, faults: found } =
    "read" in file ? file.read : readDocument(file.text, file.name);
  faults.push(...found);
  const tree = withoutAliases(document.tree, faults);
  const originOf = (path: string): string => {
    const alias = aliases.find(([, real]) => path.startsWith(`${real}.`));
    const other = alias ? alias[0] + path.slice(alias[1].length) : path;
    const line = document.lines.get(path) ?? document.lines.get(other);
    return `${file.name}:${line ?? 1}`;
  };
  addSection(layers, configSchema, tree, "", faults, originOf);
}

function addSection(
  layers: Layers,
  section: Section,
  raw: Readonly<Record<string, unknown>>,
  path: string,
  faults: Fault[],
  originOf: (path: string) => string,
): void {
  reportUnknown(section.members, raw, placeIn(faults, path));
  for (const [key, member] of Object.entries(section.members)) {
    const inner = path === "" ? key : `${path}.${key}`;
    const given = own(raw, key);
    const source = own(raw, `${key}_source`);
    if (member.node === "field") {
      if (given !== undefined) layers.set(inner, given, originOf(inner));
      if (member.source && source !== undefined) {
        layers.set(`${inner}_source`, source, originOf(`${inner}_source`));
      }
    } else if (isObject(given)) addSection(layers, member, given, inner, faults, originOf);
    else if (given !== undefined && given !== null) {
      faults.push({ path: inner, sentence: "Must be a mapping of keys to values." });
    }
  }
}

/** Reads each key once, defaults that follow from other keys after those keys. */
class Reading {
  readonly origins = new Map<string, string>();
  readonly #values = new Map<string, unknown>();
  readonly #declared: ReadonlyMap<string, Leaf>;
  readonly #layers: Layers;
  readonly #host: string;
  readonly #faults: Fault[];
  readonly #warnings: string[];

  constructor(
    declared: readonly Leaf[],
    layers: Layers,
    host: string,
    faults: Fault[],
    warnings: string[],
  ) {
    this.#declared = new Map(declared.map((leaf) => [leaf.path, leaf]));
    this.#layers = layers;
    this.#host = host;
    this.#faults = faults;
    this.#warnings = warnings;
  }

  value(path: string): unknown {
    if (this.#values.has(path)) return this.#values.get(path);
    const leaf = this.#declared.get(path);
    if (!leaf) throw new Error(`assertion failed: a default follows from ${path}, which is no key`);
    const read = this.#read(leaf);
    this.#values.set(path, read);
    return read;
  }

  #read({ path, field }: Leaf): unknown {
    const at = placeIn(this.#faults, path);
    const given = this.#layers.at(path);
    const source = this.#layers.at(`${path}_source`);
    if (given && source) {
      this.#warnings.push(`${path}: The value is ignored because ${path}_source is set.`);
    }
    const set = source ?? given;
    this.origins.set(path, set?.origin ?? "default");
    if (set) return readSecret(field, { value: given?.raw, source: source?.raw }, at);
    const fallback = isDerived(field.fallback)
      ? field.fallback.from((other) => this.value(other), this.#host)
      : field.fallback;
    return readField(field, fallback, at);
  }
}

function assembled(section: Section, path: string, reading: Reading): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const [key, member] of Object.entries(section.members)) {
    const inner = path === "" ? key : `${path}.${key}`;
    out[key] = member.node === "section" ? assembled(member, inner, reading) : reading.value(inner);
  }
  return out;
}

/**
 * The tree with every second name of CFG-7 moved to its first; a key under both names is a fault.
 */
function withoutAliases(
  tree: Readonly<Record<string, unknown>>,
  faults: Fault[],
): Readonly<Record<string, unknown>> {
  let out = tree;
  for (const [alias, real] of aliases) {
    const { moved, rest } = takenOut(out, alias.split("."));
    if (!isObject(moved)) continue;
    const present = own(out, real);
    const kept = isObject(present) ? present : {};
    for (const key of Object.keys(moved)) {
      if (Object.hasOwn(kept, key)) {
        const sentence = `Only one of ${alias}.${key} and ${real}.${key} may be set.`;
        faults.push({ path: `${alias}.${key}`, sentence });
      }
    }
    out = { ...rest, [real]: { ...moved, ...kept } };
  }
  return out;
}

/** What lies at a path, and the tree without it. */
function takenOut(
  tree: Readonly<Record<string, unknown>>,
  [name = "", ...further]: readonly string[],
): { readonly moved: unknown; readonly rest: Readonly<Record<string, unknown>> } {
  const { [name]: at, ...others } = tree;
  if (!Object.hasOwn(tree, name)) return { moved: undefined, rest: tree };
  if (further.length === 0) return { moved: at, rest: others };
  if (!isObject(at)) return { moved: undefined, rest: tree };
  const inner = takenOut(at, further);
  return { moved: inner.moved, rest: { ...tree, [name]: inner.rest } };
}

function aliasLeaves(declared: readonly Leaf[]): readonly Leaf[] {
  return aliases.flatMap(([alias, real]) =>
    declared
      .filter((leaf) => leaf.path.startsWith(`${real}.`))
      .map((leaf) => ({ ...leaf, path: alias + leaf.path.slice(real.length) })),
  );
}

function unaliased(path: string): string {
  const row = aliases.find(([alias]) => path.startsWith(`${alias}.`));
  return row ? row[1] + path.slice(row[0].length) : path;
}
