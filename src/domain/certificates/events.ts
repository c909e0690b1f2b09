/** The audit events of issuance: who, for which CA, and what the gates said. */

import type { Action, EventDraft } from "#core/audit/actions.ts";
import { sha256Hex } from "#core/crypto.ts";
import type { Serial } from "#core/ids.ts";
import type { GateName, GateReport } from "#core/policy/gates.ts";
import type { ValidityLimit } from "#core/policy/plan.ts";
import { timestamp } from "#core/time.ts";
import type { Origin } from "#domain/actor.ts";
import { aboutCa } from "#domain/authorities/events.ts";
import type { CaSigner } from "#domain/authorities/signers.ts";
import type { SigningOrder } from "./ceremony.ts";

/** What the events of a leaf tell beside who and where. */
export interface LeafFacts {
  readonly profile: string;
  readonly clamped: ValidityLimit | undefined;
  /** The serial it replaces, which makes it a renewal. */
  readonly renewedFrom?: Serial | undefined;
  /** The protocol it was asked for in. */
  readonly protocol?: string | undefined;
  /** The serial a device has it for in the place of. */
  readonly replaces?: Serial | undefined;
}

/**
 * The events of a leaf, whatever becomes of it; one that gates refused is a denied `cert.issue` on
 * every path (ISS-5).
 */
export function leafEvents(
  origin: Origin,
  ca: CaSigner["ca"],
  { profile, clamped, renewedFrom, protocol, replaces }: LeafFacts,
): Pick<SigningOrder, "issued" | "refused" | "failed"> {
  const requester = origin.principal.subject;
  const action = renewedFrom === undefined ? "cert.issue" : "cert.renew";
  const from = { protocol, renewed_from: renewedFrom ?? replaces };
  return {
    issued: ({ serial, notAfter, ct, certificate }, gates) => [
      ...gateEvents(origin, ca, profile, gates),
      {
        action,
        result: "success",
        ...aboutCa(origin, ca, serial),
        targetName: serial,
        detail: {
          profile,
          not_after: timestamp(notAfter),
          ct: ct?.status ?? "none",
          requester,
          ...from,
          validity_clamped: clamped,
          sha256: sha256Hex(certificate),
        },
      },
    ],
    refused: (refusal, gates) => [
      ...gateEvents(origin, ca, profile, gates),
      {
        action: "cert.issue",
        result: "denied",
        ...aboutCa(origin, ca),
        detail: { profile, requester, reasons: refusingGates(gates) || refusal.code, ...from },
      },
    ],
    failed: (error) => [
      {
        action,
        result: "error",
        ...aboutCa(origin, ca),
        detail: { profile, requester, reasons: error, ...from },
      },
    ],
  };
}

/** One event for each gate that has one and refused (`denied`) or only warned (`success`). */
export function gateEvents(
  origin: Origin,
  ca: CaSigner["ca"],
  profile: string,
  gates: readonly GateReport[],
): readonly EventDraft[] {
  const loud = gates.filter(({ status }) => status !== "pass" && status !== "skipped");
  return loud.flatMap(({ name, status, findings = [], event }) => {
    const action = actionsOfGates[name];
    if (action === undefined) return [];
    const codes = [...new Set(findings.map(({ code }) => code))].join(",");
    return [
      {
        action,
        result: status === "fail" ? ("denied" as const) : ("success" as const),
        ...aboutCa(origin, ca),
        detail: event ?? { profile: profile || undefined, findings: codes || undefined },
      },
    ];
  });
}

/** The names of the gates that refused, as `reasons` of a denied event. */
export const refusingGates = (gates: readonly GateReport[]): string =>
  gates
    .filter(({ status }) => status === "fail")
    .map(({ name }) => name)
    .join(",");

const actionsOfGates: Partial<Record<GateName, Action>> = {
  lint: "cert.lint",
  caa: "cert.caa",
  keycheck: "cert.keycheck",
  name_constraints: "cert.nameconstraint",
};
