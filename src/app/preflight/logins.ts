/** The checks of who can come in: over other hosts, and in the number that operations wait for. */

import { readFileSync } from "node:fs";

import { lookAtDirectory } from "#adapters/directory/directory.ts";
import { lookAtProvider } from "#adapters/network/oidc.ts";
import { systemClock } from "#adapters/system.ts";
import { faultLine } from "#config/load.ts";
import type { Config } from "#config/schema.ts";
import { readDirectory } from "#adapters/directory/open.ts";
import { ourselvesAt } from "#domain/access/oidc/open.ts";
import { openSecrets } from "#app/secrets.ts";
import { approvalClasses, thresholdOf } from "#core/approvals/classes.ts";
import { failed, type Finding, skipped } from "#core/preflight/finding.ts";
import { judgeClientCas, judgeDirectory, judgeProviders } from "#core/preflight/providers.ts";
import { judgeQuorum, type QuorumFacts } from "#core/preflight/quorum.ts";
import { mappingsOf } from "#core/access/role-mappings.ts";
import { bindingsOf } from "#core/access/binding-rows.ts";
import { parseAnchors } from "#core/x509/client-path.ts";
import type { Checks, PreflightRequest } from "#domain/preflight/run.ts";
import { extraTrust } from "#adapters/network/outbound.ts";
import { configOf, type Premises } from "./premises.ts";

type Names = "auth.ldap" | "auth.oidc" | "auth.mtls" | "approvals.quorum";

/** Their functions over these premises. */
export function loginChecks(premises: Premises, request: PreflightRequest): Pick<Checks, Names> {
  return {
    "auth.ldap": async () => {
      const settings = readDirectory(configOf(premises).auth.ldap, openSecrets(configOf(premises)));
      if (settings === undefined) return judgeDirectory([]);
      return judgeDirectory(await lookAtDirectory(settings, () => systemClock.now()));
    },
    "auth.oidc": async () => {
      const config = configOf(premises);
      const trust = extraTrust(config.outbound);
      const now = () => systemClock.now();
      // Its secret is not needed to ask.
      const we = ourselvesAt(config.auth.oidc, async () => undefined);
      const looks = issuersOf(config).map((issuer) =>
        lookAtProvider(trust, issuer, now, issuer === we?.issuer ? we : undefined),
      );
      return judgeProviders(await Promise.all(looks));
    },
    "auth.mtls": () => clientCas(premises, request.expiryWarnDays),
    "approvals.quorum": () => judgeQuorum(quorums(configOf(premises))),
  };
}

/** Without a file there is no valid configuration, whose faults then say what is wrong. */
function clientCas({ read, config }: Premises, warnDays: number): Finding {
  const faults = read.loaded.ok ? [] : read.loaded.faults;
  const wrong = faults.filter(({ path }) => path === "auth.mtls.ca_file");
  if (wrong.length > 0) return failed(wrong.map(faultLine).join(" "));
  const { enabled, ca_file } = config?.auth.mtls ?? { enabled: false, ca_file: undefined };
  if (!enabled || ca_file === undefined) return skipped("No client certificates are asked for.");
  const anchors = parseAnchors(readFileSync(ca_file, "utf8"));
  if (anchors === undefined) return failed(`${ca_file} holds no certificates.`);
  return judgeClientCas(ca_file, anchors, { now: systemClock.now(), warnDays });
}

/** Each class that waits, and who may let it go on. */
function quorums(config: Config): readonly QuorumFacts[] {
  const settings = config.approvals;
  return approvalClasses.flatMap((name) => {
    const needed = thresholdOf(settings, name);
    const listed = Object.hasOwn(settings.operators, name) ? settings.operators[name] : undefined;
    if (needed === 0) return [];
    const people = listed === undefined ? besidesMaker(config) : new Set(listed).size;
    return [{ name, needed, people }];
  });
}

/**
 * Root, the shell of this machine, and who the configuration names; without the maker, who may be
 * any of them.
 */
function besidesMaker({ server, oidc, auth, rbac }: Config): number | undefined {
  const deciding = (roles: readonly string[]) =>
    roles.includes("admin") || roles.includes("approver");
  const blocks = [auth.oidc, auth.ldap].filter(({ enabled }) => enabled);
  const mapped = blocks.flatMap((one) => one.role_mappings.map(({ roles }) => roles));
  if ([...Object.values(rbac.groups), ...mapped].some(deciding)) return undefined;
  const reachable = oidc.issuer_url !== undefined || blocks.length > 0;
  const subjects = Object.entries(reachable ? rbac.subjects : {});
  const named = subjects.filter(([, roles]) => deciding(roles)).map(([subject]) => subject);
  const bound = boundClients(auth).filter(({ roles, tenantRoles }) =>
    [roles, ...Object.values(tenantRoles)].some(deciding),
  );
  const people = new Set([...named, ...bound.map(({ subject }) => subject)]);
  return people.size + (server.admin_socket.enabled ? 1 : 0);
}

/** How many entries of the configuration make somebody an administrator who can come in now. */
export function configuredAdmins({ oidc, auth, rbac }: Config): number {
  const bound = boundClients(auth).filter(({ roles }) => roles.includes("admin")).length;
  if (oidc.issuer_url === undefined && !auth.oidc.enabled && !auth.ldap.enabled) return bound;
  const named = [...Object.values(rbac.subjects), ...Object.values(rbac.groups)];
  const mapped = [auth.oidc, auth.ldap].flatMap(({ enabled, role_mappings, groups_claim }) =>
    enabled ? mappingsOf(role_mappings, groups_claim) : [],
  );
  const everywhere = mapped.filter(({ tenant }) => tenant === undefined).map(({ roles }) => roles);
  return bound + [...named, ...everywhere].filter((roles) => roles.includes("admin")).length;
}

const boundClients = ({ mtls }: Config["auth"]) => (mtls.enabled ? bindingsOf(mtls.bindings) : []);

function issuersOf({ oidc, auth }: Config): readonly string[] {
  const issuers = [oidc.issuer_url, auth.oidc.enabled ? auth.oidc.issuer_url : undefined];
  return [...new Set(issuers.filter((issuer) => issuer !== undefined))];
}
