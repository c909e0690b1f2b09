/**
 * PROVES A DATABASE by itself: every row and every signature in one snapshot, with no key, no
 * network and no write, in memory that does not grow with its rows but for a few octets of each. It
 * verifies signatures on the calling thread, which is to serve nobody meanwhile.
 */

import {
  type ArtefactSignature,
  requestArtefact,
} from "#core/audit/ledger-verification-artefacts.ts";
import { AwaitedSet } from "#core/proofs/awaited-set.ts";
import type { KeySetParts } from "#core/proofs/key-set.ts";
import { isPairOfCertificate, pairOfSignature } from "#core/proofs/pair.ts";
import { emptyProofs, type ProofName, type ProofResult, proofs } from "#core/proofs/proofs.ts";
import { fingerprint } from "#core/x509/public-keys.ts";
import type { Random } from "#domain/ports.ts";
import type { Connection } from "#adapters/db/engine/connection.ts";
import type { Engine } from "#adapters/db/engine/engine.ts";
import type { Heads } from "#adapters/db/engine/journal.ts";
import { storedHeads } from "#adapters/db/stores/audit.ts";

import { proveApprovals } from "./approvals.ts";
import { proveAuthorities } from "./authority-rows.ts";
import { beginning } from "./beginning.ts";
import { nameUntold, proveCertificates } from "./certificates.ts";
import { CertificatesAside, provenAside } from "./certificates-aside.ts";
import { type Chains, type ChainSides, proveChains } from "./chains.ts";
import { Lists, nameUntoldLists, proveLists } from "./lists.ts";
import { collecting, type Look, newLook } from "./look.ts";
import { asked, numberOf } from "./look-rows.ts";
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
  /**
   * `verifiedText` of signatures that the caller has verified itself; they are not again. It is
   * given away.
   */
  readonly verified?: KeySetParts | undefined;
  /** A SQLite file that nobody changes, and the main module: other threads may look at it too. */
  readonly aside?: { readonly path: string; readonly workerUrl: string } | undefined;
  /** True to skip the signatures of certificates, which take most of the time. */
  readonly fast?: boolean;
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

/**
 * Checks every state, revocation and list in the snapshot of a connection, and the newest events
 * with their certificates. It skips the signatures of certificates.
 *
 * @returns one message for the first check that fails; undefined if a restore accepts the snapshot
 */
export async function findViolation(
  connection: Connection,
  random: ProofRequest["random"],
): Promise<string | undefined> {
  const { eventSeq } = await storedHeads(connection);
  const since = Math.max(0, eventSeq - fastEventsMax);
  const { results } = await proveView(connection, { since, fresh: true, fast: true, random });
  const failed = results.find(({ violations }) => violations > 0);
  return failed && `${failed.says}: ${failed.first[0] ?? ""}`;
}

async function proveView(connection: Connection, request: ProofRequest): Promise<Proven> {
  const from = await beginning(connection, request.since);
  if (typeof from === "string") throw new Error(from);
  const [row] = await asked(connection, "select count(*) from heads where id = 1");
  if (Number(row?.[0]) !== 1) throw new Error("The head row is gone: no chain says where it ends.");
  const heads = await storedHeads(connection);
  const salt = request.random.bytes(16);
  const aside = asideOf(request, from, salt);
  // What another thread looks at is not verified here.
  const verified = aside === undefined ? request.verified : undefined;
  const advanced = counting(await rowsToLookAt(connection, heads, from), request.onProgress);
  const look = await newLook({
    connection,
    from,
    salt,
    verified,
    advanced,
    fast: request.fast ?? false,
  });
  await proveStates(look, request.fresh ?? false);
  if (aside === undefined) await proveCertificates(look);
  await proveSerials(look);
  proveRequests(look);
  const lists = await Lists.read(look);
  await proveLists(look, lists);
  const changes = look.newSet();
  await proveRevocations(look, lists, changes);
  const { ledger, events } = await provenChains(look, { lists, changes, heads }, aside);
  await proveAuthorities(look, ledger.announcedKeys);
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

/** Another thread that looks at the certificates, where there can be one. */
function asideOf(
  { aside, verified }: ProofRequest,
  from: Look["from"],
  salt: Uint8Array,
): CertificatesAside | undefined {
  if (aside === undefined || !from.whole) return undefined;
  const { path, workerUrl } = aside;
  const job = { path, salt, verified };
  return new CertificatesAside({ certificates: job }, workerUrl);
}

/**
 * With `aside` they are walked while the certificates are looked at, as if all of those were fine;
 * where that was wrong, they are walked anew.
 */
async function provenChains(
  look: Look,
  sides: Pick<ChainSides, "lists" | "changes" | "heads">,
  aside: CertificatesAside | undefined,
): Promise<Chains> {
  const { pairs, certificates, newSet } = look;
  if (aside === undefined) return await proveChains(look, { ...sides, pairs, certificates });
  const early: Look = { ...look, proofs: emptyProofs() };
  const awaited = {
    pairs: new AwaitedSet(pairs, isPairOfCertificate),
    certificates: new AwaitedSet(newSet(), () => true),
  };
  const chains = await proveChains(early, { ...sides, ...awaited });
  await provenAside(look, aside);
  // The sets of both threads exist twice now, and the next step sorts copies of them.
  Bun.gc(true);
  for (const set of [pairs, certificates]) set.forget();
  if (awaited.pairs.settle(pairs) && awaited.certificates.settle(certificates)) {
    for (const { findings } of Object.values(early.proofs)) {
      look.proofs[findings.name].take(findings);
    }
    return chains;
  }
  for (const set of [pairs, certificates, sides.changes]) set.forget();
  return await proveChains(look, { ...sides, pairs, certificates });
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
  return collecting((more) => {
    rows += more;
    tell?.(Math.min(rows, of), of);
  });
}

/** Events that a fast check reads. */
const fastEventsMax = 200_000;
