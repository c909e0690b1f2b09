/** Renders a commented configuration file from the declaration, with some keys set (CFG-9). */

import { sampleOf } from "#core/shape/described.ts";

import { configSchema } from "./schema.ts";
import { type Field, isDerived, leaves, type Section } from "./section.ts";
import { yamlValue } from "./show.ts";

/** Raw values by path: the keys that stand uncommented. */
export type Preset = Readonly<Record<string, unknown>>;

const serverProfile = {
  name: "server",
  key_usages: ["digitalSignature", "keyEncipherment"],
  ext_key_usages: ["serverAuth"],
  default_validity_days: 90,
  max_validity_days: 90,
};

/** The role and its secret come in the variables VAULT_ROLE_ID and VAULT_SECRET_ID. */
const inVault = (path: string, field: string) => ({
  type: "vault",
  vault: { address: "https://vault.example.com", path, field, auth_method: "approle" },
});

/** One host, evaluation to small production. */
export const smallPreset: Preset = {
  data_dir: "/var/lib/pkid",
  "server.public_url": "https://pki.example.internal",
  "root_user.password_source": { type: "file", file: { path: "/etc/pkid/root.secret" } },
  profiles: [
    {
      ...serverProfile,
      names: { permitted_dns: ["example.internal"], permitted_ips: ["10.0.0.0/8"] },
    },
  ],
};

/** PKCS#11, PostgreSQL, behind a proxy. */
export const productionPreset: Preset = {
  data_dir: "/var/lib/pkid",
  "server.public_url": "https://pki.example.com",
  "server.tls_cert": "/run/pkid/tls/fullchain.pem",
  "server.tls_key": "/run/pkid/tls/key.pem",
  "server.trusted_proxies": ["10.20.0.0/16"],
  "server.public_http.enabled": true,
  "database.driver": "postgres",
  "database.dsn_source": inVault("pkid/db", "dsn"),
  "root_user.password_hash_source": { type: "file", file: { path: "/run/secrets/root-hash" } },
  "policy.allow_root_basic_auth": false,
  "auth.api_tokens.max_lifetime_days": 90,
  "key_provider.roles.responder": "software",
  "pkcs11.module_path": "/usr/lib/libCryptoki2_64.so",
  "pkcs11.pin_source": inVault("pkid/hsm", "pin"),
  "pkcs11.token_label": "pkid-prod",
  "pkcs11.session_pool_size": 32,
  profiles: [serverProfile],
  "auth.oidc.enabled": true,
  "auth.oidc.issuer_url": "https://id.example.com/realms/ops",
  "auth.oidc.client_id": "pkid",
  "auth.oidc.client_secret_source": { type: "file", file: { path: "/run/secrets/oidc" } },
  "auth.oidc.role_mappings": [
    { value: "pki-admins", roles: ["admin"] },
    { value: "pki-approvers", roles: ["approver"] },
  ],
  "crl.base_url": "http://crl.example.com",
  "ocsp.delegated_validity_hours": 72,
  "rate_limit.concurrency.enabled": true,
};

/**
 * The file: every key with its sentence, those of the preset set, all others commented with their
 * default or a sample.
 */
export function exampleFile(preset: Preset): string {
  const lines = [
    "# pkid configuration. Every key is optional; a commented one shows its default or a sample.",
  ];
  for (const [key, member] of Object.entries(configSchema.members)) {
    lines.push("");
    if (member.node === "section") lines.push(...sectionLines(member, key, "", preset));
    else lines.push(...fieldLines(member, key, "", preset));
  }
  return `${lines.join("\n")}\n`;
}

function sectionLines(of: Section, path: string, indent: string, preset: Preset): string[] {
  const name = path.slice(path.lastIndexOf(".") + 1);
  const used = Object.keys(preset).some((key) => key.startsWith(`${path}.`));
  const lines = [`${indent}# ${of.title}.`, `${indent}${used ? "" : "# "}${name}:`];
  for (const [key, member] of Object.entries(of.members)) {
    const inner = `${path}.${key}`;
    if (member.node === "section")
      lines.push(...sectionLines(member, inner, `${indent}  `, preset));
    else lines.push(...fieldLines(member, inner, `${indent}  `, preset));
  }
  return lines;
}

function fieldLines(field: Field<unknown>, path: string, indent: string, preset: Preset): string[] {
  const name = path.slice(path.lastIndexOf(".") + 1);
  const set = (key: string, suffix: string): string[] =>
    Object.hasOwn(preset, key) ? [`${indent}${name}${suffix}: ${yamlValue(preset[key])}`] : [];
  const chosen = [...set(path, ""), ...set(`${path}_source`, "_source")];
  if (chosen.length > 0) return [`${indent}# ${field.sentence}`, ...chosen];
  return [`${indent}# ${field.sentence}`, `${indent}# ${name}: ${commentedValue(field)}`];
}

function commentedValue(field: Field<unknown>): string {
  if (isDerived(field.fallback)) return `(${field.fallback.text})`;
  return yamlValue(field.fallback ?? sampleOf(field.kind));
}

/** The paths of a preset that no key has; empty unless the declaration moved on without it. */
export function strangers(preset: Preset): readonly string[] {
  const known = new Set(
    leaves(configSchema).flatMap(({ path, field }) =>
      field.source ? [path, `${path}_source`] : [path],
    ),
  );
  return Object.keys(preset).filter((path) => !known.has(path));
}
