/**
 * Reads an archive once, from beginning to end, and hands over what is in it as it comes; at its
 * end everything has been held against its digests.
 */

import {
  ArchiveUnfit,
  type Digests,
  type Manifest,
  type MemberDigest,
  memberNames,
  parseDigests,
  parseManifest,
  pieceOf,
  signedOctets,
  softwareFileOf,
} from "./archive.ts";
import { importPublicKey, sha256Hex, verifySignature } from "#core/crypto.ts";
import { TarDamaged, type TarMember, tarMembers } from "#core/tar-reader.ts";
import { schemeOf } from "#core/x509/algorithms.ts";
import { type Piece, readPiece } from "./piece.ts";

/** What takes an archive in; each may throw `ArchiveUnfit`. */
export interface ArchiveTaker {
  /** Comes first. */
  manifest(manifest: Manifest): Promise<void>;
  /** Pieces of a table come in their order, those of one table together. */
  rows(table: string, piece: Piece): Promise<void>;
  dataKeys(octets: Uint8Array): void;
  keyFile(name: string, octets: Uint8Array): void;
  masterKey(octets: Uint8Array): void;
  configuration(octets: Uint8Array): void;
}

/** What an archive says of itself, all of it proven but who has written it. */
export interface ReadArchive {
  readonly manifest: Manifest;
  readonly digests: Digests;
  /** Lower hex SubjectPublicKeyInfo of the ledger key that vouches for it. */
  readonly signedBy: string;
}

/**
 * Reads a decrypted archive. Throws `ArchiveUnfit` for whatever pkid does not write, for a member
 * that is missing, altered or out of its place, and for a signature that does not fit.
 */
export async function readArchive(
  plain: AsyncIterable<Uint8Array>,
  taker: ArchiveTaker,
): Promise<ReadArchive> {
  const reading = new Reading(taker);
  try {
    for await (const member of tarMembers(plain)) await reading.take(member);
  } catch (error) {
    throw error instanceof TarDamaged ? new ArchiveUnfit(error.message) : error;
  }
  return reading.ended();
}

/**
 * Reads only the manifest, the first entry of a decrypted archive. It is verified only if the whole
 * archive is read. Throws `ArchiveUnfit` for any other content.
 */
export async function readManifest(plain: AsyncIterable<Uint8Array>): Promise<Manifest> {
  try {
    for await (const entry of tarMembers(plain)) {
      if (entry.name !== memberNames.manifest || entry.size > manifestMax) break;
      return parseManifest(await whole(entry));
    }
  } catch (error) {
    throw error instanceof TarDamaged ? new ArchiveUnfit(error.message) : error;
  }
  throw new ArchiveUnfit("The archive does not start with a manifest.");
}

class Reading {
  readonly #taker: ArchiveTaker;
  readonly #members: MemberDigest[] = [];
  #manifest: Manifest | undefined;
  #digests: Digests | undefined;
  #last: { readonly table: string; readonly piece: number } | undefined;
  readonly #names = new Set<string>();
  readonly #tables = new Set<string>();

  constructor(taker: ArchiveTaker) {
    this.#taker = taker;
  }

  async take(member: TarMember): Promise<void> {
    const { name, size } = member;
    if (this.#digests !== undefined) {
      throw new ArchiveUnfit(`${name} stands behind the end of the archive.`);
    }
    if (size > memberMax) throw new ArchiveUnfit(`${name} in the archive is too large.`);
    const octets = await whole(member);
    if (name === memberNames.digests) {
      this.#digests = parseDigests(octets);
      return;
    }
    if (this.#names.has(name)) {
      throw new ArchiveUnfit(`${name} is in the archive twice.`);
    }
    this.#names.add(name);
    const rows = await this.#taken(name, octets);
    const counted = rows === undefined ? {} : { rows };
    this.#members.push({ name, size, sha256: sha256Hex(octets), ...counted });
  }

