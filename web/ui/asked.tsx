/** Asks an operation and shows what it answers: waiting, refused with the reason, or the answer. */

import type { ComponentChildren } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import type { Answers, Questions } from "#api/answers.ts";
import { grantGives, grantRoles } from "#core/access/roles.ts";
import { namesIn, type Operation, operations, routeOf } from "#operations";
import { ask, type Parked, type Refusal, type Reply } from "#web/api.ts";
import { hrefOf } from "#web/address.ts";
import { useConsole } from "#web/console.ts";
import { rightByRoles } from "#web/rights.ts";
import { type Answering, type Question, useAnswer } from "./answer.ts";
import { Copy } from "./copy.tsx";
import { sentenceOf } from "./faults.ts";

/** What an operation is asked for, and what came. */
export type Asking<Name extends keyof Answers> = Answering<Answers[Name]>;

/**
 * Asks nothing that roles alone can allow and the caller's do not: that is known beforehand. Else
 * asks again when the members change, when `refresh` is called, and when one of the `live` actions
 * is seen in the feed. Nothing is asked while `members` is undefined.
 */
export function useAsked<Name extends keyof Answers>(
  name: Name,
  members: Questions[Name] | undefined,
  live: readonly string[] = [],
): Asking<Name> {
  const withheld = useWithheld(name);
  const question =
    members === undefined || withheld !== undefined ? undefined : questionOf(name, members);
  const answering = useAnswer(question, live);
  return withheld === undefined ? answering : { ...answering, reply: withheld, busy: false };
}

/**
 * The same for what only stands beside something: its place has no room for a refusal, so the frame
 * says where it could not be had, and asks again.
 */
export function useAside<Name extends keyof Answers>(
  ...asked: Parameters<typeof useAsked<Name>>
): Asking<Name> {
  const asking = useAsked(...asked);
  useMissing(asking);
  return asking;
}

/** Has the frame say what could not be had at all, where asking again may help. */
export function useMissing(asking: Answering<unknown> | undefined): void {
  const { reply, refresh = noRefresh } = asking ?? {};
  const { stale } = useConsole();
  const refusal = reply?.kind === "refused" && passes(reply.refusal) ? reply.refusal : undefined;
  useEffect(
    () =>
      refusal === undefined ? undefined : stale.add({ refusal, again: refresh, isMissing: true }),
    [refusal, refresh, stale],
  );
}

const noRefresh = () => undefined;

/** True where the next attempt may be answered: the question was not at fault. */
const passes = ({ status }: Refusal): boolean => status === 0 || status === 429 || status >= 500;

const questionOf = <Name extends keyof Answers>(
  name: Name,
  members: Questions[Name],
): Question<Answers[Name]> => ({
  key: JSON.stringify([name, members]),
  subject: subjectOf(name, members),
  asked: (credential, signal) => ask(name, members, credential, signal),
});

/** What a question is about, as against which rows of it are wanted. */
function subjectOf(name: keyof Answers, members: object): string {
  const naming = new Set([...namesIn(routeOf(name).path), ...namingMembers]);
  return JSON.stringify(Object.entries(members).filter(([member]) => naming.has(member)));
}

/** They name a thing in every operation that takes them. */
const namingMembers = ["ca", "parent_id", "serial", "tenant"];

/** The refusal of what no grant on a CA can give; of anything else the server alone knows. */
function useWithheld(name: keyof Answers): Extract<Reply<never>, { kind: "refused" }> | undefined {
  const { caller, tenants } = useConsole();
  const right = isOfRoles(name) ? rightByRoles({ caller, tenants }, name) : undefined;
  const reason = right === undefined || right.allowed ? undefined : right.reason;
  return useMemo(() => {
    if (reason === undefined) return undefined;
    const refusal = { status: 403, code: unasked, sentence: reason, requestId: "", facts: {} };
    return { kind: "refused", refusal };
  }, [reason]);
}

/** Of the whole platform, or of a tenant and by a capability that is no part of any grant. */
function isOfRoles(name: keyof Answers): boolean {
  const { on, needs }: Operation = operations[name];
  if (name === "acme.eab.list") return true; // A grant on a CA shows none of its tenant's.
  if (on === "platform") return true;
  if (needs === "pub" || needs === "any") return false;
  return (on === "any" || on === "tenant") && !grantRoles.some((role) => grantGives(role, needs));
}

