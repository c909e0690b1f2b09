/** Startup validation of logins: V-8 to V-10, and of tenants and grants. */

import { parseRole, roles } from "#core/access/roles.ts";

import type { Fault } from "./faults.ts";
import type { Config } from "./schema.ts";
import type { RoleMappingRow } from "#core/access/role-mappings.ts";
import type { GrantSetting, TenantSetting } from "#config/sections/tenants.ts";

/**
 * Every fault of the blocks people and API callers come in by; a disabled block may be incomplete.
 */
export function accessFaults({ oidc, auth, rbac, tenants }: Config): readonly Fault[] {
  return [
    ...cookieFaults(auth.session),
    ...bearerFaults(oidc),
    ...(auth.oidc.enabled ? oidcFaults(auth.oidc) : []),
    ...(auth.webauthn.enabled ? webauthnFaults(auth.webauthn) : []),
    ...(auth.ldap.enabled ? ldapFaults(auth.ldap) : []),
    ...rbac.grants.flatMap(grantFaults),
    ...tenantFaults(tenants),
  ];
}

/**
 * RFC 6265bis §4.1.3: browsers drop a cookie of such a name without Secure, and nobody would get
 * in.
 */
function cookieFaults({ cookie_name, insecure }: Config["auth"]["session"]): readonly Fault[] {
  if (!insecure || !/^__(host|secure)-/i.test(cookie_name)) return [];
  return [fault("auth.session.insecure", "Must be false with a cookie_name of that prefix.")];
}

/** A token that names nobody as its audience would be good everywhere. */
function bearerFaults({ issuer_url, client_id }: Config["oidc"]): readonly Fault[] {
  if (issuer_url === undefined || client_id !== undefined) return [];
  return [fault("oidc.client_id", "Must be set together with oidc.issuer_url.")];
}

function oidcFaults(block: Config["auth"]["oidc"]): readonly Fault[] {
  const needed = ["issuer_url", "client_id", "redirect_url"] as const;
  const faults = needed
    .filter((key) => block[key] === undefined)
    .map((key) => fault(`auth.oidc.${key}`, "Must be set, because auth.oidc.enabled is true."));
  if (!block.scopes.includes("openid")) {
    faults.push(fault("auth.oidc.scopes", "Must have openid, or the provider says not who it is."));
  }
  return [...faults, ...mappingFaults("auth.oidc.role_mappings", block.role_mappings)];
}

/** Browsers give passkeys only to pages whose host is the domain or lies in it. */
function webauthnFaults({ rp_id, origins }: Config["auth"]["webauthn"]): readonly Fault[] {
  const why = "because auth.webauthn.enabled is true.";
  const unset = origins.length === 0 ? [fault("auth.webauthn.origins", `Must be set, ${why}`)] : [];
  if (rp_id === undefined) return [fault("auth.webauthn.rp_id", `Must be set, ${why}`), ...unset];
  const outside = origins.findIndex((one) => !`.${new URL(one).hostname}`.endsWith(`.${rp_id}`));
  if (outside === -1) return unset;
  return [fault(`auth.webauthn.origins[${outside}]`, `Its host must be ${rp_id} or end in it.`)];
}

type LdapBlock = Config["auth"]["ldap"];

/** V-8 to V-10, and what a lookup cannot do without. */
function ldapFaults(block: LdapBlock): readonly Fault[] {
  return [
    ...addressFaults(block),
    ...lookupFaults(block),
    ...groupFaults(block),
    ...mappingFaults("auth.ldap.role_mappings", block.role_mappings),
  ];
}

function addressFaults({ url, start_tls, insecure_allow_cleartext }: LdapBlock): readonly Fault[] {
  if (url === undefined) {
    return [fault("auth.ldap.url", "Must be set, because auth.ldap.enabled is true.")];
  }
  if (start_tls || insecure_allow_cleartext || !/(^|\s)ldap:/i.test(url)) return [];
  const sentence = "Must be true for ldap://, or passwords would go in clear; or use ldaps://.";
  return [fault("auth.ldap.start_tls", sentence)];
}

function lookupFaults(block: LdapBlock): readonly Fault[] {
  const { bind_dn, bind_password, user_dn_template, user_filter } = block;
  if (bind_dn === undefined && user_dn_template === undefined) {
    return [fault("auth.ldap.bind_dn", "Must be set, or else auth.ldap.user_dn_template.")];
  }
  const searching = bind_dn !== undefined || !user_dn_template?.includes("=");
  const unset = searching ? searchFaults(block, bind_dn !== undefined) : [];
  const secretless = bind_dn !== undefined && bind_password === undefined;
  return [
    ...unset,
    ...namelessFaults(block),
    ...(user_filter === undefined ? [] : filterFaults("user_filter", user_filter, /%s/)),
    ...(bind_dn === undefined && !user_dn_template?.includes("%s")
      ? [fault("auth.ldap.user_dn_template", "Must have %s, where the login name goes.")]
      : []),
    ...(secretless
      ? [fault("auth.ldap.bind_password", "Must be set together with auth.ldap.bind_dn.")]
      : []),
  ];
}

