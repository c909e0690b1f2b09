/** The predicates of a bulk revocation, its plan, and the number that confirms it. */

import { useMemo, useState } from "preact/hooks";
import type { Answers } from "#api/answers.ts";
import { revocationReasons } from "#core/x509/reasons.ts";
import { hrefWith, visit } from "#web/address.ts";
import type { Reply } from "#web/api.ts";
import { useAddress } from "#web/console.ts";
import { useRight } from "#web/rights.ts";
import { sizeFault } from "#web/file-size.ts";
import { useAside } from "#web/ui/asked.tsx";
import { CheckField, ChoiceField, sameWords, TextField } from "#web/ui/fields.tsx";
import { Field, SendForm, useSend } from "#web/ui/form.tsx";
import { membersOf, type Order, orderIn, queryOf, serialsIn } from "./order.ts";
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
  const serialsFault = useMemo(() => serialsIn(order.serials).fault, [order.serials]);
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
          withheld={right.allowed ? undefined : right.reason}
          missing={serialsFault === undefined ? undefined : "Mend the serials first."}
        >
          <Predicates
            order={order}
            serialsFault={serialsFault}
            reply={pointed(reply)}
            onChange={change}
          />
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

interface AllPredicatesProps extends PredicatesProps {
  readonly serialsFault: string | undefined;
}

function Predicates({ order, serialsFault, reply, onChange }: AllPredicatesProps) {
  // A field of megabytes would be slow, and nobody reads it.
  const isShown = order.serials.length <= shownMax;
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
      <ByFacts order={order} reply={reply} onChange={onChange} />
      <Field
        label="Serials"
        member="filter.serials"
        reply={reply}
        fault={serialsFault}
        hint="In any spelling, one below the other; unknown ones are listed as revoked, too."
      >
        {(control) => (
          <textarea
            {...control}
            value={isShown ? order.serials : ""}
            placeholder={isShown ? undefined : "Those of the file"}
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

/** What certificates say of themselves. */
function ByFacts({ order, reply, onChange }: PredicatesProps) {
  return (
    <>
      <ProfileField value={order.profile} reply={reply} onChange={onChange} />
      <TextField
        label="Names like"
        member="filter.pattern"
        reply={reply}
        hint="*.example.com: * and ? stand for anything, in CN and every SAN."
        value={order.pattern}
        onChange={(pattern) => onChange({ pattern })}
      />
      <TimeField
        label="Issued from"
        member="filter.issued_after"
        reply={reply}
        value={order.issuedAfter}
        onChange={(issuedAfter) => onChange({ issuedAfter })}
      />
      <TimeField
        label="Issued until"
        member="filter.issued_before"
        reply={reply}
        value={order.issuedBefore}
        onChange={(issuedBefore) => onChange({ issuedBefore })}
      />
      <TextField
        label="Key fingerprint"
        member="filter.public_key_sha256"
        reply={reply}
        hint="SHA256:… or 64 hex digits."
        value={order.key}
        onChange={(key) => onChange({ key })}
      />
    </>
  );
}

function SerialsFile({ onRead }: { readonly onRead: (serials: string) => void }) {
  const [fault, setFault] = useState<string>();
  const take = async (file: File) => {
    const tooLarge = sizeFault(file.size, serialsFileMax);
    setFault(tooLarge);
    if (tooLarge === undefined) onRead(await file.text());
  };
  return (
    <Field label="Or a file of serials" fault={fault}>
      {(control) => (
        <input
          {...control}
          type="file"
          accept=".txt,.csv,text/plain"
          onChange={({ currentTarget }) => {
            const [file] = currentTarget.files ?? [];
            if (file !== undefined) void take(file);
          }}
        />
      )}
    </Field>
  );
}

interface ProfileFieldProps {
  readonly value: string;
  readonly reply: Reply<unknown> | undefined;
  readonly onChange: (part: Pick<Order, "profile">) => void;
}

/** Those in force; a link may name another, of certificates of before. */
function ProfileField({ value, reply, onChange }: ProfileFieldProps) {
  const asked = useAside("profile.list", {});
  const profiles = asked.reply?.kind === "answered" ? asked.reply.answer.items : [];
  const names = profiles.map(({ name }) => name);
  const others = value === "" || names.includes(value) ? [] : [value];
  return (
    <ChoiceField
      label="Profile"
      member="filter.profile"
      reply={reply}
      value={value}
      choices={[{ value: "", label: "any" }].concat(sameWords([...names, ...others]))}
      onChange={(profile) => onChange({ profile })}
    />
  );
}

interface TimeFieldProps {
  readonly label: string;
  readonly member: string;
  readonly reply: Reply<unknown> | undefined;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** A day; what a link says otherwise, a time of RFC 3339 as a rule, stays as it is. */
function TimeField({ value, onChange, ...rest }: TimeFieldProps) {
  const isDay = value === "" || /^\d{4}-\d{2}-\d{2}$/.test(value);
  return (
    <Field {...rest} hint="The beginning of a day, in UTC.">
      {(control) => {
        const typing = {
          ...control,
          value,
          onInput: ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) =>
            onChange(currentTarget.value),
        };
        return isDay ? <input type="date" {...typing} /> : <input type="text" {...typing} />;
      }}
    </Field>
  );
}

/** A refusal names a predicate by itself; here it stands in the filter, as it is sent. */
function pointed(reply: Reply<unknown> | undefined): Reply<unknown> | undefined {
  if (reply?.kind !== "refused") return reply;
  const { refusal } = reply;
  const { field } = refusal.facts;
  if (typeof field !== "string" || !predicates.has(field.replace(/\[.*$/, ""))) return reply;
  return {
    kind: "refused",
    refusal: { ...refusal, facts: { ...refusal.facts, field: `filter.${field}` } },
  };
}

const predicates: ReadonlySet<string> = new Set([
  "profile",
  "pattern",
  "issued_after",
  "issued_before",
  "public_key_sha256",
  "serials",
]);

const shownMax = 65_536;
/** More than the serials take that are taken at once. */
const serialsFileMax = 8_388_608;
