/**
 * Grants on single CAs, wherever they are kept: given and taken back through the API, or declared
 * in the configuration.
 */

import { canonicalGroup } from "#core/access/group-names.ts";
import type { Principal } from "#core/access/principal.ts";
import type { GrantRole } from "#core/access/roles.ts";
import { caId } from "#core/ids.ts";
import type { Instant } from "#core/time.ts";
import type { CaReads, CaRecord } from "#domain/authorities/store.ts";
import type { Store } from "#domain/store.ts";
import type { Grantee, GrantRecord } from "./store.ts";

/** Where grants are kept. */
export const grantSources = ["database", "config"] as const;

/** A grant in force, and where it comes from. */
export interface EffectiveGrant extends GrantRecord {
  readonly source: (typeof grantSources)[number];
}

/** One grant of the configuration to one user or group. */
export interface ConfiguredGrant extends Grantee {
  /** `ca/` and the id or label of a CA, which need not exist yet. */
  readonly resource: string;
  readonly role: GrantRole;
  readonly scope: GrantRecord["scope"];
}

/** The grants of the configuration in force, and since when; a reload replaces them. */
export interface GrantSource {
  configured(): { readonly grants: readonly ConfiguredGrant[]; readonly since: Instant };
}

/** A source of none. */
export const noGrants: GrantSource = {
  configured: () => ({ grants: [], since: 0 as Instant }), // Never shown: there is no grant.
};

/** The grants of a principal: by its subject, its verified e-mail address, and its groups. */
export async function grantsTo(
  store: Store,
  source: GrantSource,
  principal: Principal,
): Promise<readonly EffectiveGrant[]> {
  const names = namesOf(principal);
  const stored = await store.read.access.grantsTo(names);
  const { grants } = source.configured();
  const own = grants.filter((grant) =>
    names.some((name) => name.type === grant.type && name.id === idOf(grant)),
  );
  return [...stored.map(fromDatabase), ...(await resolved(store.read.cas, source, own))];
}

/** The grants made on a CA or another member of its lineage, whoever has them. */
export async function grantsOn(
  store: Store,
  source: GrantSource,
  ca: CaRecord,
): Promise<readonly EffectiveGrant[]> {
  const stored = await store.read.access.grantsOn(ca.lineage);
  const declared = await resolved(store.read.cas, source, source.configured().grants);
  const here = declared.filter(({ lineage }) => lineage === ca.lineage);
  return [...stored.map(fromDatabase), ...here];
}

/** The CA of `ca/<id>` or `ca/<label>`; internal ones and what is spelled otherwise name none. */
export async function resourceOf(cas: CaReads, resource: string): Promise<CaRecord | undefined> {
  if (!resource.startsWith("ca/")) return undefined;
  const reference = resource.slice("ca/".length);
  const ca = (await cas.byId(caId(reference))) ?? (await cas.byLabel(reference));
  return ca?.internal ? undefined : ca;
}

function namesOf({ subject, email, emailVerified, groups }: Principal): readonly Grantee[] {
  // Who chooses subjects must not choose addresses: what has an at sign is an address and never a
  // subject.
  const address = emailVerified === true && email?.includes("@") ? [email] : [];
  const users = [...(subject.includes("@") ? [] : [subject]), ...address];
  return [
    ...users.map((id): Grantee => ({ type: "user", id })),
    // As they are, for grants that were stored so, and as they are stored now.
    ...[...new Set([...groups, ...groups.map(canonicalGroup)])].map(
      (id): Grantee => ({ type: "group", id }),
    ),
  ];
}

/** What a grant is stored and found under: one spelling for a group, whoever writes its name. */
export const idOf = ({ type, id }: Grantee): string => (type === "group" ? canonicalGroup(id) : id);

/** A grant on a CA that does not exist gives nothing. */
async function resolved(
  cas: CaReads,
  source: GrantSource,
  grants: readonly ConfiguredGrant[],
): Promise<readonly EffectiveGrant[]> {
  const { since } = source.configured();
  const found: EffectiveGrant[] = [];
  for (const { resource, ...grant } of grants) {
    const ca = await resourceOf(cas, resource);
    if (ca === undefined) continue;
    const { type, id, role, scope } = grant;
    found.push({
      ...grant,
      ca: ca.id,
      lineage: ca.lineage,
      tenant: ca.tenant,
      source: "config",
      grantId: ["config", ca.id, type, id, role, scope].join(":"),
      createdBy: "system:config",
      createdAt: since,
    });
  }
  return found;
}

const fromDatabase = (grant: GrantRecord): EffectiveGrant => ({ ...grant, source: "database" });