/**
 * Where nothing shows which attribute names a person, guessing one would make every password a
 * wrong one.
 */
function namelessFaults(block: LdapBlock): readonly Fault[] {
  const { bind_dn, user_dn_template = "", user_filter, username_attribute } = block;
  const [, type = ""] = /^\s*([A-Za-z][A-Za-z0-9-]*)\s*=/.exec(user_dn_template) ?? [];
  if (bind_dn === undefined && /^(sAMAccountName|userPrincipalName)$/i.test(type)) {
    const sentence = `Active Directory names no entry by ${type}: write %s@its.domain or DOMAIN\\%s, with user_base_dn and user_filter.`;
    return [fault("auth.ldap.user_dn_template", sentence)];
  }
  if (username_attribute !== undefined) return [];
  const byTemplate = bind_dn === undefined && user_dn_template.includes("=");
  const shown = byTemplate ? user_dn_template : user_filter;
  if (!shown?.includes("%s") || /[A-Za-z][A-Za-z0-9-]*=%s/.test(shown)) return [];
  const where = byTemplate ? "user_dn_template" : "user_filter";
  const sentence = `Must be set, because ${where} holds no attribute against the whole of %s.`;
  return [fault("auth.ldap.username_attribute", sentence)];
}

/** A principal name is no entry: what it stands for must be searched for as well. */
function searchFaults({ user_base_dn, user_filter }: LdapBlock, asService: boolean) {
  const why = asService ? "with auth.ldap.bind_dn" : "when user_dn_template makes no DN";
  return Object.entries({ user_base_dn, user_filter })
    .filter(([, value]) => value === undefined)
    .map(([key]) => fault(`auth.ldap.${key}`, `Must be set ${why}.`));
}

function groupFaults({ group_base_dn, group_filter }: LdapBlock): readonly Fault[] {
  if ((group_base_dn === undefined) !== (group_filter === undefined)) {
    const [unset, set] =
      group_filter === undefined
        ? ["group_filter", "group_base_dn"]
        : ["group_base_dn", "group_filter"];
    return [fault(`auth.ldap.${unset}`, `Must be set together with auth.ldap.${set}.`)];
  }
  return group_filter === undefined ? [] : filterFaults("group_filter", group_filter, /%[su]/);
}

/** A filter without placeholder would find the same for everybody. */
function filterFaults(key: string, filter: string, placeholder: RegExp): readonly Fault[] {
  const at = `auth.ldap.${key}`;
  if (!placeholder.test(filter)) {
    const wanted = key === "group_filter" ? "%s or %u" : "%s";
    return [fault(at, `Must have ${wanted}, where the name of the person goes.`)];
  }
  return balanced(filter) ? [] : [fault(at, "Must be one LDAP filter in parentheses.")];
}

/** RFC 4515: one item in parentheses; parentheses in values are escaped. */
function balanced(filter: string): boolean {
  let depth = 0;
  for (const [index, character] of [...filter].entries()) {
    if (character === "(") depth += 1;
    else if (character === ")") depth -= 1;
    if (depth < 0 || (depth === 0 && index < [...filter].length - 1)) return false;
  }
  return depth === 0 && filter !== "";
}

function grantFaults({ resource, role, users, groups }: GrantSetting, index: number) {
  const at = `rbac.grants[${index}]`;
  const faults = Object.entries({ resource, role })
    .filter(([, value]) => value === undefined)
    .map(([key]) => fault(`${at}.${key}`, "Must be set."));
  if (users.length + groups.length > 0) return faults;
  return [...faults, fault(`${at}.users`, "At least one user or group is needed.")];
}

/** Ids and slugs are one set of names: whatever a reference says, it means one tenant. */
function tenantFaults(settings: readonly TenantSetting[]): readonly Fault[] {
  const owners = new Map<string, string>([["default", "the built-in tenant"]]);
  return settings.flatMap(({ id, slug }, index) => {
    const at = `tenants[${index}]`;
    if (slug === undefined) return [fault(`${at}.slug`, "Must be set.")];
    const builtIn = (id ?? slug) === "default" && slug === "default";
    const names = builtIn ? [] : [...new Set([id ?? slug, slug])];
    const taken = names.filter((name) => owners.has(name));
    for (const name of names) owners.set(name, at);
    return taken.map((name) =>
      fault(`${at}.${name === slug ? "slug" : "id"}`, `${name} is the name of another tenant.`),
    );
  });
}

/** V-9; also for the mappings of other enabled blocks. */
export function mappingFaults(path: string, mappings: readonly RoleMappingRow[]): readonly Fault[] {
  return mappings.flatMap(({ value, roles: named }, index) => {
    const at = `${path}[${index}]`;
    const unset = value === undefined ? [fault(`${at}.value`, "Must be set.")] : [];
    const sentence = `Every role must be one of ${roles.join(", ")}.`;
    const unknown = named.filter((role) => parseRole(role) === undefined);
    return [...unset, ...unknown.slice(0, 1).map(() => fault(`${at}.roles`, sentence))];
  });
}

const fault = (path: string, sentence: string): Fault => ({ path, sentence });
