/** OCSP answers signed ahead, in the database. */

import { and, asc, eq, gt, inArray, isNull, type SQL, sql } from "drizzle-orm";

import type { CaId } from "#core/ids.ts";
import { instant } from "#core/time.ts";
import type {
  PresignCandidate,
  PresignedReads,
  PresignedRecord,
  PresignedWrites,
} from "#domain/revocation/presign-store.ts";
import {
  breath,
  counted,
  placeholder,
  type Connection,
  type Value,
} from "#adapters/db/engine/connection.ts";

import { standingFrom } from "./revocations.ts";

/** What was last committed. */
export function presignedReads(connection: Connection): PresignedReads {
  const { db, t } = connection;
  const { certificates: c, revocations: r, presigned: p } = t;
  const page = candidates(connection);
  return {
    find: findOf(connection),
    issued: (ca, limit, after) => {
      const where = and(eq(c.caId, ca), after === undefined ? undefined : gt(c.serial, after));
      return page(ca, issuedFrom(connection, where).orderBy(asc(c.serial)).limit(limit));
    },
    revoked: (ca, limit, after) => {
      const later = after === undefined ? undefined : gt(r.serial, after);
      const rows = revokedFrom(connection, and(eq(r.caId, ca), later));
      return page(ca, rows.orderBy(asc(r.serial)).limit(limit));
    },
    among: async (ca, serials) => {
      const listed = [...serials];
      const known = issuedFrom(connection, and(eq(c.caId, ca), inArray(c.serial, listed)));
      const bare = and(eq(r.caId, ca), inArray(r.serial, listed), isNull(c.serial));
      return [...(await page(ca, known)), ...(await page(ca, revokedFrom(connection, bare)))];
    },
    page: async (ca, limit, after) => {
      await breath();
      const [serial, hash] = after ?? ["", ""];
      const rows = await db
        .select()
        .from(p)
        .where(and(eq(p.caId, ca), sql`(${p.serial}, ${p.hash}) > (${serial}, ${hash})`))
        .orderBy(asc(p.serial), asc(p.hash))
        .limit(limit);
      return rows.map(recordOf);
    },
    summary: async () => {
      const [row] = await db
        .select({
          count: counted,
          earliest: sql<number | null>`min(${p.nextUpdate})`,
        })
        .from(p);
      return {
        count: row?.count ?? 0,
        earliestNextUpdate: row?.earliest == null ? undefined : instant(Number(row.earliest)),
      };
    },
  };
}

function recordOf(row: Connection["t"]["presigned"]["$inferSelect"]): PresignedRecord {
  const { revokedAt, reason, responder, ...rest } = row;
  const revoked = revokedAt === null ? undefined : { at: revokedAt, reason };
  // Only `keep` fills the table.
  return { ...rest, responder: responder ?? undefined, revoked } as PresignedRecord;
}

/** The changes of a unit. */
export function presignedWrites(connection: Connection): PresignedWrites {
  const { db, t } = connection;
  const { revocations: r } = t;
  const upsert = upserter(connection);
  return {
    keep: async (ca, sequence, answers) => {
      const changes = t.revocationChanges;
      const [last] = await db.select().from(changes).where(eq(changes.caId, ca));
      const changed = last !== undefined && last.sequence > sequence;
      const still = changed ? await stillSo(answers) : answers;
      // Independent statements: PostgreSQL answers all of them in one round trip.
      await Promise.all(still.map((answer) => upsert(answer)));
      return still.length;
    },
    prune: async (before, limit) => {
      const mark = placeholder(connection, 1);
      const oldest = `select ca_id, serial, hash from presigned where next_update < ${mark} limit ${Math.trunc(limit)}`;
      const text = `delete from presigned where (ca_id, serial, hash) in (${oldest})`;
      return connection.run(text, [before]);
    },
  };

  async function stillSo(answers: readonly PresignedRecord[]) {
    const serials = answers.map(({ serial }) => serial);
    const entries = await db
      .select({ serial: r.serial, at: r.revokedAt, reason: r.reason })
      .from(r)
      .where(and(eq(r.caId, answers[0]?.caId ?? ""), inArray(r.serial, serials)));
    const bySerial = new Map(entries.map((entry) => [entry.serial, entry]));
    return answers.filter(({ serial, revoked }) => {
      const entry = bySerial.get(serial);
      return entry?.at === revoked?.at && entry?.reason === revoked?.reason;
    });
  }
}

/**
 * One statement sees one state of all tables, so an answer is never found beside a standing from
 * another moment.
 */
