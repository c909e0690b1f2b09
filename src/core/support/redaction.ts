/** Takes secrets out of texts, and people out of records, before they leave the machine. */

import { grantRoles, roles } from "#core/access/roles.ts";
import { approvalClasses } from "#core/approvals/classes.ts";
import { detailValues } from "#core/audit/detail.ts";
import { hmacSha256 } from "#core/crypto.ts";
import { isObject } from "#core/shape.ts";

/** Puts something in place of a name: the same for the same name, within one bundle. */
export type Pseudonym = (name: string) => string;

/**
 * Digests of names under a key that is thrown away: nobody can try names out on them, and two
 * bundles have nothing in common.
 */
export const pseudonyms =
  (key: Uint8Array): Pseudonym =>
  (name) =>
    name === "" || name.startsWith(mark)
      ? name
      : `${mark}${Buffer.from(hmacSha256(key, Buffer.from(name))).toString("hex", 0, digestBytes)}`;

/** Removes the values wherever they stand, and whatever has the form of a secret. */
export function scrubber(secrets: readonly string[]): (text: string) => string {
  // A short one would be found within other words; what prints settings has hidden it already.
  const whole = secrets.flatMap((secret) => [secret, ...secretsWithin(secret)]);
  const long = [...new Set(whole.flatMap(spellings))].filter((one) => one.length >= secretMin);
  const known = long.sort((a, b) => b.length - a.length);
  return (text) => {
    const without = known.reduce((left, secret) => left.replaceAll(secret, removed), text);
    return forms.reduce((left, [form, instead]) => left.replace(form, instead), without);
  };
}

/** An event with people and addresses by their pseudonyms. */
export function eventWithout(
  event: Readonly<Record<string, unknown>>,
  pseudonym: Pseudonym,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(event).map(([name, value]) => [
      name,
      name === "detail" ? detailWithout(value, pseudonym) : valueWithout(name, value, pseudonym),
    ]),
  );
}

/** The configuration with people and groups by their pseudonyms. */
export function settingsWithout(
  settings: Readonly<Record<string, unknown>>,
  pseudonym: Pseudonym,
): Readonly<Record<string, unknown>> {
  const within = (value: unknown, path: string): unknown => {
    if (personal.some((prefix) => path === prefix)) return named(value, pseudonym);
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [
        key,
        within(inner, path === "" ? key : `${path}.${key}`),
      ]),
    );
  };
  return Object.fromEntries(
    Object.entries(settings).map(([key, value]) => [key, within(value, key)]),
  );
}

/** Every text that is no role, also those that keys of a map are. */
function named(value: unknown, pseudonym: Pseudonym): unknown {
  if (typeof value === "string") return everyRole.has(value) ? value : pseudonym(value);
  if (Array.isArray(value)) return value.map((one) => named(one, pseudonym));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      ownKeys.has(key) ? key : pseudonym(key),
      named(inner, pseudonym),
    ]),
  );
}

function valueWithout(name: string, value: unknown, pseudonym: Pseudonym): unknown {
  if (typeof value !== "string" || impersonal.has(name)) return value;
  return isOurs(value) ? value : pseudonym(value);
}

function detailWithout(detail: unknown, pseudonym: Pseudonym): unknown {
  const values = [...detailValues(String(detail))];
  return Object.fromEntries(
    values.map(([name, value]) => [name, valueWithout(name, value, pseudonym)]),
  );
}

/** Ids, digests, numbers and times say nothing of a person; nor does a word of pkid's own. */
const isOurs = (text: string): boolean =>
  /^(?:[0-9a-f]{16,}|\d+|[a-z]{2,5}_[0-9A-Za-z-]{16,}|[0-9a-f-]{36}|\d{4}-\d\d-\d\dT[\d:.]+Z)$/.test(
    text,
  );

/** Password of an address and PIN of a URI, which others may tell without what is around them. */
function secretsWithin(address: string): readonly string[] {
  const found = [/:\/\/[^/@]*?:([^@]+)@/, /[?&;]pin-value=([^&;]+)/].flatMap((form) => {
    const inside = form.exec(address)?.[1];
    return inside === undefined ? [] : [inside];
  });
  return found.flatMap((one) => [one, decoded(one)]);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // It was not encoded.
  }
}

function spellings(secret: string): readonly string[] {
  return [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)];
}

const everyRole: ReadonlySet<string> = new Set([...roles, ...grantRoles]);

/** Members of an event, and of its detail, that name no person; words of pkid's own tables. */
const impersonal: ReadonlySet<string> = new Set([
  "seq",
  "timestamp",
  "action",
  "result",
  "caId",
  "serial",
  "requestId",
  "tenant",
  "actorRoles",
  "method",
  "channel",
  "key_type",
  "profile",
  "not_after",
  "kind",
  "sha256",
  "digest",
  "revoked_at",
  "expires_at",
  "scope",
  "protocol",
  "role",
  "roles",
  "status",
  "renewed_from",
]);

/** Where the configuration names people and groups. */
const personal = [
  "root_user.username",
  "rbac",
  "approvals.operators",
  "auth.oidc.role_mappings",
  "auth.ldap.role_mappings",
  "auth.ldap.bind_dn",
  "auth.mtls.bindings",
];
/** Keys of the configuration there; anything else that is a key is a name. */
const ownKeys: ReadonlySet<string> = new Set([
  ...approvalClasses,
  "subjects",
  "groups",
  "grants",
  "value",
  "roles",
  "tenant",
  "tenant_roles",
  "claim",
  "name",
  "subject",
  "subject_cn",
  "subject_dn",
  "san_dns",
  "san_uri",
  "san_email",
  "resource",
  "user",
  "group",
  "role",
  "scope",
]);

const removed = "***";
const forms: readonly (readonly [RegExp, string])[] = [
  [/pki_pat_[A-Za-z0-9_-]+/g, removed],
  [
    /-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|$)/g,
    removed,
  ],
  [/(:\/\/[^\s:/@"]*):[^\s/@"]+@/g, `$1:${removed}@`],
  [/\$argon2id?\$[^\s"]+/g, removed],
];
const mark = "name-";
const digestBytes = 6;
const secretMin = 6;
