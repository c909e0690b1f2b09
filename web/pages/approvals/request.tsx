/** One request: who asks for what and why, what it changes, and the decision on it. */

import { useState } from "preact/hooks";
import type { Answers } from "#api/answers.ts";
import { hrefOf, hrefWith } from "#web/address.ts";
import { addressOf } from "#web/api.ts";
import { useDecidable } from "#web/decidable.ts";
import { type Console, useAddress, useConsole } from "#web/console.ts";
import { Action } from "#web/ui/action.tsx";
import { Outcome, useAsked, Waiting } from "#web/ui/asked.tsx";
import { Breaking } from "#web/ui/breaking.tsx";
import { Fingerprint } from "#web/ui/copy.tsx";
import { Download } from "#web/ui/download.tsx";
import { Field, useSend } from "#web/ui/form.tsx";
import { GuardedForm } from "#web/ui/guarded-form.tsx";
import { Dialog, Panel, useDialog } from "#web/ui/layers.tsx";
import { plainText, shortText } from "#web/ui/plain.ts";
import { Status } from "#web/ui/status.tsx";
import { Distance, Time } from "#web/ui/time.tsx";
import { ApiTokenSecret } from "./api-token-secret.tsx";
import { cameOf } from "./came.ts";
import { Details } from "./details.tsx";
import { Difference } from "./difference-table.tsx";
import { lookOf } from "./look.ts";
import { targetOf } from "./target.ts";
import { whyOf } from "./why.ts";

type Approval = Answers["approval.show"];

interface RequestPanelProps {
  readonly id: string;
  readonly closeHref: string;
}

/** Asked for again when the feed tells of a decision. */
export function RequestPanel({ id, closeHref }: RequestPanelProps) {
  const { reply, refresh } = useAsked("approval.show", { id }, ["*"]);
  if (reply === undefined) return <Waiting />;
  if (reply.kind !== "answered") {
    return (
      <Panel title="Request for approval" closeHref={closeHref}>
        <Outcome reply={reply} again={refresh} />
      </Panel>
    );
  }
  return <Request approval={reply.answer} closeHref={closeHref} onChange={refresh} />;
}

interface RequestProps {
  readonly approval: Approval;
  readonly closeHref: string;
  readonly onChange: () => void;
}

function Request({ approval, closeHref, onChange }: RequestProps) {
  const { open, close } = useDialog();
  const done = () => {
    close();
    onChange();
  };
  const { id, status, failure, result } = approval;
  return (
    <Panel
      title={<Breaking text={titleOf(approval)} />}
      closeHref={closeHref}
      actions={<Decisions approval={approval} />}
    >
      <p>
        <Status word={status} /> {approval.approvals_count} of {approval.required_approvals}{" "}
        approvals
      </p>
      <RequestFacts approval={approval} />
      {failure && (
        <div class="notice bad" role="alert">
          <p>
            {failure.error} <code>{failure.code}</code>
          </p>
          <p>{failure.retryable ? "It can be executed again." : "It will not be tried again."}</p>
        </div>
      )}
      <ApiTokenSecret approval={approval} />
      <Difference approval={approval} />
      <h3>Everything that is executed</h3>
      <Details value={approval.details} />
      {result !== undefined && (
        <>
          <h3>What it answered</h3>
          <Details value={result} />
        </>
      )}
      <Transcript approval={approval} />
      {open === "approve" && <Approve approval={approval} onClose={close} onDone={done} />}
      {open === "reject" && <Reject approval={approval} onClose={close} onDone={done} />}
      {open === "retry" && <Retry approval={approval} onClose={close} onDone={done} />}
      <Download path={addressOf("approval.transcript", { id })} file={`${id}.json`}>
        Signed transcript
      </Download>
    </Panel>
  );
}

function RequestFacts({ approval }: Pick<RequestProps, "approval">) {
  const { fingerprint } = approval;
  const why = whyOf(approval);
  const target = targetOf(approval);
  return (
    <dl>
      <dt>Asked by</dt>
      <dd>
        {approval.requested_by_name ?? approval.requested_by}, <Time at={approval.created_at} />
      </dd>
      <dt>Class</dt>
      <dd class="mono">{approval.operation_class}</dd>
      <dt>Concerns</dt>
      <dd>
        {plainText(approval.resource_name)}
        {target !== undefined && <Breaking text={`: ${plainText(target)}`} />}
      </dd>
      <dt>Why</dt>
      <dd>
        {why === undefined ? <span class="quiet">Its maker has not said.</span> : plainText(why)}
      </dd>
      <Came approval={approval} />
      <dt>Fingerprint</dt>
      <dd>
        <Fingerprint text={fingerprint} />
      </dd>
    </dl>
  );
}