function findOf(connection: Connection): PresignedReads["find"] {
  const [ca, serial, hash] = [1, 2, 3].map((at) => placeholder(connection, at));
  const text = `select r.revoked_at, r.reason, c.profile,
p.response, p.responder, p.produced_at, p.this_update, p.next_update, p.revoked_at, p.reason from
(select cast(${ca} as text) as ca, cast(${serial} as text) as serial, cast(${hash} as text) as hash) q
left join certificates c on c.ca_id = q.ca and c.serial = q.serial
left join revocations r on r.ca_id = q.ca and r.serial = q.serial
left join presigned p on p.ca_id = q.ca and p.serial = q.serial and p.hash = q.hash`;
  return async (caId, asked, of) => {
    const read = connection.row(text, [caId, asked, of]);
    const row = (read instanceof Promise ? await read : read) ?? [];
    const standing = standingFrom(row);
    const [response, responder, producedAt, thisUpdate, nextUpdate, at, reason] = row.slice(3);
    if (!(response instanceof Uint8Array)) return { standing, presigned: undefined };
    const named = { caId, serial: asked, hash: of, responder: responder ?? undefined };
    const revoked = at == null ? undefined : { at: instant(Number(at)), reason };
    const times = {
      producedAt: instant(Number(producedAt)),
      thisUpdate: instant(Number(thisUpdate)),
      nextUpdate: instant(Number(nextUpdate)),
    };
    // Only `keep` fills the table.
    const presigned = { ...named, response, ...times, revoked } as PresignedRecord;
    return { standing, presigned };
  };
}

const issuedFrom = (
  { db, t: { certificates: c, revocations: r } }: Connection,
  where: SQL | undefined,
) =>
  db
    .select({
      serial: c.serial,
      notAfter: c.notAfter,
      profile: c.profile,
      revokedAt: r.revokedAt,
      reason: r.reason,
    })
    .from(c)
    .leftJoin(r, and(eq(r.caId, c.caId), eq(r.serial, c.serial)))
    .where(where);

const revokedFrom = (
  { db, t: { certificates: c, revocations: r } }: Connection,
  where: SQL | undefined,
) =>
  db
    .select({
      serial: r.serial,
      notAfter: r.expiresAt,
      profile: c.profile,
      revokedAt: r.revokedAt,
      reason: r.reason,
    })
    .from(r)
    .leftJoin(c, and(eq(c.caId, r.caId), eq(c.serial, r.serial)))
    .where(where);

interface Row {
  readonly serial: string;
  readonly notAfter: number | null;
  readonly profile: string | null;
  readonly revokedAt: number | null;
  readonly reason: string | null;
}

/**
 * Reads rows and adds when their answers were last signed. SQLite holds the thread, so others get
 * their turn first.
 */
function candidates(connection: Connection) {
  const { db, t } = connection;
  const { presigned: p } = t;
  return async (ca: CaId, rows: PromiseLike<readonly Row[]>): Promise<PresignCandidate[]> => {
    await new Promise((resume) => setImmediate(resume));
    const found = await rows;
    const serials = found.map(({ serial }) => serial);
    const signed = await db
      .select({ serial: p.serial, hash: p.hash, at: p.producedAt, responder: p.responder })
      .from(p)
      .where(and(eq(p.caId, ca), inArray(p.serial, serials)));
    const times = new Map<string, Record<string, unknown>>();
    for (const { serial, hash, at, responder } of signed) {
      const ahead = { at, responder: responder ?? undefined };
      times.set(serial, { ...times.get(serial), [hash]: ahead });
    }
    return found.map(
      (row) =>
        ({
          serial: row.serial,
          notAfter: row.notAfter ?? undefined,
          inventoried: row.profile !== null,
          standing: standingFrom([row.revokedAt, row.reason, row.profile]),
          signed: times.get(row.serial) ?? {},
          // Rows of these tables have a standing, and the words the types name.
        }) as PresignCandidate,
    );
  };
}

function upserter(connection: Connection): (answer: PresignedRecord) => Promise<void> {
  const columns = [
    "ca_id",
    "serial",
    "hash",
    "response",
    "responder",
    "produced_at",
    "this_update",
    "next_update",
    "revoked_at",
    "reason",
  ];
  const marks = columns.map((_, at) => placeholder(connection, at + 1)).join(", ");
  const sets = columns.slice(3).map((name) => `${name} = excluded.${name}`);
  const text = `insert into presigned (${columns.join(", ")}) values (${marks})
on conflict (ca_id, serial, hash) do update set ${sets.join(", ")}
where excluded.produced_at >= presigned.produced_at or excluded.produced_at < presigned.produced_at - 300000`;
  return async (answer) => {
    const { caId, serial, hash, response, responder, revoked } = answer;
    const { producedAt, thisUpdate, nextUpdate } = answer;
    const values: Value[] = [
      caId,
      serial,
      hash,
      response,
      responder ?? null,
      producedAt,
      thisUpdate,
      nextUpdate,
      revoked?.at ?? null,
      revoked?.reason ?? null,
    ];
    await connection.run(text, values);
  };
}
