/** Certificates that leave the inventory: into the archive, and from there for good. */

import { and, asc, eq, lt, max, notInArray, sql } from "drizzle-orm";

import { sha256Hex } from "#core/crypto.ts";
import type { Serial } from "#core/ids.ts";
import { instant } from "#core/time.ts";
import type { Expired, RetentionReads, RetentionWrites } from "#domain/retention/store.ts";
import { inTexts, type Connection } from "#adapters/db/engine/connection.ts";
import { partsOf } from "#adapters/db/engine/folds.ts";

/** As last committed. */
export const retentionReads = (connection: Connection): RetentionReads => ({
  expired: expiredOn(connection),
  offListsUntil: offListsOn(connection),
  engaged: engagedOn(connection),
});

function expiredOn(connection: Connection): RetentionReads["expired"] {
  const { db, t } = connection;
  const [c, a] = [t.certificates, t.certificateArchive];
  const facts = {
    serial: c.serial,
    notAfter: c.notAfter,
    octets: sql<number>`length(${c.certificate})`,
    archived: a.serial,
  };
  return async (ca, before, limit, after) => {
    const items: Expired[] = [];
    const parts = await partsOf(connection, "certificates");
    for (const status of statuses) {
      if (after !== undefined && status < after.status) continue;
      const place = after?.status === status ? after : undefined;
      const its = and(
        eq(c.caId, ca),
        eq(c.kind, "leaf"),
        eq(c.status, status),
        lt(c.notAfter, before),
        place && sql`(${c.notAfter}, ${c.serial}) > (${place.notAfter}, ${place.serial})`,
      );
      const found: Expired[] = [];
      for (const { from, rows: within } of parts) {
        const rows = await db
          .select(facts)
          .from(from)
          .leftJoin(a, and(eq(a.caId, c.caId), eq(a.serial, c.serial)))
          .where(and(within, its))
          .orderBy(asc(c.notAfter), asc(c.serial))
          .limit(limit);
        found.push(...rows.map((row) => expiredOf(row, status)));
      }
      items.push(...found.sort(inOrder).slice(0, limit - items.length));
      if (items.length >= limit) break;
    }
    return { items, next: items.length >= limit ? items.at(-1) : undefined };
  };
}

function offListsOn({ db, t }: Connection): RetentionReads["offListsUntil"] {
  return async (ca, now) => {
    const h = t.crlHeads;
    const bases = and(eq(h.caId, ca), eq(h.kind, "base"));
    const newest = await db
      .select({ scope: h.scope, number: max(h.number) })
      .from(h)
      .where(bases)
      .groupBy(h.scope);
    let until: number = now;
    for (const { scope, number } of newest) {
      const one = and(bases, eq(h.scope, scope), eq(h.number, number ?? 0));
      const [head] = await db
        .select({ prior: h.priorUpdate, nextUpdate: h.nextUpdate })
        .from(h)
        .where(one);
      // What relying parties take no more says nothing about anybody.
      if (head === undefined || head.nextUpdate < now) continue;
      if (head.prior === null) return undefined;
      until = Math.min(until, head.prior);
    }
    return instant(until);
  };
}

function engagedOn({ db, t }: Connection): RetentionReads["engaged"] {
  return async (ca) => {
    const r = t.bulkRuns;
    const unfinished = and(eq(r.caId, ca), notInArray(r.state, ["finished"]));
    const runs = await db.select({ id: r.id }).from(r).where(unfinished).limit(1);
    if (runs.length > 0) return true;
    const p = t.approvals;
    const open = and(
      sql`${p.status} in ('pending', 'approved', 'executing')`,
      sql`(${p.resourceKey} like ${`%${ca}%`} or ${p.input} like ${`%${ca}%`})`,
    );
    return (await db.select({ id: p.id }).from(p).where(open).limit(1)).length > 0;
  };
}

/** Within the caller's unit. */
export function retentionWrites(connection: Connection): RetentionWrites {
  const { db, t, dialect } = connection;
  const [c, a] = [t.certificates, t.certificateArchive];
  const these = (ca: string, serials: readonly Serial[]) =>
    and(eq(c.caId, ca), inTexts(connection, c.serial, serials), eq(c.kind, "leaf"));
  const unheld = sql`${c.status} <> 'held'`;
  return {
    archive: async (ca, serials, at) => {
      const there = and(these(ca, serials), unheld, sql`length(${c.certificate}) > 0`);
      const rows = await db
        .select({ serial: c.serial, certificate: c.certificate })
        .from(c)
        .where(there);
      if (rows.length === 0) return [];
      await db.insert(a).values(rows.map((row) => ({ ...row, caId: ca, archivedAt: at })));
      await db.update(c).set({ certificate: nothing }).where(there);
      return rows.map(left);
    },
    prune: async (ca, serials) => {
      const there = and(these(ca, serials), unheld);
      const rows = await db
        .select({ serial: c.serial, certificate: c.certificate, archived: a.certificate })
        .from(c)
        .leftJoin(a, and(eq(a.caId, c.caId), eq(a.serial, c.serial)))
        .where(there);
      const full = rows.flatMap(({ serial, certificate, archived }) => {
        const der = certificate.length > 0 ? certificate : archived;
        return der === null ? [] : [{ serial, certificate: der }];
      });
      if (full.length === 0) return [];
      const named = full.map(({ serial }) => serial as Serial); // As they were read.
      if (dialect === "sqlite") {
        // The text index holds no text of its own: it is told what it has to forget.
        await db.run(sql`insert into certificate_search (certificate_search, rowid, search)
          select 'delete', ordinal, search from certificates
          where ${these(ca, named)} and folded`);
      }
      await db.update(c).set(emptied).where(these(ca, named));
      await db.delete(a).where(and(eq(a.caId, ca), inTexts(connection, a.serial, named)));
      return full.map(left);
    },
  };
}

function expiredOf(
  row: {
    readonly serial: string;
    readonly notAfter: number;
    readonly octets: number;
    readonly archived: string | null;
  },
  status: Expired["status"],
): Expired {
  const der = row.octets > 0 ? "row" : row.archived === null ? "gone" : "archive";
  // Only `intend` takes serials.
  return { serial: row.serial as Serial, status, notAfter: instant(row.notAfter), der };
}

const inOrder = (a: Expired, b: Expired): number =>
  a.notAfter - b.notAfter || (a.serial < b.serial ? -1 : 1);

const statuses = ["good", "revoked"] as const;

const left = (row: { readonly serial: string; readonly certificate: Uint8Array }) => ({
  serial: row.serial as Serial, // Only `intend` takes serials.
  sha256: sha256Hex(row.certificate),
});

const nothing = new Uint8Array();
/** What a tombstone does not say. */
const emptied = {
  certificate: nothing,
  digestHead: null,
  subject: "",
  commonName: "",
  sans: [],
  search: "",
  requestedBy: "",
  identity: "",
  ct: null,
  crlUrl: null,
};
