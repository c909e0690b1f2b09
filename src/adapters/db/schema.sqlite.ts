/** The tables of SQLite, each by name, as drizzle-kit reads them to write migrations. */

import { sqliteKit } from "./kit.ts";
import { defineTables } from "./schema.ts";

export const {
  cas,
  crossSigns,
  instance,
  intents,
  certificates,
  revocations,
  revocationChanges,
  crlReservations,
  crls,
  responders,
  bulkOperations,
  bulkItems,
  bulkRuns,
  bulkSerials,
  certificateCounts,
  revocationCounts,
  blockedKeys,
  ownKeys,
  precertificates,
  inclusions,
  logHeads,
  kekVersions,
  sealedValues,
  tokens,
  tenants,
  tenantCounts,
  grants,
  events,
  ledger,
  openIntents,
  heads,
  accessLog,
} = defineTables(sqliteKit);
