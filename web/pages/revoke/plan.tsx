/** What a bulk revocation would do, in numbers and a sample, and the way to do it. */

import { useState } from "preact/hooks";
import type { Answers } from "#api/answers.ts";
import { hrefOf, hrefWith, visit } from "#web/address.ts";
import type { Reply } from "#web/api.ts";
import { useAddress } from "#web/console.ts";
import { Gates } from "#web/ui/action.tsx";
import { Breaking } from "#web/ui/breaking.tsx";
import { Facts } from "#web/ui/facts.tsx";
import { TextField } from "#web/ui/fields.tsx";
import { SendForm, useSend } from "#web/ui/form.tsx";
import { type Column, Table } from "#web/ui/list.tsx";
import { Day } from "#web/ui/time.tsx";
import { membersOf, type Order } from "./order.ts";
import { Progress, type Result, ResultShown } from "./result.tsx";

export type Plan = Extract<Answers["cert.revoke_bulk"], { readonly total: number }>;
type Sampled = Plan["sample"][number];

interface PlanShownProps {
  readonly ca: Answers["ca.show"];
  readonly order: Order;
  readonly plan: Plan;
}

export function PlanShown({ ca, order, plan }: PlanShownProps) {
  const held = order.reason === "certificateHold" ? undefined : plan.held;
  return (
    <section class="card" aria-label="Plan">
      <p class="big">{plan.total.toLocaleString("en")}</p>
      <p>
        certificates of {plan.ca_label} would be revoked, reason {plan.reason}: {plan.filter}.
      </p>
      <Facts
        of={{
          "In the inventory": plan.known.toLocaleString("en"),
          Unknown: plan.unknown > 0 && plan.unknown.toLocaleString("en"),
          "On hold, now for good": held !== undefined && held > 0 && held.toLocaleString("en"),
          "Revoked already": plan.already_revoked.toLocaleString("en"),
          "Left out by another predicate": plan.filtered_out.toLocaleString("en"),
          "Left out because expired": plan.expired_excluded.toLocaleString("en"),
        }}
      />
      {plan.profiles.length > 0 && <p class="quiet small">{byProfile(plan)}</p>}
      {plan.sample.length > 0 && (
        <>
          <h3>{plan.sample.length < plan.total ? "Some of them" : "All of them"}</h3>
          <div class="scroll">
            <Table
              caption="Sample"
              columns={columns}
              rows={plan.sample}
              keyOf={({ ca_id, serial }) => `${ca_id}/${serial}`}
              hrefOf={({ ca_id, serial }) => hrefOf(["certificates", ca_id, serial])}
            />
          </div>
        </>
      )}
      {plan.total > 0 && <Confirmation ca={ca} order={order} plan={plan} />}
    </section>
  );
}

const columns: readonly Column<Sampled>[] = [
  { name: "Name", cell: ({ common_name, serial }) => <Breaking text={common_name || serial} /> },
  {
    name: "Profile",
    cell: ({ profile, known }) => <span class="whole">{known ? profile : "unknown here"}</span>,
  },
  { name: "Expires", cell: ({ not_after }) => <Day at={not_after} /> },
];

/** Of all that are in the inventory, and not of the sample alone. */
const byProfile = ({ profiles }: Plan): string =>
  profiles
    .map(({ profile, count }) => `${profile || "no profile"}: ${count.toLocaleString("en")}`)
    .join(", ");

/** The number is typed, so that nobody revokes more than they have seen. */
function Confirmation({ ca, order, plan }: PlanShownProps) {
  const address = useAddress();
  const { send, busy, reply } = useSend("cert.revoke_bulk");
  const [typed, setTyped] = useState("");
  const { total, operation_id } = plan;
  const start = () => {
    // Whoever comes back to this address goes on with the run.
    visit(hrefWith(address, { op: operation_id }), { replace: true });
    void send({ id: ca.id, ...membersOf(order), operation_id, confirm_count: total });
  };
  if (reply?.kind === "answered" && "revoked" in reply.answer) {
    return <ResultShown ca={ca} result={reply.answer} />;
  }
  return (
    <SendForm
      onSend={start}
      busy={busy}
      reply={reply}
      does={`Revoke ${total.toLocaleString("en")} certificates`}
      look="danger"
      missing={
        busy || typed.replace(/[,\s]/g, "") === String(total) ? undefined : `Type ${total} first.`
      }
    >
      <Gates operation="cert.revoke_bulk" />
      <TextField
        label={`Type ${total} to confirm`}
        member="confirm_count"
        reply={reply}
        hint={
          order.reason === "certificateHold"
            ? "They are suspended until they are released."
            : "There is no way back."
        }
        value={typed}
        onChange={setTyped}
      />
      <Stopped reply={reply} ca={ca} />
      {busy && <Progress operationId={operation_id} total={total} />}
    </SendForm>
  );
}

/** What follows from a run that did not come to its end. */
function Stopped({
  reply,
  ca,
}: Pick<PlanShownProps, "ca"> & { readonly reply: Reply<unknown> | undefined }) {
  if (reply?.kind !== "refused") return null;
  const { code, facts } = reply.refusal;
  if (code === "confirm_count_mismatch") {
    return (
      <p class="warn">
        There are {String(facts.actual_count)} now, and nothing was changed: look again.
      </p>
    );
  }
  if (code !== "bulk_partial") return null;
  return (
    <>
      <p class="warn">Send it again: it goes on with what is left.</p>
      {/* The result of a run that stopped has the members of one that did not. */}
      <ResultShown ca={ca} result={facts.result as Result} />
    </>
  );
}
