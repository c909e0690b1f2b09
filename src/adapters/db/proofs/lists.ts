/** Every stored CRL: whole, signed, numbered, and what its row says. */

import { listArtefact } from "#core/audit/ledger-verification-artefacts.ts";
import { sha256Hex } from "#core/crypto.ts";
import { pairOfSignature } from "#core/proofs/pair.ts";
import type { Proof } from "#core/proofs/proofs.ts";
import { oids } from "#core/asn1/oids.ts";
import { extensionOf } from "#core/x509/certificate.ts";
import { type OpenedCrl, openCrl } from "#core/x509/crl.ts";
import { parseIssuingDistributionPoint } from "#core/x509/crl-extensions.ts";
import { fingerprint } from "#core/x509/public-keys.ts";

import { iterateWithCollections, type Look } from "./look.ts";
import { asked, numberOf, octetsOf, textOf } from "./look-rows.ts";

/** The row of a list. */
export interface ListRow {
  readonly caId: string;
  readonly scope: string;
  readonly kind: string;
  readonly number: number;
  readonly base: number | undefined;
  readonly thisUpdate: number;
  readonly nextUpdate: number;
  readonly sequence: number;
  readonly entries: number;
  readonly size: number;
  readonly sha256: string;
  readonly modulus: number;
  readonly urls: string;
  readonly prior: { readonly thisUpdate: number; readonly sequence: number } | undefined;
}

/** All of them, by CA, scope and number. */
export class Lists {
  readonly all: readonly ListRow[];
  readonly #byName: ReadonlyMap<string, ListRow>;
  readonly #newest = new Map<string, number>();

  private constructor(all: readonly ListRow[]) {
    this.all = all;
    this.#byName = new Map(all.map((row) => [listName(row), row]));
    for (const { caId, scope, number } of all) {
      const name = `${caId}|${scope}`;
      this.#newest.set(name, Math.max(number, this.#newest.get(name) ?? 0));
    }
  }

  static async read({ connection }: Look): Promise<Lists> {
    return new Lists((await asked(connection, everyList)).map(listRow));
  }

  named(caId: string, scope: string, number: number): ListRow | undefined {
    return this.#byName.get(listName({ caId, scope, number }));
  }

  /** The greatest number of a scope. */
  newest(caId: string, scope: string): number | undefined {
    return this.#newest.get(`${caId}|${scope}`);
  }
}

/** Looks at each by itself and beside the one before it; gives those whose octets can be read. */
export async function proveLists(look: Look, lists: Lists): Promise<void> {
  const [row] = await asked(look.connection, "select revocation_sequence from heads where id = 1");
  const last = Number(row?.[0]);
  let before: ListRow | undefined;
  for (const list of lists.all) {
    const proof = proofOf(look, list);
    const name = textOfList(list);
    const follows = before?.caId === list.caId && before.scope === list.scope;
    if (follows && before !== undefined && before.sequence > list.sequence) {
      proof.violated(`${name} covers less than the one before it.`);
    }
    if (list.sequence > last) proof.violated(`${name} covers changes that never were.`);
    if (list.base !== undefined) provenBase(proof, lists, list);
    await proveList(look, list);
    before = list;
    look.advanced(1);
  }
  await proveReservations(look, lists);
}

/** The octets of a list, read as far as its entries; undefined where they are none. */
export async function openedList(look: Look, list: ListRow): Promise<OpenedCrl | undefined> {
  try {
    return openCrl(await octetsOfList(look, list));
  } catch {
    return undefined; // Named where the list is looked at by itself.
  }
}

/** Names the lists that no entry of the ledger and no event tell of. */
export async function nameUntoldLists(
  look: Look,
  lists: Lists,
  told: ReadonlySet<string>,
): Promise<void> {
  for (const list of lists.all) {
    if (look.from.whole && !told.has(listName(list))) {
      proofOf(look, list).violated(`${textOfList(list)} has no event.`);
    }
    if (look.pairs.unmarked === 0 || list.thisUpdate < look.from.at) continue;
    const pairs = await pairsOfList(look, list).catch(() => []);
    for (const pair of pairs) {
      if (!look.pairs.isUnmarked(pair)) continue;
      look.proofs.artefacts.violated(`${textOfList(list)} is in no ledger entry (V8).`);
    }
  }
}

export const proofOf = ({ proofs }: Look, { scope }: Pick<ListRow, "scope">): Proof =>
  scope === "full" ? proofs.crls : proofs.partitions;

export const textOfList = ({ caId, scope, number }: ListRow): string =>
  `CRL ${number} of ${scope}, CA ${caId},`;

async function proveList(look: Look, list: ListRow): Promise<void> {
  const proof = proofOf(look, list);
  const name = textOfList(list);
  try {
    const der = await octetsOfList(look, list);
    if (der.length !== list.size || sha256Hex(der) !== list.sha256) {
      proof.violated(`${name} has other octets than its row says.`);
    }
    const opened = openCrl(der);
    let entries = 0;
    for (const _entry of iterateWithCollections(opened.entries())) entries += 1;
    const { number, thisUpdate, nextUpdate } = opened;
    const same =
      entries === list.entries &&
      number === list.number &&
      thisUpdate === list.thisUpdate &&
      nextUpdate === list.nextUpdate;
    if (!same) proof.violated(`${name} says another number, time or count than its row.`);
    if (urlsOf(opened) !== list.urls) proof.violated(`${name} names other URLs than its row.`);
    const { prior } = list;
    const late = prior !== undefined && prior.sequence > list.sequence;
    if (late) proof.violated(`${name} left entries out by a base that is later.`);
    verified(look, list, der, opened.issuer);
    for (const pair of await pairsOfList(look, list)) look.pairs.add(pair);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    proof.violated(`${name} cannot be read: ${why}.`);
  }
}

