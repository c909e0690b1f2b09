/** The chain as a file, for collectors and for verifying it elsewhere. */

import { useState } from "preact/hooks";
import { addressOf, fetched, type Reply, replied } from "#web/api.ts";
import { useConsole } from "#web/console.ts";
import { behind, eventMembers } from "./members.ts";
import { save } from "#web/ui/download.tsx";
import { Field } from "#web/ui/form.tsx";
import { GuardedForm } from "#web/ui/guarded-form.tsx";
import { Dialog } from "#web/ui/layers.tsx";

interface ExportDialogProps {
  /** The filters of the list. */
  readonly query: Readonly<Record<string, string>>;
  readonly onClose: () => void;
}

/** The export is itself an event. It begins with the days of the list, and says what it leaves. */
export function ExportDialog({ query, onClose }: ExportDialogProps) {
  const { credential } = useConsole();
  const [format, setFormat] = useState<string>("json");
  const [from, setFrom] = useState(dayOf(query.from));
  const [to, setTo] = useState(dayOf(query.to));
  const [busy, setBusy] = useState(false);
  const [reply, setReply] = useState<Reply<Blob>>();
  const load = async () => {
    setBusy(true);
    const since = from === "" ? {} : { from };
    const until = to === "" ? {} : { to: behind(to) };
    const path = addressOf("event.export", { format, ...since, ...until });
    const come = await replied(fetched(path, credential, AbortSignal.timeout(600_000)));
    setReply(come);
    setBusy(false);
    if (come.kind === "answered") save(fileNames[format] ?? "events", come.answer);
  };
  return (
    <Dialog title="Export events" onClose={onClose}>
      <GuardedForm
        operation="event.export"
        onSend={load}
        busy={busy}
        reply={reply}
        does="Export"
        onCancel={onClose}
      >
        <Field label="Format" member="format" reply={reply} hint={hints[format]}>
          {(control) => (
            <select
              {...control}
              value={format}
              onChange={({ currentTarget }) => setFormat(currentTarget.value)}
            >
              <option value="json">JSON lines</option>
              <option value="rfc5424">Syslog (RFC 5424)</option>
              <option value="cef">CEF</option>
            </select>
          )}
        </Field>
        <DayField label="From" member="from" reply={reply} value={from} onInput={setFrom} />
        <DayField label="Until" member="to" reply={reply} value={to} onInput={setTo} />
        {isNarrowed(query) && (
          <p class="warn">
            All events of these days are exported, not only those that the filters of the list
            leave: a chain with gaps could not be verified.
          </p>
        )}
      </GuardedForm>
    </Dialog>
  );
}

const dayOf = (time = ""): string => (/^\d{4}-\d\d-\d\d$/.test(time) ? time : "");

/** True where the list is filtered by more than days. */
const isNarrowed = (query: Readonly<Record<string, string>>): boolean => {
  const { from, to, ...others } = eventMembers(query);
  return Object.values(others).some((value) => value !== undefined);
};

interface DayFieldProps {
  readonly label: string;
  readonly member: string;
  readonly reply: Reply<unknown> | undefined;
  readonly value: string;
  readonly onInput: (value: string) => void;
}

const DayField = ({ label, member, reply, value, onInput }: DayFieldProps) => (
  <Field label={label} member={member} reply={reply} hint="A day in UTC; empty for all.">
    {(control) => (
      <input
        {...control}
        type="date"
        value={value}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
    )}
  </Field>
);

const fileNames: Readonly<Record<string, string>> = {
  json: "events.ndjson",
  rfc5424: "events.log",
  cef: "events.cef",
};
const hints: Readonly<Record<string, string>> = {
  json: "Verifies elsewhere with pkid audit verify --from-file.",
  rfc5424: "For collectors of syslog.",
  cef: "For SIEM systems.",
};
