/**
 * The revocation table beside the newest lists of each scope (CRL-1, CRL-7 to CRL-12), and as what
 * events must tell of.
 */

import type { Serial } from "#core/ids.ts";
import { entryText, releaseText } from "#core/proofs/told-texts.ts";
import type { KeySet } from "#core/proofs/key-set.ts";
import { instant } from "#core/time.ts";
import type { CrlEntry } from "#core/x509/crl.ts";
import { departed } from "#domain/revocation/crl-entries.ts";
import { belongs, fullScope, memberships, partitionNumber } from "#domain/revocation/scopes.ts";
import type { EntryPlace } from "#domain/revocation/store.ts";

import { type ListRow, type Lists, openedList, proofOf, textOfList } from "./lists.ts";
import { iterateWithCollections, type Look } from "./look.ts";
import { asked, numberOf, paged, textOf } from "./look-rows.ts";

/** A row of the table, with where its certificate says it belongs. */
interface EntryRow extends EntryPlace {
  readonly caId: string;
  readonly at: number;
  readonly reason: string;
  readonly known: boolean;
  readonly expiresAt: number | undefined;
  readonly sequence: number;
  /** Of its certificate. */
  readonly notAfter: number | undefined;
}

/** The newest base of a scope with its newest delta: what relying parties are told. */
interface Union {
  readonly base: ListRow;
  readonly delta: ListRow | undefined;
  readonly listed: KeySet;
  /** What the delta says of a serial goes before what the base says. */
  readonly changed: ReadonlyMap<Serial, CrlEntry>;
  /** The number of the revocation sequence it covers. */
  readonly sequence: number;
}

/** Walks the table once for each CA. */
export async function proveRevocations(look: Look, lists: Lists, changes: KeySet): Promise<void> {
  const cas = new Set(lists.all.map(({ caId }) => caId));
  for (const [ca] of await asked(look.connection, "select ca_id from revocation_changes")) {
    cas.add(textOf(ca));
  }
  const everUsed = await shardsEverUsed(look);
  for (const { caId, scope, modulus, ...list } of lists.all) {
    const known = scope === fullScope ? modulus === 0 : modulus === 0 || everUsed.includes(modulus);
    if (known) continue;
    const fault = `was made for ${modulus} partitions, which there never were.`;
    proofOf(look, { scope }).violated(`CRL ${list.number} of ${scope}, CA ${caId}, ${fault}`);
  }
  for (const ca of cas) {
    const unions = await unionsOf(look, lists, ca);
    const index = await partitionIndex(look, ca);
    for await (const page of entryRows(look, ca)) {
      for (const row of page) {
        const { serial, sequence, reason, at } = row;
        // Lists of other CAs name serial 0, which is taken over from them.
        if (!/^(0|[1-9][0-9]*)$/.test(serial)) {
          look.proofs.revocations.violated(`CA ${ca} has an entry of no serial: ${serial}.`);
          continue;
        }
        changes.add(entryText(ca, serial, { sequence, reason, at }));
        const fault = faultOf(row);
        if (fault !== undefined) {
          look.proofs.revocations.violated(`Serial ${serial} of CA ${ca} ${fault}.`);
        }
        for (const union of unions) listed(look, union, row, everUsed);
        indexed(look, index, row);
      }
      look.advanced(page.length);
    }
    for (const union of unions) await explained(look, union);
  }
  for await (const page of releases(look)) {
    for (const { caId, serial, ...release } of page) {
      changes.add(releaseText(caId, serial, release));
    }
  }
}

/** CRL-7: a known entry leaves the lists with its certificate, not earlier. */
function faultOf({ known, kind, expiresAt, notAfter }: EntryRow): string | undefined {
  if (known && kind === undefined) return "is called known, and has no certificate";
  if (known && expiresAt !== notAfter) return "would leave the lists at another time than it ends";
  return undefined;
}

/** Names the changes that no event tells of, of those the events that were walked could tell of. */
export async function nameUntoldChanges(look: Look, changes: KeySet, least: number): Promise<void> {
  if (changes.unmarked === 0) return;
  const { revocations } = look.proofs;
  const rows = await asked(look.connection, "select ca_id from revocation_changes");
  for (const [ca] of rows) {
    for await (const page of entryRows(look, textOf(ca))) {
      for (const { caId, serial, sequence, reason, at } of page) {
        if (sequence < least) continue;
        if (!changes.isUnmarked(entryText(caId, serial, { sequence, reason, at }))) continue;
        revocations.violated(`Serial ${serial} of CA ${caId} is revoked or held without event.`);
      }
    }
  }
  for await (const page of releases(look)) {
    for (const { caId, serial, sequence, since } of page) {
      if (sequence < least) continue;
      if (!changes.isUnmarked(releaseText(caId, serial, { sequence, since }))) continue;
      revocations.violated(`Serial ${serial} of CA ${caId} was released without event.`);
    }
  }
}

