/** Planned replacements: clients are told to come for new certificates, and how many have. */

import type { Answers } from "#api/answers.ts";
import { hrefOf, hrefWith } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { Action } from "#web/ui/action.tsx";
import { Outcome, useAsked, Waiting } from "#web/ui/asked.tsx";
import { Confirm } from "#web/ui/confirm.tsx";
import { Copy } from "#web/ui/copy.tsx";
import { Facts } from "#web/ui/facts.tsx";
import { Heading } from "#web/ui/heading.tsx";
import { Panel, useDialog } from "#web/ui/layers.tsx";
import { type Column, List, type RowOf } from "#web/ui/list.tsx";
import { Status } from "#web/ui/status.tsx";
import { Time } from "#web/ui/time.tsx";

type Plan = Answers["acme.replace.show"];

export function ReplacementsPart({ id }: { readonly id: string | undefined }) {
  return (
    <>
      <Heading name="Replacements" />
      <div class="beside">
        <List
          name="acme.replace.list"
          members={{}}
          caption="Planned replacements, newest first"
          columns={columns}
          keyOf={(row) => row.id}
          hrefOf={(row) => hrefOf(["enrolment", "replacements", row.id])}
          selected={id}
          live={["acme.*"]}
          empty={
            <>
              <p>
                Nothing is planned. A plan pulls the renewal of many certificates forward, at a pace
                this instance can do.
              </p>
              <Copy text="pkid acme replace --ca issuing --all --within 24h" name="command" />
            </>
          }
        />
        {id !== undefined && <PlanPanel id={id} />}
      </div>
    </>
  );
}

const columns: readonly Column<RowOf<"acme.replace.list">>[] = [
  { name: "Of", cell: ({ filter }) => filter || "every certificate" },
  { name: "State", cell: ({ status }) => <Status word={status} /> },
  { name: "From", cell: ({ start }) => <Time at={start} /> },
  { name: "Until", cell: ({ end }) => <Time at={end} /> },
  { name: "Revokes", wide: true, cell: ({ revoke }) => revoke ?? "nothing" },
  { name: "By", wide: true, cell: ({ created_by }) => created_by },
];

function PlanPanel({ id }: { readonly id: string }) {
  const { reply, refresh } = useAsked("acme.replace.show", { id }, ["acme.*", "cert.*"]);
  if (reply === undefined) return <Waiting />;
  if (reply.kind !== "answered") return <Outcome reply={reply} again={refresh} />;
  return <Shown plan={reply.answer} onChange={refresh} />;
}

function Shown({ plan, onChange }: { readonly plan: Plan; readonly onChange: () => void }) {
  const address = useAddress();
  const { open, close } = useDialog();
  const isOpen = plan.status === "running" || plan.status === "planning";
  const guard = {
    operation: "acme.replace.cancel",
    where: { caId: plan.ca_id, tenantId: plan.tenant_id },
    unless: isOpen ? undefined : `It is ${plan.status}.`,
  } as const;
  const callOff = (
    <Action {...guard} href={hrefWith(address, { dialog: "cancel" })} look="danger">
      Call off
    </Action>
  );
  return (
    <Panel
      title={plan.filter || "Every certificate"}
      closeHref={hrefOf(["enrolment", "replacements"])}
      actions={callOff}
    >
      <Status word={plan.status} />
      <Progress plan={plan} />
      {open === "cancel" && (
        <Confirm
          {...guard}
          members={{ id: plan.id }}
          title="Call the replacement off"
          does="Call it off"
          onClose={close}
          onDone={() => {
            onChange();
            close();
          }}
        >
          <p>
            Clients come at their usual times again. What is replaced stays replaced; nothing more
            is revoked.
          </p>
        </Confirm>
      )}
    </Panel>
  );
}

function Progress({ plan }: { readonly plan: Plan }) {
  const { replaced, total } = plan;
  return (
    <>
      <p class="use">
        <span>
          {replaced.toLocaleString("en")} of {total.toLocaleString("en")} clients have come
        </span>
        <meter aria-label="Replaced" min={0} max={Math.max(1, total)} value={replaced} />
      </p>
      <Facts
        of={{
          Outstanding: plan.outstanding.toLocaleString("en"),
          Revoked: plan.revoked.toLocaleString("en"),
          "At most": `${plan.per_second} a second`,
          From: <Time at={plan.start} />,
          Until: <Time at={plan.end} />,
          "Then revokes": plan.revoke ?? "nothing",
          CA: <a href={hrefOf(["authorities", plan.ca_id])}>{plan.ca_id}</a>,
        }}
      />
    </>
  );
}
