/** Rights on one certificate authority, and what somebody may do there and why. */

import { useState } from "preact/hooks";
import { grantRoles } from "#core/access/roles.ts";
import { hrefOf, hrefWith, visit } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { Action } from "#web/ui/action.tsx";
import { Asked, useAsked } from "#web/ui/asked.tsx";
import { CaChoice } from "#web/ui/ca-choice.tsx";
import { Confirm } from "#web/ui/confirm.tsx";
import { Copy } from "#web/ui/copy.tsx";
import { Facts } from "#web/ui/facts.tsx";
import { ChoiceField, sameWords, TextField } from "#web/ui/fields.tsx";
import { useSend } from "#web/ui/form.tsx";
import { GuardedForm } from "#web/ui/guarded-form.tsx";
import { Heading } from "#web/ui/heading.tsx";
import { Dialog, useDialog } from "#web/ui/layers.tsx";
import { type Column, type RowOf, Table } from "#web/ui/list.tsx";
import { Time } from "#web/ui/time.tsx";

type Grant = RowOf<"grant.list">;

/** The CA is chosen in the address: `ca=…`; `subject=…` asks what somebody may do there. */
export function GrantsPart() {
  const address = useAddress();
  const { ca = "", subject } = address.query;
  const { open, close } = useDialog();
  const [round, setRound] = useState(0);
  const done = () => {
    setRound((count) => count + 1);
    close();
  };
  return (
    <>
      <Heading name="Grants">
        <CaChoice
          label="Certificate authority"
          value={ca}
          onChoose={(id) => visit(hrefWith(address, { ca: id, subject: undefined }))}
        />
        {ca !== "" && (
          <Action
            operation="resource.grant"
            where={{ caId: ca }}
            href={hrefWith(address, { dialog: "grant" })}
            look="primary"
          >
            Grant
          </Action>
        )}
      </Heading>
      {ca === "" ? (
        <div class="empty">
          <p>Roles reach whole tenants; a grant reaches one CA. Choose the CA first.</p>
          <a class="button" href={hrefOf(["authorities"])}>
            Which authorities there are
          </a>
          <Copy text="pkid grant list --resource issuing" name="command" />
        </div>
      ) : (
        <>
          <GrantsOn key={`${ca}/${round}`} ca={ca} />
          <Effective ca={ca} subject={subject} />
        </>
      )}
      {open === "grant" && ca !== "" && <NewGrant ca={ca} onClose={close} onDone={done} />}
      {open?.startsWith("revoke-") && ca !== "" && (
        <TakeBack ca={ca} id={open.slice(7)} onClose={close} onDone={done} />
      )}
    </>
  );
}

function GrantsOn({ ca }: { readonly ca: string }) {
  const address = useAddress();
  return (
    <Asked name="grant.list" members={{ resource: `ca/${ca}` }} live={["resource.*"]} quietly>
      {({ items }) =>
        items.length === 0 ? (
          <div class="empty">
            <p>Nobody has a grant on this CA; roles of its tenant reach it all the same.</p>
            <Action
              operation="resource.grant"
              where={{ caId: ca }}
              look="outlined"
              href={hrefWith(address, { dialog: "grant" })}
            >
              Grant a role
            </Action>
            <Copy
              text={`pkid grant add --resource ${ca} --user alice --role ca-auditor`}
              name="command"
            />
          </div>
        ) : (
          <div class="list scroll">
            <Table
              caption="Grants on this CA and the rest of its lineage"
              columns={columns}
              rows={items}
              keyOf={({ id }) => id}
            />
          </div>
        )
      }
    </Asked>
  );
}

const columns: readonly Column<Grant>[] = [
  { name: "Who", cell: ({ entity_type, entity_id }) => `${entity_type} ${entity_id}` },
  { name: "May", cell: ({ role }) => role },
  {
    name: "Reaches",
    cell: ({ scope }) => (scope === "subtree" ? "it and all below" : "it and its successors"),
  },
  { name: "From", wide: true, cell: ({ source }) => source },
  { name: "By", wide: true, cell: ({ created_by }) => created_by },
  { name: "Since", wide: true, cell: ({ created_at }) => <Time at={created_at} /> },
  { name: "Take back", cell: (grant) => <Revoke grant={grant} /> },
];

