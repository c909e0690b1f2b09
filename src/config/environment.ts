/**
 * Environment variables of keys: their names, and the raw values their texts stand for (ENV-1 to
 * ENV-4).
 */

import { rawOf } from "#core/shape/described.ts";

import type { Fault } from "./faults.ts";
import { nearest } from "./nearest.ts";
import type { Leaf } from "./section.ts";

/** Variables that steer pkid without being keys (ENV-5). */
export const controlVariables = [
  "PKID_CONFIG",
  "PKID_ALLOW_INSECURE_HTTP",
  "PKID_URL",
  "PKID_TOKEN",
  "PKID_CA_FILE",
] as const;

export type Environment = Readonly<Record<string, string | undefined>>;

/** True when `PKID_ALLOW_INSECURE_HTTP` permits cleartext on the main port (ENV-5). */
export const insecureHttpAllowed = (env: Environment): boolean =>
  ["1", "true", "yes"].includes((env.PKID_ALLOW_INSECURE_HTTP ?? "").toLowerCase());

/** What one variable sets: the path of a key, and its raw value. */
export interface Assignment {
  readonly path: string;
  readonly raw: unknown;
  readonly variable: string;
}

/** The variable of a path: `PKID_` and the path in upper case, dots as underscores. */
export const variableOf = (path: string): string =>
  `PKID_${path.toUpperCase().replaceAll(".", "_")}`;

/** Every variable that sets something, with its key; a secret also has `_FILE` and `_SOURCE`. */
export function variables(
  declared: readonly Leaf[],
): ReadonlyMap<string, { leaf: Leaf; use: "value" | "file" | "source" }> {
  const table = new Map<string, { leaf: Leaf; use: "value" | "file" | "source" }>();
  for (const leaf of declared) {
    const name = variableOf(leaf.path);
    table.set(name, { leaf, use: "value" });
    if (!leaf.field.source) continue;
    table.set(`${name}_FILE`, { leaf, use: "file" });
    table.set(`${name}_SOURCE`, { leaf, use: "source" });
  }
  return table;
}

/**
 * The assignments of an environment. `readFile` gives the text of a `_FILE`; it throws a sentence
 * when it cannot. Variables that match nothing become warnings; a variable beside its `_FILE` is a
 * fault.
 */
export function assignments(
  declared: readonly Leaf[],
  env: Environment,
  readFile: (path: string) => string,
  found: { faults: Fault[]; warnings: string[] },
): readonly Assignment[] {
  const table = variables(declared);
  const out: Assignment[] = [];
  for (const [variable, given] of Object.entries(env)) {
    if (!variable.startsWith("PKID_") || given === undefined) continue;
    if (controlVariables.some((name) => name === variable)) continue;
    const row = table.get(variable);
    if (!row) found.warnings.push(unknownVariable(variable, [...table.keys()]));
    else if (row.use === "file") {
      out.push(...fromFile(row.leaf, variable, given, env, readFile, found.faults));
    } else if (row.use === "source" && row.leaf.field.source) {
      const raw = rawOf(row.leaf.field.source, given);
      out.push({ path: `${row.leaf.path}_source`, raw, variable });
    } else out.push({ path: row.leaf.path, raw: rawOf(row.leaf.field.kind, given), variable });
  }
  return out;
}

function fromFile(
  leaf: Leaf,
  variable: string,
  file: string,
  env: Environment,
  readFile: (path: string) => string,
  faults: Fault[],
): readonly Assignment[] {
  const inline = variableOf(leaf.path);
  if (env[inline] !== undefined) {
    const sentence = `Only one of ${inline} and ${variable} may be set.`;
    faults.push({ path: leaf.path, sentence });
    return [];
  }
  try {
    return [{ path: leaf.path, raw: readFile(file), variable }];
  } catch (error) {
    const sentence = error instanceof Error ? error.message : String(error);
    faults.push({ path: leaf.path, sentence: `${variable}: ${sentence}` });
    return [];
  }
}

function unknownVariable(variable: string, known: readonly string[]): string {
  const close = nearest(variable, known);
  return `${variable} matches no key.${close === undefined ? "" : ` The nearest is ${close}.`}`;
}
