/** Turns the configuration into the plain settings each part asks for; nothing else knows both. */

import { type SecretSources, variablesOf } from "#adapters/secrets/sources.ts";
import { SecretUnavailable } from "#config/secret.ts";
import type {
  GuardSettings,
  KeySettings,
  Pkcs11Settings,
  SecretSource as KeySecret,
} from "#adapters/keys/settings.ts";
import { signingLimit } from "#config/sections/limits.ts";
import type { Config } from "#config/schema.ts";
import type { SecretSetting } from "#config/secret.ts";
import type { ProviderName } from "#domain/keys.ts";

/** Which provider holds the keys of each role. */
export const keyRoles = (config: Config): { ca: ProviderName; responder: ProviderName } =>
  config.key_provider.roles;

/** Where the KEK is made and under which label family. */
export const kekPlace = (config: Config): { provider: ProviderName; family: string } => {
  const family = config.secret.kek_label;
  if (family === undefined) return { provider: "software", family: usualKekFamily };
  return { provider: config.key_provider.type, family };
};

/** The label family of the KEK in the software store, when none is set. */
export const usualKekFamily = "kek";

/** What the settings of the key adapter are made from; `limits` are those in force. */
export interface KeySettingsDeps {
  readonly privateDir: string;
  readonly limits: () => Config["rate_limit"];
  readonly secrets: SecretSources;
}

/** What the key adapter is told; PIN and passphrase go as sources, to be read in the signer. */
export async function keySettings(
  config: Config,
  { privateDir, limits, secrets }: KeySettingsDeps,
): Promise<KeySettings> {
  const { software } = config.key_provider;
  const providers = [...Object.values(keyRoles(config)), kekPlace(config).provider];
  return {
    software: {
      keystoreDir: software.keystore_dir,
      masterKeyFile: software.master_key_file ?? "",
      passphraseSource: keySecret(config, passphraseKey, software.passphrase),
    },
    pkcs11: providers.includes("pkcs11") ? await pkcs11Settings(config, secrets) : undefined,
    privateDir,
    guard: () => guardSettings(limits(), config.pkcs11.session_pool_size),
  };
}

/** The guard on signing operations; off means generous limits, never none. */
function guardSettings(
  { concurrency }: Config["rate_limit"],
  sessions: number,
): GuardSettings | undefined {
  const { enabled, max_in_flight, max_queue, acquire_timeout_ms } = concurrency;
  if (!enabled) return undefined;
  return {
    maxInFlight: signingLimit(max_in_flight, sessions),
    maxQueue: max_queue,
    acquireTimeoutMs: acquire_timeout_ms,
  };
}

async function pkcs11Settings(config: Config, secrets: SecretSources): Promise<Pkcs11Settings> {
  const { pkcs11 } = config;
  const uri = hsmTokenOfUri(await secrets.fresh("pkcs11.uri", pkcs11.uri));
  const pinSource = keySecret(config, "pkcs11.pin", pkcs11.pin);
  if (pkcs11.module_path === undefined || pinSource === undefined) {
    throw new SecretUnavailable("pkcs11.module_path and pkcs11.pin (or pin_source) must be set.");
  }
  return {
    modulePath: pkcs11.module_path,
    hsmTokenLabel: uri.token ?? pkcs11.token_label,
    hsmTokenSerial: uri.serial ?? pkcs11.token_serial,
    hsmTokenManufacturer: uri.manufacturer ?? pkcs11.token_manufacturer,
    pinSource,
    tokenSessions: pkcs11.session_pool_size,
    operationTimeoutSeconds: pkcs11.operation_timeout_seconds,
  };
}

/** The token attributes of an RFC 7512 URI, percent-decoded. */
function hsmTokenOfUri(uri: string | undefined): Readonly<Record<string, string>> {
  const attributes = (uri ?? "").replace(/^pkcs11:/, "").split("?")[0] ?? "";
  const pairs = attributes.split(";").filter((pair) => pair.includes("="));
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf("=");
      return [pair.slice(0, at), decodeURIComponent(pair.slice(at + 1))];
    }),
  );
}

function keySecret(
  { outbound }: Config,
  key: string,
  setting: SecretSetting | undefined,
): KeySecret | undefined {
  if (setting === undefined) return undefined;
  if (setting.from === "value") return { type: "value", value: setting.value.reveal() };
  const { source } = setting;
  switch (source.type) {
    case "env":
      return { type: "env", name: source.env.var };
    case "file": {
      const { path, allow_insecure_perms } = source.file;
      return { type: "file", path, allowInsecurePermissions: allow_insecure_perms };
    }
    default:
      return {
        type: "remote",
        key,
        source,
        caFile: outbound.ca_file,
        variables: variablesOf(source),
      };
  }
}

const passphraseKey = "key_provider.software.passphrase";