/** Until when it can be decided, or what happened to it and when. */
function Came({ approval }: Pick<RequestProps, "approval">) {
  const { name, at } = cameOf(approval);
  return (
    <>
      <dt>{name}</dt>
      <dd>
        <Time at={at} />{" "}
        <span class="quiet">
          (<Distance at={at} />)
        </span>
      </dd>
    </>
  );
}

function Decisions({ approval }: { readonly approval: Approval }) {
  const { caller } = useConsole();
  const address = useAddress();
  const { status, tenant_id, requested_by } = approval;
  const own = requested_by === caller.sub;
  const where = { tenantId: tenant_id };
  const notOperator = useWhyNotOperator(approval);
  return (
    <>
      <Action
        operation="approval.approve"
        where={where}
        href={hrefWith(address, { dialog: "approve" })}
        look={lookOf(approval.operation_class)}
        unless={whyNotApproved(caller, approval) ?? notOperator}
      >
        Approve
      </Action>
      <Action
        operation={own ? "approval.reject" : "approval.approve"}
        where={where}
        href={hrefWith(address, { dialog: "reject" })}
        look="danger"
        unless={whyNotRejected(approval) ?? (own ? undefined : notOperator)}
      >
        {own ? "Withdraw" : "Reject"}
      </Action>
      {status === "failed" && (
        <Action
          operation="approval.retry"
          href={hrefWith(address, { dialog: "retry" })}
          look="outlined"
          unless={whyNotRetried(approval)}
        >
          Execute again
        </Action>
      )}
      {approval.operation_class === "cert.issue" && status === "executed" && (
        <Issued approval={approval} />
      )}
    </>
  );
}

/** Why the state of the request keeps the caller from approving it; undefined where it does not. */
function whyNotApproved(
  caller: Console["caller"],
  { status, requested_by, decisions }: Approval,
): string | undefined {
  if (status !== "pending") return `It is ${status}.`;
  if (requested_by === caller.sub) return "You made it: somebody else must approve.";
  if (caller.sub === "root" && requested_by.startsWith("local:")) {
    return "A shell of this host made it: root and its shells are one person.";
  }
  const decided = decisions.some(({ approver }) => approver === caller.sub);
  return decided ? "You have decided it." : undefined;
}

/** Said to whoever is not among those that the configuration names for its class. */
function useWhyNotOperator({ operation_class }: Approval): string | undefined {
  const reply = useDecidable();
  if (reply?.kind !== "answered" || reply.answer.operates.includes(operation_class))
    return undefined;
  return `The configuration names others to decide on ${operation_class}.`;
}

const whyNotRejected = ({ status }: Approval): string | undefined =>
  status === "pending" ? undefined : `It is ${status}.`;

function whyNotRetried({ status, failure }: Approval): string | undefined {
  if (status !== "failed") return `It is ${status}: only what has failed is executed again.`;
  return failure?.retryable ? undefined : "What failed is final.";
}

/** Leads to the certificate that came of it. */
function Issued({ approval: { result } }: { readonly approval: Approval }) {
  // The answer of an issue is that of `cert.issue`; what it lacks leads nowhere.
  const { ca_id, serial } = (result ?? {}) as Partial<Record<"ca_id" | "serial", unknown>>;
  if (typeof ca_id !== "string" || typeof serial !== "string") return null;
  return (
    <a class="button" href={hrefOf(["certificates", ca_id, serial])}>
      Open the certificate
    </a>
  );
}

function Transcript({
  approval: { decisions, executed_at, attempts },
}: Pick<RequestProps, "approval">) {
  if (decisions.length === 0 && executed_at === undefined) return null;
  return (
    <>
      <h3>What was decided</h3>
      <ol class="timeline">
        {decisions.map(({ id, approver, approver_name, decision, comment, created_at }) => (
          <li key={id}>
            <Status word={decision === "approve" ? "approved" : "rejected"} /> by{" "}
            {approver_name ?? approver}, <Time at={created_at} />
            {comment && <blockquote>{comment}</blockquote>}
          </li>
        ))}
        {executed_at && (
          <li>
            <Status word="executed" /> <Time at={executed_at} />
            {attempts > 1 && `, at attempt ${attempts}`}
          </li>
        )}
      </ol>
    </>
  );
}

