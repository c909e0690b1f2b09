/** The predicates of a bulk revocation, its plan, and the number that confirms it. */

import { useState } from "preact/hooks";
import type { Answers } from "#api/answers.ts";
import { revocationReasons } from "#core/x509/reasons.ts";
import { hrefWith, visit } from "#web/address.ts";
import type { Reply } from "#web/api.ts";
import { useAddress } from "#web/console.ts";
import { useRight } from "#web/rights.ts";
import { CheckField, ChoiceField, sameWords, TextField } from "#web/ui/fields.tsx";
import { Field, SendForm, useSend } from "#web/ui/form.tsx";
import { membersOf, type Order, orderIn, queryOf } from "./order.ts";
import { type Plan, PlanShown } from "./plan.tsx";

interface SelectionProps {
  readonly ca: Answers["ca.show"];
  /** Of a run that was begun; what it has revoked already is skipped. */
  readonly operationId: string | undefined;
}

export function Selection({ ca, operationId }: SelectionProps) {
  const address = useAddress();
  const [came] = useState(operationId);
  const [order, setOrder] = useState<Order>(() => orderIn(address));
  const [plan, setPlan] = useState<{ readonly order: Order; readonly found: Plan }>();
  const { send, busy, reply } = useSend("cert.revoke_bulk");
  const right = useRight("cert.revoke_bulk", { caId: ca.id, tenantId: ca.tenant_id });
  const look = async () => {
    visit(hrefWith(address, queryOf(order)), { replace: true });
    const members = { id: ca.id, dry_run: true, operation_id: operationId };
    const found = await send({ ...members, ...membersOf(order) });
    // A dry run is answered with a plan, and nothing else has a total.
    setPlan(found !== undefined && "total" in found ? { order, found } : undefined);
  };
  const change = (part: Partial<Order>) => {
    setOrder({ ...order, ...part });
    setPlan(undefined);
  };
  return (
    <div class="manual two">
      <section class="card">
        <h2>Which, and why</h2>
        {came !== undefined && (
          <p class="notice warn">
            <span>
              This goes on with the run <code>{came}</code>: select as before, serials included.
            </span>
            <a href={hrefWith(address, { op: undefined })}>Begin another</a>
          </p>
        )}
        <SendForm
          onSend={() => void look()}
          busy={busy}
          reply={reply?.kind === "answered" ? undefined : reply}
          does="Look what that is"
          disabled={!right.allowed}
        >
          {!right.allowed && <p class="reason">{right.reason}</p>}
          <Predicates order={order} reply={reply} onChange={change} />
        </SendForm>
      </section>
      {plan && <PlanShown ca={ca} order={plan.order} plan={plan.found} />}
    </div>
  );
}

interface PredicatesProps {
  readonly order: Order;
  readonly reply: Reply<unknown> | undefined;
  readonly onChange: (part: Partial<Order>) => void;
}

function Predicates({ order, reply, onChange }: PredicatesProps) {
  return (
    <>
      <ChoiceField
        label="Reason"
        member="reason"
        reply={reply}
        hint={
          order.reason === "certificateHold"
            ? "Suspends them: they can be released."
            : "For good: it cannot be undone."
        }
        value={order.reason}
        choices={sameWords(Object.keys(revocationReasons).filter((one) => one !== "removeFromCRL"))}
        onChange={(reason) => onChange({ reason })}
      />
      {textFields.map(({ name, label, member, hint }) => (
        <TextField
          key={name}
          label={label}
          member={member}
          reply={reply}
          hint={hint}
          value={order[name]}
          onChange={(text) => onChange({ [name]: text })}
        />
      ))}
      <Field
        label="Serials"
        member="filter.serials"
        reply={reply}
        hint="In any spelling, one below the other; unknown ones are listed as revoked, too."
      >
        {(control) => (
          <textarea
            {...control}
            value={order.serials}
            onInput={({ currentTarget }) => onChange({ serials: currentTarget.value })}
          />
        )}
      </Field>
      <SerialsFile onRead={(serials) => onChange({ serials })} />
      <CheckField
        label="expired ones too"
        checked={order.expired}
        onChange={(expired) => onChange({ expired })}
      />
      <CheckField
        label="every certificate, where nothing else selects"
        checked={order.all}
        onChange={(all) => onChange({ all })}
      />
    </>
  );
}

function SerialsFile({ onRead }: { readonly onRead: (serials: string) => void }) {
  return (
    <Field label="Or a file of serials">
      {(control) => (
        <input
          {...control}
          type="file"
          accept=".txt,.csv,text/plain"
          onChange={({ currentTarget }) => {
            const [file] = currentTarget.files ?? [];
            void file?.text().then(onRead);
          }}
        />
      )}
    </Field>
  );
}

const textFields = [
  { name: "profile", label: "Profile", member: "filter.profile", hint: "Its whole name." },
  {
    name: "pattern",
    label: "Names like",
    member: "filter.pattern",
    hint: "*.example.com: * and ? stand for anything, in CN and every SAN.",
  },
  {
    name: "issuedAfter",
    label: "Issued from",
    member: "filter.issued_after",
    hint: "2026-11-01, or a time of RFC 3339.",
  },
  {
    name: "issuedBefore",
    label: "Issued until",
    member: "filter.issued_before",
    hint: "The same.",
  },
  {
    name: "key",
    label: "Key fingerprint",
    member: "filter.public_key_sha256",
    hint: "SHA256:… or 64 hex digits.",
  },
] as const;
