/** Events and the sign ledger as they are read; `journal.ts` writes them. */

import { and, asc, desc, eq, gt, gte, lt, lte, type SQL } from "drizzle-orm";

import type { AuditEvent } from "#core/audit/chain.ts";
import type { LedgerEntry } from "#core/audit/ledger.ts";
import { assert } from "#core/problems.ts";
import type { AuditReads, EventFilter, LedgerFilter } from "#domain/audit/store.ts";
import { within } from "./cas.ts";
import type { Heads } from "./journal.ts";
import { ownedByDead } from "./owners.ts";
import { counted, pageOf, type Session, startsWith } from "./session.ts";

/** `owner` is this store's number among the replicas. */
export function auditReads(session: Session, owner: number): AuditReads {
  const { db, t } = session;
  return {
    events: async (filter, limit, beforeSeq) => {
      const where = matching(session, filter);
      const earlier = beforeSeq === undefined ? undefined : lt(t.events.seq, beforeSeq);
      const found = db.select().from(t.events).where(and(where, earlier));
      const rows = await found.orderBy(desc(t.events.seq)).limit(limit + 1);
      const [sum] = await db.select({ total: counted }).from(t.events).where(where);
      const items = rows.slice(0, limit).map(event);
      const last = items.at(-1);
      const next = rows.length > limit && last ? { at: last.seq, id: "" } : undefined;
      return { items, next, total: sum?.total ?? 0 };
    },
    eventsAfter: async (afterSeq, limit) => {
      const later = db.select().from(t.events).where(gt(t.events.seq, afterSeq));
      return (await later.orderBy(asc(t.events.seq)).limit(limit)).map(event);
    },
    eventHead: async () => {
      const { eventSeq, eventHash } = await storedHeads(session);
      return { seq: eventSeq, hash: eventHash };
    },
    ledger: async (filter, limit, beforeNumber) => {
      const where = ledgerMatching(session, filter);
      const earlier = beforeNumber === undefined ? undefined : lt(t.ledger.number, beforeNumber);
      const found = db.select().from(t.ledger).where(and(where, earlier));
      const rows = await found.orderBy(desc(t.ledger.number)).limit(limit + 1);
      const [sum] = await db.select({ total: counted }).from(t.ledger).where(where);
      return pageOf(rows.map(entry), limit, sum?.total ?? 0, ({ number }) => ({
        at: number,
        id: "",
      }));
    },
    ledgerAfter: async (afterNumber, limit) => {
      const later = db.select().from(t.ledger).where(gt(t.ledger.number, afterNumber));
      return (await later.orderBy(asc(t.ledger.number)).limit(limit)).map(entry);
    },
    ledgerHead: async () => {
      const { ledgerNumber, ledgerHash } = await storedHeads(session);
      return { seq: ledgerNumber, hash: ledgerHash };
    },
    openLedgerIntents: async (limit) => {
      const open = db
        .select({ ledger: t.ledger })
        .from(t.openIntents)
        .innerJoin(t.ledger, eq(t.ledger.number, t.openIntents.number))
        .where(ownedByDead(session, t.openIntents.owner, owner));
      const rows = await open.orderBy(asc(t.openIntents.number)).limit(limit);
      return rows.map((row) => entry(row.ledger));
    },
  };
}

/** The head row as last committed. */
export async function storedHeads({ db, t }: Session): Promise<Heads> {
  const [row] = await db.select().from(t.heads).where(eq(t.heads.id, 1));
  assert(row !== undefined, "there is one head row");
  const { id: _id, ...heads } = row;
  return heads;
}

function matching({ t }: Session, filter: EventFilter): SQL | undefined {
  const e = t.events;
  const { action, actor, result, caId, serial, requestId, tenant, from, to } = filter;
  return and(
    within({ tenant: e.tenant, ca: e.caId }, filter.reach),
    action === undefined ? undefined : named(e, action),
    actor === undefined ? undefined : eq(e.actor, actor),
    result === undefined ? undefined : eq(e.result, result),
    caId === undefined ? undefined : eq(e.caId, caId),
    serial === undefined ? undefined : eq(e.serial, serial),
    requestId === undefined ? undefined : eq(e.requestId, requestId),
    tenant === undefined ? undefined : eq(e.tenant, tenant),
    from === undefined ? undefined : gte(e.at, from),
    to === undefined ? undefined : lt(e.at, to),
  );
}

function ledgerMatching(
  { t: { ledger } }: Session,
  { kind, signerFingerprint, fromNumber, toNumber }: LedgerFilter,
): SQL | undefined {
  return and(
    kind === undefined ? undefined : eq(ledger.kind, kind),
    signerFingerprint === undefined ? undefined : eq(ledger.signerFingerprint, signerFingerprint),
    fromNumber === undefined ? undefined : gte(ledger.number, fromNumber),
    toNumber === undefined ? undefined : lte(ledger.number, toNumber),
  );
}

function named(e: Session["t"]["events"], action: string): SQL {
  return action.endsWith(".*") ? startsWith(e.action, action.slice(0, -1)) : eq(e.action, action);
}

/** The event as it was hashed: without the column that only serves filters. */
export function event(row: Session["t"]["events"]["$inferSelect"]): AuditEvent {
  const { at: _at, ...hashed } = row;
  return hashed;
}

/** Only the journal fills the table, so its texts are the closed words the entry's types name. */
export function entry(row: Session["t"]["ledger"]["$inferSelect"]): LedgerEntry {
  return row as LedgerEntry; // See above.
}
