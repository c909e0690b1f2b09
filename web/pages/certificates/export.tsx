/** The list as a file: the page reads it in parts and writes it, up to a bound that it says. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { QueryChange } from "#web/address.ts";
import { ask, type Reply, replied } from "#web/api.ts";
import { useConsole } from "#web/console.ts";
import { Outcome } from "#web/ui/asked.tsx";
import { Copy } from "#web/ui/copy.tsx";
import { save } from "#web/ui/download.tsx";
import { Dialog } from "#web/ui/layers.tsx";
import type { Authority } from "./authorities.ts";
import { csvHead, csvRow } from "./csv.ts";

interface ExportDialogProps {
  /** One, or those that are searched; read one after the other. */
  readonly cas: readonly Authority[];
  readonly name: string;
  /** The filters of the list. */
  readonly members: QueryChange;
  readonly onClose: () => void;
}

/** Reads when told to; closing it ends that. */
export function ExportDialog({ cas, name, members, onClose }: ExportDialogProps) {
  const { read, total, reading, refused, begin } = useReading(cas, members);
  const [only] = cas.length === 1 ? cas : [];
  const whole = total === undefined || total <= rowsMax;
  return (
    <Dialog title={`Export certificates of ${name}`} onClose={onClose}>
      <p>
        The certificates that the filters select become a CSV file, newest first, without the
        certificates themselves. At most {rowsMax.toLocaleString("en")} rows are written.
      </p>
      <p role="status">
        {read > 0 && total !== undefined && (
          <>
            {read.toLocaleString("en")} of {Math.min(total, rowsMax).toLocaleString("en")} rows read
            {!reading && refused === undefined && "; the file has been saved"}.
          </>
        )}
        {read === 0 && reading && "Asking…"}
      </p>
      {!whole && (
        <p class="notice warn">
          {`The list has ${total.toLocaleString("en")} rows, more than the file holds.`} Choose
          filters that select fewer{only === undefined && "."}
          {only !== undefined && (
            <>
              , or have the command line write all of them:{" "}
              <Copy text={`pkid cert list --ca ${only.label} --csv --all`} name="command" />
            </>
          )}
        </p>
      )}
      <Outcome reply={refused} />
      <div class="buttons">
        <button type="button" class="button plain" onClick={onClose}>
          {reading ? "Stop" : "Close"}
        </button>
        <button type="button" class="button primary" disabled={reading} onClick={begin}>
          {reading ? "Reading…" : "Save as CSV"}
        </button>
      </div>
    </Dialog>
  );
}

function useReading(cas: readonly Authority[], members: QueryChange) {
  const { credential } = useConsole();
  const [read, setRead] = useState(0);
  const [total, setTotal] = useState<number>();
  const [reading, setReading] = useState(false);
  const [refused, setRefused] = useState<Reply<unknown>>();
  const stop = useRef(new AbortController());
  useEffect(() => () => stop.current.abort(), []);
  const begin = async () => {
    setReading(true);
    setRefused(undefined);
    const { signal } = stop.current;
    const lines = [csvHead()];
    let before = 0;
    for (const { id } of cas) {
      let cursor: string | undefined;
      let found = 0;
      do {
        const limit = Math.min(500, Math.max(1, rowsMax + 1 - lines.length));
        const asked = { id, limit, ...members, cursor };
        const reply = await replied(ask("cert.list", asked, credential, signal));
        if (signal.aborted) return;
        if (reply.kind !== "answered") {
          setRefused(reply);
          setReading(false);
          return;
        }
        const { items, next_cursor } = reply.answer;
        lines.push(...items.slice(0, rowsMax + 1 - lines.length).map(csvRow));
        found = reply.answer.total;
        setTotal(before + found);
        setRead(lines.length - 1);
        cursor = next_cursor === "" ? undefined : next_cursor;
      } while (cursor !== undefined && lines.length <= rowsMax);
      before += found;
    }
    const [only] = cas.length === 1 ? cas : [];
    const file = only === undefined ? "certificates.csv" : `${only.label}-certificates.csv`;
    save(file, new Blob(lines, { type: "text/csv" }));
    setReading(false);
  };
  return { read, total, reading, refused, begin: () => void begin() };
}

const rowsMax = 10_000;
