/**
 * PROVES A DATABASE by itself: every row and every signature in one snapshot, with no key, no
 * network and no write, in memory that does not grow with its rows but for a few octets of each. It
 * verifies signatures on the calling thread, which is to serve nobody meanwhile.
 */

import {
  type ArtefactSignature,
  requestArtefact,
} from "#core/audit/ledger-verification-artefacts.ts";
import { EventWalk } from "#core/proofs/event-walk.ts";
import { KeySet } from "#core/proofs/key-set.ts";
import { LedgerWalk } from "#core/proofs/ledger-walk.ts";
import { pairOfSignature } from "#core/proofs/pair.ts";
import { emptyProofs, type ProofName, type ProofResult, proofs } from "#core/proofs/proofs.ts";
import { SignatureKeys } from "#core/proofs/signature-keys.ts";
import { fingerprint } from "#core/x509/public-keys.ts";
import type { Random } from "#domain/ports.ts";
import type { Connection } from "#adapters/db/engine/connection.ts";
import type { Engine } from "#adapters/db/engine/engine.ts";
import type { Heads } from "#adapters/db/engine/journal.ts";
import { auditReads, storedHeads } from "#adapters/db/stores/audit.ts";

import { proveApprovals } from "./approvals.ts";
import { Authorities } from "./authorities.ts";
import { proveAuthorities } from "./authority-rows.ts";
import { beginning } from "./beginning.ts";
import { nameUntold, proveCertificates } from "./certificates.ts";
import { Lists, nameUntoldLists, proveLists } from "./lists.ts";
import type { Look } from "./look.ts";
import { asked, numberOf, textOf } from "./look-rows.ts";
import { nameUntoldChanges, proveRevocations } from "./revocations.ts";
import { proveRights } from "./rights.ts";
import { proveSealed } from "./sealed.ts";
import { proveSerials } from "./serials.ts";
import { proveStates } from "./states.ts";

/** What to look at. */
export interface ProofRequest {
  /** The event behind which to begin; 0 for everything. */
  readonly since: number;
  /** True for a file that this process has just loaded: its pages and types are sound. */
  readonly fresh?: boolean;
  readonly random: Pick<Random, "bytes">;
  /** Told now and then how many rows were looked at, of about how many. */
  readonly onProgress?: (rows: number, of: number) => void;
}

/** What was proven, and where both chains ended in the snapshot. */
export interface Proven {
  readonly results: readonly ProofResult[];
  readonly heads: Readonly<Heads>;
}

/**
 * Every proof but the one of the running server. Throws an Error that says so when there is no
 * event `since`, or the database is of another schema.
 */
export async function prove(engine: Pick<Engine, "view">, request: ProofRequest): Promise<Proven> {
  return await engine.view((connection) => proveView(connection, request));
}

async function proveView(connection: Connection, request: ProofRequest): Promise<Proven> {
  const from = await beginning(connection, request.since);
  if (typeof from === "string") throw new Error(from);
  const [row] = await asked(connection, "select count(*) from heads where id = 1");
  if (Number(row?.[0]) !== 1) throw new Error("The head row is gone: no chain says where it ends.");
  const heads = await storedHeads(connection);
  const salt = request.random.bytes(16);
  const newSet = () => new KeySet(salt);
  const look: Look = {
    connection,
    proofs: emptyProofs(),
    from,
    authorities: await Authorities.read(connection),
    keys: new SignatureKeys(),
    pairs: newSet(),
    certificates: newSet(),
    pruned: newSet(),
    newSet,
    advanced: counting(await rowsToLookAt(connection, heads, from), request.onProgress),
  };
  await proveStates(look, request.fresh ?? false);
  await proveCertificates(look);
  await proveSerials(look);
  proveRequests(look);
  const lists = await Lists.read(look);
  await proveLists(look, lists);
  const changes = newSet();
  await proveRevocations(look, lists, changes);
  const ledger = await proveLedger(look, lists, heads);
  await proveAuthorities(look, ledger.announcedKeys);
  const events = await proveEvents(look, { lists, changes, heads });
  if (look.pairs.unmarked > 0 || look.certificates.unmarked > 0) await nameUntold(look);
  await nameUntoldLists(look, lists, events.lists);
  await nameUntoldChanges(look, changes, from.whole ? 0 : events.leastChange);
  for (const ca of look.authorities.unknown) {
    if (!from.whole || events.deleted.has(ca)) continue;
    look.proofs.schema.violated(`There is no CA ${ca}, and no event that deleted it.`);
  }
  await proveApprovals(look, events.effects);
  await proveRights(look, events.rights);
  await proveSealed(look);
  const names = Object.keys(proofs) as ProofName[]; // Its own keys.
  const offline = names.filter((name) => name !== "running" && name !== "archive");
  return { results: offline.map((name) => look.proofs[name].result), heads };
}

