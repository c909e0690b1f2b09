/** Who can come in, and in the number that operations wait for. */

import { bindingsOf } from "#core/access/binding-rows.ts";
import { hostSubjects } from "#core/access/person.ts";
import { mappingsOf } from "#core/access/role-mappings.ts";
import { approvalClasses, type ApprovalsSection, thresholdOf } from "#core/approvals/classes.ts";
import type { Finding } from "#core/preflight/finding.ts";
import { judgeRoot } from "#core/preflight/profiles.ts";
import { judgeQuorum, type QuorumFacts } from "#core/preflight/quorum.ts";
import { type Instant, parseTimestamp } from "#core/time.ts";
import type { AccessSections } from "#domain/access/sections.ts";
import type { PageKey } from "#domain/page.ts";
import type { Store } from "#domain/store.ts";

/** What says who they are. */
export interface PeopleSections extends Pick<AccessSections, "auth" | "oidc" | "policy" | "rbac"> {
  readonly approvals: ApprovalsSection;
  /** Neither is set where the first start made a password up. */
  readonly root_user: { readonly password?: unknown; readonly password_hash?: unknown };
}

/** Each class that waits has enough people who may let it go on. */
export const quorumReached = (config: PeopleSections): Finding => judgeQuorum(quorums(config));

/** Root is no longer needed, or not yet old. */
export async function rootRetired(
  config: PeopleSections,
  { read }: Pick<Store, "read">,
  now: Instant,
): Promise<Finding> {
  const { password, password_hash } = config.root_user;
  const [first] = await read.audit.eventsAfter(0, 1);
  const began = (first && parseTimestamp(first.timestamp)) ?? now;
  return judgeRoot({
    basicAllowed: config.policy.allow_root_basic_auth,
    otherAdmins: (await adminApiTokens({ read }, now)) + configuredAdmins(config),
    passwordGenerated: password === undefined && password_hash === undefined,
    ageDays: (now - began) / dayMs,
  });
}

/** API tokens that administer the platform and are accepted now. */
async function adminApiTokens({ read }: Pick<Store, "read">, now: Instant): Promise<number> {
  let count = 0;
  let after: PageKey | undefined;
  do {
    const page = await read.access.tokens("platform", undefined, pageRows, after);
    count += page.items.filter(
      ({ roles, scope, revokedAt, expiresAt }) =>
        scope === "platform" &&
        roles.includes("admin") &&
        revokedAt === undefined &&
        (expiresAt === undefined || expiresAt > now),
    ).length;
    after = page.next;
  } while (after !== undefined);
  return count;
}

function quorums(config: PeopleSections): readonly QuorumFacts[] {
  const { approvals } = config;
  return approvalClasses.flatMap((name) => {
    const needed = thresholdOf(approvals, name);
    const listed = Object.hasOwn(approvals.operators, name) ? approvals.operators[name] : undefined;
    if (needed === 0) return [];
    const people = listed === undefined ? countOthers(config) : new Set(listed).size;
    return [{ name, needed, people }];
  });
}

/**
 * Returns how many approvers other than the maker exist. Root and all shells of the host are one
 * person, who may be the maker, so that only the approvers that the configuration names remain.
 */
function countOthers({ oidc, auth, rbac }: PeopleSections): number | undefined {
  const deciding = (roles: readonly string[]) =>
    roles.includes("admin") || roles.includes("approver");
  const blocks = [auth.oidc, auth.ldap].filter(({ enabled }) => enabled);
  const mapped = blocks.flatMap((one) => one.role_mappings.map(({ roles }) => roles));
  if ([...Object.values(rbac.groups), ...mapped].some(deciding)) return undefined;
  const reachable = oidc.issuer_url !== undefined || blocks.length > 0;
  const entries = Object.entries(reachable ? rbac.subjects : {});
  const named = entries.filter(([, roles]) => deciding(roles)).map(([subject]) => subject);
  const bound = boundClients(auth).filter(({ roles, tenantRoles }) =>
    [roles, ...Object.values(tenantRoles)].some(deciding),
  );
  const subjects = [...named, ...bound.map(({ subject }) => subject)];
  return new Set(subjects.filter((subject) => !hostSubjects.has(subject))).size;
}

/** How many entries of the configuration make somebody an administrator who can come in now. */
function configuredAdmins({ oidc, auth, rbac }: PeopleSections): number {
  const bound = boundClients(auth).filter(({ roles }) => roles.includes("admin")).length;
  if (oidc.issuer_url === undefined && !auth.oidc.enabled && !auth.ldap.enabled) return bound;
  const named = [...Object.values(rbac.subjects), ...Object.values(rbac.groups)];
  const mapped = [auth.oidc, auth.ldap].flatMap(({ enabled, role_mappings, groups_claim }) =>
    enabled ? mappingsOf(role_mappings, groups_claim) : [],
  );
  const everywhere = mapped.filter(({ tenant }) => tenant === undefined).map(({ roles }) => roles);
  return bound + [...named, ...everywhere].filter((roles) => roles.includes("admin")).length;
}

const boundClients = ({ mtls }: PeopleSections["auth"]) =>
  mtls.enabled ? bindingsOf(mtls.bindings) : [];

const dayMs = 86_400_000;
const pageRows = 500;
