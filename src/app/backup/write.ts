/** Writes an archive: one moment of the database, and what lies beside it, as a tar stream. */

import { existsSync } from "node:fs";

import { type Held, type HeldTable, openArchived } from "#adapters/db/archive/held.ts";
import type { StoreOptions } from "#adapters/db/open.ts";
import { systemRandom } from "#adapters/system.ts";
import { keyStoreFiles, newestKekIn } from "#adapters/keys/software/archive-files.ts";
import {
  ArchiveUnfit,
  encodeDigests,
  encodeManifest,
  type HsmToken,
  type MemberDigest,
  memberNames,
  signedOctets,
  softwareFile,
  tablePiece,
} from "#core/backup/archive.ts";
import { encodeDataKeys } from "#core/backup/data-keys.ts";
import { sha256Hex } from "#core/crypto.ts";
import { tarEnd, tarHeader, tarPadding } from "#core/tar.ts";
import { Mailbox } from "#adapters/keys/signer/hand-over.ts";
import type { ArchiveHost } from "#domain/backup/archiving.ts";
import type { SealedValue } from "#domain/envelopes/store.ts";

/** What an archive is made of; everything crosses to another thread. */
export interface ArchiveOrder {
  readonly store: StoreOptions;
  /** Directory of the software key store. */
  readonly keystore: string;
  /** The file of the master key; undefined under a passphrase. */
  readonly masterKeyFile: string | undefined;
  /** Whether it goes along. */
  readonly withMasterKey: boolean;
  /** The effective configuration without secrets; undefined where it stays out. */
  readonly configuration: string | undefined;
  /** Of pkid. */
  readonly version: string;
  /** RFC 3339, UTC. */
  readonly createdAt: string;
  /** True to refuse an archive that a restore would refuse. */
  readonly mustVerify: boolean;
  /** Tokens that are at hand. */
  readonly hsmTokens: readonly HsmToken[];
}

/** The archive, piece by piece. Throws what keeps it from being complete. */
export async function* archiveOf(
  order: ArchiveOrder,
  host: ArchiveHost,
): AsyncGenerator<Uint8Array> {
  const database = await openArchived(order.store);
  const archive = new Archive(order, host);
  try {
    for (let attempt = 1; ; attempt++) {
      const held = await database.hold();
      try {
        // Until the tables are read some of these keys may be destroyed, which are in the archive.
        await archive.takePrivateKeys();
        const files = keyStoreFiles(order.keystore, order.masterKeyFile);
        // Keys were resealed under a version that the database of this moment does not know.
        if ((await held.newestKek()) < newestKekIn(files) && attempt < attemptsMax) {
          continue;
        }
        if (order.mustVerify) await requireRestorable(held);
        yield* archive.written(held, files);
        return;
      } finally {
        await held.release();
      }
    }
  } finally {
    await database.close();
  }
}

/** Throws `ArchiveUnfit` if a restore would refuse this moment of the database. */
async function requireRestorable(held: Held): Promise<void> {
  const violation = await held.findViolation(systemRandom);
  if (violation === undefined) return;
  throw new ArchiveUnfit(
    `No archive was created, because it could not be restored. ${violation} Run \`pkid verify\`.`,
  );
}

class Archive {
  readonly #order: ArchiveOrder;
  readonly #host: ArchiveHost;
  readonly #members: MemberDigest[] = [];
  readonly #mailbox = new Mailbox("archive");
  /** Data keys of private keys by their ids, in boxes until they are written. */
  readonly #boxes = new Map<string, Uint8Array>();
  readonly #mtime: number;

  constructor(order: ArchiveOrder, host: ArchiveHost) {
    this.#order = order;
    this.#host = host;
    this.#mtime = Math.trunc(Date.parse(order.createdAt) / 1000);
  }

  async *written(held: Held, files: ReadonlyMap<string, Uint8Array>): AsyncGenerator<Uint8Array> {
    const { version, createdAt, hsmTokens } = this.#order;
    const of = { version, created_at: createdAt, hsm_tokens: [...hsmTokens] };
    const manifest = await held.manifest(of);
    this.#host.begun(manifest);
    yield* this.#member(memberNames.manifest, encodeManifest(manifest));
    for (const table of held.tables) yield* this.#table(table);
    yield* this.#member(memberNames.dataKeys, await this.#dataKeys(await held.sealed()));
    for (const [name, octets] of files) yield* this.#member(softwareFile(name), octets);
    const { masterKeyFile, withMasterKey, configuration } = this.#order;
    if (withMasterKey && masterKeyFile !== undefined && existsSync(masterKeyFile)) {
      yield* this.#member(memberNames.masterKey, await Bun.file(masterKeyFile).bytes());
    }
    if (configuration !== undefined) {
      yield* this.#member(memberNames.configuration, Buffer.from(configuration));
    }
    for await (const { name, octets } of held.lists()) yield* this.#member(name, octets);
    const signature = await this.#host.sign(signedOctets(this.#members));
    const vouched = { algorithm: "ed25519", ...signature } as const;
    const digests = { members: [...this.#members], signature: vouched };
    yield* this.#member(memberNames.digests, encodeDigests(digests));
    yield tarEnd();
  }

  /** Takes the data keys of the private keys that are there now, to those it has. */
  async takePrivateKeys(): Promise<void> {
    await this.#given([]);
  }

  /** Data keys of private keys are opened here and nowhere else outside of the signers. */
  async #dataKeys(sealed: readonly SealedValue[]): Promise<Uint8Array> {
    const values = await this.#given(sealed);
    const opened = [...this.#boxes].map(([id, box]) => [id, this.#mailbox.open(box)] as const);
    const octets = encodeDataKeys({ values, privateKeys: new Map(opened) });
    for (const [, dek] of [...values, ...opened]) dek.fill(0);
    return octets;
  }

  async #given(values: readonly SealedValue[]): Promise<ReadonlyMap<string, Uint8Array>> {
    const given = await this.#host.dataKeys({ values, address: this.#mailbox.address });
    for (const { id, box } of given.privateKeys) this.#boxes.set(id, box);
    return given.values;
  }

  async *#table(table: HeldTable): AsyncGenerator<Uint8Array> {
    const first = table.columns;
    let [piece, rows, octets] = [1, 0, first.length];
    let lines: string[] = [first];
    const member = () =>
      this.#member(tablePiece(table.name, piece), Buffer.from(lines.join("")), rows);
    for await (const page of table.lines()) {
      if (octets + page.text.length > pieceOctets && rows > 0) {
        yield* member();
        [piece, rows, octets, lines] = [piece + 1, 0, first.length, [first]];
      }
      lines.push(page.text);
      rows += page.rows;
      octets += page.text.length;
    }
    yield* member();
  }

  *#member(name: string, octets: Uint8Array, rows?: number): Generator<Uint8Array> {
    const counted = rows === undefined ? {} : { rows };
    this.#members.push({ name, size: octets.length, sha256: sha256Hex(octets), ...counted });
    yield tarHeader(name, octets.length, this.#mtime, 0o600);
    yield octets;
    yield tarPadding(octets.length);
  }
}

const attemptsMax = 5;
/** A piece of a table is gathered before it is written, and read whole. */
const pieceOctets = 524_288;