async function unionsOf(look: Look, lists: Lists, ca: string): Promise<readonly Union[]> {
  const own = lists.all.filter(({ caId }) => caId === ca);
  const unions: Union[] = [];
  for (const scope of new Set(own.map((list) => list.scope))) {
    const ofScope = own.filter((list) => list.scope === scope);
    // Oldest first.
    const base = ofScope.findLast(({ kind }) => kind === "base");
    if (base === undefined) {
      proofOf(look, { scope }).violated(`Scope ${scope} of CA ${ca} has no base.`);
      continue;
    }
    const delta = ofScope.findLast((list) => list.base === base.number);
    unions.push(await unionOf(look, base, delta));
  }
  return unions;
}

async function unionOf(look: Look, base: ListRow, delta: ListRow | undefined): Promise<Union> {
  const changed = new Map<Serial, CrlEntry>();
  const opened = delta && (await openedList(look, delta));
  for (const entry of opened?.entries() ?? []) changed.set(entry.serial, entry);
  const listedTexts = look.newSet();
  const union = { base, delta, listed: listedTexts, changed };
  for (const entry of iterateWithCollections(await told(look, union)))
    listedTexts.add(textOfEntry(entry));
  const sequence = Math.max(base.sequence, delta?.sequence ?? 0);
  proofOf(look, base).checked += listedTexts.size;
  return { ...union, sequence };
}

/** What base and delta say together. */
async function told(
  look: Look,
  { base, changed }: Pick<Union, "base" | "changed">,
): Promise<Iterable<CrlEntry>> {
  const opened = await openedList(look, base);
  return (function* () {
    for (const entry of opened?.entries() ?? []) if (!changed.has(entry.serial)) yield entry;
    for (const entry of changed.values()) if (entry.reason !== "removeFromCRL") yield entry;
  })();
}

/** A row from before the lists, which nothing lets off them, is on them as it is. */
function listed(look: Look, union: Union, row: EntryRow, everUsed: readonly number[]): void {
  const { base, listed: texts, sequence } = union;
  if (!isOn(row, base, everUsed) || row.sequence > sequence) return;
  if (texts.mark(textOfRow(row)) !== "absent") return;
  const { prior } = base;
  const expiresAt = row.expiresAt === undefined ? undefined : instant(row.expiresAt);
  const before = prior && { ...prior, thisUpdate: instant(prior.thisUpdate) };
  const off = departed({ expiresAt, sequence: row.sequence }, before);
  if (off && row.sequence <= base.sequence) return;
  proofOf(look, base).violated(
    `${textOfList(base)} with its delta does not list serial ${row.serial} as the table has it.`,
  );
}

/**
 * A serial nobody knows counts under every `crl.shards` there ever was, but lists from before the
 * newest of them did not know that one.
 */
function isOn(row: EntryRow, { scope, modulus }: ListRow, everUsed: readonly number[]): boolean {
  const number = partitionNumber(scope);
  if (number === undefined) return true;
  const sure = modulus === 0 ? [] : everUsed.filter((count) => count === modulus);
  return belongs(row, { number, modulus }, row.kind === undefined ? sure : everUsed);
}

/** What is listed and not in the table was held when the list was made, or is a lie. */
async function explained(look: Look, union: Union): Promise<void> {
  const { base, listed: texts, sequence } = union;
  if (texts.unmarked === 0) return;
  for (const entry of iterateWithCollections(await told(look, union))) {
    if (!texts.isUnmarked(textOfEntry(entry))) continue;
    const { serial, reason } = entry;
    const [row] = await asked(look.connection, oneEntry, [base.caId, serial]);
    const held = reason === "certificateHold";
    if (row !== undefined) {
      const now = { serial, at: Number(row[0]), reason: textOf(row[1]) };
      if (textOfRow(now) === textOfEntry(entry)) continue;
      // It was held then, and revoked or held anew after that.
      if (held && Number(row[2]) > sequence) continue;
    } else if (held) {
      const values = [base.caId, serial, sequence];
      if ((await asked(look.connection, oneRelease, values)).length > 0) continue;
    }
    proofOf(look, base).violated(
      `${textOfList(base)} with its delta lists serial ${serial}, and the table does not.`,
    );
  }
}

