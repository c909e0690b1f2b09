/** What every gate says of a certificate, in a preview or in a refusal. */

import type { Answers } from "#api/answers.ts";
import type { Reply } from "#web/api.ts";
import { Status } from "#web/ui/status.tsx";

export type Gate = Answers["cert.preview"]["gates"][number];

/** In their order; those that object say why. */
export function Gates({ gates, caption }: { readonly gates: readonly Gate[]; caption: string }) {
  return (
    <table class="gates">
      <caption class="unseen">{caption}</caption>
      <thead class="unseen">
        <tr>
          <th scope="col">Gate</th>
          <th scope="col">What it says</th>
        </tr>
      </thead>
      <tbody>
        {gates.map(({ name, status, reason, findings = [] }) => (
          <tr key={name}>
            <th scope="row">{gateWords[name] ?? name}</th>
            <td>
              <Status word={status} /> {reason !== undefined && <span>{reason}</span>}
              {findings.map(({ code, mode, clause, description }) => (
                <p key={code} class={`small ${mode === "error" ? "bad" : "warn"}`}>
                  {mode === "error" ? "Refuses" : "Warns"}: {description}{" "}
                  <span class="quiet">
                    {code}, {clause}
                  </span>
                </p>
              ))}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The gates of a preview; one whose tenant has no quota says so. */
export function previewedGates({ gates, quotas }: Answers["cert.preview"]): readonly Gate[] {
  const reason = quotas.map(roomText).join(", ") || "no limit is set";
  if (gates.some(({ name }) => name === "quota")) {
    return gates.map((gate) => (gate.name === "quota" ? { ...gate, reason } : gate));
  }
  // The quotas of a suspended tenant are not counted.
  if (gates.some(({ name }) => name === "tenant")) return gates;
  return gates.concat({ name: "quota", status: "pass", reason });
}

type Room = Answers["cert.preview"]["quotas"][number];

const roomText = ({ quota, limit, left }: Room): string =>
  `${left.toLocaleString("en")} of ${limit.toLocaleString("en")} ${roomWords[quota]}`;

const roomWords = {
  max_certs_per_day: "left today",
  max_active_certs: "active certificates left",
} as const satisfies Record<Room["quota"], string>;

/** The gates a refusal names; none of another refusal. */
export function gatesIn(reply: Reply<unknown> | undefined): readonly Gate[] {
  if (reply?.kind !== "refused" || reply.refusal.code !== "gate_refused") return [];
  const { gates } = reply.refusal.facts;
  // The facts of this refusal are what gates said, in the form a preview has them.
  return Array.isArray(gates) ? (gates as readonly Gate[]) : [];
}

const gateWords: Readonly<Record<Gate["name"], string>> = {
  names: "Names",
  certificate_policy: "Policies",
  must_staple: "Must-staple",
  lint: "Lint",
  caa: "CAA records",
  name_constraints: "Name constraints",
  keycheck: "Key",
  validity: "Validity",
  approval: "Approval",
  tenant: "Tenant",
  quota: "Quota",
};
