/** A run: what it would do, the button that begins it, how far it is, and what came of it. */

import { hrefOf, hrefWith, visit } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { Gates } from "#web/ui/action.tsx";
import { Refused } from "#web/ui/asked.tsx";
import { Serial } from "#web/ui/copy.tsx";
import { type Column, Table } from "#web/ui/list.tsx";
import { Status } from "#web/ui/status.tsx";
import type { BulkRun, DoneItem, PlannedItem } from "./bulk-run.ts";
import { SaveListAgain } from "./list-keys.tsx";
import type { RequestRow } from "./rows.ts";
import { RunFiles } from "./run-files.tsx";

interface RunPanelProps {
  readonly run: BulkRun;
  readonly caId: string;
  readonly rows: readonly RequestRow[];
  /** Rows of the list that are left out. */
  readonly faulty: number;
}

/** Whatever stops it, it goes on where it stopped, and nothing is issued twice. */
export function RunPanel({ run, caId, rows, faulty }: RunPanelProps) {
  const address = useAddress();
  const begin = () => {
    const operation = address.query.operation ?? crypto.randomUUID();
    if (address.query.operation === undefined) {
      visit(hrefWith(address, { operation }), { replace: true });
    }
    void run.go(operation);
  };
  const { state, refusal, total } = run;
  return (
    <section class="card" aria-busy={state === "planning" || state === "running"}>
      <h2>Run</h2>
      {faulty > 0 && state !== "done" && (
        <p class="warn">
          <span aria-hidden="true">◐ </span>
          {faulty === 1 ? "One row of the list is" : `${faulty} rows of the list are`} left out.
        </p>
      )}
      <Planned planned={run.planned} total={total} shown={state === "planned"} />
      {refusal && <Refused refusal={refusal} />}
      {rows.some(({ encryptedKey }) => encryptedKey !== undefined) && <SaveListAgain rows={rows} />}
      <Buttons run={run} begin={begin} resumes={address.query.operation !== undefined} />
      <Progress run={run} />
      {(state === "done" || state === "paused") && run.done.length > 0 && (
        <RunFiles rows={rows} items={run.done} />
      )}
      {run.done.length > 0 && <Outcomes items={run.done} caId={caId} />}
    </section>
  );
}

interface ButtonsProps {
  readonly run: BulkRun;
  readonly begin: () => void;
  readonly resumes: boolean;
}

function Buttons({ run, begin, resumes }: ButtonsProps) {
  const { state, total } = run;
  switch (state) {
    case "ready":
      return (
        <>
          <p class="quiet">Look first at what would come of it; that writes nothing.</p>
          <div class="buttons">
            <button type="button" class="button primary" onClick={() => void run.plan()}>
              Check {rowsText(total)}
            </button>
          </div>
        </>
      );
    case "planned":
      return (
        <>
          <Gates operation="cert.issue_bulk" />
          <div class="buttons">
            <button type="button" class="button primary" onClick={begin}>
              {resumes ? "Go on with the run" : `Issue ${certificatesText(total)}`}
            </button>
          </div>
        </>
      );
    case "running":
    case "pausing":
      return (
        <div class="buttons">
          <button
            type="button"
            class="button"
            disabled={state === "pausing"}
            onClick={() => run.pause()}
          >
            {state === "pausing" ? "Pausing…" : "Pause"}
          </button>
        </div>
      );
    case "paused":
      return (
        <div class="buttons">
          <button type="button" class="button primary" onClick={begin}>
            Go on
          </button>
        </div>
      );
    case "planning":
    case "done":
      return null;
  }
}

interface PlannedProps {
  readonly planned: readonly PlannedItem[];
  readonly total: number;
  readonly shown: boolean;
}

function Planned({ planned, total, shown }: PlannedProps) {
  if (!shown) return null;
  const invalid = planned.filter(({ valid }) => !valid);
  const parks = planned.filter(({ requires_approval, valid }) => requires_approval && valid);
  return (
    <>
      <p role="status">
        {total - invalid.length - parks.length} of {total} would be issued
        {parks.length > 0 && `, ${parks.length} would wait until somebody else approves them`}
        {invalid.length > 0 && `, ${invalid.length} would be refused`}.
      </p>
      {invalid.length > 0 && (
        <>
          <p class="quiet small">
            Rows that are refused are tried all the same, and fail alone: the run is the whole list.
          </p>
          <div class="scroll">
            <Table
              caption="Rows that would be refused"
              columns={refusedColumns}
              rows={invalid.slice(0, shownMax)}
              keyOf={({ index, ref }) => `${index} ${ref}`}
            />
          </div>
        </>
      )}
    </>
  );
}

function Progress({ run }: { readonly run: BulkRun }) {
  const { state, done, planned, total } = run;
  if (state === "ready" || state === "planned") return null;
  const [at, what] =
    state === "planning" ? [planned.length, "looked at"] : [done.length, "through"];
  return (
    <>
      <progress max={total} value={at} aria-label={`Rows ${what}`} />
      <p role="status">
        {at} of {total} {what}
        {state === "done" && done.some(({ status }) => status === "pending") && pendingSentence}
        {state === "paused" && "; paused. The address of this page holds the run."}
      </p>
    </>
  );
}

interface OutcomesProps {
  readonly items: readonly DoneItem[];
  readonly caId: string;
}

function Outcomes({ items, caId }: OutcomesProps) {
  const count = (status: DoneItem["status"]) =>
    items.filter((item) => item.status === status).length;
  // What needs somebody comes first.
  const order = ["failed", "pending", "issued"] as const;
  const sorted = order.flatMap((status) => items.filter((item) => item.status === status));
  return (
    <>
      <p>
        {count("issued")} issued, {count("pending")} waiting for approval, {count("failed")} failed
      </p>
      <div class="scroll">
        <Table
          caption="What became of the rows"
          columns={doneColumns(caId)}
          rows={sorted.slice(0, shownMax)}
          keyOf={({ ref }) => ref}
        />
      </div>
      {items.length > shownMax && (
        <p class="quiet small">The first {shownMax}; the report has all.</p>
      )}
    </>
  );
}

const refusedColumns: readonly Column<PlannedItem>[] = [
  { name: "Row", cell: ({ ref }) => ref },
  {
    name: "Why",
    cell: ({ error, error_code }) => (
      <>
        {error} <code>{error_code}</code>
      </>
    ),
  },
];

const doneColumns = (caId: string): readonly Column<DoneItem>[] => [
  { name: "Row", cell: ({ ref }) => ref },
  { name: "Status", cell: ({ status }) => <Status word={status} tone={tones[status]} /> },
  {
    name: "What came of it",
    cell: ({ serial, approval_id, error, error_code }) => {
      if (serial !== undefined) {
        return (
          <a href={hrefOf(["issue", "result", caId, serial])}>
            <Serial serial={serial} short />
          </a>
        );
      }
      if (approval_id !== undefined) {
        return <a href={hrefOf(["approvals", approval_id])}>Open the request</a>;
      }
      return (
        <>
          {error} <code>{error_code}</code>
        </>
      );
    },
  },
];

const tones = { issued: "good", pending: "warn", failed: "bad" } as const;
const rowsText = (count: number): string => (count === 1 ? "one row" : `${count} rows`);
const certificatesText = (count: number): string =>
  count === 1 ? "one certificate" : `${count} certificates`;
const pendingSentence =
  ". When requests are approved, give the list under this address again: it fetches what is made.";
const shownMax = 50;