/** Requests of CAs that others were to certify. */
function proveRequests({ authorities, keys, pairs, proofs: { signatures } }: Look): void {
  for (const { id, csr, spki, label } of authorities.byId.values()) {
    if (csr === undefined) continue;
    signatures.checked += 1;
    const signature = signatureOn(csr);
    if (signature === undefined || !keys.verifies(spki, signature)) {
      signatures.violated(`The request of CA ${label} does not verify under its key.`);
      continue;
    }
    const by = { purpose: "csr", caId: id, artifact: id, signerFingerprint: fingerprint(spki) };
    pairs.add(pairOfSignature(by, signature));
  }
}

function signatureOn(csr: Uint8Array): ArtefactSignature | undefined {
  try {
    const artefact = requestArtefact(csr);
    return typeof artefact === "string" ? undefined : artefact.signatures[0];
  } catch {
    return undefined; // No request at all.
  }
}

async function proveLedger(look: Look, lists: Lists, heads: Readonly<Heads>): Promise<LedgerWalk> {
  const { connection, proofs: found, keys, pairs, from, authorities, newSet } = look;
  const opIds = newSet();
  const earlier =
    "select distinct signer_fingerprint from ledger where kind = 'key' and number <= %1";
  const announced = from.whole ? [] : await asked(connection, earlier, [from.entry.number]);
  const walk = new LedgerWalk({
    proofs: found,
    keys,
    pairs,
    opIds,
    before: from.entry,
    announced: announced.map(([key]) => textOf(key)),
    since: from.at,
    pruned: look.pruned,
    newestList: (ca, scope) => lists.newest(ca, scope),
    isStoredList: (ca, artifact) => {
      const at = artifact.lastIndexOf("#");
      return lists.named(ca, artifact.slice(0, at), Number(artifact.slice(at + 1))) !== undefined;
    },
    isKnownCa: (ca) => authorities.byId.has(ca),
  });
  for await (const page of entries(look)) for (const one of page) walk.take(one);
  const open = await asked(
    connection,
    "select number, op_id from open_intents where number is not null",
  );
  walk.finish(new Map(open.map(([number, opId]) => [Number(number), textOf(opId)])));
  const { number, hash } = walk.end;
  if (number !== heads.ledgerNumber || hash !== heads.ledgerHash) {
    found.ledger.violated(
      `The ledger ends with ${number}, and its head is ${heads.ledgerNumber} (V1).`,
    );
  }
  await proveCounts(look, walk);
  if (opIds.repeated > 0) await nameRepeated(look, opIds);
  return walk;
}

/** What is counted on is what was counted; an export without a count since needs none. */
async function proveCounts({ connection, proofs: found, from }: Look, walk: LedgerWalk) {
  const names = "select name, value from instance where name like 'signatures/%'";
  const totals = new Map(
    (await asked(connection, names)).map(([name, value]) => [textOf(name), Number(value)]),
  );
  for (const [key, total] of walk.totals) {
    if (totals.get(`signatures/${key}`) === total) continue;
    found.ledger.violated(`The total of key ${key} is not that of its last entry (V7).`);
  }
  if (from.whole && totals.size !== walk.totals.size) {
    found.ledger.violated("There are totals of keys that no entry counts (V7).");
  }
}

async function nameRepeated(look: Look, opIds: KeySet): Promise<void> {
  const seen = new Set<string>();
  for await (const page of entries(look)) {
    for (const { kind, opId, number: at } of page) {
      if (kind !== "intent" || !opIds.isRepeated(opId)) continue;
      if (seen.has(opId))
        look.proofs.ledger.violated(`Entry ${at}: an earlier intent has its op_id (V3).`);
      seen.add(opId);
    }
  }
}

