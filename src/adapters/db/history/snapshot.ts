/** Reads from a database how far its history goes, for the comparison with a high-water mark. */

import { assert } from "#core/problems.ts";
import {
  crlScopeKey,
  encodeReport,
  type HighWaterMark,
  type HistorySnapshot,
  parseReport,
  type Rollback,
} from "#core/history/mark.ts";
import { type Connection, placeholder } from "#adapters/db/engine/connection.ts";

/** Value of the instance that a restore or an accepted rollback raises. */
export const historyEpochName = "history_epoch";

/** Value of the instance with the rollback that a replica has found. */
export const rollbackReportName = "rollback_report";

/** Reads the ends of both chains, and the rows that the mark names, in one query. */
export async function readSnapshot(
  connection: Connection,
  mark: HighWaterMark,
): Promise<HistorySnapshot> {
  const [event, ledger] = [1, 2].map((at) => placeholder(connection, at));
  const row = await connection.row(
    `select event_seq, event_hash, ledger_number, ledger_hash, revocation_sequence,
     (select hash from events where seq = ${event}),
     (select hash from ledger where number = ${ledger}),
     (select value from instance where name = '${historyEpochName}'),
     (select value from instance where name = '${rollbackReportName}')
     from heads where id = 1`,
    [mark.event.seq, mark.ledger.seq],
  );
  assert(row !== undefined, "there is one head row");
  const [eventSeq, eventHash, number, hash, revocation, ...further] = row;
  const [eventAtMark, ledgerAtMark, epoch, report] = further;
  return {
    reported: parseReport(toText(report)),
    epoch: Number(epoch ?? 0),
    event: { seq: Number(eventSeq), hash: String(eventHash) },
    ledger: { seq: Number(number), hash: String(hash) },
    revocationSequence: Number(revocation),
    eventAtMark: toText(eventAtMark),
    ledgerAtMark: toText(ledgerAtMark),
    crlNumbers: undefined,
  };
}

/**
 * Stores the rollback in a database that lacks the event of the mark, so that replicas whose marks
 * are older write and sign nothing either.
 */
export async function reportRollback(
  connection: Connection,
  { event }: HighWaterMark,
  { reason, acknowledged }: Rollback,
  epoch: number,
): Promise<void> {
  const [report, seq, hash] = [1, 2, 3].map((at) => placeholder(connection, at));
  await connection.run(
    `insert into instance (name, value) select '${rollbackReportName}', ${report}
     where not exists (select 1 from events where seq = ${seq} and hash = ${hash})
     on conflict (name) do update set value = excluded.value`,
    [encodeReport({ epoch, reason, acknowledged }), event.seq, event.hash],
  );
}

/** Reads the last reserved CRL number of every scope. */
export async function readCrlNumbers(connection: Connection): Promise<ReadonlyMap<string, number>> {
  const rows = await connection.rows("select ca_id, scope, number from crl_reservations", []);
  return new Map(
    rows.map(([ca, scope, number]) => [crlScopeKey(String(ca), String(scope)), Number(number)]),
  );
}

const toText = (value: unknown): string | undefined =>
  value === null || value === undefined ? undefined : String(value);
