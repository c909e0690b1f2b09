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