/** What the next list of a partition is made from. */
interface PartitionIndex {
  readonly members: KeySet;
  /** How far it was filled, by the number of partitions. */
  readonly filled: readonly (readonly [modulus: number, sequence: number])[];
}

async function partitionIndex(look: Look, ca: string): Promise<PartitionIndex> {
  const { connection } = look;
  const members = look.newSet();
  for await (const page of paged(connection, everyMember, [ca, -1, "", -1])) {
    for (const [, partition, serial, modulus] of page) {
      members.add(`${Number(partition)}|${textOf(serial)}|${Number(modulus)}`);
    }
  }
  const rows = await asked(connection, partitionIndexes, [ca]);
  return {
    members,
    filled: rows.map(([modulus, sequence]) => [Number(modulus), Number(sequence)]),
  };
}

/**
 * A serial nobody knows may have been indexed before `crl.shards` was what it is, and is added when
 * the list is made.
 */
function indexed({ proofs }: Look, { members, filled }: PartitionIndex, row: EntryRow): void {
  if (row.kind === undefined) return;
  for (const [modulus, sequence] of filled) {
    if (row.sequence > sequence) continue;
    for (const place of memberships(row, modulus, [])) {
      if (members.has(`${place.number}|${row.serial}|${place.modulus}`)) continue;
      proofs.partitions.violated(
        `Serial ${row.serial} of CA ${row.caId} is not in the index of partition ${place.number}.`,
      );
    }
  }
}

const textOfEntry = ({ serial, revokedAt, reason }: CrlEntry): string =>
  `${serial}|${Math.floor(revokedAt / 1000)}|${reason}`;

const textOfRow = (row: {
  readonly serial: string;
  readonly at: number;
  readonly reason: string;
}) => `${row.serial}|${Math.floor(row.at / 1000)}|${row.reason}`;

async function* entryRows({ connection }: Look, ca: string): AsyncGenerator<readonly EntryRow[]> {
  for await (const page of paged(connection, everyEntry, [ca, ""])) yield page.map(entryRow);
}

function entryRow(values: readonly unknown[]): EntryRow {
  const [ca, serial, at, reason, known, expiresAt, sequence, kind, shard, notAfter] = values;
  return {
    caId: textOf(ca),
    serial: textOf(serial) as Serial, // Only compared with others of its kind.
    at: Number(at),
    reason: textOf(reason),
    known: known === true || known === 1,
    expiresAt: numberOf(expiresAt),
    sequence: Number(sequence),
    kind: (kind ?? undefined) as EntryPlace["kind"], // Held against the legal ones elsewhere.
    namedShard: numberOf(shard),
    notAfter: numberOf(notAfter),
  };
}

async function* releases({ connection }: Look) {
  for await (const page of paged(connection, everyRelease, ["", -1])) {
    yield page.map(([ca, sequence, serial, since]) => ({
      caId: textOf(ca),
      serial: textOf(serial),
      sequence: Number(sequence),
      since: Number(since),
    }));
  }
}

async function shardsEverUsed({ connection, proofs }: Look): Promise<readonly number[]> {
  const text = "select value from instance where name = 'crl_shards_used'";
  const [row] = await asked(connection, text);
  const words = row === undefined || row[0] === "" ? [] : textOf(row[0]).split(",");
  const counts = words.map(Number).filter((count) => Number.isSafeInteger(count) && count > 1);
  if (counts.length < words.length) {
    proofs.partitions.violated("The record of every crl.shards there was cannot be read.");
  }
  return counts;
}

const everyEntry = `select r.ca_id, r.serial, r.revoked_at, r.reason, r.known, r.expires_at, r.sequence, c.kind, c.crl_partition, c.not_after
from revocations r left join certificates c on c.ca_id = r.ca_id and c.serial = r.serial
where r.ca_id = %1 and r.serial > %2 order by r.serial limit %3`;
const everyRelease = `select ca_id, sequence, serial, revoked_at from revocation_releases
where (ca_id, sequence) > (%1, %2) order by ca_id, sequence limit %3`;
const everyMember = `select ca_id, partition, serial, modulus from crl_members
where ca_id = %1 and (partition, serial, modulus) > (%2, %3, %4)
order by partition, serial, modulus limit %5`;
const partitionIndexes = "select modulus, sequence from crl_indexes where ca_id = %1";
const oneEntry =
  "select revoked_at, reason, sequence from revocations where ca_id = %1 and serial = %2";
const oneRelease = `select 1 from revocation_releases
where ca_id = %1 and serial = %2 and since <= %3 and sequence > %3`;
