/** Packs of the access log as they are read, beside the rows of older files. */

import type { AccessLogFilter, AccessLogRow, LoggedRequest } from "#domain/audit/store.ts";
import type { Connection, Value } from "#adapters/db/engine/connection.ts";

import { rowsIn, separator, unpressed } from "./access-log-packs.ts";
import { boundsBy, type Edge, type RowSource, type Slice, singleRows } from "./access-log-reads.ts";
import { batchRows } from "./access-log.ts";

/** All that a file of the access log holds. */
export const packsAndRows = (connection: Connection): readonly RowSource[] => [
  packs(connection),
  singleRows(connection),
];

function packs(connection: Connection): RowSource {
  return {
    bounds: (filter) => boundsBy(filter, (edge) => edgeOfPacks(connection, edge)),
    rows: async (filter, slice, limit) => {
      const found: LoggedRequest[] = [];
      for (const pack of await packsIn(connection, filter, slice)) {
        if (found.length >= limit) break;
        found.push(...matchingIn(pack, filter, slice).reverse());
      }
      return found.slice(0, limit);
    },
    count: async (filter, slice) => {
      let sum = 0;
      const packed = namesNothing(filter) ? octetsOfThoseCut : "packed";
      for (const pack of await packsIn(connection, filter, slice, packed)) {
        sum +=
          pack.packed === null
            ? Math.min(pack.first + pack.rows, slice.high) - Math.max(pack.first, slice.low)
            : matchingIn(pack, filter, slice).length;
      }
      return sum;
    },
  };
}

/** A pack as the file has it. */
interface KeptPack {
  readonly first: number;
  readonly rows: number;
  readonly oldest: number;
  readonly newest: number;
  /** Absent where nobody has to look into it. */
  readonly packed: Uint8Array | null;
}

/** Those with rows in the slice that their times leave, newest first. */
async function packsIn(
  connection: Connection,
  { from, to }: AccessLogFilter,
  { low, high }: Slice,
  packed: "packed" | typeof octetsOfThoseCut = "packed",
): Promise<readonly KeptPack[]> {
  const text = `select first, rows, oldest, newest, ${packed} from access_packs
    where first < ?3 and first > ?4 and first + rows > ?5 and newest >= ?1 and oldest < ?2
    order by first desc`;
  const times = [from ?? Number.MIN_SAFE_INTEGER, to ?? Number.MAX_SAFE_INTEGER];
  const found = await connection.rows(text, [...times, high, low - batchRows, low]);
  return found.map(([first, rows, oldest, newest, octets]) => ({
    first: Number(first),
    rows: Number(rows),
    oldest: Number(oldest),
    newest: Number(newest),
    packed: octets as Uint8Array | null, // The column holds nothing else.
  }));
}

/** Of packs that lie between the times as a whole, nothing but their number of rows is read. */
const octetsOfThoseCut = "case when oldest >= ?1 and newest < ?2 then null else packed end";

const namesNothing = ({ subject, status, pathPrefix }: AccessLogFilter): boolean =>
  subject === undefined && status === undefined && pathPrefix === undefined;

/** In the order of their numbers. */
function matchingIn(pack: KeptPack, filter: AccessLogFilter, { low, high }: Slice) {
  const found: LoggedRequest[] = [];
  const text = pack.packed === null ? undefined : unpressed(pack.packed);
  if (text === undefined || !mayHold(text, filter)) return found;
  let id = pack.first;
  for (const row of rowsIn(text)) {
    if (id >= low && id < high && matches(row, filter)) found.push({ ...row, id });
    id++;
  }
  return found;
}

/** What is asked for is mostly rare, and a text without it need not be taken apart. */
const mayHold = (text: string, { subject, status, pathPrefix }: AccessLogFilter): boolean =>
  (subject === undefined || text.includes(`${separator}${subject}${separator}`)) &&
  (status === undefined || text.includes(`${separator}${status}${separator}`)) &&
  (pathPrefix === undefined || text.includes(`${separator}${pathPrefix}`));

const matches = (
  row: AccessLogRow,
  { subject, status, pathPrefix, from, to }: AccessLogFilter,
): boolean =>
  (subject === undefined || row.subject === subject) &&
  (status === undefined || row.status === status) &&
  (pathPrefix === undefined || row.path.startsWith(pathPrefix)) &&
  (from === undefined || row.at >= from) &&
  (to === undefined || row.at < to);

async function edgeOfPacks(connection: Connection, edge: Edge): Promise<number | undefined> {
  const [text, values] = edgeQuery(edge);
  const row = await connection.row(text, values);
  return row === undefined ? undefined : Number(row[0]);
}

function edgeQuery(edge: Edge): readonly [text: string, values: readonly Value[]] {
  const [low, high] = ["select first", "select first + rows - 1"];
  if ("from" in edge) {
    return [`${low} from access_packs where newest >= ? order by newest limit 1`, [edge.from]];
  }
  if ("to" in edge) {
    return [`${high} from access_packs where oldest < ? order by oldest desc limit 1`, [edge.to]];
  }
  return edge.end === "lowest"
    ? [`${low} from access_packs order by first limit 1`, []]
    : [`${high} from access_packs order by first desc limit 1`, []];
}
