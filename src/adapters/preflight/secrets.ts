/** Looks at secrets and at the places they are kept in. */

import {
  isLocal,
  type LocalSource,
  type SecretSource,
  type Secrets,
  SecretUnavailable,
  type SetSecret,
} from "#config/secret.ts";
import { readableByOthers } from "#core/preflight/files.ts";
import { failed, type Finding, gathered, warned } from "#core/preflight/finding.ts";
import { judgeMacKeys, judgeSecrets, type NamedSecret } from "#core/preflight/secrets.ts";
import type { Part } from "#domain/preflight/part.ts";
import type { Keys } from "#domain/keys.ts";
import type { ProviderName } from "#domain/key-ref.ts";
import { fileFacts } from "./host.ts";

export interface SecretPremises {
  /** Every secret that is set. */
  readonly set: readonly SetSecret[];
  readonly secrets: Secrets & { probe(key: string, source: LocalSource): void };
  readonly describeSource: (source: SecretSource) => string;
  readonly keys: Part<Keys>;
  /** True in the process that serves requests. */
  readonly serving: boolean;
}

/** Every source gives its secret; `shadowed` are warnings about values that are not used. */
export async function sourcesResolve(
  premises: SecretPremises,
  shadowed: readonly string[],
): Promise<Finding> {
  const { set } = premises;
  const findings = await Promise.all(set.map((one) => resolves(one, premises)));
  const sources = set.filter(({ setting }) => setting.from === "source").length;
  return gathered([...findings.flat(), ...shadowed.map(warned)], `${sources} sources resolve.`);
}

/** The PIN can be had. */
export async function pinResolves(premises: SecretPremises): Promise<Finding> {
  const pin = premises.set.find(({ path }) => path === "pkcs11.pin");
  if (pin === undefined) return failed("Neither pkcs11.pin nor pkcs11.pin_source is set.");
  return gathered(await resolves(pin, premises), "The PIN can be had.");
}

/**
 * What people chose and others may guess, which is every secret but those the table below knows
 * better; what cannot be had is another check's matter.
 */
export async function secretsStrong(premises: SecretPremises): Promise<Finding> {
  const looked = premises.set.filter(({ path }) => kindOf(path) !== "no secret");
  const found = await Promise.all(looked.map((one) => chosenOf(one, premises)));
  const secrets = found.filter((one) => one !== undefined);
  const short = judgeMacKeys(secrets.filter(({ key }) => kindOf(key) === "key of a MAC"));
  const judged = judgeSecrets(secrets);
  return short.length === 0 ? judged : gathered([judged, ...short], judged.detail);
}

/** What is wrong with one secret; a value in place is always there. */
async function resolves(
  { path, setting }: SetSecret,
  premises: SecretPremises,
): Promise<readonly Finding[]> {
  if (setting.from === "value") return [];
  const { source } = setting;
  const { secrets, describeSource } = premises;
  const out = staysOut({ path, setting }, premises);
  if (out && !isLocal(source)) return await unlocks(path, premises);
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
const staysOut = ({ path, setting }: SetSecret, { serving }: SecretPremises): boolean =>
  serving &&
  Object.hasOwn(unlocking, path) &&
  setting.from === "source" &&
  setting.source.type !== "env";

/** Whether the signer, which alone may have it, got it when it last started. */
async function unlocks(path: string, { keys }: SecretPremises): Promise<readonly Finding[]> {
  if ("fault" in keys) return [failed(`${path}: ${keys.fault}`)];
  const facts = (await keys.open.facts()).find(({ provider }) => provider === unlocking[path]);
  if (facts === undefined || facts.available) return [];
  return [failed(`${path}: ${facts.error ?? "The signer that needs it does not serve."}`)];
}

async function chosenOf(
  secret: SetSecret,
  premises: SecretPremises,
): Promise<NamedSecret | undefined> {
  if (staysOut(secret, premises)) return undefined;
  const { path, setting } = secret;
  const value = await premises.secrets.fresh(path, setting).catch((error: unknown) => {
    if (error instanceof SecretUnavailable) return undefined;
    throw error;
  });
  if (value === undefined) return undefined;
  switch (kindOf(path)) {
    case "password in a URL": {
      const password = URL.canParse(value) ? new URL(value).password : "";
      return password === "" ? undefined : { key: path, value: decoded(password) };
    }
    case "PIN":
      return { key: path, value, fewGuesses: true };
    default:
      return { key: path, value };
  }
}

/** As it was written where its escapes are none: such a URL is refused elsewhere. */
function decoded(password: string): string {
  try {
    return decodeURIComponent(password);
  } catch {
    return password;
  }
}

/** Where the keys of ACME bindings stand, by their kid. */
const bindingKeys = "acme.eab_hmac_keys.";

type SecretKind = "no secret" | "password in a URL" | "PIN" | "key of a MAC" | "password";

const kindOf = (path: string): SecretKind => {
  if (path.startsWith(bindingKeys)) return "key of a MAC";
  return kinds[path] ?? "password";
};

/** What is not simply a password. */
const kinds: Readonly<Record<string, SecretKind>> = {
  // What it was made from cannot be told from it.
  "root_user.password_hash": "no secret",
  "pkcs11.uri": "no secret",
  "pkcs11.pin": "PIN",
  "database.dsn": "password in a URL",
  "outbound.proxy_url": "password in a URL",
  "acme.nonce_hmac_key": "key of a MAC",
};

/** What opens private keys, and the provider whose signer alone has it. */
const unlocking: Readonly<Record<string, ProviderName>> = {
  "pkcs11.pin": "pkcs11",
  "key_provider.software.passphrase": "software",
};
