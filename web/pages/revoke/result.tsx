/** How far a bulk revocation is, and what relying parties see of it. */

import { useEffect, useState } from "preact/hooks";
import type { Answers } from "#api/answers.ts";
import { hrefOf } from "#web/address.ts";
import { useConsole } from "#web/console.ts";
import { Asked } from "#web/ui/asked.tsx";
import { Copy } from "#web/ui/copy.tsx";
import { Facts } from "#web/ui/facts.tsx";
import { Status } from "#web/ui/status.tsx";
import { Time } from "#web/ui/time.tsx";

export type Result = Extract<Answers["cert.revoke_bulk"], { readonly revoked: number }>;

interface ProgressProps {
  readonly operationId: string;
  readonly total: number;
}

/** Counts the events of the run as the feed tells them; without one it only says that it runs. */
export function Progress({ operationId, total }: ProgressProps) {
  const { feed } = useConsole();
  const [done, setDone] = useState(0);
  useEffect(() => {
    const mark = `bulk_op=${operationId}`;
    return feed.listen({
      onEvents: (events) => {
        const own = events.filter(({ detail = "" }) => detail.split(" ").includes(mark));
        if (own.length > 0) setDone((count) => count + own.length);
      },
    });
  }, [feed, operationId]);
  return (
    <p class="use" role="status">
      <span>
        {done === 0 ? "It runs." : `${done.toLocaleString("en")} of ${total.toLocaleString("en")}`}
      </span>
      <progress aria-label="Revoked" max={total} value={done === 0 ? undefined : done} />
    </p>
  );
}

interface ResultShownProps {
  readonly ca: Answers["ca.show"];
  readonly result: Result;
}

/** The figures of the run, and the lists as they are now. */
export function ResultShown({ ca, result }: ResultShownProps) {
  const { operation_id, crl_scopes, presign_error } = result;
  return (
    <div class="notice good" role="status">
      <h3>
        <Status word="success" tone="good" /> {result.revoked.toLocaleString("en")} revoked
      </h3>
      <Facts
        of={{
          Planned: result.planned.toLocaleString("en"),
          "From hold to revoked": result.upgraded > 0 && result.upgraded.toLocaleString("en"),
          "Revoked before":
            result.already_skipped > 0 && result.already_skipped.toLocaleString("en"),
          Run: <Copy text={operation_id} name="operation id" />,
          Took: `${result.duration_seconds} s`,
          Events: <a href={hrefOf(["events"], { action: "cert.revoke_bulk" })}>its summary</a>,
        }}
      />
      <h3>What relying parties see now</h3>
      <Facts
        of={{
          OCSP: "revoked, from the first answer on",
          "Answers signed ahead": presign_error ?? result.presign_refreshed.toLocaleString("en"),
          "Lists signed": crl_scopes.join(", ") || "none",
        }}
      />
      <Asked name="crl.status" members={{ id: ca.id }} live={["crl.publish"]}>
        {({ base }) => (
          <p>
            CRL number {base.number}, <Time at={base.published_at ?? base.this_update} />, with{" "}
            {base.revoked_count.toLocaleString("en")} entries.
          </p>
        )}
      </Asked>
    </div>
  );
}
