/** API tokens: who made them, what they may do, and the secret, shown once. */

import { useState } from "preact/hooks";
import { parseRole, type Role, roles } from "#core/access/roles.ts";
import { hrefOf, hrefWith } from "#web/address.ts";
import type { Reply } from "#web/api.ts";
import { useAddress, useConsole } from "#web/console.ts";
import { secretOf, WaitingSecrets } from "#web/pages/approvals/api-token-secret.tsx";
import { mayEverywhere } from "#web/rights.ts";
import { Action } from "#web/ui/action.tsx";
import { useAnswer } from "#web/ui/answer.ts";
import { Confirm } from "#web/ui/confirm.tsx";
import { Copy } from "#web/ui/copy.tsx";
import { Facts } from "#web/ui/facts.tsx";
import { type Choice, ChoiceField, NumberField, sameWords, TextField } from "#web/ui/fields.tsx";
import { useSend } from "#web/ui/form.tsx";
import { GuardedForm } from "#web/ui/guarded-form.tsx";
import { Heading } from "#web/ui/heading.tsx";
import { Dialog, Panel, useDialog } from "#web/ui/layers.tsx";
import { type Column, List, type RowOf } from "#web/ui/list.tsx";
import { foundRow, listPages } from "#web/ui/list-pages.ts";
import { Status } from "#web/ui/status.tsx";
import { Distance, Time } from "#web/ui/time.tsx";
import { Outcome, Waiting } from "#web/ui/asked.tsx";
import { TenantField } from "#web/ui/tenant-field.tsx";
import { useOnlyTenant } from "#web/ui/tenants.ts";
import { serverNow } from "#web/server-clock.ts";

type ApiToken = RowOf<"token.list">;

/** `id` opens the panel of one. */
export function ApiTokensPart({ id }: { readonly id: string | undefined }) {
  const address = useAddress();
  const { tenant } = address.query;
  const { open, close } = useDialog();
  const newToken = (
    <Action operation="token.create" href={hrefWith(address, { dialog: "new" })} look="primary">
      New API token
    </Action>
  );
  return (
    <>
      <Heading name="API tokens">{newToken}</Heading>
      <WaitingSecrets />
      <div class="beside">
        <List
          name="token.list"
          members={{ tenant }}
          caption="API tokens, newest first"
          columns={columns}
          keyOf={(row) => row.id}
          hrefOf={(row) => hrefOf(["people", "tokens", row.id], address.query)}
          selected={id}
          live={["token.*"]}
          empty={
            <>
              <p>No API token yet. Machines that ask pkid for certificates present one.</p>
              {newToken}
              <Copy text="pkid token create --name deploy-bot --roles issuer" name="command" />
            </>
          }
        />
        {id !== undefined && <ApiTokenPanel id={id} />}
      </div>
      {open === "new" && <NewApiToken onClose={close} />}
    </>
  );
}

const columns: readonly Column<ApiToken>[] = [
  { name: "Name", cell: ({ name }) => name },
  { name: "Begins", wide: true, cell: ({ prefix }) => <span class="mono">{prefix}</span> },
  { name: "May", cell: (row) => `${row.roles.join(", ")}${scopeOf(row)}` },
  { name: "State", cell: (row) => <Status word={stateOf(row)} /> },
  { name: "Expires", wide: true, cell: ({ expires_at }) => <Time at={expires_at} /> },
  { name: "Last used", wide: true, cell: ({ last_used_at }) => <Distance at={last_used_at} /> },
];

const scopeOf = ({ scope }: ApiToken): string => (scope === "platform" ? " everywhere" : "");

function stateOf({ revoked, expires_at }: ApiToken): string {
  if (revoked) return "revoked";
  const over = expires_at !== undefined && Date.parse(expires_at) <= serverNow();
  return over ? "expired" : "active";
}

/** One token, however old it is. */
function ApiTokenPanel({ id }: { readonly id: string }) {
  const address = useAddress();
  const { reply, refresh } = useApiToken(id);
  const closeHref = hrefOf(["people", "tokens"], address.query);
  if (reply === undefined) return <Waiting />;
  if (reply.kind === "answered" && reply.answer !== undefined) {
    return <Shown row={reply.answer} closeHref={closeHref} onChange={refresh} />;
  }
  return (
    <Panel title="No such API token" closeHref={closeHref}>
      {reply.kind === "answered" && <p>It is not among those that you may see.</p>}
      <Outcome reply={reply} again={refresh} />
    </Panel>
  );
}

/** Found on the pages of the list, which has no look-up by id; undefined until it is known. */
const useApiToken = (id: string) =>
  useAnswer(
    {
      key: id,
      subject: id,
      asked: (credential, signal) =>
        foundRow<"token.list">(
          listPages("token.list", {}, credential, signal),
          (row) => row.id === id,
        ),
    },
    ["token.*"],
  );

interface ShownProps {
  readonly row: ApiToken;
  readonly closeHref: string;
  readonly onChange: () => void;
}

function Shown({ row, closeHref, onChange }: ShownProps) {
  const address = useAddress();
  const { open, close } = useDialog();
  const unless = row.revoked ? "It is revoked." : undefined;
  const revoke = (
    <Action
      operation="token.revoke"
      href={hrefWith(address, { dialog: "revoke" })}
      look="danger"
      unless={unless}
    >
      Revoke
    </Action>
  );
  return (
    <Panel title={row.name} closeHref={closeHref} actions={revoke}>
      <Status word={stateOf(row)} />
      <ApiTokenFacts row={row} />
      {open === "revoke" && (
        <Confirm
          operation="token.revoke"
          members={{ id: row.id }}
          unless={unless}
          title={`Revoke ${row.name}`}
          does={`Revoke ${row.name}`}
          onClose={close}
          onDone={() => {
            onChange();
            close();
          }}
        >
          <p>
            Whoever presents this token is refused from the next request on. It cannot be given
            back; a new one has another secret.
          </p>
        </Confirm>
      )}
    </Panel>
  );
}

