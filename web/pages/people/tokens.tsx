/** API tokens: who made them, what they may do, and the secret, shown once. */

import { useState } from "preact/hooks";
import { type Role, roles } from "#core/access/roles.ts";
import { hrefOf, hrefWith, visit } from "#web/address.ts";
import { useAddress, useConsole } from "#web/console.ts";
import { Action, Gates } from "#web/ui/action.tsx";
import { Confirm } from "#web/ui/confirm.tsx";
import { Copy } from "#web/ui/copy.tsx";
import { Field, SendForm, useSend } from "#web/ui/form.tsx";
import { Heading } from "#web/ui/heading.tsx";
import { Dialog, Panel, useDialog } from "#web/ui/layers.tsx";
import { type Column, List, type RowOf } from "#web/ui/list.tsx";
import { Status } from "#web/ui/status.tsx";
import { Distance, Time } from "#web/ui/time.tsx";
import { useAsked, Waiting } from "#web/ui/asked.tsx";

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
              <Copy text="pkid token create deploy-bot --role issuer" name="command" />
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
  const over = expires_at !== undefined && Date.parse(expires_at) <= Date.now();
  return over ? "expired" : "active";
}

/** One token: found on the pages of the list, which has no look-up by id. */
function ApiTokenPanel({ id }: { readonly id: string }) {
  const address = useAddress();
  const { tenants } = useConsole();
  const { open, close } = useDialog();
  const { reply, refresh } = useAsked("token.list", { limit: 500 }, ["token.*"]);
  const closeHref = hrefOf(["people", "tokens"], address.query);
  if (reply === undefined) return <Waiting />;
  const row = reply.kind === "answered" && reply.answer.items.find((one) => one.id === id);
  if (!row) {
    return (
      <Panel title="No such API token" closeHref={closeHref}>
        <p>It is not among the newest 500 that you may see.</p>
      </Panel>
    );
  }
  const state = stateOf(row);
  const owner = tenants.find((tenant) => tenant.id === row.tenant_id);
  return (
    <Panel
      title={row.name}
      closeHref={closeHref}
      actions={
        <Action
          operation="token.revoke"
          href={hrefWith(address, { dialog: "revoke" })}
          look="danger"
          unless={row.revoked ? "It is revoked." : undefined}
        >
          Revoke
        </Action>
      }
    >
      <Status word={state} />
      <dl>
        <dt>Id</dt>
        <dd>
          <Copy text={row.id} name="id" />
        </dd>
        {row.description && (
          <>
            <dt>For</dt>
            <dd>{row.description}</dd>
          </>
        )}
        <dt>Roles</dt>
        <dd>{row.roles.join(", ")}</dd>
        <dt>Scope</dt>
        <dd>{row.scope === "platform" ? "every tenant" : (owner?.slug ?? row.tenant_id)}</dd>
        <dt>Made</dt>
        <dd>
          <Time at={row.created_at} /> by {row.created_by_name ?? row.created_by}
        </dd>
        <dt>Expires</dt>
        <dd>{row.expires_at === undefined ? "never" : <Time at={row.expires_at} />}</dd>
        <dt>Last used</dt>
        <dd>
          <Time at={row.last_used_at} /> {row.last_used_ip && `from ${row.last_used_ip}`}
        </dd>
        {row.revoked_at && (
          <>
            <dt>Revoked</dt>
            <dd>
              <Time at={row.revoked_at} /> by {row.revoked_by}
            </dd>
          </>
        )}
      </dl>
      {open === "revoke" && (
        <Confirm
          operation="token.revoke"
          members={{ id }}
          title={`Revoke ${row.name}`}
          does={`Revoke ${row.name}`}
          onClose={close}
          onDone={() => {
            refresh();
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

function NewApiToken({ onClose }: { readonly onClose: () => void }) {
  const { tenants } = useConsole();
  const { tenant: chosen } = useAddress().query;
  const { send, busy, reply } = useSend("token.create");
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const [role, setRole] = useState<Role>("issuer");
  const [where, setWhere] = useState(chosen ?? tenants[0]?.slug ?? "default");
  const [days, setDays] = useState("90");
  const submit = () => {
    const scope = where === everywhere ? { scope: "platform" } : { tenant_id: where };
    const life = days === "" ? {} : { expires_in_days: Number(days) };
    void send({ name, description, roles: [role], ...scope, ...life });
  };
  if (reply?.kind === "answered") {
    const { secret, id } = reply.answer;
    return (
      <Dialog title="The secret, this once" onClose={() => visit(hrefOf(["people", "tokens", id]))}>
        <p>Nobody can show it again: copy it now to where it is needed.</p>
        <p class="notice good">
          <Copy text={secret} name="secret" />
        </p>
        <p class="quiet small">
          <code>Authorization: Token {secret.slice(0, 13)}…</code>
        </p>
        <div class="buttons">
          <a class="button primary" href={hrefOf(["people", "tokens", id])}>
            I have it
          </a>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog title="New API token" onClose={onClose}>
      <SendForm
        onSend={submit}
        busy={busy}
        reply={reply}
        does="Make the token"
        onCancel={onClose}
        disabled={name === ""}
      >
        <Field label="Name" member="name" reply={reply} hint="What presents it, or where it runs.">
          {(control) => (
            <input
              {...control}
              type="text"
              maxLength={100}
              value={name}
              onInput={({ currentTarget }) => setName(currentTarget.value)}
            />
          )}
        </Field>
        <Field label="Description" member="description" reply={reply}>
          {(control) => (
            <input
              {...control}
              type="text"
              maxLength={500}
              value={description}
              onInput={({ currentTarget }) => setDescription(currentTarget.value)}
            />
          )}
        </Field>
        <Field label="Role" member="roles" reply={reply} hint={roleHints[role]}>
          {(control) => (
            <select
              {...control}
              value={role}
              onChange={({ currentTarget }) =>
                setRole(roles.find((one) => one === currentTarget.value) ?? "auditor")
              }
            >
              {roles.map((one) => (
                <option key={one} value={one}>
                  {one}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label="Where" member="tenant_id" reply={reply}>
          {(control) => (
            <select
              {...control}
              value={where}
              onChange={({ currentTarget }) => setWhere(currentTarget.value)}
            >
              {tenants.map(({ slug, name: full }) => (
                <option key={slug} value={slug}>
                  {full}
                </option>
              ))}
              <option value={everywhere}>Every tenant</option>
            </select>
          )}
        </Field>
        <Field
          label="Days it lives"
          member="expires_in_days"
          reply={reply}
          hint="Empty: as long as the configuration allows."
        >
          {(control) => (
            <input
              {...control}
              type="number"
              min={1}
              max={36_500}
              value={days}
              onInput={({ currentTarget }) => setDays(currentTarget.value)}
            />
          )}
        </Field>
        <Gates operation="token.create" />
      </SendForm>
    </Dialog>
  );
}

const roleHints: Readonly<Record<Role, string>> = {
  admin: "Everything in its scope.",
  issuer: "Issues, renews and revokes certificates, and reads.",
  auditor: "Reads, events included; changes nothing.",
  approver: "Decides what waits for a second person.",
};
/** No slug has a star. */
const everywhere = "*";
