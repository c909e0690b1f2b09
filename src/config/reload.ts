/** Compares two configurations and says which changes a reload takes over (RLD-1, RLD-2). */

import { isObject } from "#core/shape.ts";

import { type Config, configSchema } from "./schema.ts";
import { hidden, type SecretSetting } from "./secret.ts";
import { type Field, leaves, type Section } from "./section.ts";
import { valueAt } from "./show.ts";

/**
 * What a reload does: the configuration to go on with, the keys taken over, and those that wait for
 * a restart.
 */
export interface Reload {
  readonly config: Config;
  readonly reloaded: readonly string[];
  readonly restartRequired: readonly string[];
}

/** Takes the reloadable keys of `next` over into `present`; every other key keeps its old value. */
export function reload(present: Config, next: Config): Reload {
  const changed = leaves(configSchema).filter(
    ({ path, field }) =>
      comparable(field, valueAt(present, path)) !== comparable(field, valueAt(next, path)),
  );
  const paths = (wanted: boolean): string[] =>
    changed.filter(({ field }) => field.reloadable === wanted).map(({ path }) => path);
  // Both sides have the shape of the declaration, and so has their mixture.
  const config = mixed(configSchema, present, next) as unknown as Config;
  return { config, reloaded: paths(true), restartRequired: paths(false) };
}

/**
 * The keys whose files have other content than before: those a reload reads again, and those only a
 * restart does.
 */
export function changedFiles(
  before: ReadonlyMap<string, string>,
  now: ReadonlyMap<string, string>,
): Pick<Reload, "reloaded" | "restartRequired"> {
  const changed = [...now].filter(([key, digest]) => before.has(key) && before.get(key) !== digest);
  const keys = changed.map(([key]) => key);
  return {
    reloaded: keys.filter((key) => readAgain.has(key)),
    restartRequired: keys.filter((key) => !readAgain.has(key)),
  };
}

/** Files that whoever serves reads at every reload. */
const readAgain: ReadonlySet<string> = new Set([
  "server.tls_cert",
  "server.tls_key",
  "auth.mtls.ca_file",
  "keychecks.weak_key_blocklist_paths",
]);

function mixed(of: Section, present: unknown, next: unknown): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  if (!isObject(present) || !isObject(next)) return out;
  for (const [key, member] of Object.entries(of.members)) {
    if (member.node === "section") out[key] = mixed(member, present[key], next[key]);
    else out[key] = member.reloadable ? next[key] : present[key];
  }
  return out;
}

/** The value as text; a secret by its content, which leaves this function only as equal or not. */
function comparable(field: Field<unknown>, value: unknown): string {
  if (value === undefined) return "";
  if (!field.source) return JSON.stringify(field.kind.write(value));
  const setting = value as SecretSetting; // Fields with a source hold nothing else.
  if (setting.from === "source") return JSON.stringify(setting.source);
  return `${hidden} ${setting.value.reveal()}`;
}
