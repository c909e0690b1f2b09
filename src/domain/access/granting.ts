/** Giving and taking back grants on single CAs, and what a subject may do on one (AUTH-7). */

import type { Principal } from "#core/access/principal.ts";
import { type Capability, capabilities, capabilitiesOf } from "#core/access/roles.ts";
import { refuse } from "#core/problems.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { Clock, Random } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import { authorOf, type Origin } from "#domain/actor.ts";
import { type EffectiveGrant, type GrantSource, grantsOn, idOf } from "./grants.ts";
import { Rights } from "./rights.ts";
import type { GrantRecord } from "./store.ts";

export interface GrantingDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly source: GrantSource;
  /**
   * What is known of a subject that is not asking itself: roles of tokens and of the configuration.
   */
  readonly known: (subject: string) => Promise<Principal>;
}

/** Who is to have which role on a CA, and how far down. */
export type GrantRequest = Pick<GrantRecord, "type" | "id" | "role" | "scope">;

/** What a subject may do on one CA, and why. */
export interface Effective {
  readonly principal: Principal;
  readonly capabilities: readonly Capability[];
  readonly grants: readonly EffectiveGrant[];
}

/** Everything that can happen to a grant. */
export class Granting {
  readonly #deps: GrantingDeps;

  constructor(deps: GrantingDeps) {
    this.#deps = deps;
  }

  /** The grants made on a CA or another member of its lineage. */
  async on(ca: CaRecord): Promise<readonly EffectiveGrant[]> {
    return await grantsOn(this.#deps.store, this.#deps.source, ca);
  }

  /**
   * Grants the role; an identical grant stays as it is and nothing is recorded. Refuses `forbidden`
   * unless the granter holds every capability of the role on the CA, and for `subtree` on what
   * stands below it too.
   */
  async grant(
    origin: Origin,
    rights: Rights,
    ca: CaRecord,
    asked: GrantRequest,
  ): Promise<{ readonly grant: EffectiveGrant; readonly added: boolean }> {
    const request = { ...asked, id: idOf(asked) };
    for (const capability of capabilitiesOf(request.role)) {
      const own = await rights.on(ca, capability, request.scope);
      if (!own) throw refuse("forbidden", { capability });
    }
    const declared = (await this.on(ca)).find((one) => isSame(one, ca, request) && fromConfig(one));
    if (declared !== undefined) return { grant: declared, added: false };
    const { store, clock, random } = this.#deps;
    const now = clock.now();
    const grant: GrantRecord = {
      grantId: random.uuid(),
      ca: ca.id,
      lineage: ca.lineage,
      tenant: ca.tenant,
      ...request,
      createdBy: origin.principal.subject,
      createdAt: now,
    };
    const present = await store.atomically(async (tx) => {
      // A CA deleted meanwhile has taken its grants with it.
      if ((await tx.cas.status(ca.id)) === undefined) throw refuse("not_found");
      const there = await tx.access.grant(grant);
      if (there === undefined) {
        await tx.audit.appendEvent(grantEvent("resource.grant", origin, grant), now);
      }
      return there;
    });
    return { grant: { ...(present ?? grant), source: "database" }, added: present === undefined };
  }

  /** Refuses `config_managed` for a grant of the configuration and `not_found` for none. */
  async revoke(origin: Origin, ca: CaRecord, request: GrantRequest): Promise<void> {
    const { store, clock } = this.#deps;
    const now = clock.now();
    const gone = await store.atomically(async (tx) => {
      const as = (id: string) => tx.access.revokeGrant({ ca: ca.id, ...request, id });
      // One that is older may be stored as it was written.
      const grant = (await as(idOf(request))) ?? (await as(request.id));
      if (grant === undefined) return false;
      await tx.audit.appendEvent(grantEvent("resource.revoke", origin, grant), now);
      return true;
    });
    if (gone) return;
    const declared = (await this.on(ca)).some((one) => isSame(one, ca, request));
    throw refuse(declared ? "config_managed" : "not_found");
  }

  /**
   * What a subject may do on the CA: the caller itself, with all it presented, or as much as is
   * known of another.
   */
  async effective(caller: Principal, ca: CaRecord, subject: string): Promise<Effective> {
    const { store, source, known } = this.#deps;
    const principal = subject === caller.subject ? caller : await known(subject);
    const rights = new Rights({ principal, store, source });
    const own: Capability[] = [];
    for (const capability of capabilities) {
      if (await rights.on(ca, capability)) own.push(capability);
    }
    return { principal, capabilities: own, grants: await rights.grantsOn(ca) };
  }
}

const fromConfig = ({ source }: EffectiveGrant): boolean => source === "config";

const isSame = (grant: GrantRecord, ca: CaRecord, request: GrantRequest): boolean =>
  grant.ca === ca.id &&
  grant.type === request.type &&
  idOf(grant) === idOf(request) &&
  grant.role === request.role &&
  grant.scope === request.scope;

function grantEvent(
  action: "resource.grant" | "resource.revoke",
  origin: Origin,
  { ca, tenant, type, id, role, scope }: GrantRecord,
) {
  return {
    action,
    result: "success" as const,
    ...authorOf(origin, tenant),
    tenant,
    caId: ca,
    target: `ca/${ca}`,
    targetName: `${type}:${id}`,
    detail: { role, scope },
  };
}
