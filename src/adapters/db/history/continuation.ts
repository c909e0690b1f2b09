/** Changes an older database so that no number is published or counted twice (RES-2). */

import type { HighWaterMark } from "#core/history/mark.ts";
import { type Instant, instant } from "#core/time.ts";
import { applyCrlNumberJump, computeCrlNumberJump } from "#core/x509/crl-numbers.ts";
import type { HistoryContinuation } from "#domain/store.ts";
import { voidAcme } from "#adapters/db/archive/voided.ts";
import { changer, type Connection, placeholder } from "#adapters/db/engine/connection.ts";
import type { Journal } from "#adapters/db/engine/journal.ts";
import { numberFloorName, raiseCrlNumber } from "#adapters/db/stores/crls.ts";
import { instanceWrites } from "#adapters/db/stores/instance.ts";
import { historyEpochName, readCrlNumbers, readSnapshot, rollbackReportName } from "./snapshot.ts";

/** Older database inside a transaction, and the newest acknowledged state. */
export interface ContinuationDeps {
  readonly writer: Connection;
  readonly journal: Pick<Journal, "raiseRevocations">;
  readonly mark: HighWaterMark;
}

/**
 * Raises CRL numbers, the revocation sequence and the epoch of the history above every
 * acknowledged value. Presigned OCSP responses, nonces and open challenges of ACME become void.
 */
export async function continueHistory(
  { writer, journal, mark }: ContinuationDeps,
  at: Instant,
): Promise<Omit<HistoryContinuation, "rollback">> {
  const snapshot = await readSnapshot(writer, mark);
  const epoch = Math.max(snapshot.epoch, mark.epoch, at) + 1;
  await instanceWrites(writer).setValue(historyEpochName, String(epoch));
  await writer.run(`delete from instance where name = '${rollbackReportName}'`, []);
  await raiseCrlNumbers(writer, mark, at);
  await writer.run("delete from presigned", []);
  await voidAcme(writer);
  // Other replicas evict cached rows when this version moves.
  if (writer.dialect === "postgres") {
    await writer.run("update heads set rows_version = rows_version + 1000000 where id = 1", []);
  }
  const highest = Math.max(snapshot.revocationSequence, mark.revocationSequence);
  const revocationSequence = highest + revocationStep;
  journal.raiseRevocations(revocationSequence);
  return { epoch, revocationSequence };
}

async function raiseCrlNumbers(
  writer: Connection,
  mark: HighWaterMark,
  at: Instant,
): Promise<void> {
  const jump = computeCrlNumberJump(await readLastEventTime(writer, at), at);
  const { step, floor } = jump;
  const raiseAll = changer(
    writer,
    `update crl_reservations set number =
     case when number + %1 > %2 then number + %3 else %4 end`,
  );
  await raiseAll([step, floor, step, floor]);
  const name = placeholder(writer, 1);
  const [stored] =
    (await writer.row(`select value from instance where name = ${name}`, [numberFloorName])) ?? [];
  const raised = applyCrlNumberJump(Number(stored ?? 0), jump);
  await instanceWrites(writer).setValue(numberFloorName, String(raised));
  // The mark may hold higher numbers, and scopes that the older database lacks.
  const numbers = await readCrlNumbers(writer);
  for (const [key, number] of mark.crlNumbers) {
    if ((numbers.get(key) ?? 0) >= number) continue;
    const [caId = "", scope = ""] = key.split("/");
    await raiseCrlNumber(writer, { caId, scope, number });
  }
}

async function readLastEventTime(writer: Connection, fallback: Instant): Promise<Instant> {
  const [at] = (await writer.row("select at from events order by seq desc limit 1", [])) ?? [];
  return at === undefined ? fallback : instant(Number(at));
}

/** More revocations than another replica can know of. */
const revocationStep = 1_000_000;
