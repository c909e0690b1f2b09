/** Startup validation of logins: V-8 and V-9 of the configuration contract, and of tenants and grants. */

import { parseRole, roles } from "#core/access/roles.ts";

import type { Fault } from "./kinds.ts";
import type { Config } from "./schema.ts";
import type { RoleMappingSetting } from "#config/sections/access.ts";
import type { GrantSetting, TenantSetting } from "#config/sections/tenants.ts";

/** Every fault of the blocks people and API callers come in by; a disabled block may be incomplete. */
export function accessFaults({ oidc, auth, rbac, tenants }: Config): readonly Fault[] {
  return [
    ...bearerFaults(oidc),
    ...(auth.oidc.enabled ? oidcFaults(auth.oidc) : []),
    ...(auth.webauthn.enabled ? webauthnFaults(auth.webauthn) : []),
    ...rbac.grants.flatMap(grantFaults),
    ...tenantFaults(tenants),
  ];
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
export function mappingFaults(
  path: string,
  mappings: readonly RoleMappingSetting[],
): readonly Fault[] {
  return mappings.flatMap(({ value, roles: named }, index) => {
    const at = `${path}[${index}]`;
    const unset = value === undefined ? [fault(`${at}.value`, "Must be set.")] : [];
    const sentence = `Every role must be one of ${roles.join(", ")}.`;
    const unknown = named.filter((role) => parseRole(role) === undefined);
    return [...unset, ...unknown.slice(0, 1).map(() => fault(`${at}.roles`, sentence))];
  });
}

const fault = (path: string, sentence: string): Fault => ({ path, sentence });
