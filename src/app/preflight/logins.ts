/** The checks of the ways in that lead over other hosts. */

import { lookAtProvider } from "#adapters/network/oidc.ts";
import { systemClock } from "#adapters/system.ts";
import type { Config } from "#config/schema.ts";
import { judgeProviders } from "#core/preflight/providers.ts";
import { mappingsOf } from "#config/sections/access.ts";
import type { Checks } from "#domain/preflight/run.ts";
import { extraTrust } from "#app/settings.ts";
import { configOf, type Premises } from "./premises.ts";

/** Their functions over these premises. */
export function loginChecks(premises: Premises): Pick<Checks, "auth.oidc"> {
  return {
    "auth.oidc": async () => {
      const config = configOf(premises);
      const trust = extraTrust(config);
      const now = () => systemClock.now();
      const looks = issuersOf(config).map((issuer) => lookAtProvider(trust, issuer, now));
      return judgeProviders(await Promise.all(looks));
    },
  };
}

/** How many entries of the configuration make somebody an administrator who can come in now. */
export function configuredAdmins({ oidc, auth, rbac }: Config): number {
  if (oidc.issuer_url === undefined && !auth.oidc.enabled) return 0;
  const named = [...Object.values(rbac.subjects), ...Object.values(rbac.groups)];
  const { enabled, role_mappings, groups_claim } = auth.oidc;
  const mapped = enabled ? mappingsOf(role_mappings, groups_claim) : [];
  const everywhere = mapped.filter(({ tenant }) => tenant === undefined).map(({ roles }) => roles);
  return [...named, ...everywhere].filter((roles) => roles.includes("admin")).length;
}

function issuersOf({ oidc, auth }: Config): readonly string[] {
  const issuers = [oidc.issuer_url, auth.oidc.enabled ? auth.oidc.issuer_url : undefined];
  return [...new Set(issuers.filter((issuer) => issuer !== undefined))];
}
