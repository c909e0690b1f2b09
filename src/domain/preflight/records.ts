/**
 * What preflight asks of the records: do both chains hold at their end, is anything signed that
 * nobody has.
 */

import { violation } from "#core/audit/chain.ts";
import { type LedgerEntry, ledgerHash } from "#core/audit/ledger.ts";
import { formatRollback } from "#core/history/mark.ts";
import { caId, type Serial } from "#core/ids.ts";
import {
  failed,
  type Finding,
  gathered,
  passed,
  skipped,
  warned,
} from "#core/preflight/finding.ts";
import { type Instant, parseTimestamp, secondsPerDay } from "#core/time.ts";
import { nextTurn } from "#core/turns.ts";
import type { Reads, Store } from "#domain/store.ts";
import { everyCa } from "./keys.ts";

/** The newest events: links, hashes, and the stored head. */
export async function eventsIntact(
  { read, rollback }: Pick<Store, "read" | "rollback">,
  sample: number,
): Promise<Finding> {
  const rolledBack = rollback();
  if (rolledBack !== undefined) return failed(formatRollback(rolledBack));
  const stored = await read.audit.eventHead();
  if (stored.seq === 0) return skipped("There are no events yet.");
  let head: { seq: number; hash: string } | undefined;
  let seen = 0;
  for await (const event of newest(stored.seq, sample, read.audit.eventsAfter)) {
    const previous = head ?? { seq: event.seq - 1, hash: event.prevHash };
    const wrong = violation(previous, event);
    if (wrong !== undefined) return failed(`Event ${event.seq} breaks the chain (${wrong}).`);
    head = event;
    seen += 1;
    if (event.seq === stored.seq && event.hash !== stored.hash) {
      return failed(`Event ${event.seq} is not the one the head names.`);
    }
  }
  if (head === undefined || head.seq < stored.seq) {
    return failed(`The chain ends before event ${stored.seq}, which the head names.`);
  }
  return passed(`The newest ${seen} events link, up to ${head.seq}.`);
}

/**
 * The newest ledger entries: links, hashes, head; intents left open; signed artefacts that nobody
 * has.
 */
export async function ledgerIntact(
  { read }: Pick<Store, "read">,
  sample: number,
  now: Instant,
): Promise<Finding> {
  const stored = await read.audit.ledgerHead();
  if (stored.seq === 0) return skipped("The ledger has not begun yet.");
  const entries: LedgerEntry[] = [];
  for await (const entry of newest(stored.seq, sample, read.audit.ledgerAfter)) {
    const wrong = brokenLink(entries.at(-1), entry);
    if (wrong !== undefined)
      return failed(`Ledger entry ${entry.number} breaks the chain (${wrong}).`);
    if (entry.number === stored.seq && entry.hash !== stored.hash) {
      return failed(`Ledger entry ${entry.number} is not the one the head names.`);
    }
    entries.push(entry);
  }
  const last = entries.at(-1);
  if (last === undefined || last.number < stored.seq) {
    return failed(`The ledger ends before entry ${stored.seq}, which its head names.`);
  }
  const missing = await lostArtefacts(read, entries);
  const findings = [...missing.map((entry) => failed(lostText(entry))), ...openFor(entries, now)];
  return gathered(findings, `The newest ${entries.length} entries link, and none is open.`);
}

function brokenLink(previous: LedgerEntry | undefined, entry: LedgerEntry) {
  if (previous !== undefined && entry.number !== previous.number + 1) return "gap";
  if (previous !== undefined && entry.prevHash !== previous.hash) return "link";
  return ledgerHash(entry) === entry.hash ? undefined : "hash";
}

/** Intents without outcome for more than a minute. */
function openFor(entries: readonly LedgerEntry[], now: Instant): readonly Finding[] {
  const closed = new Set(entries.filter(({ kind }) => kind === "outcome").map(({ opId }) => opId));
  return entries
    .filter(({ kind, opId, timestamp }) => {
      const at = parseTimestamp(timestamp);
      return kind === "intent" && !closed.has(opId) && at !== undefined && now - at > openMsMax;
    })
    .map(({ number, timestamp }) => warned(`Entry ${number} has been open since ${timestamp}.`));
}

