/**
 * The stored rows of what is open: how they are looked up, ahead where that saves a round trip, and
 * removed.
 */

import type { CaId, Serial } from "#core/ids.ts";
import { assert } from "#core/problems.ts";
import type { Foreseen } from "#domain/store.ts";

import { type Connection, jsonText, type Step } from "./connection.ts";

export type OpenRow = Connection["t"]["openIntents"]["$inferSelect"];

/**
 * What is foreseen is asked for together with the head row, for every unit of the batch at once; on
 * SQLite, where a look-up costs no round trip, when it is needed.
 */
export class OpenRows {
  readonly #connection: Connection;
  readonly #texts: Texts;
  readonly #known = new Map<string, OpenRow>();
  /** Rows of SQLite that this store has committed: there nobody else writes. */
  readonly #kept = new Map<string, OpenRow>();
  #free: (readonly [CaId, Serial])[] = [];

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#texts = texts[connection.dialect];
  }

  /** Forgets what was looked up: of one operation, or all of it. */
  forget(opId?: string): void {
    if (opId !== undefined) this.#known.delete(opId);
    else {
      this.#known.clear();
      this.#free = [];
    }
  }

  /**
   * Remembers rows that have been committed, while there is room: what is settled soon need not be
   * looked up.
   */
  keep(rows: readonly OpenRow[]): void {
    if (this.#connection.dialect === "postgres") return;
    for (const row of rows) {
      if (row.serial !== "" && this.#kept.size < keptMax) this.#kept.set(row.opId, row);
    }
  }

  async foresee(foreseen: readonly Foreseen[]): Promise<void> {
    if (this.#connection.dialect === "sqlite") return;
    const takes = foreseen.flatMap(({ takes: one }) => one ?? []);
    const settles = foreseen.flatMap(({ settles: one }) => one ?? []);
    const looks = [this.#lookForFree(takes), this.#lookForRows(settles)];
    await Promise.all(looks);
  }

  /** True when nothing stored has this serial of the CA. */
  async free(ca: CaId, serial: Serial): Promise<boolean> {
    if (this.#free.some(([one, other]) => other === serial && one === ca)) return true;
    const values = [ca, serial, ca, serial, serial, ca];
    const row = await this.#connection.row(this.#texts.taken, values);
    assert(row !== undefined, "a query for one truth gives a row");
    return !row[0];
  }

  /** The stored row in which this operation has a serial; which one it is spares a walk. */
  async row(opId: string, serial: Serial | undefined): Promise<OpenRow | undefined> {
    const known = this.#known.get(opId) ?? this.#kept.get(opId);
    if (known !== undefined && (serial ?? known.serial) === known.serial) return known;
    const { named, ofOperation } = this.#texts;
    const found =
      serial === undefined
        ? await this.#connection.row(ofOperation, [opId])
        : await this.#connection.row(named, [serial, opId]);
    return found && openRow(found);
  }

  /** The statements that remove rows. */
  removing(rows: readonly OpenRow[]): Step[] {
    const connection = this.#connection;
    const { remove } = this.#texts;
    for (const { opId } of rows) this.#kept.delete(opId);
    if (connection.dialect === "postgres") return sentWith(connection, remove, rows.map(keyOf));
    return rows.map(
      ({ serial, opId }) =>
        () =>
          connection.run(remove, [serial, opId]),
    );
  }

  /** Those that say of operations that the ledger has their outcome. */
  closing(closed: readonly string[]): Step[] {
    const connection = this.#connection;
    const { removeBare, close } = this.#texts;
    for (const opId of closed) this.#kept.delete(opId);
    if (connection.dialect === "postgres") {
      return [removeBare, close].flatMap((text) => sentWith(connection, text, closed));
    }
    return closed.map((opId) => async () => {
      // Almost always it has no serial; else its row is found among all that is open.
      if ((await connection.run(removeBare, [opId])) === 0) await connection.run(close, [opId]);
    });
  }

  async #lookForFree(takes: readonly { caId: CaId; serial: Serial }[]): Promise<void> {
    if (takes.length === 0) return;
    const taken = await this.#connection.rows(allTaken, [jsonText(takes)]);
    const isTaken = (ca: CaId, serial: Serial) =>
      taken.some(([itsCa, its]) => its === serial && itsCa === ca);
    const free = takes.filter(({ caId, serial }) => !isTaken(caId, serial));
    this.#free = free.map(({ caId, serial }) => [caId, serial]);
  }

  async #lookForRows(settles: readonly { opId: string; serial: Serial }[]): Promise<void> {
    if (settles.length === 0) return;
    const rows = await this.#connection.rows(allNamed, [jsonText(settles)]);
    for (const row of rows.map(openRow)) this.#known.set(row.opId, row);
  }
}

const keptMax = 4096;
const keyOf = ({ serial, opId }: OpenRow) => ({ serial, opId });

/** One statement for all of them, if there are any. */
const sentWith = (connection: Connection, text: string, given: readonly unknown[]): Step[] =>
  given.length === 0 ? [] : [() => connection.run(text, [jsonText(given)])];

function openRow(row: readonly unknown[]): OpenRow {
  const [opId, caId, serial, purpose, tbsDigest, requestedBy, createdAt, number, owner] = row;
  return {
    opId: String(opId),
    caId: String(caId),
    serial: String(serial),
    purpose: String(purpose),
    tbsDigest: String(tbsDigest),
    requestedBy: String(requestedBy),
    createdAt: Number(createdAt),
    number: number === null ? null : Number(number),
    owner: Number(owner),
  };
}

interface Texts {
  readonly taken: string;
  readonly named: string;
  readonly ofOperation: string;
  readonly remove: string;
  readonly removeBare: string;
  readonly close: string;
}

const columns = [
  "op_id",
  "ca_id",
  "serial",
  "purpose",
  "tbs_digest",
  "requested_by",
  "created_at",
  "number",
  "owner",
];
const selected = `select ${columns.map((name) => `o.${name}`).join(", ")} from open_intents o`;

const takenText = (mark: (at: number) => string): string =>
  `select exists (select 1 from certificates where ca_id = ${mark(1)} and serial = ${mark(2)})
     or exists (select 1 from intents where ca_id = ${mark(3)} and serial = ${mark(4)})
     or exists (select 1 from open_intents where serial = ${mark(5)} and ca_id = ${mark(6)})`;

const opIds = "select json_array_elements_text($1::text::json)";

const texts: Record<Connection["dialect"], Texts> = {
  sqlite: {
    taken: takenText(() => "?"),
    named: `${selected} where o.serial = ? and o.op_id = ?`,
    ofOperation: `${selected} where o.op_id = ? and o.serial <> ''`,
    remove: "delete from open_intents where serial = ? and op_id = ?",
    removeBare: "delete from open_intents where serial = '' and op_id = ?",
    close: "update open_intents set number = null where op_id = ?",
  },
  postgres: {
    taken: takenText((at) => `$${at}`),
    named: `${selected} where o.serial = $1 and o.op_id = $2`,
    ofOperation: `${selected} where o.op_id = $1 and o.serial <> ''`,
    remove: `delete from open_intents where ctid = any(array(${ofEach(namedIn("select o.ctid from open_intents o"))}))`,
    removeBare: `delete from open_intents where serial = '' and op_id in (${opIds})`,
    close: `update open_intents set number = null where op_id in (${opIds})`,
  },
};

/**
 * What is found of each that is given. PostgreSQL plans this once, when the tables may be empty,
 * and a join would read all that they have become since; this is one look into an index for each.
 */
function ofEach(found: string): string {
  return `select f.* from json_to_recordset($1::text::json) as g("caId" text, "serial" text, "opId" text), lateral (${found} limit 1) f`;
}

function namedIn(selection: string): string {
  return `${selection} where o.serial = g."serial" and o.op_id = g."opId"`;
}

const takenIn = (table: string): string =>
  `select t.ca_id, t.serial from ${table} t where t.ca_id = g."caId" and t.serial = g."serial"`;
/**
 * The first from a serial on, which may be another's: of the indexes that begin with the CA only
 * that of serials gives this order, and without statistics all of them look alike.
 */
const firstCertificate = `select t.ca_id, t.serial from certificates t
  where (t.ca_id, t.serial) >= (g."caId", g."serial") order by t.ca_id, t.serial`;
/** Those of the serials asked about that are taken, and perhaps others. */
const allTaken = [firstCertificate, takenIn("intents"), takenIn("open_intents")]
  .map(ofEach)
  .join(" union all ");

const allNamed = ofEach(namedIn(selected));
