/**
 * Where the chains begin in an empty database, and the proof at start-up that they end where the
 * head row says (V-29).
 */

import { desc } from "drizzle-orm";

import { eventHash, genesis } from "#core/audit/chain.ts";
import { ledgerHash } from "#core/audit/ledger.ts";
import { defaultTenant } from "#core/ids.ts";
import type { Clock, Random } from "#domain/ports.ts";
import { unlimited } from "#domain/tenants/store.ts";
import { entry, event, storedHeads } from "#adapters/db/stores/audit.ts";
import type { HighWaterStorage } from "#adapters/db/history/high-water-file.ts";
import { tenantWrites } from "#adapters/db/stores/tenants.ts";

import { StoreUnfit } from "./faults.ts";
import type { Connection } from "./connection.ts";

export interface StoreDependencies {
  readonly clock: Clock;
  readonly random: Random;
  /** Storage of the high-water mark; undefined if the mark is only kept in memory. */
  readonly highWater?: HighWaterStorage | undefined;
  /** The main module, for threads; without it there are none. */
  readonly workerUrl?: string | undefined;
  /** Called before an empty database is filled; throws where none may begin. */
  readonly beforeFilling?: () => Promise<void>;
  /** Told of what no caller can be told: a lost batch, a failing listener, lost access log rows. */
  readonly onFault?: (sentence: string, error: unknown) => void;
}

/**
 * Fills a database whose tables were just made: the head row and the built-in tenant; the ledger
 * begins with its key.
 */
export async function fillEmpty(writer: Connection, deps: StoreDependencies): Promise<void> {
  await fillHeads(writer);
  const now = deps.clock.now();
  const builtIn = { id: defaultTenant, slug: "default", name: "default" };
  await tenantWrites(writer).ensure({
    ...builtIn,
    status: "active",
    createdAt: now,
    kekLabel: "",
    quotas: unlimited,
  });
}

/** Writes the head row of chains that have not begun. */
export async function fillHeads({ db, t }: Connection): Promise<void> {
  await db.insert(t.heads).values({
    id: 1,
    eventSeq: genesis.seq,
    eventHash: genesis.hash,
    revocationSequence: 0,
    ledgerNumber: genesis.seq,
    ledgerHash: genesis.hash,
  });
}

/**
 * Refuses a store whose last event or ledger entry is not the one the head row names, or does not
 * recompute. The connection must see one committed state: another replica may append meanwhile.
 */
export async function verifyHeads(view: Connection): Promise<void> {
  const broken = await brokenChain(view);
  if (broken === undefined) return;
  throw new StoreUnfit("head_mismatch", `The stored head of ${broken} is not where it ends.`);
}

async function brokenChain(
  view: Connection,
): Promise<"the audit chain" | "the ledger" | undefined> {
  const { db, t } = view;
  const heads = await storedHeads(view);
  const [lastEvent] = await db.select().from(t.events).orderBy(desc(t.events.seq)).limit(1);
  const [lastEntry] = await db.select().from(t.ledger).orderBy(desc(t.ledger.number)).limit(1);
  const events = lastEvent
    ? { seq: lastEvent.seq, hash: eventHash(event(lastEvent)), stored: lastEvent.hash }
    : { ...genesis, stored: genesis.hash };
  const ledger = lastEntry
    ? { seq: lastEntry.number, hash: ledgerHash(entry(lastEntry)), stored: lastEntry.hash }
    : { ...genesis, stored: genesis.hash };
  if (!ends(events, heads.eventSeq, heads.eventHash)) return "the audit chain";
  return ends(ledger, heads.ledgerNumber, heads.ledgerHash) ? undefined : "the ledger";
}

/** `hash` is recomputed from the row, `stored` is what the row says. */
function ends(
  last: { readonly seq: number; readonly hash: string; readonly stored: string },
  headSeq: number,
  headHash: string,
): boolean {
  return last.seq === headSeq && last.hash === headHash && last.stored === headHash;
}
