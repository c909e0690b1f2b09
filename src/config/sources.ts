/**
 * The sources a secret may come from: what `<key>_source` takes, declared once for loading, schema
 * and reference.
 */

import { isObject, type Json, type Kind, type Place, WrongValue } from "#core/shape.ts";
import { absoluteUrl, checkedText } from "#core/shape/texts.ts";

import { count, field, flag, path, text, word } from "./fields.ts";
import {
  isSafeAddress,
  type LocalSource,
  type SecretSetting,
  type SecretSource,
} from "./secret.ts";
import { type Members, own, readMembers, section } from "./section.ts";

/** Reads `<key>_source`; the part named like the chosen type is required, any other is refused. */
export const sourceKind: Kind<unknown> = {
  name: "source",
  schema: { $ref: "#/$defs/secret_source" },
  sample: { type: "file", file: { path: "/etc/pkid/secret" } },
  read: (raw, at) => ({ from: "source", source: readSource(raw, at) }) satisfies SecretSetting,
  // Text and numbers in mappings, as they were read; nobody writes a setting that has no source.
  write: (setting) => (isObject(setting) ? (setting.source as Json) : null),
};

/** A source on this machine, for what a server wants to be shown before it gives a secret. */
const localKind: Kind<LocalSource> = {
  name: "source",
  schema: { $ref: "#/$defs/local_source" },
  sample: { type: "file", file: { path: "/etc/pkid/secret" } },
  read: (raw, at) => {
    if (!isObject(raw)) {
      throw new WrongValue("Must be a source of type env or file, never the value itself.");
    }
    chosenPart(localTypes, raw);
    const { type, env, file } = readMembers(localMembers, raw, at);
    return localSource(type, env.var, file.path, file.allow_insecure_perms);
  },
  write: (source) => source,
};

const base = absoluteUrl("base");
const serverAddress: Kind<string> = {
  ...base,
  read: (raw) => {
    const address = base.read(raw);
    if (isSafeAddress(new URL(address))) return address;
    throw new WrongValue("Must be an https address; http is for a loopback address only.");
  },
};

const vaultPath = (sample: string): Kind<string> =>
  checkedText("path", sample, (value) =>
    // A segment of dots would be resolved away, and another secret asked for.
    value.split("/").some((part) => ["", ".", ".."].includes(part))
      ? `Must be a path like ${sample}, without a slash at its ends.`
      : undefined,
  );

const localMembers = {
  type: word("Where the secret comes from.", ["env", "file"]),
  env: section("Environment variable", {
    var: text("Name of the variable; it must exist and not be empty."),
  }),
  file: section("File", {
    path: text("Path of the file."),
    allow_insecure_perms: flag("Accept a file that group or others can read.", false),
  }),
} as const satisfies Members;

const vault = section("Vault, key-value engine", {
  address: field("Base URL of the server.", serverAddress),
  path: field("Path of the secret below the mount.", vaultPath("pkid/hsm")),
  field: text("Member of the secret that is wanted.", "value"),
  kv_version: count("Version of the engine.", 2, { min: 1, max: 2 }),
  mount: field("Path the engine is mounted at.", vaultPath("secret"), "secret"),
  namespace: text("Namespace; none outside Vault Enterprise."),
  auth_method: word("How to log in.", ["token", "approle"], "token"),
  token: field("Source of the token; unset, the variable VAULT_TOKEN.", localKind),
  role_id: text("Role of an approle; unset, the variable VAULT_ROLE_ID."),
  secret_id: field(
    "Source of the secret of an approle; unset, the variable VAULT_SECRET_ID.",
    localKind,
  ),
  ca_file: path("The only CA certificates trusted for this server, PEM; unset, the usual ones."),
  timeout_seconds: count("Seconds one attempt may take; there are two.", 5, { min: 1, max: 10 }),
});

const aws = section("AWS Secrets Manager", {
  region: field(
    "Region; unset, AWS_REGION, AWS_DEFAULT_REGION or that of the profile.",
    checkedText("region", "eu-central-1", (value) =>
      /^[a-z0-9-]{1,32}$/.test(value) ? undefined : "Must be a region like eu-central-1.",
    ),
  ),
  secret_id: text("Name or ARN of the secret."),
  field: text("Member that is wanted; needed when the secret is a JSON object."),
});

