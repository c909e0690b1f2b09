/** Reads secrets of HashiCorp Vault's key-value engines, and of what speaks its protocol. */

import type { LocalSource, VaultSource } from "#config/secret.ts";

import { type Attempt, fieldOf, headerText, objectOf, textAt } from "./attempt.ts";
import { type Environment, readLocal } from "./local.ts";
import { SecretUnavailable } from "#config/secret.ts";
import { SourceFault } from "./unavailable.ts";

/** The variables this source is read with. */
export function vaultVariables({ auth_method, token, secret_id }: VaultSource): readonly string[] {
  const of = (source: LocalSource | undefined, usual: string): readonly string[] => {
    if (source === undefined) return [usual];
    return source.type === "env" ? [source.env.var] : [];
  };
  if (auth_method === "token") return of(token, "VAULT_TOKEN");
  return ["VAULT_ROLE_ID", ...of(secret_id, "VAULT_SECRET_ID")];
}

/** The field of the secret; throws `SourceFault`. */
export async function fromVault(
  source: VaultSource,
  env: Environment,
  attempt: Attempt,
): Promise<string> {
  if (source.auth_method === "token") {
    const token = credential(source.token, "VAULT_TOKEN", "vault.token", env);
    return await read(source, token, attempt);
  }
  const token = await logIn(source, env, attempt);
  try {
    return await read(source, token, attempt);
  } finally {
    await giveBack(source, token, attempt);
  }
}

/**
 * Version 2 of the engine keeps the members one level deeper, beside what it knows about their
 * version.
 */
async function read(source: VaultSource, token: string, attempt: Attempt): Promise<string> {
  const { mount, path, kv_version, field } = source;
  const segments = [...mount.split("/"), ...(kv_version === 2 ? ["data"] : []), ...path.split("/")];
  const { data: outer } = await attempt.json({
    who,
    url: urlOf(source, segments),
    headers: headersOf(source, token),
    said: { texts: errorsOf, never: [token] },
  });
  const members = objectOf(kv_version === 2 ? objectOf(outer)?.data : outer);
  if (members !== undefined) return fieldOf(members, field);
  throw new SourceFault(`the answer is not of a key-value engine of version ${kv_version}`);
}

async function logIn(source: VaultSource, env: Environment, attempt: Attempt): Promise<string> {
  const role = source.role_id ?? attempt.variable("VAULT_ROLE_ID");
  if (role === undefined) {
    throw new SourceFault("neither vault.role_id nor the variable VAULT_ROLE_ID is set");
  }
  const secret = credential(source.secret_id, "VAULT_SECRET_ID", "vault.secret_id", env);
  const { auth } = await attempt.json({
    who: "the approle login",
    method: "POST",
    headers: headersOf(source),
    url: urlOf(source, ["auth", "approle", "login"]),
    body: JSON.stringify({ role_id: role, secret_id: secret }),
    said: { texts: errorsOf, never: [role, secret] },
  });
  return textAt(objectOf(auth), "client_token", "the approle login");
}

/** Every read logs in anew; tokens left behind would pile up in the server until they expire. */
async function giveBack(source: VaultSource, token: string, attempt: Attempt): Promise<void> {
  const url = urlOf(source, ["auth", "token", "revoke-self"]);
  const giving = { who, url, method: "POST", headers: headersOf(source, token) } as const;
  // A token that cannot be given back, as batch tokens cannot, expires by itself.
  await attempt.text(giving).catch(() => {});
}

function credential(
  source: LocalSource | undefined,
  usual: string,
  key: string,
  env: Environment,
): string {
  const value = source === undefined ? env[usual] : readNested(source, env);
  if (value) return value;
  throw new SourceFault(`neither ${key} nor the variable ${usual} is set`);
}

function readNested(source: LocalSource, env: Environment): string {
  try {
    return readLocal(source, env);
  } catch (error) {
    if (!(error instanceof SecretUnavailable)) throw error;
    throw new SourceFault(error.message.replace(/\.$/, ""));
  }
}

function headersOf({ namespace }: VaultSource, token?: string): Record<string, string> {
  return {
    accept: "application/json",
    "x-vault-request": "true",
    ...(namespace === undefined
      ? {}
      : { "x-vault-namespace": headerText(namespace, "vault.namespace") }),
    ...(token === undefined ? {} : { "x-vault-token": headerText(token, "the token") }),
  };
}

const urlOf = ({ address }: VaultSource, segments: readonly string[]): string =>
  `${address}/v1/${segments.map(encodeURIComponent).join("/")}`;

/** A refusal of Vault's is `{"errors": ["permission denied"]}`. */
function errorsOf(answer: unknown): readonly string[] {
  const errors = objectOf(answer)?.errors;
  return Array.isArray(errors) ? errors.filter((one) => typeof one === "string") : [];
}

const who = "the server";