function ApiTokenFacts({ row }: { readonly row: ApiToken }) {
  const { tenants } = useConsole();
  const owner = tenants.find((tenant) => tenant.id === row.tenant_id);
  return (
    <Facts
      of={{
        Id: <Copy text={row.id} name="id" />,
        For: row.description,
        Roles: row.roles.join(", "),
        Scope: row.scope === "platform" ? "every tenant" : (owner?.slug ?? row.tenant_id),
        Made: <By at={row.created_at} who={row.created_by_name ?? row.created_by} />,
        Expires: row.expires_at === undefined ? "never" : <Time at={row.expires_at} />,
        "Last used": row.last_used_at && <From at={row.last_used_at} ip={row.last_used_ip} />,
        Revoked: row.revoked_at && <By at={row.revoked_at} who={row.revoked_by} />,
      }}
    />
  );
}

const By = ({ at, who }: { readonly at: string; readonly who: string | undefined }) => (
  <>
    <Time at={at} /> by {who}
  </>
);

const From = ({ at, ip }: { readonly at: string; readonly ip: string | undefined }) => (
  <>
    <Time at={at} /> from {ip}
  </>
);

/** What is asked for, and then the secret, once. */
function NewApiToken({ onClose }: { readonly onClose: () => void }) {
  const { showOnce } = useConsole();
  const only = useOnlyTenant();
  const sending = useSend("token.create");
  const [typed, setSaid] = useState<Wanted>({
    name: "",
    description: "",
    role: "issuer",
    where: "",
    days: "90",
  });
  const said = { ...typed, where: typed.where || (only?.id ?? "") };
  const { reply } = sending;
  const submit = async () => {
    const made = await sending.send(membersOf(said));
    if (made !== undefined) showOnce(secretOf(made));
  };
  if (reply?.kind === "answered") return null;
  return (
    <Dialog title="New API token" onClose={onClose}>
      <GuardedForm
        operation="token.create"
        where={{ tenantId: said.where === everywhere ? undefined : said.where || undefined }}
        onSend={submit}
        busy={sending.busy}
        reply={reply}
        does="Make the token"
        onCancel={onClose}
        missing={missingIn(said)}
      >
        <WantedFields
          said={said}
          reply={reply}
          onChange={(part) => setSaid({ ...typed, ...part })}
        />
        {reply?.kind === "parked" && (
          <p class="quiet small">
            Once it is approved, the request and this page lead you to its secret.
          </p>
        )}
      </GuardedForm>
    </Dialog>
  );
}

function missingIn({ name, where }: Wanted): string | undefined {
  if (name === "") return "Type a name first.";
  return where === "" ? "Choose first where it may do that." : undefined;
}

interface Wanted {
  readonly name: string;
  readonly description: string;
  readonly role: Role;
  /** A tenant's id, or everywhere; empty where nobody has chosen. */
  readonly where: string;
  readonly days: string;
}

function membersOf({ name, description, role, where, days }: Wanted) {
  return {
    name,
    description,
    roles: [role],
    scope: where === everywhere ? "platform" : "tenant",
    tenant_id: where === everywhere ? undefined : where,
    expires_in_days: days === "" ? undefined : Number(days),
  };
}

interface WantedFieldsProps {
  readonly said: Wanted;
  readonly reply: Reply<unknown> | undefined;
  readonly onChange: (part: Partial<Wanted>) => void;
}

function WantedFields({ said, reply, onChange }: WantedFieldsProps) {
  const { caller } = useConsole();
  return (
    <>
      <TextField
        label="Name"
        member="name"
        reply={reply}
        hint="What presents it, or where it runs."
        max={100}
        value={said.name}
        onChange={(name) => onChange({ name })}
      />
      <TextField
        label="Description"
        member="description"
        reply={reply}
        max={500}
        value={said.description}
        onChange={(description) => onChange({ description })}
      />
      <ChoiceField
        label="Role"
        member="roles"
        reply={reply}
        hint={roleHints[said.role]}
        value={said.role}
        choices={sameWords(roles)}
        onChange={(word) => onChange({ role: parseRole(word) ?? "auditor" })}
      />
      <TenantField
        label="Where"
        member="tenant_id"
        reply={reply}
        value={said.where}
        others={[everyTenant(mayEverywhere(caller, "token:manage"))]}
        onChange={(where) => onChange({ where })}
      />
      <NumberField
        label="Days it lives"
        member="expires_in_days"
        reply={reply}
        hint="Empty: as long as the configuration allows."
        least={1}
        value={said.days}
        onChange={(days) => onChange({ days })}
      />
    </>
  );
}

const everyTenant = (allowed: boolean): Choice => ({
  value: everywhere,
  label: allowed ? "Every tenant" : "Every tenant (needs token:manage on the whole platform)",
  disabled: !allowed,
});

const roleHints: Readonly<Record<Role, string>> = {
  admin: "Everything in its scope.",
  issuer: "Issues, renews and revokes certificates, and reads.",
  auditor: "Reads, events included; changes nothing.",
  approver: "Decides what waits for a second person.",
};
/** No slug has a star. */
const everywhere = "*";
