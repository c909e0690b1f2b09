/** Tenants: who shares this instance, what each may use, and what it has used. */

import { useState } from "preact/hooks";
import { hrefOf, hrefWith, visit } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { Action } from "#web/ui/action.tsx";
import { Asked } from "#web/ui/asked.tsx";
import { Confirm } from "#web/ui/confirm.tsx";
import { Copy } from "#web/ui/copy.tsx";
import { Facts } from "#web/ui/facts.tsx";
import { NumberField, TextField } from "#web/ui/fields.tsx";
import { useSend } from "#web/ui/form.tsx";
import { GuardedForm } from "#web/ui/guarded-form.tsx";
import { Heading } from "#web/ui/heading.tsx";
import { Dialog, Panel, useDialog } from "#web/ui/layers.tsx";
import { type Column, List, type RowOf } from "#web/ui/list.tsx";
import { Status } from "#web/ui/status.tsx";
import { Time } from "#web/ui/time.tsx";
import { Usage } from "./usage.tsx";

type Tenant = RowOf<"tenant.list">;

/** `id` opens the panel of one. */
export function TenantsPart({ id }: { readonly id: string | undefined }) {
  const address = useAddress();
  const { open, close } = useDialog();
  const [round, setRound] = useState(0);
  return (
    <>
      <Heading name="Tenants">
        <Action
          operation="tenant.create"
          href={hrefWith(address, { dialog: "new" })}
          look="primary"
        >
          New tenant
        </Action>
      </Heading>
      <div class="beside">
        <List
          key={round}
          name="tenant.list"
          members={{}}
          caption="Tenants, newest first"
          columns={columns}
          keyOf={(row) => row.id}
          hrefOf={(row) => hrefOf(["people", "tenants", row.id])}
          selected={id}
          live={["tenant.*"]}
          empty={
            <>
              <p>You have a role in no tenant. A tenant keeps its own authorities and people.</p>
              <Action
                operation="tenant.create"
                look="outlined"
                href={hrefWith(address, { dialog: "new" })}
              >
                New tenant
              </Action>
              <Copy text="pkid tenant create --slug shop" name="command" />
            </>
          }
        />
        {id !== undefined && (
          <TenantPanel key={`${id}/${round}`} id={id} onDone={() => setRound((n) => n + 1)} />
        )}
      </div>
      {open === "new" && <NewTenant onClose={close} />}
    </>
  );
}

const columns: readonly Column<Tenant>[] = [
  { name: "Name", cell: ({ name }) => name },
  { name: "Slug", cell: ({ slug }) => <span class="mono">{slug}</span> },
  { name: "State", cell: ({ status }) => <Status word={status} /> },
  {
    name: "Certificates a day",
    wide: true,
    cell: ({ quotas }) => (quotas.max_certs_per_day || "unlimited").toLocaleString("en"),
  },
  { name: "Since", wide: true, cell: ({ created_at }) => <Time at={created_at} /> },
];

interface TenantPanelProps {
  readonly id: string;
  readonly onDone: () => void;
}

function TenantPanel({ id, onDone }: TenantPanelProps) {
  return (
    <Asked name="tenant.show" members={{ id }} live={["tenant.*"]}>
      {(tenant) => <Shown tenant={tenant} onDone={onDone} />}
    </Asked>
  );
}

function Shown({ tenant, onDone }: { readonly tenant: Tenant; readonly onDone: () => void }) {
  const { open, close } = useDialog();
  const { id, name, slug, kek_label, status, created_at } = tenant;
  const done = () => {
    close();
    onDone();
  };
  return (
    <Panel
      title={name}
      closeHref={hrefOf(["people", "tenants"])}
      actions={<Changes suspended={status === "suspended"} />}
    >
      <Status word={status} />
      <div class="fields">
        <Facts
          of={{
            Slug: <span class="mono">{slug}</span>,
            Id: <Copy text={id} name="id" />,
            KEK: kek_label,
            Since: <Time at={created_at} />,
          }}
        />
      </div>
      <Usage id={id} />
      {open === "quotas" && <QuotasDialog tenant={tenant} onClose={close} onDone={done} />}
      {open === "status" && <StatusDialog tenant={tenant} onClose={close} onDone={done} />}
      {open === "delete" && (
        <Confirm
          operation="tenant.delete"
          members={{ id }}
          title={`Delete ${name}`}
          does={`Delete ${name}`}
          onClose={close}
          onDone={() => visit(hrefOf(["people", "tenants"]))}
        >
          <p>
            Only a tenant without a CA can be deleted. Its API tokens are revoked; what it did stays
            in the audit chain.
          </p>
        </Confirm>
      )}
    </Panel>
  );
}

