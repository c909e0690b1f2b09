/** Which secrets a configuration sets, and which of them stand in the file itself. */

import { isObject } from "#core/shape.ts";

import type { Loaded } from "./load.ts";
import { type Config, configSchema } from "./schema.ts";
import type { SecretSetting, SetSecret } from "./secret.ts";
import { leaves } from "./section.ts";
import { withoutCredentials } from "#config/sections/database.ts";
import { valueAt } from "./show.ts";

/** Every secret that is set, with its key. */
export function secretsOf(config: Config): readonly SetSecret[] {
  const bindings = Object.entries(config.acme.eab_hmac_keys).map(([kid, setting]) => ({
    path: `${bindingKeys}.${kid}`,
    setting,
  }));
  return [...fieldSecrets(config), ...bindings];
}

/** Where the secrets of a mapping are. */
export const bindingKeys = "acme.eab_hmac_keys";

function fieldSecrets(config: Config): readonly SetSecret[] {
  return leaves(configSchema).flatMap(({ path, field }) => {
    const setting = field.source && valueAt(config, path);
    // The value of a field with a source is a secret setting, by its declaration.
    return isObject(setting) ? [{ path, setting: setting as SecretSetting }] : [];
  });
}

/** The keys whose secrets stand in the file itself. */
export function inlineSecrets({
  config,
  origins,
}: Extract<Loaded, { ok: true }>): readonly string[] {
  return secretsOf(config)
    .filter(({ path, setting }) => {
      const origin = origins.get(path.startsWith(`${bindingKeys}.`) ? bindingKeys : path) ?? "";
      if (setting.from !== "value" || !origin.includes(":")) return false;
      const text = setting.value.reveal();
      if (path === "database.dsn") return withoutCredentials(text) !== text;
      return path !== "pkcs11.uri";
    })
    .map(({ path }) => path);
}
