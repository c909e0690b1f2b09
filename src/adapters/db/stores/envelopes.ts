/** KEK versions and sealed values in the database. */

import { and, asc, desc, eq, gt, like } from "drizzle-orm";

import type {
  EnvelopeReads,
  EnvelopeWrites,
  KekVersion,
  SealedValue,
} from "#domain/envelopes/store.ts";
import { presenceClass } from "#adapters/db/engine/owners.ts";
import { counted, inserter, type Connection } from "#adapters/db/engine/connection.ts";

import { instanceWrites } from "./instance.ts";

/**
 * KEK versions and sealed values as last committed; `owner` is this store's number among the
 * replicas.
 */
export function envelopeReads(connection: Connection, owner: number): EnvelopeReads {
  const { db, t } = connection;
  const { kekVersions, sealedValues } = t;
  return {
    versions: async () => {
      const rows = await db.select().from(kekVersions).orderBy(desc(kekVersions.version));
      return rows.map(versionOf);
    },
    at: async (place) => {
      const [row] = await db.select().from(sealedValues).where(eq(sealedValues.place, place));
      return row && (row as SealedValue); // Only `put` fills the table.
    },
    under: async (version, limit, after) => {
      const beyond = after === undefined ? undefined : gt(sealedValues.place, after);
      const rows = await db
        .select()
        .from(sealedValues)
        .where(and(eq(sealedValues.kekVersion, version), beyond))
        .orderBy(asc(sealedValues.place))
        .limit(limit);
      return rows as SealedValue[]; // As above.
    },
    count: async () => {
      const [sum] = await db.select({ total: counted }).from(sealedValues);
      return sum?.total ?? 0;
    },
    unheard: async (version) => {
      // The data-directory lock leaves no other process alive.
      if (connection.dialect === "sqlite") return 0;
      const [row] = await connection.rows(deaf, [presenceClass, owner, heardPrefix, version]);
      return Number(row?.[0]);
    },
  };
}

/** Writes of a unit on the writing connection. */
export function envelopeWrites(connection: Connection, owner: number): EnvelopeWrites {
  const { db, dialect, t } = connection;
  const { kekVersions, sealedValues } = t;
  const { under, unheard } = envelopeReads(connection, owner);
  const { setValue } = instanceWrites(connection);
  const insert = inserter(connection, kekVersions);
  const statusOf = async (version: number) => {
    const [row] = await db.select().from(kekVersions).where(eq(kekVersions.version, version));
    return row?.status;
  };
  const setStatus = (version: number, status: KekVersion["status"]) =>
    db.update(kekVersions).set({ status }).where(eq(kekVersions.version, version));
  return {
    begin: async (next, replaced) => {
      const [active] = await db.select().from(kekVersions).where(eq(kekVersions.status, "active"));
      if (active?.version !== replaced) return false;
      if (replaced !== undefined) await setStatus(replaced, "retiring");
      const { key, spkiSha256 = null, ...facts } = next;
      const location = { keyProvider: key.provider, keyLabel: key.label, keyId: key.id };
      await insert({ ...facts, ...location, spkiSha256 });
      return true;
    },
    put: async (value) => {
      const status = await statusOf(value.kekVersion);
      if (status === undefined || status === "retired") return false;
      const { kekVersion, envelope } = value;
      await db
        .insert(sealedValues)
        .values(value)
        .onConflictDoUpdate({ target: sealedValues.place, set: { kekVersion, envelope } });
      return true;
    },
    rewrap: async (from, { kekVersion, envelope }) => {
      const { place } = sealedValues;
      const same = and(eq(place, from.place), eq(sealedValues.envelope, from.envelope));
      const changed = await db
        .update(sealedValues)
        .set({ kekVersion, envelope })
        .where(same)
        .returning({ place });
      return changed.length > 0;
    },
    remove: async (place) => {
      await db.delete(sealedValues).where(eq(sealedValues.place, place));
    },
    heard: async (version) => {
      if (dialect === "postgres") await setValue(`${heardPrefix}${owner}`, String(version));
    },
    retire: async (version) => {
      if ((await under(version, 1)).length > 0) return false;
      if ((await statusOf(version)) !== "retiring") return true;
      const [active] = await db.select().from(kekVersions).where(eq(kekVersions.status, "active"));
      if (active === undefined || (await unheard(active.version)) > 0) return false;
      await setStatus(version, "retired");
      // Whoever has said so need not be remembered: the next version is heard anew.
      await db.delete(t.instance).where(like(t.instance.name, `${heardPrefix}%`));
      return true;
    },
  };
}

/** Instance values under which processes say what they have heard, each by its number. */
const heardPrefix = "kek heard by ";
/** Other stores that are present and have not heard of a version; number 0 is a migration's. */
const deaf = `select count(*) from pg_locks where locktype = 'advisory' and classid::bigint = $1
  and objsubid = 2 and granted and database = (select oid from pg_database where datname = current_database())
  and objid::bigint not in (0, $2) and not exists (
    select 1 from instance where name = $3::text || objid::text
    and case when name = $3::text || objid::text then value::bigint >= $4 else false end)`;

type Row = Connection["t"]["kekVersions"]["$inferSelect"];

/** Only `begin` fills the table, so its texts are the closed words the record's types name. */
function versionOf({ keyProvider: provider, keyLabel: label, keyId: id, ...row }: Row) {
  const spkiSha256 = row.spkiSha256 ?? undefined;
  return { ...row, spkiSha256, key: { provider, label, id } } as KekVersion; // See above.
}
