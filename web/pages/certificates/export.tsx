/** The list as a file: the page reads it in parts and writes it, and says what it does not hold. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { QueryChange } from "#web/address.ts";
import { useAddress, useConsole } from "#web/console.ts";
import { Outcome } from "#web/ui/asked.tsx";
import { Copy } from "#web/ui/copy.tsx";
import { save } from "#web/ui/download.tsx";
import { Dialog } from "#web/ui/layers.tsx";
import type { Authority } from "./authorities.ts";
import { type Export, rowsMax, startedExport, takeEach } from "./export-rows.ts";
import { listLine } from "./line.ts";

interface ExportDialogProps {
  /** Every CA that the caller may see where it is undefined. */
  readonly ca: Authority | undefined;
  /** The filters of the list. */
  readonly members: QueryChange;
  readonly onClose: () => void;
}

/** Reads when told to; closing it ends that. */
export function ExportDialog({ ca, members, onClose }: ExportDialogProps) {
  const { known, reading, begin } = useReading(ca, members);
  return (
    <Dialog title={`Export certificates of ${ca?.label ?? "every CA"}`} onClose={onClose}>
      <p>
        The certificates that the filters select become a CSV file, newest first
        {ca === undefined && " and CA after CA"}, without the certificates themselves. At most{" "}
        {rowsMax.toLocaleString("en")} rows are written.
      </p>
      <p role="status">
        {known !== undefined && <Progress of={known} everyCa={ca === undefined} />}
      </p>
      {known !== undefined && <Missing of={known} ca={ca} members={members} />}
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

interface ProgressProps {
  readonly of: Export;
  readonly everyCa: boolean;
}

function Progress({ of: { rows, total, looked, cas, end }, everyCa }: ProgressProps) {
  if (total === undefined) return <>Asking…</>;
  const most = Math.min(total, rowsMax);
  return (
    <>
      {rows.toLocaleString("en")} of {most.toLocaleString("en")} rows read
      {everyCa && ` in ${looked.toLocaleString("en")} of ${cas.toLocaleString("en")} CAs`}
      {end === "saved" && "; the file has been saved"}
      {end === "stopped" && "; nothing has been saved"}.
    </>
  );
}

interface MissingProps {
  readonly of: Export;
  readonly ca: Authority | undefined;
  readonly members: QueryChange;
}

/** Whatever the file does not hold, or why there is none. */
function Missing({ of: { total = 0, withheld, refused }, ca, members }: MissingProps) {
  return (
    <>
      {total > rowsMax && (
        <p class="notice warn">
          {`The list has ${total.toLocaleString("en")} rows, more than the file holds.`} Choose
          filters that select fewer{ca === undefined && ", or one CA"}
          {ca === undefined && "."}
          {ca !== undefined && (
            <>
              , or have the command line write all of them:{" "}
              <Copy text={`${listLine(ca.label, members)} --csv --all`} name="command" />
            </>
          )}
        </p>
      )}
      {withheld.length > 0 && (
        <div class="notice warn">
          <p>
            The file has nothing of{" "}
            {withheld.length === 1
              ? "one CA, which"
              : `${withheld.length.toLocaleString("en")} CAs, which`}{" "}
            refused it: {withheld.slice(0, namesMax).join(", ")}
            {withheld.length > namesMax && ` and ${withheld.length - namesMax} more`}.
          </p>
        </div>
      )}
      <Outcome reply={refused} />
    </>
  );
}

function useReading(ca: Authority | undefined, members: QueryChange) {
  const { credential } = useConsole();
  const { tenant } = useAddress().query;
  const [known, setKnown] = useState<Export>();
  const [reading, setReading] = useState(false);
  const stop = useRef(new AbortController());
  useEffect(() => () => stop.current.abort(), []);
  const begin = async () => {
    const { signal } = stop.current;
    setReading(true);
    const asking = { ca, tenant, members, credential, signal };
    const { lines, ended } = await takeEach(asking, startedExport, setKnown);
    if (signal.aborted) return;
    if (ended.end === "saved") {
      const name = ca === undefined ? "certificates" : `${ca.label}-certificates`;
      // A file goes its way without this page, so its name says what it is.
      const isWhole = (ended.total ?? 0) <= rowsMax && ended.withheld.length === 0;
      const file = isWhole ? `${name}.csv` : `${name}-incomplete.csv`;
      save(file, new Blob([...lines], { type: "text/csv" }));
    }
    setReading(false);
  };
  return { known, reading, begin: () => void begin() };
}

const namesMax = 20;