function verified(look: Look, list: ListRow, der: Uint8Array, issuer: Uint8Array): void {
  const { authorities, keys, proofs } = look;
  const issuers = authorities.of(list.caId, issuer);
  const { signatures } = listArtefact(der);
  const hybrid = issuers.some(({ alternative }) => alternative !== undefined);
  if (hybrid && signatures.length < 2) {
    proofs.signatures.violated(`${textOfList(list)} lacks its alternative signature.`);
  }
  for (const [at, signature] of signatures.entries()) {
    proofs.signatures.checked += 1;
    const good = issuers.some(({ spki, alternative }) => {
      const key = at === 0 ? spki : alternative;
      return key !== undefined && keys.verifies(key, signature);
    });
    if (!good) proofs.signatures.violated(`${textOfList(list)} does not verify under its CA.`);
  }
}

async function pairsOfList(look: Look, list: ListRow): Promise<readonly string[]> {
  const der = await octetsOfList(look, list);
  const { signatures } = listArtefact(der);
  const issuers = look.authorities.of(list.caId, openCrl(der).issuer);
  const { caId, scope, number, kind } = list;
  const purpose = kind === "base" ? "crl" : "delta_crl";
  return signatures.map((signature, at) => {
    const candidates = issuers.map(({ spki, alternative }) => (at === 0 ? spki : alternative));
    const signer = candidates.find(
      (key) => key !== undefined && look.keys.verifies(key, signature),
    );
    const signerFingerprint = signer === undefined ? "" : fingerprint(signer);
    const by = { purpose, caId, artifact: `${scope}#${number}`, signerFingerprint };
    return pairOfSignature(by, signature);
  });
}

/** As the column has them. */
function urlsOf(opened: OpenedCrl): string {
  const point = extensionOf(opened, oids.issuingDistributionPoint)?.value;
  return JSON.stringify(point === undefined ? [] : parseIssuingDistributionPoint(point));
}

/** A delta names a base that was published: one that is stored, or one that was pruned. */
function provenBase(proof: Proof, lists: Lists, list: ListRow): void {
  const { caId, scope, number, base = 0 } = list;
  const named = lists.named(caId, scope, base);
  const ofScope = lists.all.filter((one) => one.caId === caId && one.scope === scope);
  const oldest = Math.min(...ofScope.map((one) => one.number));
  const known = named === undefined ? base < oldest : named.kind === "base";
  if (base < number && known) return;
  proof.violated(`${textOfList(list)} is a delta of ${base}, which is no published base.`);
}

async function proveReservations(look: Look, lists: Lists): Promise<void> {
  const rows = await asked(look.connection, "select ca_id, scope, number from crl_reservations");
  const given = new Map(rows.map(([ca, scope, number]) => [`${ca}|${scope}`, Number(number)]));
  for (const list of lists.all) {
    if (list.number <= (given.get(`${list.caId}|${list.scope}`) ?? 0)) continue;
    proofOf(look, list).violated(`${textOfList(list)} has a number that was never given out.`);
  }
}

async function octetsOfList(
  { connection }: Look,
  { caId, scope, number }: ListRow,
): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for (let position = 0; ; position++) {
    const [row] = await asked(connection, onePiece, [caId, scope, number, position]);
    if (row === undefined) break;
    pieces.push(octetsOf(row[0]));
  }
  return new Uint8Array(Buffer.concat(pieces));
}

function listRow(values: readonly unknown[]): ListRow {
  const [caId, scope, kind, number, base, thisUpdate, nextUpdate, sequence, entries] = values;
  const [size, digest, modulus, priorUpdate, priorSequence, urls] = values.slice(9);
  const [update, before] = [numberOf(priorUpdate), numberOf(priorSequence)];
  const prior =
    update === undefined || before === undefined
      ? undefined
      : { thisUpdate: update, sequence: before };
  return {
    caId: textOf(caId),
    scope: textOf(scope),
    kind: textOf(kind),
    number: Number(number),
    base: numberOf(base),
    thisUpdate: Number(thisUpdate),
    nextUpdate: Number(nextUpdate),
    sequence: Number(sequence),
    entries: Number(entries),
    size: Number(size),
    sha256: textOf(digest),
    modulus: Number(modulus),
    urls: textOf(urls),
    prior,
  };
}

const listName = ({ caId, scope, number }: Pick<ListRow, "caId" | "scope" | "number">): string =>
  `${caId}|${scope}|${number}`;

const everyList = `select ca_id, scope, kind, number, base, this_update, next_update, sequence, entries,
  size, sha256, modulus, prior_update, prior_sequence, urls
from crl_heads order by ca_id, scope, number`;
const onePiece =
  "select octets from crl_pieces where ca_id = %1 and scope = %2 and number = %3 and position = %4";