interface DecisionProps {
  readonly approval: Approval;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

function Approve({ approval, onClose, onDone }: DecisionProps) {
  const { caller } = useConsole();
  const { send, busy, reply } = useSend("approval.approve");
  const [comment, setComment] = useState("");
  const last = approval.approvals_count + 1 >= approval.required_approvals;
  const notOperator = useWhyNotOperator(approval);
  const submit = async () => {
    if ((await send({ id: approval.id, comment })) !== undefined) onDone();
  };
  return (
    <Dialog title={`Approve: ${titleOf(approval)}`} onClose={onClose}>
      <What approval={approval} />
      <p>
        {last
          ? "Yours is the last approval it needs: it is executed at once, in its maker's name."
          : "Others must approve it too."}
      </p>
      <GuardedForm
        operation="approval.approve"
        where={{ tenantId: approval.tenant_id }}
        unless={whyNotApproved(caller, approval) ?? notOperator}
        onSend={submit}
        busy={busy}
        reply={reply}
        does={last ? "Approve and execute" : "Approve"}
        look={lookOf(approval.operation_class)}
        onCancel={onClose}
      >
        <Comment value={comment} onInput={setComment} reply={reply} hint="May be empty." />
      </GuardedForm>
    </Dialog>
  );
}

function Reject({ approval, onClose, onDone }: DecisionProps) {
  const { caller } = useConsole();
  const { send, busy, reply } = useSend("approval.reject");
  const [comment, setComment] = useState("");
  const own = approval.requested_by === caller.sub;
  const notOperator = useWhyNotOperator(approval);
  const does = own ? "Withdraw the request" : "Reject the request";
  const submit = async () => {
    const withdraw = own ? { withdraw: true } : {};
    if ((await send({ id: approval.id, comment, ...withdraw })) !== undefined) onDone();
  };
  return (
    <Dialog title={`${does}: ${titleOf(approval)}`} onClose={onClose}>
      <What approval={approval} />
      <p>One rejection ends it for good; whoever still wants it asks anew.</p>
      <GuardedForm
        operation={own ? "approval.reject" : "approval.approve"}
        where={{ tenantId: approval.tenant_id }}
        unless={whyNotRejected(approval) ?? (own ? undefined : notOperator)}
        onSend={submit}
        busy={busy}
        reply={reply}
        does={does}
        look="danger"
        missing={comment.trim() === "" ? "Say why first." : undefined}
        onCancel={onClose}
      >
        <Comment
          value={comment}
          onInput={setComment}
          reply={reply}
          hint="Why: its maker reads it."
        />
      </GuardedForm>
    </Dialog>
  );
}

function Retry({ approval, onClose, onDone }: DecisionProps) {
  const { send, busy, reply } = useSend("approval.retry");
  const submit = async () => {
    if ((await send({ id: approval.id })) !== undefined) onDone();
  };
  return (
    <Dialog title={`Execute again: ${titleOf(approval)}`} onClose={onClose}>
      <What approval={approval} />
      <GuardedForm
        operation="approval.retry"
        unless={whyNotRetried(approval)}
        onSend={submit}
        busy={busy}
        reply={reply}
        does="Execute again"
        look={lookOf(approval.operation_class)}
        onCancel={onClose}
      />
    </Dialog>
  );
}

/** Said again where it is decided: what, and for whom. */
const What = ({ approval }: Pick<RequestProps, "approval">) => (
  <p>
    {plainText(approval.summary)} Asked by{" "}
    {plainText(approval.requested_by_name ?? approval.requested_by)},{" "}
    <Time at={approval.created_at} />.
  </p>
);

/** What tells it from others comes first. */
function titleOf(approval: Approval): string {
  const target = targetOf(approval);
  return target === undefined ? approval.summary : `${shortText(target)}: ${approval.summary}`;
}

interface CommentProps {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly reply: Parameters<typeof Field>[0]["reply"];
  readonly hint: string;
}

const Comment = ({ value, onInput, reply, hint }: CommentProps) => (
  <Field label="Comment" member="comment" reply={reply} hint={hint}>
    {(control) => (
      <textarea
        {...control}
        maxLength={500}
        value={value}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
    )}
  </Field>
);
