/** What relying parties are given: each CA's lists and how old they are, and static snapshots. */

import { useState } from "preact/hooks";
import type { Answers } from "#api/answers.ts";
import { hrefOf } from "#web/address.ts";
import { Action } from "#web/ui/action.tsx";
import { Asked, Outcome } from "#web/ui/asked.tsx";
import { useSend } from "#web/ui/form.tsx";
import { Heading } from "#web/ui/heading.tsx";
import { Status } from "#web/ui/status.tsx";
import { Distance, Time } from "#web/ui/time.tsx";

type Ca = Answers["ca.list"]["items"][number];

/** The newest CAs that still publish. */
export function PublicationPart() {
  const presign = useSend("ocsp.presign");
  const publish = useSend("publish.run");
  return (
    <>
      <Heading name="Publication">
        <Action operation="ocsp.presign" onClick={() => void presign.send({})}>
          Sign OCSP answers ahead
        </Action>
        <Action operation="publish.run" onClick={() => void publish.send({})}>
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
      <Asked name="ca.list" members={{ limit: casMax }} live={["ca.*"]}>
        {({ items }) => (
          <div class="scroll">
            <table>
              <caption class="unseen">Lists of each CA</caption>
              <thead>
                <tr>
                  {["CA", "List", "Signed", "Next", "Entries", "Delta", "Now"].map((name) => (
                    <th key={name} scope="col">
                      {name}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {items
                  .filter(({ status }) => status !== "pending")
                  .map((ca) => (
                    <Lists key={ca.id} ca={ca} />
                  ))}
              </tbody>
            </table>
          </div>
        )}
      </Asked>
    </>
  );
}

function Lists({ ca }: { readonly ca: Ca }) {
  const { send, busy, reply } = useSend("crl.publish");
  const [round, setRound] = useState(0);
  const publish = async () => {
    await send({ id: ca.id });
    setRound((count) => count + 1);
  };
  return (
    <tr>
      <td>
        <a href={hrefOf(["authorities", ca.id])}>{ca.label}</a>
      </td>
      <Asked key={round} name="crl.status" members={{ id: ca.id }} live={["crl.publish"]}>
        {({ base, delta }) => (
          <>
            <td>
              {base.available ? base.number : "none"} {base.expired && <Status word="expired" />}
            </td>
            <td>
              <Time at={base.this_update} />
            </td>
            <td>
              <Distance at={base.next_update} />
            </td>
            <td>{base.revoked_count.toLocaleString("en")}</td>
            <td>{delta.available ? delta.number : "none"}</td>
          </>
        )}
      </Asked>
      <td>
        <Action
          operation="crl.publish"
          where={{ caId: ca.id, tenantId: ca.tenant_id }}
          onClick={() => void publish()}
        >
          {busy ? "Signing…" : "Sign now"}
        </Action>
        <Outcome reply={reply} />
      </td>
    </tr>
  );
}

const casMax = 50;
