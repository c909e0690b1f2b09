/** Checks the instance, its host and what it depends on, and says what to do about it. */

import { useId } from "preact/hooks";
import { hrefWith, visit } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { usePolled } from "#web/polled.ts";
import { useRight } from "#web/rights.ts";
import { Action } from "#web/ui/action.tsx";
import { Outcome, useAsked, Waiting } from "#web/ui/asked.tsx";
import { Heading } from "#web/ui/heading.tsx";
import { type Column, Table } from "#web/ui/list.tsx";
import { Said } from "#web/ui/said.tsx";
import { Status } from "#web/ui/status.tsx";
import { Time } from "#web/ui/time.tsx";
import type { Answers } from "#api/answers.ts";

type Report = Answers["preflight.run"];
type Check = Report["checks"][number];

/**
 * Runs when it is opened, without the network, and again when told to; every minute while it is
 * shown, unless it looks outside: `outside=true` in the address.
 */
export function PreflightPart() {
  const address = useAddress();
  const network = address.query.outside === "true";
  const right = useRight("preflight.run");
  const reasonId = useId();
  const { reply, busy, refresh } = useAsked("preflight.run", { network, timeout_seconds: 25 });
  usePolled(() => {
    if (!network && !busy) refresh();
  }, 60);
  const report = reply?.kind === "answered" ? reply.answer : undefined;
  return (
    <>
      <Heading name="Preflight">
        <label class="check">
          <input
            type="checkbox"
            checked={network}
            disabled={!right.allowed}
            aria-describedby={right.allowed ? undefined : reasonId}
            onChange={({ currentTarget: { checked } }) =>
              visit(hrefWith(address, { outside: checked || undefined }), { replace: true })
            }
          />
          look outside too
        </label>
        {!right.allowed && (
          <span id={reasonId} class="unseen">
            {right.reason}
          </span>
        )}
        <Action operation="preflight.run" look="primary" busy={busy} onClick={refresh}>
          {busy ? "Checking…" : "Check again"}
        </Action>
      </Heading>
      {reply === undefined && <Waiting />}
      <Outcome reply={reply} again={refresh} />
      {report && <Found report={report} />}
    </>
  );
}

function Found({ report: { checks, summary, checked_at } }: { readonly report: Report }) {
  const wrong = checks.filter(({ status }) => status === "fail" || status === "warn");
  return (
    <>
      <p role="status">
        {summary.fail} failed, {summary.warn} to look at, {summary.pass} passed, {summary.skip}{" "}
        skipped, <Time at={checked_at} />.
      </p>
      {wrong.length === 0 && (
        <p>
          <Status word="pass" /> Nothing asks for your attention.
        </p>
      )}
      {wrong.map(({ name, status, detail, remedy }) => (
        <section key={name} class={`notice finding ${status === "fail" ? "bad" : "warn"}`}>
          <h3>
            <Status word={status} /> {name}
          </h3>
          <p>
            <Said text={detail} />
          </p>
          {remedy !== "" && (
            <p>
              <Said text={remedy} />
            </p>
          )}
        </section>
      ))}
      <details>
        <summary>Every check</summary>
        <div class="scroll">
          <Table caption="Checks" columns={columns} rows={checks} keyOf={({ name }) => name} />
        </div>
      </details>
    </>
  );
}

const columns: readonly Column<Check>[] = [
  { name: "Check", cell: ({ name }) => <span class="mono">{name}</span> },
  { name: "State", cell: ({ status }) => <Status word={status} /> },
  { name: "What was seen", cell: ({ detail }) => <Said text={detail} /> },
  { name: "Took", wide: true, cell: ({ elapsed_ms }) => `${elapsed_ms} ms` },
];
