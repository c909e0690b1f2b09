/** The files of a run: a report of every row, and an archive of what was issued. */

import { useId, useState } from "preact/hooks";
import { save } from "#web/ui/download.tsx";
import type { DoneItem } from "./bulk-run.ts";
import { archiveOf, reportText } from "./making-keys.ts";
import { KnownPassphrase } from "./passphrase.tsx";
import type { RequestRow } from "./rows.ts";

interface RunFilesProps {
  readonly rows: readonly RequestRow[];
  readonly items: readonly DoneItem[];
}

/** Keys of the list come along as PKCS#12, under the passphrase they are encrypted with. */
export function RunFiles({ rows, items }: RunFilesProps) {
  const [passphrase, setPassphrase] = useState("");
  const [written, setWritten] = useState<number>();
  const [fault, setFault] = useState<string>();
  const issued = items.filter(({ status }) => status === "issued");
  const keyed = rows.some(({ encryptedKey }) => encryptedKey !== undefined);
  const busy = written !== undefined;
  const none = issued.length === 0;
  const write = async () => {
    setWritten(0);
    setFault(undefined);
    const archive = await archiveOf({
      rows,
      items: issued,
      passphrase: keyed && passphrase !== "" ? passphrase : undefined,
      onProgress: setWritten,
    });
    if (archive === undefined) setFault("The passphrase does not open the keys of this list.");
    else save("certificates.zip", archive);
  };
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (busy || none) return;
    write()
      // The tools did not come: nothing is lost, it can be tried again.
      .catch(() => setFault("The archive could not be written. Try again."))
      .finally(() => setWritten(undefined));
  };
  const report = () => save("report.csv", new Blob([reportText(items)], { type: "text/csv" }));
  return (
    <form onSubmit={submit} aria-busy={busy}>
      {keyed && (
        <KnownPassphrase
          label="Passphrase of the keys in the list"
          hint="For a PKCS#12 of each, under the same passphrase. Without it the archive has no keys."
          fault={fault}
          value={passphrase}
          onInput={(text) => {
            setFault(undefined);
            setPassphrase(text);
          }}
        />
      )}
      {!keyed && fault !== undefined && <p class="bad">{fault}</p>}
      {busy && <progress max={issued.length} value={written} aria-label="Files written" />}
      <Buttons
        none={none}
        progress={busy ? `Writing ${written} of ${issued.length}` : undefined}
        onReport={report}
      />
    </form>
  );
}

interface ButtonsProps {
  /** No certificate was issued. */
  readonly none: boolean;
  /** How far the archive is, while it is written. */
  readonly progress: string | undefined;
  readonly onReport: () => void;
}

function Buttons({ none, progress, onReport }: ButtonsProps) {
  const reasonId = useId();
  return (
    <>
      {none && (
        <p id={reasonId} class="reason">
          No certificate was issued, so there is none to save.
        </p>
      )}
      <div class="buttons">
        <button type="button" class="button" onClick={onReport}>
          Report, CSV
        </button>
        <button
          type="submit"
          class="button primary"
          disabled={progress !== undefined || none}
          aria-describedby={none ? reasonId : undefined}
        >
          {progress ?? "Certificates, ZIP"}
        </button>
      </div>
    </>
  );
}
