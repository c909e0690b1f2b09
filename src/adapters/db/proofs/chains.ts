/**
 * Both chains, each walked once from its beginning to its head, and what they say of what is
 * stored.
 */

import { EventWalk } from "#core/proofs/event-walk.ts";
import type { KeySet } from "#core/proofs/key-set.ts";
import { LedgerWalk } from "#core/proofs/ledger-walk.ts";
import type { Heads } from "#adapters/db/engine/journal.ts";

import { eventRows, ledgerRows } from "./chain-rows.ts";
import type { Lists } from "./lists.ts";
import type { Look } from "./look.ts";
import { asked, textOf } from "./look-rows.ts";

/** What the chains are held against. */
export interface ChainSides {
  readonly heads: Readonly<Heads>;
  readonly lists: Lists;
  /** `entryText` and `releaseText` of every change. */
  readonly changes: KeySet;
  /** As a look has them. */
  readonly pairs: Pick<KeySet, "mark">;
  readonly certificates: Pick<KeySet, "mark">;
}

/** Both at their ends. */
export interface Chains {
  readonly ledger: LedgerWalk;
  readonly events: EventWalk;
}

/** Walks the ledger, then the events. */
export async function proveChains(look: Look, sides: ChainSides): Promise<Chains> {
  const ledger = await proveLedger(look, sides);
  return { ledger, events: await proveEvents(look, sides) };
}

async function proveLedger(look: Look, { lists, heads, pairs }: ChainSides): Promise<LedgerWalk> {
  const { connection, proofs: found, keys, from, authorities, newSet } = look;
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
  for await (const page of ledgerRows(look, from.entry.number)) {
    for (const one of page) walk.take(one);
    look.advanced(page.length);
  }
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
  for await (const page of ledgerRows(look, look.from.entry.number)) {
    for (const { kind, opId, number: at } of page) {
      if (kind !== "intent" || !opIds.isRepeated(opId)) continue;
      if (seen.has(opId))
        look.proofs.ledger.violated(`Entry ${at}: an earlier intent has its op_id (V3).`);
      seen.add(opId);
    }
  }
}

async function proveEvents(
  look: Look,
  { lists, changes, heads, certificates }: ChainSides,
): Promise<EventWalk> {
  const { proofs: found, pruned, from } = look;
  const walk = new EventWalk({
    proofs: found,
    before: from.event,
    certificates,
    pruned,
    changes,
    listDigest: (ca, scope, number) => lists.named(ca, scope, number)?.sha256,
  });
  for await (const page of eventRows(look, from.event.seq)) {
    for (const one of page) walk.take(one);
    look.advanced(page.length);
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
