/** Forms: fields with labels and their own faults, one thing sent at a time, nothing typed lost. */

import { type ComponentChildren, createContext } from "preact";
import { useCallback, useContext, useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import type { Answers, Questions } from "#api/answers.ts";
import { ask, type Reply, replied } from "#web/api.ts";
import { tellChange, useConsole } from "#web/console.ts";
import { Outcome } from "./asked.tsx";
import { faultOf } from "./faults.ts";
import { isFocusLost } from "./focus.ts";

export interface Sending<Name extends keyof Answers> {
  readonly reply: Reply<Answers[Name]> | undefined;
  readonly busy: boolean;
  /** Sends it, unless something is under way; gives the answer where there is one. */
  readonly send: (members: Questions[Name]) => Promise<Answers[Name] | undefined>;
  readonly forget: () => void;
}

/** Sends an operation when told to; a long one has ten minutes. */
export function useSend<Name extends keyof Answers>(name: Name): Sending<Name> {
  const { credential } = useConsole();
  const [reply, setReply] = useState<Reply<Answers[Name]>>();
  const [busy, setBusy] = useState(false);
  const send = async (members: Questions[Name]) => {
    if (busy) return undefined;
    setBusy(true);
    const asked = ask(name, members, credential, AbortSignal.timeout(600_000));
    const come = await replied(asked);
    setReply(come);
    setBusy(false);
    if (come.kind !== "refused") tellChange();
    return come.kind === "answered" ? come.answer : undefined;
  };
  useEffect(() => {
    // Whoever has logged in again need not read that they were out.
    setReply((was) => (was?.kind === "refused" && was.refusal.status === 401 ? undefined : was));
  }, [credential]);
  const forget = useCallback(() => setReply(undefined), []);
  return { reply, busy, send, forget };
}

interface FieldProps {
  readonly label: string;
  /** The member of the operation, so that a refusal that names it is shown here. */
  readonly member?: string;
  readonly reply?: Reply<unknown> | undefined;
  readonly hint?: ComponentChildren;
  /** What is wrong with what is typed, before anything is sent. */
  readonly fault?: string | undefined;
  /** What is still to be done here, said once somebody has tried to send without it. */
  readonly needed?: string | undefined;
  /** Draws the control with these attributes on it. */
  readonly children: (control: ControlAttributes) => ComponentChildren;
}

export interface ControlAttributes {
  readonly id: string;
  readonly "aria-describedby": string;
  readonly "aria-invalid": boolean;
}

/** A label, its control, what helps to fill it in, and what is wrong with it. */
export function Field(props: FieldProps) {
  const { label, member, reply, hint, fault: typed, needed, children } = props;
  const id = useId();
  const fields = useContext(FieldsContext);
  useRegistered(fields?.members, member);
  useRegistered(fields?.lacking, needed === undefined ? undefined : id);
  const refused = member === undefined ? undefined : faultOf(reply, member);
  const fault = typed ?? (fields?.tried === true ? needed : undefined) ?? refused;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, "aria-describedby": `${id}-said`, "aria-invalid": fault !== undefined })}
      <p id={`${id}-said`} class={fault === undefined ? "quiet small" : "bad small"}>
        {fault ?? hint}
      </p>
    </div>
  );
}

/** Holds the name in the set while there is one. */
function useRegistered(set: Set<string> | undefined, name: string | undefined): void {
  useEffect(() => {
    if (set === undefined || name === undefined) return;
    set.add(name);
    return () => void set.delete(name);
  }, [set, name]);
}

interface Fields {
  /** The members that have a field in the form, each of which says what is wrong with it. */
  readonly members: Set<string>;
  /** The controls, by id, in which something is still needed. */
  readonly lacking: Set<string>;
  /** Somebody has tried to send it without that. */
  readonly tried: boolean;
}

const FieldsContext = createContext<Fields | undefined>(undefined);

/** What the fields of a form tell it. One that lacks something says so, and is gone to. */
function useFields() {
  const form = useRef<HTMLFormElement>(null);
  const [tried, setTried] = useState(false);
  const members = useMemo(() => new Set<string>(), []);
  const lacking = useMemo(() => new Set<string>(), []);
  const fields: Fields = useMemo(() => ({ members, lacking, tried }), [members, lacking, tried]);
  const isWhole = (): boolean => {
    if (lacking.size === 0) return true;
    setTried(true);
    const controls = form.current?.querySelectorAll<HTMLElement>("input, select, textarea") ?? [];
    [...controls].find(({ id }) => lacking.has(id))?.focus();
    return false;
  };
  return { form, fields, isWhole };
}

interface SendFormProps {
  readonly onSend: () => void;
  readonly busy: boolean;
  readonly reply: Reply<unknown> | undefined;
  /** The words of the button: what it does. */
  readonly does: string;
  readonly look?: "primary" | "danger";
  /** Why it may not be sent, said above the fields. */
  readonly withheld?: string | undefined;
  /** What is to be done before it can be sent, said beside the button. */
  readonly missing?: string | undefined;
  /** The words of the button while it is being done. */
  readonly working?: string;
  readonly onCancel?: (() => void) | undefined;
  readonly children?: ComponentChildren;
}

/**
 * A form with its outcome above the buttons. What destroys is never the default of a key, and what
 * is parked already is not sent again. Where fields lack something nothing is sent: they say so,
 * and the first of them is gone to.
 */
export function SendForm(props: SendFormProps) {
  const { onSend, busy, reply, does, look = "primary", onCancel } = props;
  const { withheld, missing, working = "Working…" } = props;
  const id = useId();
  const parkedId = `${id}-parked`;
  const reasonIds = [
    ...((withheld ?? missing) === undefined ? [] : [id]),
    ...(reply?.kind === "parked" ? [parkedId] : []),
  ];
  const disabled = reasonIds.length > 0;
  const button = useRef<HTMLButtonElement>(null);
  const { form, fields, isWhole } = useFields();
  const isAtField = [...fields.members].some((member) => faultOf(reply, member) !== undefined);
  useEffect(() => {
    // A browser takes the focus from a button that is disabled, here because it was pressed.
    if (!busy && reply !== undefined && isFocusLost()) button.current?.focus();
  }, [busy, reply]);
  const attempt = () => isWhole() && onSend();
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (look !== "danger" && !busy && !disabled) attempt();
  };
  return (
    <form ref={form} onSubmit={submit} aria-busy={busy}>
      {withheld !== undefined && <NotAllowed id={id}>{withheld}</NotAllowed>}
      <FieldsContext.Provider value={fields}>{props.children}</FieldsContext.Provider>
      <Outcome reply={reply} atField={isAtField} parkedId={parkedId} />
      {withheld === undefined && missing !== undefined && (
        <p id={id} class="reason">
          {missing}
        </p>
      )}
      <div class="buttons">
        {onCancel && (
          <button type="button" class="button plain" onClick={onCancel}>
            Cancel
          </button>
        )}
        <button
          ref={button}
          type={look === "danger" ? "button" : "submit"}
          class={`button ${look}`}
          disabled={busy || disabled}
          aria-describedby={disabled ? reasonIds.join(" ") : undefined}
          onClick={look === "danger" ? attempt : undefined}
        >
          {busy ? working : does}
        </button>
      </div>
    </form>
  );
}

interface NotAllowedProps {
  readonly id: string;
  readonly children: string;
}

const NotAllowed = ({ id, children }: NotAllowedProps) => (
  <p id={id} class="notice warn" role="status">
    <span>
      <span aria-hidden="true">◐ </span>
      {children}
    </span>
  </p>
);
