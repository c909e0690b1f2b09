/** What the memory store keeps of ACME besides the records of the port. */

import type { Instant } from "#core/time.ts";
import type {
  AccountRecord,
  AuthorizationFacts,
  ChallengeRecord,
  OrderRecord,
} from "#domain/acme/store.ts";

/** An order with what its record does not show. */
export interface MemoryOrder extends OrderRecord {
  readonly claimedAt?: Instant | undefined;
  readonly notAfter?: Instant | undefined;
  readonly replacedBy?: string | undefined;
}

/** A challenge with when it is due and until when it is taken. */
export interface MemoryChallenge extends ChallengeRecord {
  readonly nextAt?: Instant | undefined;
  readonly leaseUntil?: Instant | undefined;
}

/** An authorization with the ids of its challenges. */
export interface MemoryAuthorization extends AuthorizationFacts {
  readonly challengeIds: readonly string[];
}

/** A key that an account had. */
export type MemoryAccountKey = Pick<AccountRecord, "thumbprint" | "spkiSha256">;