  ended(): ReadArchive {
    const [manifest, digests] = [this.#manifest, this.#digests];
    if (manifest === undefined || digests === undefined) {
      throw new ArchiveUnfit("The archive is incomplete: it has no digests at its end.");
    }
    const missing = manifest.tables.find((table) => !this.#tables.has(table));
    if (missing !== undefined) throw new ArchiveUnfit(`The archive lacks the table ${missing}.`);
    this.#compare(digests.members);
    const { signature } = digests;
    if (!vouches(signature, digests.members)) {
      throw new ArchiveUnfit("The signature of the archive does not fit what is in it.");
    }
    return { manifest, digests, signedBy: signature.spki };
  }

  async #taken(name: string, octets: Uint8Array): Promise<number | undefined> {
    if (this.#manifest === undefined) {
      if (name !== memberNames.manifest) throw new ArchiveUnfit("This is no backup of pkid.");
      this.#manifest = parseManifest(octets);
      await this.#taker.manifest(this.#manifest);
      return undefined;
    }
    const piece = pieceOf(name);
    if (piece !== undefined) return await this.#rows(name, piece, octets);
    const keyFile = softwareFileOf(name);
    if (keyFile !== undefined) this.#taker.keyFile(keyFile, octets);
    else if (name === memberNames.dataKeys) this.#taker.dataKeys(octets);
    else if (name === memberNames.masterKey) this.#taker.masterKey(octets);
    else if (name === memberNames.configuration) this.#taker.configuration(octets);
    else if (!crlForm.test(name)) throw new ArchiveUnfit(`${name} has no place in an archive.`);
    return undefined;
  }

  async #rows(
    name: string,
    { table, piece }: { readonly table: string; readonly piece: number },
    octets: Uint8Array,
  ): Promise<number> {
    const follows = this.#last?.table === table ? this.#last.piece + 1 : 1;
    const known = this.#manifest?.tables.includes(table) === true;
    if (!known || piece !== follows || (piece === 1 && this.#tables.has(table))) {
      throw new ArchiveUnfit(`${name} is not where it belongs in the archive.`);
    }
    this.#last = { table, piece };
    this.#tables.add(table);
    const read = readPiece(textOf(octets, name), name);
    await this.#taker.rows(table, read);
    return read.rows.length;
  }

  #compare(listed: readonly MemberDigest[]): void {
    if (listed.length !== this.#members.length) {
      throw new ArchiveUnfit("The archive does not hold what its digests list.");
    }
    for (const [at, { name, size, sha256, rows }] of this.#members.entries()) {
      const one = listed[at];
      const same = one?.name === name && one.size === size && one.sha256 === sha256;
      if (!same || one.rows !== rows) {
        throw new ArchiveUnfit(`${name} in the archive is not what its digests list.`);
      }
    }
  }
}

function vouches({ spki, value }: Digests["signature"], members: readonly MemberDigest[]): boolean {
  try {
    const key = importPublicKey(Buffer.from(spki, "hex"));
    const signature = Buffer.from(value, "hex");
    return verifySignature(key, schemeOf("ed25519"), signedOctets(members), signature);
  } catch {
    return false; // No public key.
  }
}

async function whole({ size, content }: TarMember): Promise<Uint8Array> {
  const octets = new Uint8Array(size);
  let at = 0;
  for await (const piece of content()) {
    octets.set(piece, at);
    at += piece.length;
  }
  return octets;
}

function textOf(octets: Uint8Array, name: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(octets);
  } catch {
    throw new ArchiveUnfit(`${name} in the archive is not UTF-8.`);
  }
}

const crlForm = /^crl\/[A-Za-z0-9-]{1,64}\/[A-Za-z0-9._-]{1,64}\.der$/;
/** Pieces of tables have 8 MiB and what a page adds; lists of a million entries have 45. */
const memberMax = 268_435_456;
const manifestMax = 16_777_216;
