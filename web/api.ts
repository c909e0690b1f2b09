/** Asks the server: the routes come from the table of operations, the credential stays in this tab's memory. */

import { type OperationName, routeOf } from "#operations";
import type { Answers } from "./answers.ts";

/** What the server said no with; `code` is of the closed list of refusals. */
export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly sentence: string;
  readonly requestId: string;
}

export type Reply<Answer> =
  | { readonly answered: true; readonly answer: Answer }
  | { readonly answered: false; readonly refusal: Refusal };

/** What fills the route and the query string. */
export interface Question {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
}

/** Asks for one operation; `token` is an API token, undefined for a public operation. */
export async function ask<Name extends keyof Answers>(
  name: Name,
  question: Question,
  token: string | undefined,
  signal: AbortSignal,
): Promise<Reply<Answers[Name]>> {
  const response = await fetch(addressOf(name, question), {
    headers: {
      // Without it the browser would answer a 401 with a password window of its own.
      "x-requested-with": "pkid-console",
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    credentials: "omit",
    signal,
  });
  const body: unknown = await response.json().catch(() => undefined);
  // A server that is not ready answers its components with 503: that is an answer, not a refusal.
  if (response.ok || (name === "health.ready" && response.status === 503)) {
    // The server's answers are held against the contract by its own tests; `Answers` says the same.
    return { answered: true, answer: body as Answers[Name] };
  }
  return { answered: false, refusal: refusalOf(response.status, body) };
}

/** The address of an operation, for links and for `ask`. */
export function addressOf(name: OperationName, { path = {}, query = {} }: Question = {}): string {
  const filled = routeOf(name).path.replaceAll(/\{(\w+)\*?\}/g, (_whole, member: string) =>
    encodeURIComponent(path[member] ?? ""),
  );
  const search = new URLSearchParams(query).toString();
  return search === "" ? filled : `${filled}?${search}`;
}

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
  };
}
