/** Turns the configuration into the plain settings each part asks for; nothing else knows both. */

import { readFileSync } from "node:fs";

import type { ExtraTrust } from "#adapters/network/outbound.ts";
import { type SecretSources, variablesOf } from "#adapters/secrets/sources.ts";
import { SecretUnavailable } from "#adapters/secrets/unavailable.ts";
import { type NameServer, parseServer, systemServers } from "#adapters/network/resolv-conf.ts";
import type { StoreOptions } from "#adapters/db/open.ts";
import type {
  GuardSettings,
  KeySettings,
  Pkcs11Settings,
  SecretSource as KeySecret,
} from "#adapters/keys/settings.ts";
import { isPostgresUrl } from "#config/rules.ts";
import { signingLimit } from "#config/sections/limits.ts";
import type { Config } from "#config/schema.ts";
import type { SecretSetting } from "#config/secret.ts";
import type { ApprovalSettings } from "#core/approvals/classes.ts";
import type { ProviderName } from "#domain/key-ref.ts";
import type { RateSettings } from "#http/rate-limits.ts";

/** What outbound calls trust beside the system's certificates. */
export const extraTrust = ({ outbound }: Config): ExtraTrust =>
  outbound.ca_file === undefined ? [] : [readFileSync(outbound.ca_file, "utf8")];

/** The configured resolver, else those of the system, as they are now. */
export function nameServers({ caa }: Config): readonly NameServer[] {
  return caa.dns_resolver === undefined ? systemServers() : [parseServer(caa.dns_resolver)];
}

/**
 * Where the store is and how it is reached. Throws `SecretUnavailable` when its source fails or
 * gives no address.
 */
export async function storeOptions(
  config: Config,
  migrate: boolean,
  secrets: SecretSources,
): Promise<StoreOptions> {
  const { database } = config;
  const dsn = (await secrets.fresh("database.dsn", database.dsn)) ?? "";
  if (database.driver === "sqlite") {
    return {
      driver: "sqlite",
      path: dsn,
      busyTimeoutMs: database.busy_timeout_ms,
      minFreeBytes: database.min_free_mb * 1_048_576,
      ...(config.access_log.path === undefined ? {} : { accessLogPath: config.access_log.path }),
    };
  }
  // One in place was looked at when it was read; the driver would repeat what it cannot read.
  if (!isPostgresUrl(dsn)) {
    throw new SecretUnavailable("database.dsn: What its source gave is no database URL.");
  }
  return {
    driver: "postgres",
    dsn,
    migrate,
    maxOpenConns: database.max_open_conns,
    connMaxIdleTimeSeconds: database.conn_max_idle_time_seconds,
    connMaxLifetimeSeconds: database.conn_max_lifetime_seconds,
  };
}

/** What takes how many people. */
export const approvalSettings = ({ approvals }: Pick<Config, "approvals">): ApprovalSettings => ({
  enabled: approvals.enabled,
  defaultThreshold: approvals.default_threshold,
  thresholds: approvals.thresholds,
  operators: approvals.operators,
  requestTtlHours: approvals.request_ttl_hours,
});

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

/**
 * The rate tiers as the limiter takes them; it asks at every request, so the answer is kept while
 * nothing changed.
 */
export function rateSettings(of: () => Config["rate_limit"]): () => RateSettings {
  let known: { readonly of: Config["rate_limit"]; readonly settings: RateSettings } | undefined;
  return () => {
    const inForce = of();
    if (known?.of !== inForce) known = { of: inForce, settings: tiersOf(inForce) };
    return known.settings;
  };
}

const tiersOf = (of: Config["rate_limit"]): RateSettings => ({
  enabled: of.enabled,
  global: of.global,
  perIp: of.per_ip,
  perAccount: of.per_account,
  buckets: { maxKeys: of.max_keys, idleMs: of.idle_ttl_seconds * 1000 },
});

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
