/**
 * Asks the server: the routes come from the table of operations, the credential stays in this tab's
 * memory.
 */

import type { Answers, Questions } from "#api/answers.ts";
import { askedOf, type OperationName, operationOf } from "#operations";

/** What the server said no with; `code` is of the closed list of refusals. */
export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly sentence: string;
  readonly requestId: string;
  /** What is to be confirmed with a passkey first, where that is what was missing. */
  readonly operation?: string;
}

export type Reply<Answer> =
  | { readonly answered: true; readonly answer: Answer }
  | { readonly answered: false; readonly refusal: Refusal };

/** What proves who asks: an API token, or the session whose cookie only the browser knows. */
export type Credential =
  | { readonly kind: "token"; readonly token: string }
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
 * Without a credential for a public one, whose cookies go along only where it is about them.
 */
export async function ask<Name extends keyof Answers>(
  name: Name,
  members: Questions[Name],
  credential: Credential | undefined,
  signal: AbortSignal,
): Promise<Reply<Answers[Name]>> {
  const reply = await askOnce(name, members, credential, signal);
  if (reply.answered || reply.refusal.code !== "step_up_required") return reply;
  if (credential?.kind !== "session") return reply;
  if (!(await credential.confirm(reply.refusal.operation ?? name))) return reply;
  // The time of the first attempt went by while the person confirmed.
  return askOnce(name, members, credential, AbortSignal.timeout(30_000));
}

async function askOnce<Name extends keyof Answers>(
  name: Name,
  members: Questions[Name],
  credential: Credential | undefined,
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
      ...proof(credential, method),
    },
    credentials: credential?.kind === "session" || aboutCookies.has(name) ? "same-origin" : "omit",
    signal,
  });
  const told: unknown = await response.json().catch(() => undefined);
  // A server that is not ready answers its components with 503: that is an answer, not a refusal.
  if (response.ok || (name === "health.ready" && response.status === 503)) {
    // The server's answers are held against their shapes by its tests; `Answers` is those shapes.
    return { answered: true, answer: told as Answers[Name] };
  }
  const refusal = refusalOf(response.status, told);
  // A passkey that was not accepted ends no session.
  const ended = refusal.status === 401 && refusal.code !== "step_up_failed";
  if (ended && credential?.kind === "session") credential.onEnd();
  return { answered: false, refusal };
}

/** The address of an operation that is read, for links. */
export const addressOf = <Name extends OperationName>(
  name: Name,
  members?: Questions[Name],
): string => askedOf(operationOf(name), members ?? {}).path;

/** A cookie changes nothing without the session's token; reading needs none. */
function proof(credential: Credential | undefined, method: string): Record<string, string> {
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
  // Read member by member below, so nothing is believed about a body that is not an error.
  const said = (typeof body === "object" && body !== null ? body : {}) as Record<string, unknown>;
  const word = (value: unknown, otherwise: string) =>
    typeof value === "string" ? value : otherwise;
  return {
    status,
    code: word(said.code, "unreadable"),
    sentence: word(said.error, `The server answered ${status} without saying why.`),
    requestId: word(said.request_id, ""),
    ...(typeof said.operation === "string" ? { operation: said.operation } : {}),
  };
}
