/**
 * Gives certificates of before the head of their digest, which SQLite cannot work out itself: some
 * at a time, within the migration that adds the column.
 */

import { digestHeadOf } from "#adapters/db/tables/digest-head.ts";

import { breath, type Connection } from "./connection.ts";

/** Walks all rows by their numbers, wherever their octets are. */
export async function fillDigestHeads(writer: Connection): Promise<void> {
  for (let after = 0; ; await breath()) {
    const rows = await writer.rows(octets, [after, rowsAtOnce]);
    for (const [ordinal, der] of rows) {
      if (!(der instanceof Uint8Array)) continue;
      await writer.run(set, [digestHeadOf(der), Number(ordinal)]);
    }
    if (rows.length < rowsAtOnce) return;
    after = Number(rows.at(-1)?.[0]);
  }
}

const octets = `select c.ordinal, case when length(c.certificate) > 0 then c.certificate else a.certificate end
  from certificates c not indexed
  left join certificate_archive a on a.ca_id = c.ca_id and a.serial = c.serial
  where c.ordinal > ? order by c.ordinal limit ?`;
const set = "update certificates set digest_head = ? where ordinal = ?";
/** A few milliseconds of work. */
const rowsAtOnce = 256;
