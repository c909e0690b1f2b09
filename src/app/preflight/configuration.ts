/** The checks of configuration, secrets and their sources. */

import { fileFacts } from "#adapters/preflight/host.ts";
import { describeSource, resolveSecret, SecretUnavailable } from "#adapters/secret-sources.ts";
import { faultLine } from "#config/load.ts";
import { type Config, configSchema } from "#config/schema.ts";
import type { SecretSetting } from "#config/secret.ts";
import { isPlain, leaves } from "#config/section.ts";
import { withoutCredentials } from "#config/sections/database.ts";
import { valueAt } from "#config/show.ts";
import { judgeConfigFile, readableByOthers } from "#core/preflight/files.ts";
import {
  failed,
  type Finding,
  gathered,
  passed,
  skipped,
  warned,
} from "#core/preflight/finding.ts";
import { judgeSecrets, type NamedSecret } from "#core/preflight/secrets.ts";
import type { Checks } from "#domain/preflight/run.ts";
import { configOf, type Premises } from "./premises.ts";

type Covered =
  | "config.parse"
  | "config.unknown_env"
  | "config.file_mode"
  | "config.default_secrets"
  | "secret.sources"
  | "pin.source"
  | "pkcs11.uris";

/** Their functions over these premises. */
export function configurationChecks(premises: Premises): Pick<Checks, Covered> {
  const { read, env } = premises;
  const { loaded, fileName } = read;
  return {
    "config.parse": () =>
      loaded.ok
        ? passed(`${fileName ?? "Defaults and environment"}: valid.`)
        : failed(loaded.faults.map(faultLine).join(" ")),
    "config.unknown_env": () =>
      gathered(
        loaded.warnings.filter(unknownVariable).map(warned),
        "Every PKID_ variable names a key.",
      ),
    "config.file_mode": () =>
      fileName === undefined
        ? skipped("There is no configuration file.")
        : judgeConfigFile(fileFacts(fileName), loaded.ok ? inlineSecrets(loaded) : []),
    "config.default_secrets": () => judgeSecrets(passwordsOf(configOf(premises), env)),
    "secret.sources": () => sourcesResolve(premises),
    "pin.source": () => {
      const { key_provider, pkcs11 } = configOf(premises);
      if (key_provider.type !== "pkcs11") return skipped("No keys are in a token.");
      if (pkcs11.pin === undefined)
        return failed("Neither pkcs11.pin nor pkcs11.pin_source is set.");
      return gathered(resolves("pkcs11.pin", pkcs11.pin, env), "The PIN can be had.");
    },
    "pkcs11.uris": () => tokenUri(premises),
  };
}

function sourcesResolve(premises: Premises): Finding {
  const { read, env } = premises;
  const set = secretsOf(configOf(premises));
  const findings = set.flatMap(({ path, setting }) => resolves(path, setting, env));
  const shadowed = read.loaded.warnings.filter((warning) => warning.includes("_source is set"));
  const sources = set.filter(({ setting }) => setting.from === "source").length;
  return gathered([...findings, ...shadowed.map(warned)], `${sources} sources resolve.`);
}

/** What is wrong with one secret; a value in place is always there. */
function resolves(path: string, setting: SecretSetting, env: Premises["env"]): readonly Finding[] {
  if (setting.from === "value") return [];
  const { source } = setting;
  try {
    resolveSecret(setting, env);
  } catch (error) {
    if (error instanceof SecretUnavailable) return [failed(`${path}: ${error.message}`)];
    throw error;
  }
  const open = source.type === "file" && readableByOthers(fileFacts(source.file.path));
  return open ? [warned(`${path}: ${describeSource(source)} can be read by others.`)] : [];
}

async function tokenUri({ read, config, keys }: Premises): Promise<Finding> {
  const faults = read.loaded.ok ? [] : read.loaded.faults;
  const wrong = faults.filter(({ path }) => path.startsWith("pkcs11.uri"));
  if (wrong.length > 0) return failed(wrong.map(faultLine).join(" "));
  if (config?.pkcs11.uri === undefined) return skipped("No token is selected by a URI.");
  if ("fault" in keys) return warned(`No token was found by the URI: ${keys.fault}`);
  const token = (await keys.open.facts()).find(({ provider }) => provider === "pkcs11");
  return token?.available === true
    ? passed("The URI selects a token.")
    : warned("No token was found by the URI.");
}

/** Every secret that is set, with its key. */
function secretsOf(config: Config): readonly { path: string; setting: SecretSetting }[] {
  return leaves(configSchema).flatMap(({ path, field }) => {
    const setting = field.source && valueAt(config, path);
    // The value of a field with a source is a secret setting, by its declaration.
    return isPlain(setting) ? [{ path, setting: setting as SecretSetting }] : [];
  });
}

/** The keys whose secrets stand in the file itself. */
function inlineSecrets({ config, origins }: Loaded): readonly string[] {
  return secretsOf(config)
    .filter(({ path, setting }) => {
      if (setting.from !== "value" || !(origins.get(path) ?? "").includes(":")) return false;
      const text = setting.value.reveal();
      if (path === "database.dsn") return withoutCredentials(text) !== text;
      return path !== "pkcs11.uri";
    })
    .map(({ path }) => path);
}

type Loaded = Extract<Premises["read"]["loaded"], { ok: true }>;

/** What people chose and others may guess; what cannot be had is another check's matter. */
function passwordsOf(config: Config, env: Premises["env"]): readonly NamedSecret[] {
  const chosen = ["root_user.password", "key_provider.software.passphrase"];
  return secretsOf(config).flatMap(({ path, setting }) => {
    const value = revealedOrNothing(setting, env);
    if (value === undefined) return [];
    if (chosen.includes(path)) return [{ key: path, value }];
    if (path !== "database.dsn" || !URL.canParse(value)) return [];
    const { password } = new URL(value);
    return password === "" ? [] : [{ key: path, value: decodeURIComponent(password) }];
  });
}

function revealedOrNothing(setting: SecretSetting, env: Premises["env"]): string | undefined {
  try {
    return resolveSecret(setting, env).reveal();
  } catch (error) {
    if (error instanceof SecretUnavailable) return undefined;
    throw error;
  }
}

const unknownVariable = (warning: string): boolean => warning.startsWith("PKID_");
