/**
 * Prints the effective configuration with the origin of every key and without any secret (SHOW-1).
 */

import { isObject, type Json } from "#core/shape.ts";

import type { Origins } from "./load.ts";
import { type Config, configSchema } from "./schema.ts";
import type { SecretSetting, SecretSource } from "./secret.ts";
import { type Field, type Leaf, leaves, own, type Section, writeField } from "./section.ts";

/**
 * The effective values as YAML in the order of the declaration; a valid file apart from secrets.
 * Unset keys are left out.
 */
export function showYaml(config: Config, origins: Origins): string {
  return `${sectionLines(configSchema, config, "", origins).join("\n")}\n`;
}

/** The same tree as plain values; with origins each value becomes `{ value, origin }`. */
export function showJson(config: Config, origins?: Origins): Record<string, unknown> {
  return sectionTree(configSchema, config, "", origins);
}

/** The value a path has in the configuration. */
export function valueAt(config: Config, path: string): unknown {
  let value: unknown = config;
  for (const key of path.split(".")) value = isObject(value) ? own(value, key) : undefined;
  return value;
}

/**
 * One key of the configuration as it is shown: a secret as `***`, or as the source it has;
 * undefined where it has no value.
 */
export function shownAt(config: Config, { path, field }: Leaf): Json | undefined {
  const value = valueAt(config, path);
  if (value === undefined) return undefined;
  const [written] = Object.values(shown(path.slice(path.lastIndexOf(".") + 1), field, value));
  // Kinds write JSON, and a source is named in it.
  return written as Json | undefined;
}

/** Lower hex SHA-256 over the effective values, secrets excluded (CFG-8). */
export function configDigest(config: Config): string {
  const open = leaves(configSchema).filter((leaf) => !leaf.field.source);
  const values = open.map((leaf) => {
    const value = valueAt(config, leaf.path);
    return [leaf.path, value === undefined ? null : leaf.field.kind.write(value)];
  });
  return new Bun.CryptoHasher("sha256").update(JSON.stringify(values)).digest("hex");
}

function sectionLines(
  of: Section,
  values: unknown,
  path: string,
  origins: Origins,
  indent = "",
): readonly string[] {
  return Object.entries(of.members).flatMap(([key, member]) => {
    const inner = path === "" ? key : `${path}.${key}`;
    const value = isObject(values) ? own(values, key) : undefined;
    if (value === undefined) return [];
    if (member.node === "field") {
      const origin = origins.get(inner) ?? "default";
      return Object.entries(shown(key, member, value)).map(
        ([name, raw]) => `${indent}${name}: ${yamlValue(raw)} # ${origin}`,
      );
    }
    const lines = sectionLines(member, value, inner, origins, `${indent}  `);
    return lines.length === 0 ? [] : [`${indent}${key}:`, ...lines];
  });
}

function sectionTree(
  of: Section,
  values: unknown,
  path: string,
  origins: Origins | undefined,
): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const [key, member] of Object.entries(of.members)) {
    const inner = path === "" ? key : `${path}.${key}`;
    const value = isObject(values) ? own(values, key) : undefined;
    if (value === undefined) continue;
    if (member.node === "section") out[key] = sectionTree(member, value, inner, origins);
    else {
      const origin = origins?.get(inner);
      for (const [name, raw] of Object.entries(shown(key, member, value))) {
        out[name] = origin === undefined ? raw : { value: raw, origin };
      }
    }
  }
  return out;
}

/**
 * A source by its type and what it is called there: where a server is and how one logs in is
 * nobody's who reads this.
 */
function shown(key: string, field: Field<unknown>, value: unknown): Record<string, unknown> {
  if (!field.source || !isObject(value) || value.from !== "source") {
    return writeField(key, field, value);
  }
  // Fields with a source hold nothing else.
  const { source } = value as Extract<SecretSetting, { from: "source" }>;
  return { [`${key}_source`]: namedSource(source) };
}

function namedSource(source: SecretSource): Record<string, unknown> {
  const { type } = source;
  switch (source.type) {
    case "env":
      return { type, env: { var: source.env.var } };
    case "file":
      return { type, file: { path: source.file.path } };
    case "vault":
      return { type, vault: { path: source.vault.path } };
    case "aws":
      return { type, aws: { secret_id: source.aws.secret_id } };
    case "azure":
      return { type, azure: { name: source.azure.name } };
  }
}

/**
 * A value on one line: plain where YAML reads it back as the same text, else JSON, which YAML
 * includes.
 */
export function yamlValue(raw: unknown): string {
  if (typeof raw === "string" && plainText.test(raw) && !ambiguous.test(raw)) return raw;
  return JSON.stringify(raw);
}

const plainText = /^[A-Za-z0-9_./][A-Za-z0-9_./-]*(:\/\/[A-Za-z0-9_./:-]*[A-Za-z0-9_/])?$/;
// Words and numbers that YAML readers, also those of YAML 1.1, take for something other than text.
const ambiguous =
  /^(true|false|yes|no|on|off|y|n|null|~|[-+.]?[0-9][0-9a-fA-FxXoO_.eE:+-]*|\.inf|\.nan)$/i;
