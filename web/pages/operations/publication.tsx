/** What relying parties are given: each CA's lists, the responders of OCSP, static snapshots. */

import type { Answers } from "#api/answers.ts";
import { hrefOf } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { Action } from "#web/ui/action.tsx";
import { Outcome } from "#web/ui/asked.tsx";
import { Copy } from "#web/ui/copy.tsx";
import { useSend } from "#web/ui/form.tsx";
import { Heading } from "#web/ui/heading.tsx";
import { type Column, List, type RowOf } from "#web/ui/list.tsx";
import { Status } from "#web/ui/status.tsx";
import { Distance, Time } from "#web/ui/time.tsx";
import { serverNow } from "#web/server-clock.ts";

type Published = RowOf<"crl.list">;

/** Of the chosen tenant, newest CA first. */
export function PublicationPart() {
  const { tenant } = useAddress().query;
  const presign = useSend("ocsp.presign");
  const publish = useSend("publish.run");
  return (
    <>
      <Heading name="Publication">
        <Action operation="ocsp.presign" look="outlined" onClick={() => void presign.send({})}>
          Sign OCSP answers ahead
        </Action>
        <Action operation="publish.run" look="outlined" onClick={() => void publish.send({})}>
          Publish a snapshot
        </Action>
      </Heading>
      <Outcome reply={presign.reply} />
      {presign.reply?.kind === "answered" && (
        <p role="status">{presign.reply.answer.responses} answers were signed.</p>
      )}
      <Outcome reply={publish.reply} />
      {publish.reply?.kind === "answered" && (
        <p role="status">{publish.reply.answer.artifacts} files were published.</p>
      )}
      <List
        name="crl.list"
        members={{ tenant }}
        caption="Lists and responder of each CA"
        columns={columns}
        keyOf={({ ca_id }) => ca_id}
        live={["ca.*", "crl.*", "ocsp.*"]}
        empty={<NoCa />}
        above={({ presigned }) => <Presigned presigned={presigned} />}
      />
    </>
  );
}

function NoCa() {
  return (
    <>
      <p>There is no authority yet, so nothing is published.</p>
      <Action
        operation="ca.init_root"
        href={hrefOf(["authorities"], { dialog: "root" })}
        look="primary"
      >
        Create a root
      </Action>
      <Copy text="pkid ca init-root --label root --cn 'Example Root'" name="command" />
    </>
  );
}

function Presigned({ presigned }: Pick<Answers["crl.list"], "presigned">) {
  const { enabled, answers, swept_at, complete } = presigned;
  if (!enabled) return <p class="quiet">OCSP answers are signed when they are asked for.</p>;
  return (
    <p class="quiet">
      {answers.toLocaleString("en")} OCSP answers are signed ahead;{" "}
      {swept_at === undefined ? (
        "no sweep has ended yet."
      ) : (
        <>
          the last sweep ended <Distance at={swept_at} />{" "}
          {complete === false && <Status word="not everything was signed" tone="bad" />}
        </>
      )}
    </p>
  );
}

const columns: readonly Column<Published>[] = [
  {
    name: "CA",
    cell: ({ ca_id, ca_label }) => <a href={hrefOf(["authorities", ca_id])}>{ca_label}</a>,
  },
  {
    name: "List",
    cell: ({ base }) => (
      <>
        {base.number ?? "none"} {base.expired && <Status word="expired" />}
      </>
    ),
  },
  // thisUpdate is backdated, so it is not when the list was signed.
  { name: "Published", wide: true, cell: ({ base }) => <Time at={base.published_at} /> },
  { name: "Next", cell: ({ base }) => <Distance at={base.next_update} /> },
  { name: "Entries", wide: true, cell: ({ base }) => base.revoked_count.toLocaleString("en") },
  { name: "Delta", wide: true, cell: ({ delta }) => delta.number ?? "none" },
  { name: "OCSP responder ends", wide: true, cell: (one) => <Responder one={one} /> },
  { name: "Now", cell: (one) => <SignNow one={one} /> },
];

function Responder({ one: { responder } }: { readonly one: Published }) {
  if (responder === undefined) return <span class="quiet">none yet</span>;
  const expired = Date.parse(responder.not_after) <= serverNow();
  return (
    <>
      <Distance at={responder.not_after} /> {expired && <Status word="expired" />}
    </>
  );
}

function SignNow({ one: { ca_id, ca_status, tenant_id } }: { readonly one: Published }) {
  const { send, busy, reply } = useSend("crl.publish");
  return (
    <>
      <Action
        operation="crl.publish"
        where={{ caId: ca_id, tenantId: tenant_id }}
        look="outlined"
        unless={ca_status === "pending" ? "It waits for its certificate." : undefined}
        onClick={() => void send({ id: ca_id })}
      >
        {busy ? "Signing…" : "Sign now"}
      </Action>
      <Outcome reply={reply} />
    </>
  );
}
