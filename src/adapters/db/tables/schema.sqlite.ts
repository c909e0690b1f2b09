/**
 * The tables of SQLite, each by name, as drizzle-kit reads them to write migrations; the access log
 * is a file of its own.
 */

import { sqliteKit } from "./kit.ts";
import { defineTables } from "./schema.ts";

export const {
  cas,
  crossSigns,
  instance,
  intents,
  certificates,
  certificateArchive,
  revocations,
  revocationChanges,
  revocationReleases,
  crlReservations,
  crlHeads,
  crlPieces,
  crlShards,
  crlMembers,
  crlIndexes,
  responders,
  presigned,
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
  passkeys,
  approvals,
  approvalDecisions,
  approvalEffects,
  events,
  folds,
  ledger,
  openIntents,
  heads,
} = defineTables(sqliteKit);
