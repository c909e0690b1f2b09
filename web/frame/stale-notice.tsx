/** Says that what the page shows could not be read again, and asks anew. */

import { useEffect, useState } from "preact/hooks";
import { useConsole } from "#web/console.ts";
import { Copy } from "#web/ui/copy.tsx";

/** Above the page, whose forms stay as they are; nothing while all is as the server last said. */
export function StaleNotice() {
  const { stale } = useConsole();
  const [reads, setReads] = useState(stale.all);
  useEffect(() => stale.listen(() => setReads(stale.all)), [stale]);
  const [first] = reads;
  if (first === undefined) return null;
  const { sentence, code, requestId } = first.refusal;
  return (
    <div class="notice warn frame-notice" role="status">
      <p>
        <span aria-hidden="true">◔ </span>
        {reads.some(({ isMissing }) => isMissing !== true) ? outOfDate : missing} {sentence}
      </p>
      <p class="quiet small">
        <code>{code}</code>
        {requestId !== "" && (
          <>
            {" · request "}
            <Copy text={requestId} name="request id" />
          </>
        )}
      </p>
      <p>
        <button
          type="button"
          class="button"
          onClick={() => {
            for (const { again } of reads) again();
          }}
        >
          Try again
        </button>
      </p>
    </div>
  );
}

const outOfDate = "What is shown may be out of date: it could not be read again.";
const missing = "Not all that belongs here could be read.";
