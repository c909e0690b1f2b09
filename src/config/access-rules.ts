/** Startup validation of logins: V-8 and V-9 of the configuration contract. */

import { parseRole, roles } from "#core/access/roles.ts";

import type { Fault } from "./kinds.ts";
import type { Config } from "./schema.ts";
import type { RoleMappingSetting } from "#config/sections/access.ts";

/** Every fault of the blocks people and API callers come in by; a disabled block may be incomplete. */
export function accessFaults({ oidc, auth }: Config): readonly Fault[] {
  return [...bearerFaults(oidc), ...(auth.oidc.enabled ? oidcFaults(auth.oidc) : [])];
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