/**
 * Outcomes of success whose certificate or CRL is nowhere, unless the entries say that it was
 * thrown away.
 */
async function lostArtefacts(
  read: Reads,
  entries: readonly LedgerEntry[],
): Promise<readonly LedgerEntry[]> {
  const nameOf = ({ caId: ca, artifact }: LedgerEntry) => `${ca}/${artifact}`;
  const outcomes = entries.filter(
    ({ kind, operation }) => kind === "outcome" && operation === "sign",
  );
  const thrownAway = new Set(outcomes.filter(({ result }) => result !== "success").map(nameOf));
  const open = new Set(
    entries
      .filter(({ kind, opId }) => kind === "intent" && !outcomes.some((one) => one.opId === opId))
      .map(nameOf),
  );
  const lost: LedgerEntry[] = [];
  for (const entry of outcomes) {
    const name = nameOf(entry);
    if (entry.result !== "success" || thrownAway.has(name) || open.has(name)) continue;
    if (!(await isKept(read, entry))) lost.push(entry);
  }
  return lost;
}

/**
 * Where the octets of an outcome are; purposes whose artefact is kept elsewhere are not looked for.
 */
async function isKept(read: Reads, { purpose, caId: ca, artifact }: LedgerEntry): Promise<boolean> {
  switch (purpose) {
    case "certificate":
    case "ca_certificate":
    case "cross_certificate":
    case "responder_certificate":
      // Its own column is where the serial in the entry came from.
      return (await read.certificates.bySerial(caId(ca), artifact as Serial)) !== undefined;
    case "precertificate":
      // As above.
      return (await read.transparency.precertificate(caId(ca), artifact as Serial)) !== undefined;
    case "crl":
    case "delta_crl": {
      const [scope = "", number = ""] = artifact.split("#");
      const base = await read.revocations.crlHead(caId(ca), scope, "base");
      const delta = await read.revocations.crlHead(caId(ca), scope, "delta");
      // Older lists are forgotten, and bases and deltas share one sequence of numbers.
      return Math.max(base?.number ?? 0, delta?.number ?? 0) >= Number(number);
    }
    default:
      return true;
  }
}

const lostText = ({ number, purpose, artifact }: LedgerEntry): string =>
  `Entry ${number} signed a ${purpose} (${artifact}) that is nowhere.`;

/** Serials that were taken and never became a certificate; a public one must be revoked. */
export async function orphansSettled(store: Pick<Store, "read">, now: Instant): Promise<Finding> {
  const { certificates, transparency } = store.read;
  const findings: Finding[] = [];
  for (const { caId: ca, serial } of await transparency.lost(lostMax)) {
    findings.push(
      failed(`Serial ${serial} of CA ${ca} was shown to logs, is orphaned and not revoked.`),
    );
  }
  let recent = 0;
  for (const { id } of await everyCa(store)) {
    const { items } = await certificates.orphans(id, orphansMax);
    recent += items.filter(({ createdAt }) => now - createdAt < recentMs).length;
  }
  if (recent > 0) findings.push(warned(`Orphaned in the last 30 days: ${recent}.`));
  return gathered(findings, "No serial was orphaned in the last 30 days.");
}

/** The last `sample` rows of a chain up to `end`, oldest first, a page at a time. */
async function* newest<T>(
  end: number,
  sample: number,
  after: (number: number, limit: number) => Promise<readonly T[]>,
): AsyncGenerator<T> {
  let position = Math.max(0, end - sample);
  while (position < end) {
    const page = await after(position, Math.min(pageRows, end - position));
    yield* page;
    if (page.length === 0) return;
    position += page.length;
    // A store in this process answers at once: others have their turn between pages.
    await nextTurn();
  }
}

const pageRows = 250;
const openMsMax = 60_000;
const recentMs = 30 * secondsPerDay * 1000;
const orphansMax = 500;
const lostMax = 100;
