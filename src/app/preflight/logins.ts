/** The checks of who can come in: over other hosts, and in the number that operations wait for. */

import { lookAtDirectory } from "#adapters/directory/directory.ts";
import { lookAtProvider } from "#adapters/network/oidc.ts";
import { systemClock } from "#adapters/system.ts";
import type { Config } from "#config/schema.ts";
import { directorySettings } from "#app/directory.ts";
import { approvalClasses, thresholdOf } from "#core/approvals/classes.ts";
import { judgeDirectory, judgeProviders } from "#core/preflight/providers.ts";
import { judgeQuorum, type QuorumFacts } from "#core/preflight/quorum.ts";
import { mappingsOf } from "#config/sections/access.ts";
import type { Checks } from "#domain/preflight/run.ts";
import { approvalSettings, extraTrust } from "#app/settings.ts";
import { configOf, type Premises } from "./premises.ts";

type Names = "auth.ldap" | "auth.oidc" | "approvals.quorum";

/** Their functions over these premises. */
export function loginChecks(premises: Premises): Pick<Checks, Names> {
  return {
    "auth.ldap": async () => {
      const settings = directorySettings(configOf(premises), systemClock);
      if (settings === undefined) return judgeDirectory([]);
      return judgeDirectory(await lookAtDirectory(settings, () => systemClock.now()));
    },
    "auth.oidc": async () => {
      const config = configOf(premises);
      const trust = extraTrust(config);
      const now = () => systemClock.now();
      const looks = issuersOf(config).map((issuer) => lookAtProvider(trust, issuer, now));
      return judgeProviders(await Promise.all(looks));
    },
    "approvals.quorum": () => judgeQuorum(quorums(configOf(premises))),
  };
}

/** Each class that waits, and who may let it go on. */
function quorums(config: Config): readonly QuorumFacts[] {
  const settings = approvalSettings(config);
  return approvalClasses.flatMap((name) => {
    const needed = thresholdOf(settings, name);
    const listed = Object.hasOwn(settings.operators, name) ? settings.operators[name] : undefined;
    if (needed === 0) return [];
    const people = listed === undefined ? besidesMaker(config) : new Set(listed).size;
    return [{ name, needed, people }];
  });
}

/** Root, the shell of this machine, and who the configuration names; without the maker, who may be any of them. */
function besidesMaker({ server, oidc, auth, rbac }: Config): number | undefined {
  const deciding = (roles: readonly string[]) =>
    roles.includes("admin") || roles.includes("approver");
  const blocks = [auth.oidc, auth.ldap].filter(({ enabled }) => enabled);
  const mapped = blocks.flatMap((one) => one.role_mappings.map(({ roles }) => roles));
  if ([...Object.values(rbac.groups), ...mapped].some(deciding)) return undefined;
  const reachable = oidc.issuer_url !== undefined || blocks.length > 0;
  const named = reachable ? Object.values(rbac.subjects).filter(deciding).length : 0;
  return named + (server.admin_socket.enabled ? 1 : 0);
}

/** How many entries of the configuration make somebody an administrator who can come in now. */
export function configuredAdmins({ oidc, auth, rbac }: Config): number {
  if (oidc.issuer_url === undefined && !auth.oidc.enabled && !auth.ldap.enabled) return 0;
  const named = [...Object.values(rbac.subjects), ...Object.values(rbac.groups)];
  const mapped = [auth.oidc, auth.ldap].flatMap(({ enabled, role_mappings, groups_claim }) =>
    enabled ? mappingsOf(role_mappings, groups_claim) : [],
  );
  const everywhere = mapped.filter(({ tenant }) => tenant === undefined).map(({ roles }) => roles);
  return [...named, ...everywhere].filter((roles) => roles.includes("admin")).length;
}

function issuersOf({ oidc, auth }: Config): readonly string[] {
  const issuers = [oidc.issuer_url, auth.oidc.enabled ? auth.oidc.issuer_url : undefined];
  return [...new Set(issuers.filter((issuer) => issuer !== undefined))];
}