function Changes({ suspended }: { readonly suspended: boolean }) {
  const address = useAddress();
  return (
    <>
      <Action
        operation="tenant.update"
        href={hrefWith(address, { dialog: "quotas" })}
        look="outlined"
      >
        Quotas
      </Action>
      <Action
        operation="tenant.status"
        href={hrefWith(address, { dialog: "status" })}
        look="outlined"
      >
        {suspended ? "Let it issue again" : "Suspend"}
      </Action>
      <Action
        operation="tenant.delete"
        href={hrefWith(address, { dialog: "delete" })}
        look="danger"
      >
        Delete
      </Action>
    </>
  );
}

interface TenantDialogProps {
  readonly tenant: Tenant;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

function StatusDialog({ tenant, onClose, onDone }: TenantDialogProps) {
  const suspended = tenant.status === "suspended";
  const does = suspended ? `Let ${tenant.name} issue again` : `Suspend ${tenant.name}`;
  return (
    <Confirm
      operation="tenant.status"
      members={{ id: tenant.id, status: suspended ? "active" : "suspended" }}
      title={does}
      does={does}
      onClose={onClose}
      onDone={onDone}
    >
      <p>
        {suspended
          ? "From the next request on it issues, renews and enrols again."
          : "It cannot issue, renew or enrol until it is let again. Revocation, CRLs and OCSP go on."}
      </p>
    </Confirm>
  );
}

function QuotasDialog({ tenant: { id, quotas }, onClose, onDone }: TenantDialogProps) {
  const { send, busy, reply } = useSend("tenant.update");
  const [wanted, setWanted] = useState({ ...quotas });
  const submit = async () => {
    if ((await send({ id, quotas: wanted })) !== undefined) onDone();
  };
  return (
    <Dialog title="Quotas" onClose={onClose}>
      <GuardedForm
        operation="tenant.update"
        onSend={submit}
        busy={busy}
        reply={reply}
        does="Set the quotas"
        onCancel={onClose}
      >
        {quotaFields.map(({ name, label }) => (
          <NumberField
            key={name}
            label={label}
            member={`quotas.${name}`}
            reply={reply}
            hint="0 is unlimited."
            least={0}
            value={String(wanted[name])}
            onChange={(text) => setWanted({ ...wanted, [name]: Number(text) })}
          />
        ))}
      </GuardedForm>
    </Dialog>
  );
}

const quotaFields = [
  { name: "max_certs_per_day", label: "Certificates a day" },
  { name: "max_active_certs", label: "Certificates that are valid at a time" },
  { name: "rate_limit_per_second", label: "Public requests a second" },
  { name: "rate_limit_burst", label: "Public requests at once" },
] as const;

function NewTenant({ onClose }: { readonly onClose: () => void }) {
  const { send, busy, reply } = useSend("tenant.create");
  const [slug, setSlug] = useState("");
  const [name, setName] = useState("");
  const submit = async () => {
    const made = await send(name === "" ? { slug } : { slug, name });
    if (made !== undefined) visit(hrefOf(["people", "tenants", made.id]));
  };
  return (
    <Dialog title="New tenant" onClose={onClose}>
      <GuardedForm
        operation="tenant.create"
        onSend={submit}
        busy={busy}
        reply={reply}
        does="Make the tenant"
        onCancel={onClose}
        missing={slug === "" ? "Type a slug first." : undefined}
      >
        <TextField
          label="Slug"
          member="slug"
          reply={reply}
          hint="Lower-case letters, digits and hyphens; it stays."
          max={63}
          value={slug}
          onChange={setSlug}
        />
        <TextField
          label="Name"
          member="name"
          reply={reply}
          hint="Empty: the slug."
          value={name}
          onChange={setName}
        />
      </GuardedForm>
    </Dialog>
  );
}
