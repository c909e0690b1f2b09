/** Revocations as they were at one moment, page by page: what CRLs of any length are built from. */

import type { CaId } from "#core/ids.ts";
import type {
  ListedEntry,
  PlacedEntry,
  ReleasedEntry,
  RevocationReads,
  RevocationView,
} from "#domain/revocation/store.ts";
import type { Engine } from "#adapters/db/engine/engine.ts";
import {
  breath,
  placeholder,
  type Rows,
  type Connection,
  type Value,
} from "#adapters/db/engine/connection.ts";

/** Opens a view for each call. */
export function viewing(engine: Pick<Engine, "view">): RevocationReads["view"] {
  return (read) =>
    engine.view(async (connection) => {
      const sequence = await revocationSequence(connection);
      return await read(viewOver(connection, sequence));
    });
}

function viewOver(connection: Connection, sequence: number): RevocationView {
  const $ = (position: number) => placeholder(connection, position);
  let pages = 0;
  // SQLite answers on this thread: between two pages others get their turn.
  const page = async (text: string, values: readonly Value[]): Promise<Rows> => {
    await breath();
    pages += 1;
    // A million rows are garbage the collector would let pile up to hundreds of megabytes.
    if (pages % pagesBetweenCollections === 0) Bun.gc(false);
    return await connection.rows(text, values);
  };
  const changes = `select v.serial, v.sequence, v.revoked_at, v.expires_at, c.kind, c.crl_partition, %s from %t v
left join certificates c on c.ca_id = v.ca_id and c.serial = v.serial
where v.ca_id = ${$(1)} and v.sequence > ${$(2)} order by v.sequence limit ${$(3)}`;
  const changed = changes.replace("%s", "v.reason").replace("%t", "revocations");
  const released = changes.replace("%s", "v.since").replace("%t", "revocation_releases");
  const columns = "r.serial, r.revoked_at, r.reason, r.expires_at, r.sequence";
  const all = `select ${columns} from revocations r
where r.ca_id = ${$(1)} and r.serial > ${$(2)} order by r.serial limit ${$(3)}`;
  const members = `select ${columns} from crl_members m
join revocations r on r.ca_id = m.ca_id and r.serial = m.serial
where m.ca_id = ${$(1)} and m.partition = ${$(2)} and m.modulus in (0, ${$(3)}) and m.serial > ${$(4)}
order by m.serial limit ${$(5)}`;
  return {
    sequence,
    listed: async (ca, partition, limit, after) => {
      const rest = [after ?? "", limit]; // No text sorts before the empty one.
      if (partition === undefined) return (await page(all, [ca, ...rest])).map(listedEntry);
      const { number, modulus } = partition;
      return (await page(members, [ca, number, modulus, ...rest])).map(listedEntry);
    },
    changed: async (ca, limit, after) => (await page(changed, [ca, after, limit])).map(placedEntry),
    released: async (ca, limit, after) =>
      (await page(released, [ca, after, limit])).map(releasedEntry),
    indexed: async (ca: CaId, modulus: number) => {
      const text = `select sequence from crl_indexes where ca_id = ${$(1)} and modulus = ${$(2)}`;
      return Number((await connection.row(text, [ca, modulus]))?.[0] ?? 0);
    },
  };
}

async function revocationSequence(connection: Connection): Promise<number> {
  const row = await connection.row("select revocation_sequence from heads where id = 1", []);
  return Number(row?.[0] ?? 0);
}

// Only the writes of revocations and certificates fill the tables, so their texts are the closed
// words of the types.
const listedEntry = ([serial, revokedAt, reason, expiresAt, sequence]: readonly unknown[]) =>
  ({
    serial,
    reason,
    revokedAt: Number(revokedAt),
    sequence: Number(sequence),
    expiresAt: expiresAt === null ? undefined : Number(expiresAt),
  }) as ListedEntry; // See above.

const placed = ([serial, sequence, revokedAt, expiresAt, kind, stamp]: readonly unknown[]) => ({
  serial,
  sequence: Number(sequence),
  revokedAt: Number(revokedAt),
  kind: kind ?? undefined,
  expiresAt: expiresAt === null ? undefined : Number(expiresAt),
  stamp: stamp === null ? undefined : Number(stamp),
});

const placedEntry = (row: readonly unknown[]) =>
  ({ ...placed(row), reason: row[6] }) as PlacedEntry; // See above.

const releasedEntry = (row: readonly unknown[]) =>
  ({ ...placed(row), since: Number(row[6]) }) as ReleasedEntry; // See above.

const pagesBetweenCollections = 100;
