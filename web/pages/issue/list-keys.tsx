/** Keys for rows that have names alone: made here, and saved with the list before it is sent. */

import { useState } from "preact/hooks";
import { save } from "#web/ui/download.tsx";
import { SendForm } from "#web/ui/form.tsx";
import { withKeys } from "./making-keys.ts";
import {
  noPassphrase,
  type Passphrase,
  PassphraseFields,
  passphraseMissing,
  settledPassphrase,
} from "./passphrase.tsx";
import { listText, type Row } from "./rows.ts";

interface ListKeysProps {
  readonly rows: readonly Row[];
  readonly count: number;
  readonly onRows: (rows: readonly Row[]) => void;
}

/** The saved list is what a run goes on with after a reload, and what opens the keys later. */
export function ListKeys({ rows, count, onRows }: ListKeysProps) {
  const [passphrase, setPassphrase] = useState<Passphrase>(noPassphrase);
  const [made, setMade] = useState<number>();
  const [failed, setFailed] = useState(false);
  const settled = settledPassphrase(passphrase);
  const busy = made !== undefined;
  const make = () => {
    if (settled === undefined) return;
    setMade(0);
    setFailed(false);
    withKeys(rows, settled, setMade)
      .then((complete) => {
        saveList(complete);
        onRows(complete);
      })
      // A kind of key this browser does not make, or the tools did not come.
      .catch(() => setFailed(true))
      .finally(() => setMade(undefined));
  };
  return (
    <section class="card">
      <h2>Keys</h2>
      <SendForm
        onSend={make}
        busy={busy}
        reply={undefined}
        does="Make the keys and save the list"
        working={`Making keys, ${made} of ${count}`}
        missing={settled === undefined ? passphraseMissing : undefined}
      >
        <p>
          {count === 1 ? "One row has" : `${count} rows have`} names and no request. Their keys are
          made in this tab and encrypted at once under one passphrase. The list with requests and
          encrypted keys is saved before anything is sent: keep it, the keys are nowhere else.
        </p>
        <PassphraseFields value={passphrase} onChange={setPassphrase} />
        {busy && <progress max={count} value={made} aria-label="Keys made" />}
        {failed && (
          <p class="notice bad" role="alert">
            Not every key could be made; nothing was sent. Look at the kinds of keys in the list.
          </p>
        )}
      </SendForm>
    </section>
  );
}

/** For whoever has not kept the first one: a browser does not say whether a file was saved. */
export const SaveListAgain = ({ rows }: { readonly rows: readonly Row[] }) => (
  <div class="buttons">
    <button type="button" class="button" onClick={() => saveList(rows)}>
      Save the list with its keys again
    </button>
  </div>
);

const saveList = (rows: readonly Row[]): void =>
  save("list-with-keys.csv", new Blob([listText(rows)], { type: "text/csv" }));
