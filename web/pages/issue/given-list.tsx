/** The list itself: its file, what may stand in it, and the rows that cannot be read. */

import { useEffect, useRef, useState } from "preact/hooks";
import { save } from "#web/ui/download.tsx";
import { Field } from "#web/ui/form.tsx";
import { FileField } from "#web/ui/file-field.tsx";
import { useLastAct } from "#web/ui/last-act.ts";
import { sizeFault } from "#web/file-size.ts";
import { runKeepsIt } from "./choice.tsx";
import { columns, type FaultyRow, type Row, rowsIn, templateText } from "./rows.ts";

/** A list as it was given, and what was read of it. */
export interface Given {
  readonly text: string;
  readonly rows: readonly Row[];
}

export const nothingGiven: Given = { text: "", rows: [] };

interface GivenListProps {
  readonly given: Given;
  readonly onGiven: (given: Given) => void;
  /** Something of it was sent. */
  readonly fixed: boolean;
}

/** Read in the page; a file may be dropped on the field. */
export function GivenList({ given: { text, rows }, onGiven, fixed }: GivenListProps) {
  const [fault, setFault] = useState<string>();
  const begin = useLastAct();
  // Of the page as it is when the file has been read.
  const latest = useRef(onGiven);
  latest.current = onGiven;
  // What is sent is the list as it was.
  useEffect(() => void begin(), [fixed, begin]);
  const take = (given: string) => {
    begin();
    const read = given.trim() === "" ? [] : rowsIn(given);
    setFault(typeof read === "string" ? read : undefined);
    latest.current({
      // A field of many megabytes would be slow, and nobody reads it.
      text: given.length <= shownOctetsMax ? given : "",
      rows: typeof read === "string" ? [] : read,
    });
  };
  const takeFile = async (file: File) => {
    const isLast = begin();
    const tooLarge = sizeFault(file.size, octetsMax);
    if (tooLarge !== undefined) return setFault(tooLarge);
    const read = await file.text().catch(() => undefined);
    if (!isLast()) return;
    // A folder that was dropped, or a file that has gone.
    if (read === undefined) setFault("The file could not be read.");
    else take(read);
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    const [file] = event.dataTransfer?.files ?? [];
    if (!fixed && file !== undefined) void takeFile(file);
  };
  return (
    <form onSubmit={(event) => event.preventDefault()}>
      <Field label="List, CSV with a header" fault={fault} hint={countsOf(rows, fixed)}>
        {(control) => (
          <textarea
            {...control}
            spellcheck={false}
            disabled={fixed}
            placeholder={"ref,names\nwww,www.example.com www.example.org"}
            value={text}
            onDragOver={(event) => event.preventDefault()}
            onDrop={drop}
            onInput={({ currentTarget }) => take(currentTarget.value)}
          />
        )}
      </Field>
      <ListFile fixed={fixed} onFile={(file) => void takeFile(file)} />
      <Faulty rows={rows.filter((row): row is FaultyRow => row.kind === "faulty")} />
      <Columns />
    </form>
  );
}

interface ListFileProps {
  readonly fixed: boolean;
  readonly onFile: (file: File) => void;
}

const ListFile = ({ fixed, onFile }: ListFileProps) => (
  <FileField
    label="Or its file"
    accept=".csv,text/csv"
    disabled={fixed}
    hint={fixed ? runKeepsIt : undefined}
    onFile={onFile}
  />
);

/** What may stand in a list, and one to begin with. */
const Columns = () => (
  <>
    <details>
      <summary>What the columns hold</summary>
      <dl>
        {Object.entries(columns).map(([name, said]) => (
          <>
            <dt>
              <code>{name}</code>
            </dt>
            <dd>{said}</dd>
          </>
        ))}
      </dl>
    </details>
    <div class="buttons">
      <button
        type="button"
        class="button"
        onClick={() => save("template.csv", new Blob([templateText()], { type: "text/csv" }))}
      >
        Save a template
      </button>
    </div>
  </>
);

function Faulty({ rows }: { readonly rows: readonly FaultyRow[] }) {
  if (rows.length === 0) return null;
  return (
    <div class="notice bad" role="status">
      <p>
        <span aria-hidden="true">✕ </span>
        {rows.length === 1 ? "One row is" : `${rows.length} rows are`} left out, because of what
        stands in it:
      </p>
      <ul class="lines">
        {rows.slice(0, shownMax).map(({ line, ref, fault }) => (
          <li key={line}>
            Line {line}, {ref}: {fault}
          </li>
        ))}
      </ul>
      {rows.length > shownMax && <p>And {rows.length - shownMax} more.</p>}
    </div>
  );
}

function countsOf(rows: readonly Row[], fixed: boolean): string {
  if (rows.length === 0) return fixed ? runKeepsIt : "Paste it, or drop its file here.";
  const count = (kind: Row["kind"]) => rows.filter((row) => row.kind === kind).length;
  const parts = [
    [count("request"), "with a request"],
    [count("names"), "for which a key is made here"],
    [count("faulty"), "left out"],
  ] as const;
  const said = parts.filter(([number]) => number > 0).map(([number, what]) => `${number} ${what}`);
  return `${fixed ? `${runKeepsIt} ` : ""}${said.join(", ")}.`;
}

const shownMax = 20;
const shownOctetsMax = 65_536;
/** As much as the operation takes at once. */
const octetsMax = 33_554_432;