function Revoke({ grant: { id, resource, source } }: { readonly grant: Grant }) {
  const address = useAddress();
  return (
    <Action
      operation="resource.revoke"
      where={{ caId: resource.slice("ca/".length) }}
      href={hrefWith(address, { dialog: `revoke-${id}` })}
      look="outlined"
      unless={whyKept(source)}
    >
      Take back
    </Action>
  );
}

const whyKept = (source: Grant["source"]): string | undefined =>
  source === "config" ? "It stands in the configuration." : undefined;

interface OnCaProps {
  readonly ca: string;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

function TakeBack({ ca, id, onClose, onDone }: OnCaProps & { readonly id: string }) {
  const { reply } = useAsked("grant.list", { resource: `ca/${ca}` });
  // Why there is no answer is said where the list would be.
  if (reply?.kind !== "answered") return null;
  const grant = reply.answer.items.find((one) => one.id === id);
  if (grant === undefined) return null;
  const { resource, entity_type, entity_id, role, scope, source } = grant;
  return (
    <Confirm
      operation="resource.revoke"
      members={{ resource, entity_type, entity_id, role, scope }}
      where={{ caId: resource.slice("ca/".length) }}
      unless={whyKept(source)}
      title={`Take ${role} back from ${entity_id}`}
      does={`Take ${role} back`}
      onClose={onClose}
      onDone={onDone}
    >
      <p>From the next request on only roles and other grants count for {entity_id}.</p>
    </Confirm>
  );
}

function NewGrant({ ca, onClose, onDone }: OnCaProps) {
  const { send, busy, reply } = useSend("resource.grant");
  const [said, setSaid] = useState({ type: "user", who: "", role: "ca-issuer", scope: "self" });
  const change = (part: Partial<typeof said>) => setSaid({ ...said, ...part });
  const submit = async () => {
    const { type, who, role, scope } = said;
    const members = { resource: `ca/${ca}`, entity_type: type, entity_id: who, role, scope };
    if ((await send(members)) !== undefined) onDone();
  };
  return (
    <Dialog title="Grant rights on this CA" onClose={onClose}>
      <GuardedForm
        operation="resource.grant"
        where={{ caId: ca }}
        onSend={submit}
        busy={busy}
        reply={reply}
        does="Grant"
        onCancel={onClose}
        missing={said.who === "" ? "Type a subject or group first." : undefined}
      >
        <ChoiceField
          label="To a"
          member="entity_type"
          reply={reply}
          value={said.type}
          choices={sameWords(["user", "group"])}
          onChange={(type) => change({ type })}
        />
        <TextField
          label="Subject or group"
          member="entity_id"
          reply={reply}
          hint="As it stands in sessions and events."
          max={256}
          value={said.who}
          onChange={(who) => change({ who })}
        />
        <ChoiceField
          label="Role"
          member="role"
          reply={reply}
          value={said.role}
          choices={sameWords(grantRoles)}
          onChange={(role) => change({ role })}
        />
        <ChoiceField
          label="Reaches"
          member="scope"
          reply={reply}
          value={said.scope}
          choices={reaches}
          onChange={(scope) => change({ scope })}
        />
      </GuardedForm>
    </Dialog>
  );
}

const reaches = [
  { value: "self", label: "it and its successors" },
  { value: "subtree", label: "it and all below" },
];

/** What one subject may do on the CA, and why. */
function Effective({ ca, subject }: { readonly ca: string; readonly subject: string | undefined }) {
  const address = useAddress();
  const [asked, setAsked] = useState(subject ?? "");
  return (
    <section class="card">
      <h2>Who may do what here</h2>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          visit(hrefWith(address, { subject: asked.trim() }));
        }}
      >
        <TextField label="Subject" hint="Empty: yourself." value={asked} onChange={setAsked} />
        <div class="buttons">
          <button type="submit" class="button">
            Ask
          </button>
        </div>
      </form>
      <Asked name="grant.effective" members={{ resource: `ca/${ca}`, subject }} quietly>
        {(found) => (
          <Facts
            of={{
              Subject: found.subject,
              May: found.is_root ? "everything" : found.capabilities.join(", ") || "nothing",
              "By roles": [...found.platform_roles, ...found.tenant_roles].join(", ") || "none",
              "By grants": found.resource_roles.join(", ") || "none",
            }}
          />
        )}
      </Asked>
    </section>
  );
}
