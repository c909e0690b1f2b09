/** Walks the whole chain on the server and says what it came to. */

import { useEffect, useState } from "preact/hooks";
import { hrefOf } from "#web/address.ts";
import { useRight } from "#web/rights.ts";
import { useSend } from "#web/ui/form.tsx";
import { Outcome, useAside, Withheld } from "#web/ui/asked.tsx";
import { Fingerprint } from "#web/ui/copy.tsx";
import { Dialog } from "#web/ui/layers.tsx";
import { Status } from "#web/ui/status.tsx";

/** Begins when it is opened. */
export function VerifyDialog({ onClose }: { readonly onClose: () => void }) {
  const { send, busy, reply } = useSend("event.verify");
  const newest = useAside("event.list", { limit: 1 });
  const total = newest.reply?.kind === "answered" ? newest.reply.answer.total : undefined;
  const seconds = useSeconds(busy);
  const right = useRight("event.verify");
  useEffect(() => {
    if (right.allowed) void send({});
  }, []);
  const broken = reply?.kind === "refused" ? reply.refusal.facts.broken_at_seq : undefined;
  return (
    <Dialog title="Verify the audit chain" onClose={onClose}>
      {busy && (
        <>
          <p role="status">
            Every event{total === undefined ? "" : ` of ${total.toLocaleString("en")}`} is read and
            hashed again, for {seconds} s so far.
          </p>
          <progress aria-label="Verifying" />
        </>
      )}
      {reply?.kind === "answered" && (
        <>
          <p role="status">
            <Status word="valid" /> {reply.answer.events.toLocaleString("en")} events, no gap, no
            broken link.
          </p>
          <dl>
            <dt>Head</dt>
            <dd class="mono">{reply.answer.head_seq}</dd>
            <dt>Hash</dt>
            <dd>
              <Fingerprint text={reply.answer.head_hash} name="hash of the head" />
            </dd>
          </dl>
        </>
      )}
      {!right.allowed && <Withheld>{right.reason}</Withheld>}
      <Outcome reply={reply} />
      {typeof broken === "number" && (
        <p>
          <a href={hrefOf(["events", String(broken)])}>Open event {broken}</a>
        </p>
      )}
      <div class="buttons">
        <button type="button" class="button primary" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}

function useSeconds(running: boolean): number {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    if (!running) return;
    const timer = setInterval(() => setSeconds((count) => count + 1), 1_000);
    return () => clearInterval(timer);
  }, [running]);
  return seconds;
}
