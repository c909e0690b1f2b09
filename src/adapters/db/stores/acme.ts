/** What ACME keeps, in the database: its four parts as one. */

import type { AcmeReads, AcmeWrites } from "#domain/acme/store.ts";
import type { Connection } from "#adapters/db/engine/connection.ts";

import { accountReads, accountWrites } from "./acme-accounts.ts";
import { authorizationReads, authorizationWrites } from "./acme-authorizations.ts";
import { challengeReads, challengeWrites } from "./acme-challenges.ts";
import { clearing } from "./acme-clearing.ts";
import { eabReads, eabWrites } from "./acme-eab.ts";
import { orderReads, orderWrites } from "./acme-orders.ts";

/** Everything as last committed; `owner` is this store's number among the replicas. */
export function acmeReads(connection: Connection, owner: number): AcmeReads {
  return {
    ...accountReads(connection),
    ...eabReads(connection),
    ...orderReads(connection, owner),
    ...authorizationReads(connection),
    ...challengeReads(connection, owner),
  };
}

/** The changes of a unit. */
export function acmeWrites(connection: Connection, owner: number): AcmeWrites {
  return {
    ...accountWrites(connection),
    ...eabWrites(connection),
    ...orderWrites(connection, owner),
    ...authorizationWrites(connection),
    ...challengeWrites(connection, owner),
    ...clearing(connection),
  };
}