async function* entries({ connection, from, advanced }: Look) {
  const audit = auditReads(connection, 0);
  for (let after = from.entry.number; ; ) {
    const page = await audit.ledgerAfter(after, chainRows);
    if (page.length === 0) return;
    yield page.map(texted);
    advanced(page.length);
    after = page.at(-1)?.number ?? after;
  }
}

/** What SQLite holds in place of a text is one whose hash is another. */
function texted<T extends object>(row: T): T {
  // Nearly every row has nothing of the kind, and there are millions.
  for (const name in row) {
    if (typeof row[name] !== "object") continue;
    const odd = Object.entries(row).filter(([, value]) => typeof value === "object");
    return { ...row, ...Object.fromEntries(odd.map(([own, value]) => [own, textOf(value)])) };
  }
  return row;
}

async function proveEvents(
  look: Look,
  { lists, changes, heads }: { lists: Lists; changes: KeySet; heads: Readonly<Heads> },
): Promise<EventWalk> {
  const { connection, proofs: found, certificates, pruned, from, advanced } = look;
  const walk = new EventWalk({
    proofs: found,
    before: from.event,
    certificates,
    pruned,
    changes,
    listDigest: (ca, scope, number) => lists.named(ca, scope, number)?.sha256,
  });
  const audit = auditReads(connection, 0);
  for (let after = from.event.seq; ; ) {
    const page = await audit.eventsAfter(after, chainRows);
    if (page.length === 0) break;
    for (const one of page) walk.take(texted(one));
    advanced(page.length);
    after = page.at(-1)?.seq ?? after;
  }
  walk.finish();
  const { seq, hash } = walk.end;
  if (seq !== heads.eventSeq || hash !== heads.eventHash) {
    found.audit.violated(`The chain ends with event ${seq}, and its head is ${heads.eventSeq}.`);
  }
  await proveSequence(look, walk, heads.revocationSequence);
  return walk;
}

/** Where the revocation sequence ends, in all and for each CA, is what the last event says. */
async function proveSequence(
  { connection, proofs: found, from }: Look,
  walk: EventWalk,
  last: number,
): Promise<void> {
  const { greatestChange, lastChanges } = walk;
  const differs = from.whole ? greatestChange !== last : greatestChange > last;
  if (differs)
    found.revocations.violated(`Changes go to ${greatestChange}, the head says ${last}.`);
  const rows = await asked(connection, "select ca_id, sequence from revocation_changes");
  for (const [id, sequence] of rows) {
    const ca = textOf(id);
    const told = lastChanges.get(ca) ?? (from.whole ? 0 : Number(sequence));
    if (told === Number(sequence)) continue;
    found.revocations.violated(
      `The last change of CA ${ca} is ${told}, and not what its row says.`,
    );
  }
  for (const ca of lastChanges.keys()) {
    if (rows.some(([id]) => id === ca)) continue;
    found.revocations.violated(`The last change of CA ${ca} is kept nowhere.`);
  }
}

async function rowsToLookAt(
  connection: Connection,
  heads: Readonly<Heads>,
  from: Look["from"],
): Promise<number> {
  const [row] = await asked(connection, "select max(ordinal) from certificates");
  const [revoked] = await asked(connection, "select count(*) from revocations");
  const certificates = Math.max(0, (numberOf(row?.[0]) ?? 0) - from.ordinal);
  const chains = heads.eventSeq - from.event.seq + heads.ledgerNumber - from.entry.number;
  return certificates + chains + Number(revoked?.[0]);
}

function counting(of: number, tell: ProofRequest["onProgress"]): (rows: number) => void {
  let rows = 0;
  return (more) => {
    // Else garbage piles up to hundreds of megabytes over a million rows.
    if (Math.floor((rows + more) / rowsPerCollection) > Math.floor(rows / rowsPerCollection)) {
      Bun.gc(true);
    }
    rows += more;
    tell?.(Math.min(rows, of), of);
  };
}

const chainRows = 500;
const rowsPerCollection = 25_000;
