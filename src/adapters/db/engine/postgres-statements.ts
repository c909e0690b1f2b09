/** Statements of the PostgreSQL engine on its head row and its connections. */

import type { SQL } from "bun";

import { assert } from "#core/problems.ts";

import type { Heads } from "./journal.ts";

/** Rows as the driver returns them from `values()`. */
export type PostgresRows = readonly (readonly unknown[])[];

/** Locks the head row and reads it, for `parseHeads`. */
export const lockHeads = (sql: SQL) =>
  sql`select event_seq, event_hash, ledger_number, ledger_hash, revocation_sequence, rows_version from heads where id = 1 for update`;

/** Parses a row of `lockHeads`. */
export function parseHeads(row: unknown): Heads {
  assert(Array.isArray(row), "there is one head row");
  const [eventSeq, eventHash, ledgerNumber, ledgerHash, revocationSequence, rowsVersion] =
    row.map(String);
  return {
    eventSeq: Number(eventSeq),
    eventHash: eventHash ?? "",
    ledgerNumber: Number(ledgerNumber),
    ledgerHash: ledgerHash ?? "",
    revocationSequence: Number(revocationSequence),
    rowsVersion: Number(rowsVersion),
  };
}

/** Both versions of cached rows, and whether the server takes writes, in one statement. */
export const readVersions = `select revocation_sequence, rows_version,
  current_setting('transaction_read_only'), pg_backend_pid() from heads where id = $1`;

/** State of the server within a view, which itself is read-only on any server. */
export const readViewServer =
  "select current_setting('default_transaction_read_only'), pg_is_in_recovery()::text";

/**
 * Ends the earlier writing connections of this store. They may still lock the head row or be about
 * to commit; afterwards neither is possible.
 */
export const endPredecessor = `select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and objsubid = 2
  and database = (select oid from pg_database where datname = current_database())
  and classid::bigint = $1 and objid::bigint = $2 and pid <> pg_backend_pid()`;

/**
 * Settings of the writing connection. Timeouts keep a stalled replica from blocking the head row;
 * plans must find rows by key, also those made for an empty table. `synchronous_commit` is set, so
 * that a reload of the server cannot turn it off for the session.
 */
export const writerSettings = `set lock_timeout = 10000; set idle_in_transaction_session_timeout = 5000;
  set enable_seqscan = off; set jit = off;
  select set_config('synchronous_commit', current_setting('synchronous_commit'), false)`;
