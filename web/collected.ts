/**
 * The maker's repeat of a call that waited for approval: by the request's id, so that the answer is
 * that of this request, and nothing is asked for anew where it has been fetched already.
 */

import type { Answers, Questions } from "#api/answers.ts";
import { askedOf, operationOf } from "#operations";
import { type Credential, proof, type Refusal, type Reply } from "./api.ts";

/** What is asked again, and for which request. */
export interface Collection<Name extends keyof Answers> {
  readonly approval: string;
  readonly operation: Name;
  /** As the request has them: other members would be another call. */
  readonly members: Questions[Name];
}

/** Gives what the operation answered, with its secret the first time; asks for a passkey first. */
export async function collected<Name extends keyof Answers>(
  collection: Collection<Name>,
  credential: Credential,
  signal: AbortSignal,
): Promise<Reply<Answers[Name]>> {
  const reply = await collectedOnce(collection, credential, signal);
  if (reply.kind !== "refused" || credential.kind !== "session") return reply;
  if (reply.refusal.status === 401 && reply.refusal.code !== "step_up_failed") credential.onEnd();
  if (reply.refusal.code !== "step_up_required") return reply;
  if (!(await credential.confirm(collection.operation))) return reply;
  return collectedOnce(collection, credential, AbortSignal.timeout(30_000));
}

async function collectedOnce<Name extends keyof Answers>(
  { approval, operation, members }: Collection<Name>,
  credential: Credential,
  signal: AbortSignal,
): Promise<Reply<Answers[Name]>> {
  const { method, path, body } = askedOf(operationOf(operation), members);
  const response = await fetch(path, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    headers: {
      "x-requested-with": "pkid-console",
      "content-type": "application/json",
      "x-pki-approval-id": approval,
      ...proof(credential, method),
    },
    credentials: credential.kind === "session" ? "same-origin" : "omit",
    signal,
  });
  const told: unknown = await response.json();
  // Done, but its answer is not there yet: the same sentence as that of the call that was parked.
  if (response.ok && response.status !== 202) {
    // The server's answers are held against their shapes by its tests; `Answers` is those shapes.
    return { kind: "answered", answer: told as Answers[Name] };
  }
  return { kind: "refused", refusal: refusalIn(response.status, told) };
}

function refusalIn(status: number, told: unknown): Refusal {
  // Read member by member, so nothing is believed about a body of another kind.
  const members = (told ?? {}) as Readonly<Record<string, unknown>>;
  const { error, message, code, request_id, ...facts } = members;
  const text = (value: unknown, otherwise: string) =>
    typeof value === "string" ? value : otherwise;
  return {
    status,
    code: text(code, status === 202 ? "pending_approval" : "unreadable"),
    sentence: text(error ?? message, `The server answered ${status} without saying why.`),
    requestId: text(request_id, ""),
    facts,
  };
}
