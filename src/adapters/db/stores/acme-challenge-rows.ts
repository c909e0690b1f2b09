/** Challenges as they stand in their table. */

import type { ChallengeRecord } from "#domain/acme/store.ts";
import type { Connection } from "#adapters/db/engine/connection.ts";

type Table = Connection["t"]["acmeChallenges"];

/** The row of a challenge of an account, which nobody works on. */
export function rowOf(challenge: ChallengeRecord, account: string): Table["$inferInsert"] {
  const { authorization, validatedAt, error, ...facts } = challenge;
  return {
    ...facts,
    authorizationId: authorization,
    account,
    validatedAt: validatedAt ?? null,
    error: error === undefined ? null : JSON.stringify(error),
  };
}

/** Only these stores fill the table, so its texts are what the record's type says. */
export function challengeFrom(row: Table["$inferSelect"]): ChallengeRecord {
  const { id, authorizationId, type, token, status, validatedAt, error, attempts } = row;
  const problem: unknown = error === null ? undefined : JSON.parse(error);
  return {
    id,
    authorization: authorizationId,
    type,
    token,
    status,
    validatedAt: validatedAt ?? undefined,
    error: problem,
    attempts,
  } as ChallengeRecord; // See above.
}
