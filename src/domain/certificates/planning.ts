/** From what a caller asks to a plan: the steps every path to a leaf begins with (ISS-2). */

import { admit, type LeafRequest } from "#core/policy/admit.ts";
import type { IssuanceSections, Objection, Plan } from "#core/policy/plan.ts";
import type { Profile } from "#core/policy/profile.ts";
import type { ProfileSet } from "#core/policy/profiles.ts";
import { refuse } from "#core/problems.ts";
import type { Instant } from "#core/time.ts";
import { type CertificationRequest, csrSignatureVerified, parseCsr } from "#core/x509/csr.ts";
import { activeMember } from "#domain/authorities/resolve.ts";
import type { CaSigner, CaSigners } from "#domain/authorities/signers.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";

export interface PlanningDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly signers: CaSigners;
  /** The set in force; a reload replaces it as a whole. */
  readonly profiles: () => ProfileSet;
  readonly config: IssuanceSections;
  /** True where profiles that want an approval can get one: approvals guard `cert.issue`. */
  readonly approvable?: boolean;
}

/** Who would sign, by which rules, at which moment. */
export interface PlanningContext {
  readonly signer: CaSigner;
  readonly profile: Profile;
  readonly now: Instant;
}

/** A plan in its context, with everything against it that names, profile and limits give. */
export interface Planned extends PlanningContext {
  readonly plan: Plan;
  readonly objections: readonly Objection[];
}

/**
 * The active member of the CA's lineage, ready to sign, and the profile in force. Refuses
 * `ca_not_active`, `key_unavailable`, `unknown_profile`.
 */
export async function contextFor(
  deps: PlanningDeps,
  ca: CaRecord,
  profile: string,
): Promise<PlanningContext> {
  const now = deps.clock.now();
  const signer = await deps.signers.signer(await activeMember(deps.store.read.cas, ca), now);
  return { signer, profile: deps.profiles().named(profile), now };
}

/** One strict request in PEM or DER that proves possession of its key. Refuses `bad_csr`. */
export async function provenRequest(csr: string | Uint8Array): Promise<CertificationRequest> {
  const request = parseCsr(csr);
  if (!(await csrSignatureVerified(request))) throw refuse("bad_csr", { reason: "signature" });
  return request;
}

/**
 * The complete plan. Refuses `bad_csr` and `unsupported_name` for what cannot be planned at all.
 */
export function planned(
  deps: PlanningDeps,
  context: PlanningContext,
  request: LeafRequest,
): Planned {
  const { signer, profile, now } = context;
  const admission = admit(request, profile, signer.issuer, deps.config, now);
  if (!admission.readable) throw admission.refusal;
  const { plan, objections } = admission;
  return { ...context, plan, objections };
}
