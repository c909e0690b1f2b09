/** Keys that accounts of ACME are bound to, and what each may ask for. */

import { useState } from "preact/hooks";
import { hrefOf, hrefWith, visit } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { Action, Gates } from "#web/ui/action.tsx";
import { useAsked, Waiting } from "#web/ui/asked.tsx";
import { Confirm } from "#web/ui/confirm.tsx";
import { Copy } from "#web/ui/copy.tsx";
import { Field, SendForm, useSend } from "#web/ui/form.tsx";
import { type Filter, Filters } from "#web/ui/filters.tsx";
import { Heading } from "#web/ui/heading.tsx";
import { Dialog, Panel, useDialog } from "#web/ui/layers.tsx";
import { type Column, List, type RowOf } from "#web/ui/list.tsx";
import { Status } from "#web/ui/status.tsx";
import { Distance, Time } from "#web/ui/time.tsx";
import type { AcmeDirectory } from "./directories.tsx";

type Credential = RowOf<"acme.eab.list">;

interface CredentialsPartProps {
  readonly id: string | undefined;
  readonly directories: readonly AcmeDirectory[];
}

export function CredentialsPart({ id, directories }: CredentialsPartProps) {
  const address = useAddress();
  const { open, close } = useDialog();
  const newCredential = (
    <Action operation="acme.eab.create" href={hrefWith(address, { dialog: "new" })} look="primary">
      New credential
    </Action>
  );
  return (
    <>
      <Heading name="Credentials">{newCredential}</Heading>
      <Filters filters={filters} />
      <div class="beside">
        <List
          name="acme.eab.list"
          members={{ status: address.query.status }}
          caption="Credentials, newest first"
          columns={columns}
          keyOf={(row) => row.id}
          hrefOf={(row) => hrefOf(["enrolment", "credentials", row.id], address.query)}
          selected={id}
          live={["acme.eab.*", "acme.account.new"]}
          empty={
            <>
              <p>
                No credential fits. One binds the accounts of a machine to the names it may ask for.
              </p>
              {newCredential}
              <Copy text="pkid acme eab create web --dns-suffix example.com" name="command" />
            </>
          }
        />
        {id !== undefined && <CredentialPanel id={id} />}
      </div>
      {open === "new" && <NewCredential directories={directories} onClose={close} />}
    </>
  );
}

const columns: readonly Column<Credential>[] = [
  { name: "Name", cell: ({ name }) => name },
  { name: "May ask for", cell: limitsOf },
  { name: "State", cell: ({ status }) => <Status word={status} /> },
  {
    name: "Uses",
    wide: true,
    cell: ({ uses, max_uses }) => `${uses} of ${max_uses === 0 ? "unlimited" : max_uses}`,
  },
  { name: "Expires", wide: true, cell: ({ expires_at }) => <Time at={expires_at} /> },
  { name: "Last used", wide: true, cell: ({ last_used_at }) => <Distance at={last_used_at} /> },
];

function limitsOf({
  any_identifier,
  dns_suffixes,
  ip_ranges,
  allow_wildcards,
}: Credential): string {
  if (any_identifier) return "any name";
  const names = [...dns_suffixes, ...ip_ranges].join(", ");
  return allow_wildcards ? `${names}, wildcards too` : names;
}

const filters: readonly Filter[] = [
  {
    name: "status",
    label: "State",
    choices: ["active", "exhausted", "expired", "revoked"].map((value) => ({
      value,
      label: value,
    })),
  },
];

/** One credential: found on the pages of the list, which has no look-up by id. */
function CredentialPanel({ id }: { readonly id: string }) {
  const address = useAddress();
  const { open, close } = useDialog();
  const { reply, refresh } = useAsked("acme.eab.list", { limit: 500 }, ["acme.eab.*"]);
  const closeHref = hrefOf(["enrolment", "credentials"], address.query);
  if (reply === undefined) return <Waiting />;
  const row = reply.kind === "answered" && reply.answer.items.find((one) => one.id === id);
  if (!row) {
    return (
      <Panel title="No such credential" closeHref={closeHref}>
        <p>It is not among the newest 500 that you may see.</p>
      </Panel>
    );
  }
  return (
    <Panel
      title={row.name}
      closeHref={closeHref}
      actions={
        <Action
          operation="acme.eab.revoke"
          where={{ tenantId: row.tenant_id }}
          href={hrefWith(address, { dialog: "revoke" })}
          look="danger"
          unless={row.status === "revoked" ? "It is revoked." : fromConfig(row)}
        >
          Revoke
        </Action>
      }
    >
      <Status word={row.status} />
      <dl>
        <dt>Key identifier</dt>
        <dd>
          <Copy text={row.id} name="key identifier" />
        </dd>
        <dt>Directory</dt>
        <dd>{row.directory}</dd>
        <dt>May ask for</dt>
        <dd>{limitsOf(row)}</dd>
        {row.profile && (
          <>
            <dt>Profile</dt>
            <dd>{row.profile}</dd>
          </>
        )}
        {row.description && (
          <>
            <dt>For</dt>
            <dd>{row.description}</dd>
          </>
        )}
        <dt>Uses</dt>
        <dd>
          {row.uses} of {row.max_uses === 0 ? "unlimited" : row.max_uses}
        </dd>
        <dt>Made</dt>
        <dd>
          <Time at={row.created_at} /> by {row.created_by}
        </dd>
        <dt>Expires</dt>
        <dd>{row.expires_at === undefined ? "never" : <Time at={row.expires_at} />}</dd>
      </dl>
      {open === "revoke" && (
        <Confirm
          operation="acme.eab.revoke"
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
            It binds no more accounts, and those it has bound order nothing more. Certificates they
            have stay good.
          </p>
        </Confirm>
      )}
    </Panel>
  );
}

