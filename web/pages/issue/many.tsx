/** Many certificates from a list: read, given keys, looked at first, and issued in slices. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { hrefWith, visit } from "#web/address.ts";
import { ask, replied } from "#web/api.ts";
import { useAddress, useConsole } from "#web/console.ts";
import { useRight } from "#web/rights.ts";
import { BulkRun, itemsOf } from "./bulk-run.ts";
import { type Choice, ChoiceFields, Chosen, type Known } from "./choice.tsx";
import { type Given, GivenList, nothingGiven } from "./given-list.tsx";
import { rightFor } from "./issuing.ts";
import { ListKeys } from "./list-keys.tsx";
import type { RequestRow, Row } from "./rows.ts";
import { RunPanel } from "./run-panel.tsx";

interface ManyProps {
  readonly given: Given;
  readonly onGiven: (given: Given) => void;
}

/** What the address chooses goes for the rows that say nothing else. */
export function Many({ given, onGiven }: ManyProps) {
  const [round, setRound] = useState(0);
  return (
    <Chosen>
      {(choice, known) => (
        <ManyForm
          key={round}
          choice={choice}
          known={known}
          given={given}
          onGiven={onGiven}
          onAgain={() => {
            onGiven(nothingGiven);
            setRound((count) => count + 1);
          }}
        />
      )}
    </Chosen>
  );
}

interface ManyFormProps extends ManyProps {
  readonly choice: Choice;
  readonly known: Known;
  /** Begins with nothing. */
  readonly onAgain: () => void;
}

function ManyForm({ choice, known, given, onGiven, onAgain }: ManyFormProps) {
  const address = useAddress();
  const { operation } = address.query;
  const { rows } = given;
  const setRows = (changed: readonly Row[]) => onGiven({ ...given, rows: changed });
  const may = useRight("cert.issue_bulk", {
    caId: choice.ca.id,
    tenantId: choice.ca.tenant_id,
  });
  const requests = useMemo(
    () => rows.filter((row): row is RequestRow => row.kind === "request"),
    [rows],
  );
  const named = rows.filter(({ kind }) => kind === "names").length;
  const run = useRun(choice, requests);
  // What has begun stays in sight; the server has the last word on what is left of it.
  const right = run.open ? rightFor(choice, may) : may;
  return (
    <div class="pair">
      <div class="stack">
        {operation !== undefined && (
          <Resumed
            operation={operation}
            begun={requests.length > 0}
            busy={run.state === "running" || run.state === "pausing"}
            onAgain={onAgain}
          />
        )}
        <form onSubmit={(event) => event.preventDefault()}>
          <ChoiceFields
            choice={choice}
            known={known}
            reply={undefined}
            fixed={operation !== undefined}
            many
          />
        </form>
        <GivenList given={given} onGiven={onGiven} fixed={!run.open} />
      </div>
      <div class="stack">
        {!right.allowed && <p class="reason">{right.reason}</p>}
        {right.allowed && named > 0 && <ListKeys rows={rows} count={named} onRows={setRows} />}
        {right.allowed && named === 0 && requests.length > 0 && (
          <RunPanel
            run={run}
            caId={choice.ca.id}
            rows={requests}
            faulty={rows.length - requests.length}
          />
        )}
        {right.allowed && rows.length === 0 && (
          <p class="quiet">Give a list, and what would be issued stands here before anything is.</p>
        )}
      </div>
    </div>
  );
}

interface ResumedProps {
  readonly operation: string;
  /** The list is there. */
  readonly begun: boolean;
  readonly busy: boolean;
  readonly onAgain: () => void;
}

/** A run has begun, and the address has its id. */
function Resumed({ operation, begun, busy, onAgain }: ResumedProps) {
  const address = useAddress();
  const again = () => {
    visit(hrefWith(address, { operation: undefined }));
    onAgain();
  };
  return (
    <div class="card">
      <p>
        Run <code>{operation}</code>.{" "}
        {!begun &&
          "Give the same list again: the page keeps none. What was issued under this id is not issued again."}
      </p>
      <div class="buttons">
        <button type="button" class="button" disabled={busy} onClick={again}>
          Begin another run
        </button>
      </div>
    </div>
  );
}

/** A run for these rows, which is another one when they are others. */
function useRun({ ca, profile, days }: Choice, rows: readonly RequestRow[]): BulkRun {
  const { credential } = useConsole();
  // Whoever had to log in again goes on with the same run.
  const latest = useRef(credential);
  latest.current = credential;
  const [, setRound] = useState(0);
  const run = useMemo(
    () =>
      new BulkRun({
        caId: ca.id,
        items: itemsOf(rows, profile.name, days),
        ask: (members) =>
          replied(ask("cert.issue_bulk", members, latest.current, AbortSignal.timeout(600_000))),
        onChange: () => setRound((round) => round + 1),
      }),
    [ca.id, profile.name, days, rows],
  );
  useEffect(() => () => run.close(), [run]);
  return run;
}
