/** Preview: what an issue would answer, decided by the same code and leaving no trace (PRO-3). */

import { bitString, oid, sequence } from "#core/asn1/der.ts";
import { oids } from "#core/asn1/oids.ts";
import { type Clearance, gateNames, type GateReport, gateJson } from "#core/policy/gates.ts";
import type { Profile } from "#core/policy/profile.ts";
import type { Problem } from "#core/problems.ts";
import { secondsPerDay } from "#core/time.ts";
import type { GeneralName } from "#core/x509/general-names.ts";
import type { Name } from "#core/x509/names.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import { type QuotaRoom, type TenantVerdict, tenantVerdict } from "#domain/tenants/quotas.ts";
import type { Ceremony } from "./ceremony.ts";
import { contextFor, type Planned, type PlanningDeps, planned, provenRequest } from "./planning.ts";

/** As an issue, or, without a request, the names it would have. */
export interface PreviewRequest {
  readonly asked:
    | { readonly csr: string }
    | { readonly subject: Name; readonly sans: readonly GeneralName[] };
  readonly profile: string;
  readonly validityDays: number | undefined;
  readonly mustStaple: boolean | undefined;
}

/** A plan with what every gate says of it, in their order. */
export interface Preview extends Planned {
  readonly keyProvided: boolean;
  readonly accepted: boolean;
  /** An issue would wait for approval. */
  readonly parks: boolean;
  /** What an issue would be refused with; a missing key alone refuses nothing. */
  readonly refusal: Problem | undefined;
  readonly gates: readonly PreviewedGate[];
  /** What is left of the tenant's quotas, those it has. */
  readonly room: readonly QuotaRoom[];
}

/** The gates of a certificate, then those of its tenant. */
export const previewedGates = [...gateNames, "tenant", "quota"] as const;

export type PreviewedGate =
  | GateReport
  | {
      readonly name: (typeof previewedGates)[number];
      readonly status: "pass" | "fail" | "skipped";
      readonly reason?: string;
    };

/**
 * Refuses as an issue does before its gates: `ca_not_active`, `unknown_profile`, `bad_csr`,
 * `unsupported_name`.
 */
export async function preview(
  deps: PlanningDeps & { readonly ceremony: Ceremony },
  ca: CaRecord,
  request: PreviewRequest,
): Promise<Preview> {
  const context = await contextFor(deps, ca, request.profile);
  const { asked, validityDays, mustStaple } = request;
  const keyProvided = "csr" in asked;
  const csr = keyProvided
    ? await provenRequest(asked.csr)
    : { ...asked, ...anyKeys(context.profile), unsupportedNames: [], mustStaple: false };
  const validitySeconds = validityDays === undefined ? undefined : validityDays * secondsPerDay;
  const caller = deps.approvable ? ("approved" as const) : ("interactive" as const);
  const leafRequest = { csr, mustStaple, validitySeconds, caller };
  const plan = planned(deps, context, leafRequest);
  const { tenant } = context.signer.ca;
  const decided = await deps.ceremony.decide({ ...plan, kind: "leaf", tenant });
  const reports = (decided.cleared ? decided.plan.gates : decided.gates).map(gateJson);
  const verdict = await tenantVerdict(deps.store.read.tenants, tenant, plan.now);
  const judged = keyProvided ? reports : reports.map(withoutKey);
  const gates = [...judged, ...tenantGate(verdict)];
  const accepted = gates.every(({ status }) => status !== "fail");
  const refusal = accepted ? undefined : refusalOf(decided, verdict);
  const parks = accepted && context.profile.requireApproval;
  return { ...plan, keyProvided, gates, accepted, parks, refusal, room: verdict.room };
}

/** What comes behind the gates of the table (GATE-2), where the tenant has anything to say. */
function tenantGate({ refusal, room }: TenantVerdict): readonly PreviewedGate[] {
  if (refusal === undefined) return room.length === 0 ? [] : [{ name: "quota", status: "pass" }];
  if (refusal.code === "tenant_suspended") {
    return [{ name: "tenant", status: "fail", reason: "suspended" }];
  }
  return [{ name: "quota", status: "fail", reason: String(refusal.facts.quota) }];
}

function refusalOf(decided: Clearance, verdict: TenantVerdict): Problem | undefined {
  return decided.cleared ? verdict.refusal : decided.refusal;
}

/** Nothing can be said of a key that is not there. */
function withoutKey(report: GateReport): PreviewedGate {
  if (report.name !== "keycheck") return report;
  return { name: report.name, status: "skipped", reason: "no key was given" };
}

/**
 * Stand for keys that are still to be made, of the families the profile wants; they belong to
 * nobody.
 */
function anyKeys({ algorithm, pqcKeyType }: Profile) {
  if (algorithm === "classical") return { spki: p256Generator };
  const [type, length] = placeholders[pqcKeyType ?? ""] ?? placeholder65;
  const postQuantum = sequence(sequence(oid(type)), bitString(new Uint8Array(length)));
  if (algorithm === "pqc") return { spki: postQuantum };
  return { spki: p256Generator, alternativeSpki: postQuantum };
}

const placeholder65 = [oids.mlDsa65, 1952] as const;
const placeholders: Readonly<Record<string, readonly [string, number] | undefined>> = {
  "ml-dsa-44": [oids.mlDsa44, 1312],
  "ml-dsa-87": [oids.mlDsa87, 2592],
};

const p256Generator = Uint8Array.fromHex(
  "3059301306072a8648ce3d020106082a8648ce3d030107034200" +
    "046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296" +
    "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5",
);
