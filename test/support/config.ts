/**
 * Configurations for tests: a text loaded as the file `pkid.yaml`, without touching any other file.
 */

import { type Ingredients, type Loaded, loadConfig } from "#config/load.ts";
import type { Config } from "#config/schema.ts";

/** What loading this text gives, with this environment and these flags. */
export function loadText(
  text: string,
  env: Ingredients["env"] = {},
  flags: Readonly<Record<string, unknown>> = {},
): Loaded {
  const file = { name: "pkid.yaml", text };
  return loadConfig({ file, env, flags, host: "ca.test", readFile: (path) => `from ${path}` });
}

/** The configuration of this text; it must be valid. */
export function configOf(text: string, env: Ingredients["env"] = {}): Config {
  const result = loadText(text, env);
  if (result.ok) return result.config;
  throw new Error(result.faults.map((fault) => `${fault.path}: ${fault.sentence}`).join("\n"));
}
