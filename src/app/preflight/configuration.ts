/** The checks of configuration, secrets and their sources. */

import { fileFacts } from "#adapters/preflight/host.ts";
import { describeSource } from "#adapters/secrets/sources.ts";
import { SecretUnavailable } from "#adapters/secrets/unavailable.ts";
import { faultLine } from "#config/load.ts";
import { type Config, configSchema } from "#config/schema.ts";
import { isPostgresUrl } from "#config/rules.ts";
import { isLocal, type SecretSetting } from "#config/secret.ts";
import { leaves } from "#config/section.ts";
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
import { isObject } from "#core/shape.ts";
import type { Checks } from "#domain/preflight/run.ts";
import type { ProviderName } from "#domain/key-ref.ts";
import { openSecrets } from "#app/secrets.ts";
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
  const { loaded, fileName } = premises.read;
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
    "config.default_secrets": async () => judgeSecrets(await passwordsOf(premises)),
    "secret.sources": () => sourcesResolve(premises),
    "pin.source": async () => {
      const { key_provider, pkcs11 } = configOf(premises);
      if (key_provider.type !== "pkcs11") return skipped("No keys are in a token.");
      if (pkcs11.pin === undefined)
        return failed("Neither pkcs11.pin nor pkcs11.pin_source is set.");
      const wrong = await resolves({ path: "pkcs11.pin", setting: pkcs11.pin }, premises);
      return gathered(wrong, "The PIN can be had.");
    },
    "pkcs11.uris": () => hsmTokenUri(premises),
  };
}

async function sourcesResolve(premises: Premises): Promise<Finding> {
  const set = secretsOf(configOf(premises));
  const findings = await Promise.all(set.map((one) => resolves(one, premises)));
  const { warnings } = premises.read.loaded;
  const shadowed = warnings.filter((warning) => warning.includes("_source is set"));
  const sources = set.filter(({ setting }) => setting.from === "source").length;
  return gathered([...findings.flat(), ...shadowed.map(warned)], `${sources} sources resolve.`);
}

/** What is wrong with one secret; a value in place is always there. */
async function resolves(
  { path, setting }: ConfiguredSecret,
  premises: Premises,
): Promise<readonly Finding[]> {
  if (setting.from === "value") return [];
  const { source } = setting;
  const out = staysOut({ path, setting }, premises);
  if (out && !isLocal(source)) return await unlocks(path, premises);
  const secrets = openSecrets(configOf(premises), premises.env);
  try {
    if (out && isLocal(source)) secrets.probe(path, source);
    else await secrets.fresh(path, setting);
  } catch (error) {
    if (error instanceof SecretUnavailable) return [failed(error.message)];
    throw error;
  }
  const open = source.type === "file" && readableByOthers(fileFacts(source.file.path));
  return open ? [warned(`${path}: ${describeSource(source)} can be read by others.`)] : [];
}

/**
 * What opens keys never comes into the process that serves requests, not even to be looked at,
 * unless the operator put it there; a command of its own may ask for it.
 */
const staysOut = ({ path, setting }: ConfiguredSecret, { server }: Premises): boolean =>
  server !== undefined &&
  Object.hasOwn(unlocking, path) &&
  setting.from === "source" &&
  setting.source.type !== "env";

/** Whether the signer, which alone may have it, got it when it last started. */
async function unlocks(path: string, { keys }: Premises): Promise<readonly Finding[]> {
  if ("fault" in keys) return [failed(`${path}: ${keys.fault}`)];
  const facts = (await keys.open.facts()).find(({ provider }) => provider === unlocking[path]);
  if (facts === undefined || facts.available) return [];
  return [failed(`${path}: ${facts.error ?? "The signer that needs it does not serve."}`)];
}

async function hsmTokenUri({ read, config, keys }: Premises): Promise<Finding> {
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

interface ConfiguredSecret {
  readonly path: string;
  readonly setting: SecretSetting;
}

/** Every secret that is set, with its key. */
function secretsOf(config: Config): readonly ConfiguredSecret[] {
  return leaves(configSchema).flatMap(({ path, field }) => {
    const setting = field.source && valueAt(config, path);
    // The value of a field with a source is a secret setting, by its declaration.
    return isObject(setting) ? [{ path, setting: setting as SecretSetting }] : [];
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
async function passwordsOf(premises: Premises): Promise<readonly NamedSecret[]> {
  const chosen = ["root_user.password", "key_provider.software.passphrase", "database.dsn"];
  const looked = secretsOf(configOf(premises)).filter(({ path }) => chosen.includes(path));
  const found = await Promise.all(looked.map((one) => passwordOf(one, premises)));
  return found.filter((one) => one !== undefined);
}

async function passwordOf(
  secret: ConfiguredSecret,
  premises: Premises,
): Promise<NamedSecret | undefined> {
  if (staysOut(secret, premises)) return undefined;
  const { path, setting } = secret;
  const secrets = openSecrets(configOf(premises), premises.env);
  const value = await secrets.fresh(path, setting).catch((error: unknown) => {
    if (error instanceof SecretUnavailable) return undefined;
    throw error;
  });
  if (value === undefined) return undefined;
  if (path !== "database.dsn") return { key: path, value };
  const password = isPostgresUrl(value) ? new URL(value).password : "";
  return password === "" ? undefined : { key: path, value: decodeURIComponent(password) };
}

const unknownVariable = (warning: string): boolean => warning.startsWith("PKID_");

/** What opens private keys, and the provider whose signer alone has it. */
const unlocking: Readonly<Record<string, ProviderName>> = {
  "pkcs11.pin": "pkcs11",
  "key_provider.software.passphrase": "software",
};