const azure = section("Azure key vault", {
  vault_url: field("Base URL of the vault.", serverAddress),
  name: field(
    "Name of the secret.",
    checkedText("name", "hsm-pin", (value) =>
      /^[0-9A-Za-z-]{1,127}$/.test(value)
        ? undefined
        : "Must be 1 to 127 letters, digits and hyphens.",
    ),
  ),
  version: field(
    "Version of the secret; unset, the latest.",
    checkedText("version", "5f3b", (value) =>
      /^[0-9A-Za-z]{1,64}$/.test(value) ? undefined : "Must be letters and digits.",
    ),
  ),
  field: text("Member that is wanted; needed when the secret is a JSON object."),
});

const localTypes = ["env", "file"] as const;
const types = [...localTypes, "vault", "aws", "azure"] as const;

/** What a source may have, for the reference and the JSON Schema. */
export const sourceMembers = {
  ...localMembers,
  type: word("Where the secret comes from.", types),
  vault,
  aws,
  azure,
} as const satisfies Members;

/** What a source on this machine may have. */
export const localSourceMembers: Members = localMembers;

function readSource(raw: unknown, at: Place | undefined): SecretSource {
  if (!isObject(raw)) throw new WrongValue("Must be a mapping of keys to values.");
  let faulty = false;
  const watched = at && {
    path: at.path,
    tell: (path: string, wrong: WrongValue) => {
      faulty = true;
      at.tell(path, wrong);
    },
  };
  const read = readMembers(sourceMembers, raw, watched);
  // A placeholder: a fault that was told voids the whole result, so nobody sees this source.
  if (faulty) return { type: "env", env: { var: "" } };
  const type = chosenPart(types, raw);
  if (type === "vault") return { type, vault: vaultSource(read.vault) };
  if (type === "aws")
    return { type, aws: { ...read.aws, secret_id: needed(read.aws, "aws", "secret_id") } };
  if (type === "azure") {
    const vault_url = needed(read.azure, "azure", "vault_url");
    return { type, azure: { ...read.azure, vault_url, name: needed(read.azure, "azure", "name") } };
  }
  return localSource(type, read.env.var, read.file.path, read.file.allow_insecure_perms);
}

/** The type, when it is there and no part of another type stands beside it. */
function chosenPart<T extends string>(
  allowed: readonly T[],
  raw: Readonly<Record<string, unknown>>,
): T {
  const type = allowed.find((name) => name === own(raw, "type"));
  if (type === undefined) throw new WrongValue(`Must have a type: ${allowed.join(", ")}.`);
  const other = types.find((name) => name !== type && own(raw, name) !== undefined);
  if (other === undefined) return type;
  throw new WrongValue(`A source of type ${type} takes no ${other} part.`);
}

function localSource(
  type: string | undefined,
  variable: string | undefined,
  file: string | undefined,
  insecure: boolean,
): LocalSource {
  if (type === "env") {
    return { type, env: { var: needed({ var: variable }, "env", "var") } };
  }
  const wanted = needed({ path: file }, "file", "path");
  return { type: "file", file: { allow_insecure_perms: insecure, path: wanted } };
}

type VaultPart = { readonly [K in keyof (typeof vault)["members"]]: unknown };

function vaultSource(read: ReturnType<typeof readMembers<(typeof vault)["members"]>>) {
  const { auth_method: method, token, role_id, secret_id } = read;
  const stray: Partial<VaultPart> = method === "token" ? { role_id, secret_id } : { token };
  const unused = Object.entries(stray).find(([, value]) => value !== undefined);
  if (unused !== undefined) {
    throw new WrongValue(`vault.${unused[0]} has no meaning with auth_method ${method}.`);
  }
  const address = needed(read, "vault", "address");
  return { ...read, address, path: needed(read, "vault", "path") };
}

/** The member, which a source of this type cannot do without. */
function needed<K extends string>(
  part: { readonly [key in K]: string | undefined },
  type: string,
  key: K,
): string {
  const value = part[key];
  if (value === undefined) throw new WrongValue(`A source of type ${type} needs ${type}.${key}.`);
  return value;
}
