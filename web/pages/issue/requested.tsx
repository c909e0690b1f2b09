/** A certificate that waits for somebody's approval: how it stands, and the key until then. */

import { useEffect } from "preact/hooks";
import { hrefOf, visit } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { type KeptKey, useKeyring } from "#web/keyring.ts";
import { Asked, Outcome, useAsked } from "#web/ui/asked.tsx";
import { Heading } from "#web/ui/heading.tsx";
import { Status } from "#web/ui/status.tsx";
import { Distance } from "#web/ui/time.tsx";
import type { Above } from "./result.tsx";
import { SaveKeyFile } from "./saving.tsx";

interface RequestedProps {
  readonly approvalId: string;
  readonly above: readonly Above[];
}

/** Goes on to the certificate as soon as there is one. */
export function Requested({ approvalId, above }: RequestedProps) {
  const address = useAddress();
  const keyring = useKeyring();
  const kept = keyring.find(address.query.key);
  const reply = useCertificateOf(approvalId);
  const waits = reply?.kind === "parked";
  return (
    <>
      <Heading name="Waits for approval" above={above} />
      <div class="pair">
        <section class="card">
          <h2>Request</h2>
          <Asked name="approval.show" members={{ id: approvalId }} live={decided}>
            {({ summary, status, expires_at, required_approvals, approvals_count }) => (
              <dl>
                <dt>What</dt>
                <dd>{summary}</dd>
                <dt>Status</dt>
                <dd>
                  <Status word={status} />
                </dd>
                <dt>Approvals</dt>
                <dd>
                  {approvals_count} of {required_approvals}
                </dd>
                <dt>Ends</dt>
                <dd>
                  <Distance at={expires_at} />
                </dd>
              </dl>
            )}
          </Asked>
          {reply?.kind === "refused" && <Outcome reply={reply} />}
          <p>
            <a class="button" href={hrefOf(["approvals", approvalId])}>
              Open the request
            </a>
          </p>
          {waits && (
            <p class="quiet">
              This page goes on to the certificate when it is made. You may come back to its
              address.
            </p>
          )}
        </section>
        <KeyUntilThen kept={kept} />
      </div>
    </>
  );
}

/** Asks until it is there, and goes to it then. */
function useCertificateOf(approvalId: string) {
  const { reply, refresh } = useAsked("approval.certificate", { id: approvalId }, decided);
  const waits = reply?.kind === "parked";
  useEffect(() => {
    if (reply?.kind !== "answered" || !("serial" in reply.answer)) return;
    const { ca_id, serial } = reply.answer;
    visit(hrefOf(["issue", "result", ca_id, serial]), { replace: true });
  }, [reply]);
  useEffect(() => {
    if (!waits) return;
    // Who may not read events hears of nothing by itself.
    const timer = setInterval(refresh, pollMs);
    return () => clearInterval(timer);
  }, [waits, refresh]);
  return reply;
}

function KeyUntilThen({ kept }: { readonly kept: KeptKey | undefined }) {
  const keyring = useKeyring();
  return (
    <section class="card">
      <h2>Private key</h2>
      {kept === undefined && (
        <p class="quiet">
          This tab does not have the key: it is where the request was made, or in the file you
          saved.
        </p>
      )}
      {kept?.saved && (
        <p class="good" role="status">
          <span aria-hidden="true">● </span>The key is in a file of yours. You may close this tab.
        </p>
      )}
      {kept !== undefined && !kept.saved && (
        <>
          <p class="warn">
            <span aria-hidden="true">◔ </span>The key is in this tab alone. Keep the tab open until
            the certificate is made, or save the key now.
          </p>
          <SaveKeyFile
            made={kept}
            name={kept.name}
            onSaved={() => keyring.saved(kept.key.fingerprint)}
          />
        </>
      )}
    </section>
  );
}

const decided = ["cert.issue", "cert.issue.*", "cert.renew"];
const pollMs = 5_000;