/** The code of what was not asked for, as `no_answer` is that of what was not answered. */
export const unasked = "unasked";

interface AskedProps<Name extends keyof Answers> {
  readonly name: Name;
  readonly members?: Questions[Name];
  readonly live?: readonly string[];
  /** Who may not see it is told so as a fact, and not as something that has failed. */
  readonly quietly?: boolean;
  readonly children: (answer: Answers[Name], refresh: () => void) => ComponentChildren;
}

/** The same as a place on a page. */
export function Asked<Name extends keyof Answers>(props: AskedProps<Name>) {
  const { name, members = {}, live, quietly = false, children } = props;
  const { reply, refresh } = useAsked(name, members, live);
  if (reply === undefined) return <Waiting />;
  if (reply.kind === "answered") return children(reply.answer, refresh);
  if (quietly && reply.kind === "refused" && reply.refusal.status === 403) {
    const { sentence, facts } = reply.refusal;
    const needs = typeof facts.capability === "string" ? ` Needs ${facts.capability}.` : "";
    return <Withheld>{sentence + needs}</Withheld>;
  }
  return <Outcome reply={reply} again={refresh} />;
}

export const Waiting = () => (
  <p class="quiet" role="status">
    Asking…
  </p>
);

interface OutcomeProps {
  readonly reply: Reply<unknown> | undefined;
  /** A field says what is wrong with it. */
  readonly atField?: boolean;
  /** Asks again, where it failed for no fault of the question. */
  readonly again?: () => void;
  /** By which a button names what waits as the reason that it cannot be pressed again. */
  readonly parkedId?: string;
}

/** What became of something that was asked for, unless it was answered: that the page shows. */
export function Outcome({ reply, atField = false, again, parkedId }: OutcomeProps) {
  if (reply?.kind === "refused") {
    return (
      <>
        <Refused refusal={reply.refusal} atField={atField} />
        {again !== undefined && passes(reply.refusal) && (
          <div class="buttons">
            <button type="button" class="button" onClick={again}>
              Try again
            </button>
          </div>
        )}
      </>
    );
  }
  if (reply?.kind === "parked") return <WaitsForApproval parked={reply.parked} id={parkedId} />;
  return null;
}

/** True for what failed; what a caller may not read is not missing, it is not theirs. */
export const isMissing = (reply: Reply<unknown> | undefined): boolean =>
  reply?.kind === "refused" && reply.refusal.status !== 403;

interface RefusedProps {
  readonly refusal: Refusal;
  readonly atField?: boolean;
}

/** A refusal as the server put it, with the id under which the log knows it. */
export function Refused({ refusal, atField = false }: RefusedProps) {
  const { sentence, code, requestId, facts } = refusal;
  if (code === unasked) return <Withheld>{sentence}</Withheld>;
  const reason = typeof facts.reason === "string" ? ` ${sentenceOf(facts.reason)}` : "";
  return (
    <div class="notice bad" role="alert">
      <p>
        <span aria-hidden="true">✕ </span>
        {sentence}
        {!atField && reason}
        {typeof facts.capability === "string" && ` Needs ${facts.capability}.`}
        {!atField && typeof facts.field === "string" && <span> ({facts.field})</span>}
      </p>
      <p class="quiet small">
        <code>{code}</code>
        {requestId !== "" && (
          <>
            {" · request "}
            <Copy text={requestId} name="request id" />
          </>
        )}
      </p>
    </div>
  );
}

/** What is not there for the caller, or not switched on: a fact, and no failure. */
export const Withheld = ({ children }: { readonly children: ComponentChildren }) => (
  <p class="notice quiet">
    <span>
      <span aria-hidden="true">⊘ </span>
      {children}
    </span>
  </p>
);

interface WaitsProps {
  readonly parked: Parked;
  readonly id: string | undefined;
}

function WaitsForApproval({ parked, id }: WaitsProps) {
  return (
    <div id={id} class="notice warn" role="status">
      <p>
        <span aria-hidden="true">◔ </span>
        {parked.sentence}{" "}
        {parked.required === 1 ? "One other person" : `${parked.required} other people`} must
        approve it.
      </p>
      <p>
        <a href={hrefOf(["approvals", parked.approvalId])}>Open the request</a>
      </p>
    </div>
  );
}
