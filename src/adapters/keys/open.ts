/** Opens the keys of a configured instance: which signers there are, and how they are unlocked. */

import type { RemoteSource, SecretSetting, Secrets } from "#config/secret.ts";
import { SecretUnavailable } from "#config/secret.ts";
import { type KekSections, kekPlace } from "#domain/envelopes/place.ts";
import type { ProviderName } from "#domain/key-ref.ts";
import type { ListedKey } from "#domain/keys.ts";
import type {
  GuardSettings,
  KeyHooks,
  KeySettings,
  Pkcs11Settings,
  SecretSource,
  SoftwareSettings,
} from "./settings.ts";
import { withReadOnlyToken } from "./read-only.ts";
import { listStarted, type OpenKeys, startSigners } from "./start.ts";

/** What keys read of the configuration. */
export interface KeySections extends KekSections {
  readonly key_provider: KekSections["key_provider"] & {
    readonly roles: { readonly ca: ProviderName; readonly responder: ProviderName };
    readonly software: Omit<SoftwareSettings, "passphrase" | "master_key_file"> & {
      readonly master_key_file: string | undefined;
      readonly passphrase: SecretSetting | undefined;
    };
  };
  readonly pkcs11: Omit<Pkcs11Settings, "module_path" | "pin" | "libraryParameters"> & {
    readonly module_path: string | undefined;
    /** RFC 7512; goes before the three token fields. */
    readonly uri: SecretSetting | undefined;
    readonly pin: SecretSetting | undefined;
  };
  readonly outbound: { readonly ca_file: string | undefined };
}

/** `rate_limit.concurrency`; 0 or less in flight is one per session of the token. */
export interface ConcurrencySection extends GuardSettings {
  readonly enabled: boolean;
}

export interface KeyPorts
  extends Pick<KeySettings, "privateDir" | "lookingOnly" | "startPatienceMs"> {
  readonly secrets: Secrets;
  /** The variables a signer must have that fetches from this server. */
  readonly variablesOf: (source: RemoteSource) => readonly string[];
  /**
   * True for a drill: a configured token is opened even if no new key is created on it, and is
   * never changed.
   */
  readonly readOnlyToken?: boolean;
  /** Those in force, asked for at every operation. */
  readonly limits: () => ConcurrencySection;
}

/**
 * Starts a signer for each configured provider; PIN and passphrase go there as sources. Throws
 * `SecretUnavailable` where the token cannot be selected, and as `startSigners` does.
 */
export const openKeys = async (
  config: KeySections,
  ports: KeyPorts,
  hooks: KeyHooks = {},
): Promise<OpenKeys> => {
  const keys = await startSigners(await settingsOf(config, ports), hooks);
  return ports.readOnlyToken === true ? withReadOnlyToken(keys) : keys;
};

/**
 * What the token holds, seen by a signer that ends with the look; nothing is made, on this machine
 * either. Empty where no token is configured. Refuses `key_unavailable` for a token that is away;
 * throws as `openKeys` does.
 */
export const listToken = async (
  config: KeySections,
  ports: KeyPorts,
): Promise<readonly ListedKey[]> => listStarted(await settingsOf(config, ports));

/** True when keys of any role, or the KEK, are in the token. */
export function usesToken(config: KeySections): boolean {
  const { roles } = config.key_provider;
  return [roles.ca, roles.responder, kekPlace(config).provider].includes("pkcs11");
}

/** True if the configuration names a token, even if no role uses it. */
export const hasToken = ({ pkcs11 }: KeySections): boolean =>
  pkcs11.module_path !== undefined && pkcs11.pin !== undefined;

async function settingsOf(
  config: KeySections,
  { secrets, variablesOf, limits, readOnlyToken = false, ...ports }: KeyPorts,
): Promise<KeySettings> {
  const { software } = config.key_provider;
  const { ca_file: caFile } = config.outbound;
  const source = (key: string, setting: SecretSetting | undefined) =>
    setting && sourceOf(key, setting, { caFile, variablesOf });
  return {
    ...ports,
    software: {
      keystore_dir: software.keystore_dir,
      master_key_file: software.master_key_file ?? "",
      passphrase: source("key_provider.software.passphrase", software.passphrase),
    },
    pkcs11:
      usesToken(config) || (readOnlyToken && hasToken(config))
        ? await tokenOf(config.pkcs11, source("pkcs11.pin", config.pkcs11.pin), secrets)
        : undefined,
    guard: guardIn(limits, config.pkcs11.session_pool_size),
  };
}

/** The guard of the limits in force, made anew when a reload has replaced them. */
function guardIn(limits: () => ConcurrencySection, sessions: number) {
  let section = limits();
  let guard = guardOf(section, sessions);
  return (): GuardSettings | undefined => {
    const inForce = limits();
    if (inForce !== section) {
      section = inForce;
      guard = guardOf(section, sessions);
    }
    return guard;
  };
}

/** The guard on signing operations; off means generous limits, never none. */
function guardOf(
  { enabled, ...limits }: ConcurrencySection,
  sessions: number,
): GuardSettings | undefined {
  if (!enabled) return undefined;
  const { max_in_flight } = limits;
  return { ...limits, max_in_flight: max_in_flight > 0 ? max_in_flight : sessions };
}

async function tokenOf(
  { uri, module_path, pin: _, ...section }: KeySections["pkcs11"],
  pin: SecretSource | undefined,
  secrets: Secrets,
): Promise<Pkcs11Settings> {
  const named = hsmTokenOfUri(await secrets.fresh("pkcs11.uri", uri));
  if (module_path === undefined || pin === undefined) {
    throw new SecretUnavailable("pkcs11.module_path and pkcs11.pin (or pin_source) must be set.");
  }
  return {
    ...section,
    token_label: named.token ?? section.token_label,
    token_serial: named.serial ?? section.token_serial,
    token_manufacturer: named.manufacturer ?? section.token_manufacturer,
    module_path,
    pin,
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

/** A secret as the signer is told to get it; nothing is fetched here. */
function sourceOf(
  key: string,
  setting: SecretSetting,
  { caFile, variablesOf }: { readonly caFile: string | undefined } & Pick<KeyPorts, "variablesOf">,
): SecretSource {
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
      return { type: "remote", key, source, caFile, variables: variablesOf(source) };
  }
}
