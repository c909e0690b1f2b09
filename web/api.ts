/**
 * Asks the server: the routes come from the table of operations, the credential stays in this tab's
 * memory.
 */

import type { Answers, Questions } from "#api/answers.ts";
import { askedOf, type OperationName, operationOf, routeOf } from "#operations";
import { holdsSecretText } from "./secret-text.ts";
import { learnServerTime } from "./server-clock.ts";

/** What the server said no with; `code` is of the closed list of refusals. */
export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly sentence: string;
  readonly requestId: string;
  /** What the refusal says beside its sentence: `field`, `operation`, `retry_after`, … */
  readonly facts: Readonly<Record<string, unknown>>;
}

/** An operation that takes two, stored until somebody else has approved it. */
export interface Parked {
  readonly approvalId: string;
  readonly required: number;
  readonly sentence: string;
}

export type Reply<Answer> =
  | { readonly kind: "answered"; readonly answer: Answer }
  | { readonly kind: "parked"; readonly parked: Parked }
  | { readonly kind: "refused"; readonly refusal: Refusal };

/** What proves who asks: an API token, or the session whose cookie only the browser knows. */
export type Credential =
  | {
      readonly kind: "token";
      readonly token: string;
      /** Told when the server no longer takes the token. */
      readonly onEnd: () => void;
    }
  | {
      readonly kind: "session";
      readonly csrfToken: string;
      /** Told when the server no longer knows the session. */
      readonly onEnd: () => void;
      /** Has the person confirm with a passkey; false when that came to nothing. */
      readonly confirm: (operation: string) => Promise<boolean>;
    };

/**
 * Asks for one operation, again once the person has confirmed it where the server wants that.
 * Without a credential for a public one, whose cookies go along only where it is about them. With
 * the id of a request for approval for the answer of the call that waited as it: nothing is asked
 * anew. Sends nothing (`private_key`) where a member is a private key.
 */
export async function ask<Name extends keyof Answers>(
  name: Name,
  members: Questions[Name],
  credential: Credential | undefined,
  signal: AbortSignal,
  approval?: string,
): Promise<Reply<Answers[Name]>> {
  if (holdsSecretText(members)) return { kind: "refused", refusal: secretStays };
  const asked = { name, members, credential, approval };
  const reply = await askOnce(asked, signal);
  if (reply.kind !== "refused" || reply.refusal.code !== "step_up_required") return reply;
  if (credential?.kind !== "session") return reply;
  const { operation } = reply.refusal.facts;
  if (!(await credential.confirm(typeof operation === "string" ? operation : name))) return reply;
  // The time of the first attempt went by while the person confirmed.
  return askOnce(asked, AbortSignal.timeout(30_000));
}

interface AskedOperation<Name extends keyof Answers> {
  readonly name: Name;
  readonly members: Questions[Name];
  readonly credential: Credential | undefined;
  readonly approval: string | undefined;
}

async function askOnce<Name extends keyof Answers>(
  { name, members, credential, approval }: AskedOperation<Name>,
  signal: AbortSignal,
): Promise<Reply<Answers[Name]>> {
  const { method, path, body } = askedOf(operationOf(name), members);
  const response = await fetch(path, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    headers: {
      // Without it the browser would answer a 401 with a password window of its own.
      "x-requested-with": "pkid-console",
      // Changes are taken from a page as JSON only, also those that need no body.
      ...(method === "GET" ? {} : { "content-type": "application/json" }),
      ...(approval === undefined ? {} : { "x-pki-approval-id": approval }),
      ...proof(credential, method),
    },
    credentials: credential?.kind === "session" || aboutCookies.has(name) ? "same-origin" : "omit",
    signal,
  });
  learnServerTime(response);
  const told: unknown = await response.json().catch(() => undefined);
  const parked = response.status === 202 ? parkedIn(told) : undefined;
  if (parked !== undefined) return { kind: "parked", parked };
  // A server that is not ready answers its components with 503: that is an answer, not a refusal.
  const isAnswer = response.ok || (name === "health.ready" && response.status === 503);
  // A body that breaks off, as that of a question nobody waits for any more, answers nothing.
  if (isAnswer && told !== undefined) {
    // The server's answers are held against their shapes by its tests; `Answers` is those shapes.
    return { kind: "answered", answer: told as Answers[Name] };
  }
  const refusal = refusalOf(response.status, told);
  // A passkey that was not accepted ends no session.
  const ended = refusal.status === 401 && refusal.code !== "step_up_failed";
  if (ended) credential?.onEnd();
  return { kind: "refused", refusal };
}