const fromConfig = ({ source }: Credential): string | undefined =>
  source === "config" ? "It stands in the configuration." : undefined;

interface NewCredentialProps {
  readonly directories: readonly AcmeDirectory[];
  readonly onClose: () => void;
}

function NewCredential({ directories, onClose }: NewCredentialProps) {
  const { send, busy, reply } = useSend("acme.eab.create");
  const [said, setSaid] = useState({
    directory: directories[0]?.name ?? "",
    name: "",
    suffixes: "",
    ranges: "",
    wildcards: false,
    any: false,
    uses: "1",
    days: "30",
  });
  const change = (part: Partial<typeof said>) => setSaid({ ...said, ...part });
  const submit = () =>
    void send({
      directory: said.directory,
      name: said.name,
      dns_suffixes: listIn(said.suffixes),
      ip_ranges: listIn(said.ranges),
      allow_wildcards: said.wildcards,
      any_identifier: said.any,
      max_uses: Number(said.uses),
      expires_in_days: said.days === "" ? undefined : Number(said.days),
    });
  if (reply?.kind === "answered") {
    const { id, hmac_key, directory_url } = reply.answer;
    return (
      <Dialog
        title="The key, this once"
        onClose={() => visit(hrefOf(["enrolment", "credentials", id]))}
      >
        <p>Nobody can show it again: copy it now to where the client is configured.</p>
        <dl class="notice good">
          <dt>Directory</dt>
          <dd>
            <Copy text={directory_url} name="address" />
          </dd>
          <dt>KID</dt>
          <dd>
            <Copy text={id} name="key identifier" />
          </dd>
          <dt>KEY</dt>
          <dd>
            <Copy text={hmac_key} name="key" />
          </dd>
        </dl>
        <div class="buttons">
          <a class="button primary" href={hrefOf(["enrolment", "credentials", id])}>
            I have it
          </a>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog title="New credential" onClose={onClose}>
      <SendForm
        onSend={submit}
        busy={busy}
        reply={reply}
        does="Make the credential"
        onCancel={onClose}
        disabled={said.name === ""}
      >
        <Field label="Directory" member="directory" reply={reply}>
          {(control) => (
            <select
              {...control}
              value={said.directory}
              onChange={({ currentTarget }) => change({ directory: currentTarget.value })}
            >
              {directories.map(({ name }) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          )}
        </Field>
        <TextField
          label="Name"
          member="name"
          reply={reply}
          hint="Whose machines use it."
          value={said.name}
          onInput={(name) => change({ name })}
        />
        <TextField
          label="DNS names below"
          member="dns_suffixes"
          reply={reply}
          hint="example.com is that name and all below it; several with commas."
          value={said.suffixes}
          onInput={(suffixes) => change({ suffixes })}
        />
        <TextField
          label="IP addresses in"
          member="ip_ranges"
          reply={reply}
          hint="10.0.0.0/8; several with commas."
          value={said.ranges}
          onInput={(ranges) => change({ ranges })}
        />
        <label class="check">
          <input
            type="checkbox"
            checked={said.wildcards}
            onChange={({ currentTarget }) => change({ wildcards: currentTarget.checked })}
          />
          wildcards too
        </label>
        <label class="check">
          <input
            type="checkbox"
            checked={said.any}
            onChange={({ currentTarget }) => change({ any: currentTarget.checked })}
          />
          any name at all
        </label>
        <TextField
          label="Accounts it may bind"
          member="max_uses"
          reply={reply}
          hint="0 is unlimited."
          value={said.uses}
          onInput={(uses) => change({ uses })}
        />
        <TextField
          label="Days it lives"
          member="expires_in_days"
          reply={reply}
          hint="Empty: until it is revoked."
          value={said.days}
          onInput={(days) => change({ days })}
        />
        <Gates operation="acme.eab.create" />
      </SendForm>
    </Dialog>
  );
}

interface TextFieldProps {
  readonly label: string;
  readonly member: string;
  readonly reply: Parameters<typeof Field>[0]["reply"];
  readonly hint: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
}

const TextField = ({ label, member, reply, hint, value, onInput }: TextFieldProps) => (
  <Field label={label} member={member} reply={reply} hint={hint}>
    {(control) => (
      <input
        {...control}
        type="text"
        value={value}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
    )}
  </Field>
);

const listIn = (text: string): readonly string[] =>
  text.split(/[\s,]+/).filter((one) => one !== "");
