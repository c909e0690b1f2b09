/** How bulk issues are remembered, so that a repetition makes only what is missing. */

import type { CaId, Serial } from "#core/ids.ts";
import type { Instant } from "#core/time.ts";
import type { OperationKey } from "#domain/operation-runs.ts";

/** What belongs to an operation for good. */
export interface BulkOperation extends OperationKey {
  /** Lower hex SHA-256 of everything that was asked. */
  readonly digest: string;
  readonly requestedBy: string;
  readonly createdAt: Instant;
}

/** One item that became a certificate. */
export interface BulkItem {
  /** Place in the list of the request, from 0. */
  readonly position: number;
  readonly caId: CaId;
  readonly serial: Serial;
}

export interface BulkReads {
  operation(key: OperationKey): Promise<BulkOperation | undefined>;
  /** Items with a position above `after`, in order. */
  issued(operation: OperationKey, limit: number, after: number): Promise<readonly BulkItem[]>;
}

export interface BulkWrites {
  /** Takes the id for good; false when it is taken in its lineage. */
  begin(operation: BulkOperation): Promise<boolean>;
  /**
   * Notes what an item became, in the unit that stores the certificate; false when it had become
   * one before.
   */
  settle(operation: OperationKey, item: BulkItem): Promise<boolean>;
}