/**
 * A document as the server sends it (PEM, DER, a transcript), or the refusal. For what a link
 * cannot ask: a token goes in a header.
 */
export async function fetched(
  path: string,
  credential: Credential | undefined,
  signal: AbortSignal,
): Promise<Reply<Blob>> {
  const response = await fetch(path, {
    headers: { "x-requested-with": "pkid-console", ...proof(credential, "GET") },
    credentials: credential?.kind === "session" ? "same-origin" : "omit",
    signal,
  });
  if (response.ok) return { kind: "answered", answer: await response.blob() };
  const told: unknown = await response.json().catch(() => undefined);
  if (response.status === 401) credential?.onEnd();
  return { kind: "refused", refusal: refusalOf(response.status, told) };
}

/** The refusal of a server that does not answer at all. */
export async function replied<Answer>(asked: Promise<Reply<Answer>>): Promise<Reply<Answer>> {
  try {
    return await asked;
  } catch {
    // `fetch` fails without saying why; the only thing known is that no answer came.
    return { kind: "refused", refusal: noAnswer };
  }
}

export const noAnswer: Refusal = {
  status: 0,
  code: "no_answer",
  sentence: "The server does not answer.",
  requestId: "",
  facts: {},
};

const secretStays: Refusal = {
  ...noAnswer,
  code: "private_key",
  sentence: "That is a private key. It stays in this page: nothing was sent.",
};

/** The path of an operation that nothing has to be told. */
export const pathOf = (name: OperationName): string => routeOf(name).path;

/** The address of an operation that is read, for links. */
export const addressOf = <Name extends OperationName>(
  name: Name,
  members?: Questions[Name],
): string => askedOf(operationOf(name), members ?? {}).path;

/**
 * The credential as headers of a request. A cookie changes nothing without the session's token;
 * reading needs none.
 */
export function proof(credential: Credential | undefined, method: string): Record<string, string> {
  switch (credential?.kind) {
    case undefined:
      return {};
    case "token":
      return { authorization: `Bearer ${credential.token}` };
    case "session":
      return method === "GET" ? {} : { "x-csrf-token": credential.csrfToken };
  }
}

/** These set the session's cookies, or ask whether there are any. */
const aboutCookies: ReadonlySet<OperationName> = new Set([
  "auth.session",
  "auth.login_password",
  "auth.login_ldap",
]);

function refusalOf(status: number, body: unknown): Refusal {
  const { error, code, request_id, ...facts } = membersOf(body);
  return {
    status,
    code: word(code, "unreadable"),
    sentence: word(error, `The server answered ${status} without saying why.`),
    requestId: word(request_id, ""),
    facts,
  };
}

function parkedIn(body: unknown): Parked | undefined {
  const { approval_id, required_approvals, message } = membersOf(body);
  if (typeof approval_id !== "string") return undefined;
  const required = typeof required_approvals === "number" ? required_approvals : 1;
  return { approvalId: approval_id, required, sentence: word(message, "Waits for approval.") };
}

const membersOf = (body: unknown): Readonly<Record<string, unknown>> =>
  // Read member by member by the callers, so nothing is believed about a body of another kind.
  typeof body === "object" && body !== null ? (body as Readonly<Record<string, unknown>>) : {};

const word = (value: unknown, otherwise: string): string =>
  typeof value === "string" ? value : otherwise;
