/**
 * The directory of sealed key files: one file per key, named by its id, bound to all it says of
 * itself.
 */

import { randomBytes } from "node:crypto";
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";

import {
  type Envelope,
  fitsCommitment,
  openEnvelope,
  sealEnvelope,
  withHeader,
} from "#core/envelope.ts";
import { Problem, refuse } from "#core/problems.ts";
import type { KeyType } from "#core/x509/algorithms.ts";
import { keyIdOf } from "#core/x509/public-keys.ts";
import type { KeyHandle, KekInUse, ListedKey } from "#domain/keys.ts";
import type { DataKeyBody, HandedOut, Resealed } from "#adapters/keys/requests.ts";
import type { SoftwareSettings } from "#adapters/keys/settings.ts";
import { boxFor } from "#adapters/keys/signer/hand-over.ts";
import type { LocalRef } from "#adapters/keys/signer/provider.ts";
import type { ServerLink } from "#adapters/keys/signer/server-link.ts";

import {
  createDurably,
  privateDirectory,
  readSmall,
  removeDurably,
  removeLeftovers,
  writeDurably,
} from "./files.ts";
import { SealedKeks } from "./keks.ts";
import { KekRing } from "./kek-ring.ts";
import {
  contextOf,
  encodeKeyFile,
  isEnveloped,
  type KeyFile,
  parseKeyFile,
  storeIdFile,
} from "./key-file.ts";
import { Labels } from "./labels.ts";
import { MasterKey } from "./master-key.ts";
import { SealedHalves } from "./ml-kem-halves.ts";
import { sealedIds } from "./sealed-files.ts";
import { exportSecret, importSecret, type Secret, spkiOf } from "./secrets.ts";
import { unseal } from "./seal.ts";

/** A key, opened. */
export interface OpenKey {
  readonly keyHandle: KeyHandle;
  readonly secret: Secret;
}

type Link = Pick<ServerLink, "request" | "tally" | "note">;

/** The sealed keys of one key store. */
export class SealedKeys {
  readonly #link: Link;
  readonly #directory: string;
  readonly #masterKey: MasterKey;
  /** Labels of keys that are being sealed. */
  readonly #adding = new Set<string>();
  readonly #labels = new Labels((path) => this.#read(basename(path, ".key"))?.label);
  /**
   * Random, made once: tells two key stores apart in the ledger, and keeps their files from being
   * mixed.
   */
  readonly storeId: string;
  /** The key-encryption keys beside them. */
  readonly keks: SealedKeks;
  /** The ML-KEM halves of KEKs, of those on a token too. */
  readonly halves: SealedHalves;
  /** Those the keys are sealed under, wherever they are held. */
  readonly ring: KekRing;

  /** Opens or makes the directory; throws a `configuration` fault (V-12). */
  constructor(settings: SoftwareSettings, link: Link) {
    this.#link = link;
    this.#directory = settings.keystore_dir;
    privateDirectory(this.#directory);
    removeLeftovers(this.#directory);
    const idPath = join(this.#directory, storeIdFile);
    createDurably(idPath, Buffer.from(crypto.randomUUID()));
    this.storeId = readSmall(idPath, 64)?.toString("utf8") ?? "";
    this.#masterKey = new MasterKey(settings, this.storeId, () => this.#needsMasterKey());
    const { storeId } = this;
    const deps = { directory: this.#directory, storeId, masterKey: this.#masterKey };
    this.keks = new SealedKeks(deps);
    this.halves = new SealedHalves(deps);
    this.ring = new KekRing({ keks: this.keks, halves: this.halves, link });
  }

  /**
   * Seals a new key durably. Refuses a label that is taken (KEY-2), and `key_unavailable` without a
   * KEK.
   */
  async add(label: string, keyType: KeyType, secret: Secret): Promise<OpenKey> {
    const spki = spkiOf(secret);
    const file = { id: keyIdOf(spki), label, keyType };
    if (this.#adding.has(label)) throw taken();
    this.#adding.add(label);
    const content = exportSecret(secret);
    try {
      const paths = this.#ids().map((other) => this.#path(other));
      if (this.#labels.have(label, paths)) throw taken();
      for (;;) {
        const kek = this.ring.active;
        if (kek === undefined) throw absent();
        const sealed = await this.#enveloped(kek, file, content);
        // A rotation that began meanwhile has looked for keys of the old version already.
        if (this.ring.active?.version !== kek.version) continue;
        createDurably(this.#path(file.id), encodeKeyFile({ ...file, sealed }));
        return { keyHandle: this.#keyHandle(file, spki), secret };
      }
    } finally {
      this.#adding.delete(label);
      content.fill(0);
    }
  }

  /**
   * The same for a key that may be here already: under this label it is given as it is. Refuses
   * `already_exists` (`key`) when it has another one.
   */
  async addOrFind(label: string, keyType: KeyType, secret: Secret): Promise<OpenKey> {
    const id = keyIdOf(spkiOf(secret));
    const present = this.#read(id);
    if (present === undefined) return await this.add(label, keyType, secret);
    if (present.label === label) return await this.open({ id, label });
    throw refuse("already_exists", { field: "key" });
  }

  /** Opens a key. Refuses with `key_unavailable` what is absent, renamed, swapped or altered. */
  async open(ref: LocalRef): Promise<OpenKey> {
    const file = this.#read(ref.id);
    if (file === undefined || file.label !== ref.label) throw absent();
    const content = await this.#contentOf(file);
    const secret = importSecret(content);
    content.fill(0);
    const spki = spkiOf(secret);
    if (keyIdOf(spki) !== ref.id) throw absent();
    return { keyHandle: this.#keyHandle(file, spki), secret };
  }

  /** Destroys a key for good. Refuses when it is not there under this label. */
  remove(ref: LocalRef): void {
    if (this.#read(ref.id)?.label !== ref.label) throw absent();
    removeDurably(this.#path(ref.id));
  }

  /**
   * Every key file, unopened. A sealed key is shown to nobody and leaves only as a whole, under its
   * KEK.
   */
  list(): ListedKey[] {
    const keys = this.#files()
      .slice(0, listedMax)
      .map((file): ListedKey => {
        const { id, label, keyType } = file;
        const kekVersion = isEnveloped(file) ? file.sealed.kekVersion : undefined;
        const inside = { extractable: false, sensitive: true };
        return { provider: "software", label, id, keyType, ...inside, kekVersion };
      });
    return [...keys, ...this.keks.list()];
  }

  /**
   * One step of bringing every key under `version`. Refuses `key_unavailable` when that is not the
   * active one.
   */
  async reseal(version: number): Promise<Resealed> {
    const kek = this.ring.active;
    if (kek?.version !== version) throw absent();
    let [changed, shut, left] = [0, 0, 0];
    for (const file of this.#files()) {
      if (isEnveloped(file) && file.sealed.kekVersion === version) continue;
      if (this.#lost(file)) continue;
      const tried = changed < changedMax && shut < shutMax;
      if (tried && (await this.#resealed(kek, file))) changed += 1;
      else {
        left += 1;
        if (tried) shut += 1;
        if (shut === 1 && tried) this.#link.note(`${notResealed} ${file.id}.`);
      }
    }
    return { changed, left };
  }

  /**
   * One step of handing out data keys for an archive, each in a box for `address`; those of keys
   * behind the id `after`. A key that does not open is noted, and left out: nobody could use it.
   */
  async handOut(address: Uint8Array, after: string): Promise<HandedOut> {
    const all = this.#files().filter((file) => isEnveloped(file) && file.id > after);
    const page = all.sort((a, b) => (a.id < b.id ? -1 : 1)).slice(0, changedMax);
    const boxes: DataKeyBody[] = [];
    for (const file of page) {
      const box = await this.#boxed(file, address);
      if (box === undefined) this.#link.note(`${notArchived} ${file.id}.`);
      else boxes.push({ id: file.id, octets: box.toBase64() });
    }
    return { boxes, after: page.length < all.length ? page.at(-1)?.id : undefined };
  }

  /** Brings keys under the active version by data keys that come from an archive. */
  async takeOver(dataKeys: readonly DataKeyBody[]): Promise<void> {
    const kek = this.ring.active;
    if (kek === undefined) throw absent();
    for (const { id, octets } of dataKeys) {
      const file = this.#read(id);
      const dek = Uint8Array.fromBase64(octets);
      if (file !== undefined && isEnveloped(file) && fitsCommitment(file.sealed, dek)) {
        const sealed = withHeader(file.sealed, await this.ring.wrap(kek, dek));
        writeDurably(this.#path(id), encodeKeyFile({ ...file, sealed }));
      }
      dek.fill(0);
    }
  }

  async #boxed({ sealed }: KeyFile, address: Uint8Array): Promise<Uint8Array | undefined> {
    if (Buffer.isBuffer(sealed)) return undefined;
    try {
      const dek = await this.ring.unwrap(sealed);
      const box = fitsCommitment(sealed, dek) ? boxFor(address, dek, "archive") : undefined;
      dek.fill(0);
      return box;
    } catch (error) {
      if (error instanceof Problem && error.code === "key_unavailable") return undefined;
      throw error;
    }
  }

  /** One key under `kek`, in one step: after a crash its file is the old one or the new one. */
  async #resealed(kek: KekInUse, file: KeyFile): Promise<boolean> {
    try {
      const sealed = isEnveloped(file)
        ? await this.#rewrapped(kek, file.sealed)
        : await this.#firstEnvelope(kek, file);
      const now = this.#read(file.id);
      // Destroyed meanwhile: it must not come back.
      if (now?.label !== file.label) return true;
      writeDurably(this.#path(file.id), encodeKeyFile({ ...file, sealed }));
      return true;
    } catch (error) {
      if (error instanceof Problem && error.code === "key_unavailable") return false;
      throw error;
    }
  }

  async #firstEnvelope(kek: KekInUse, file: KeyFile): Promise<Envelope> {
    const content = await this.#contentOf(file);
    try {
      return await this.#enveloped(kek, file, content);
    } finally {
      content.fill(0);
    }
  }

  async #enveloped(
    kek: KekInUse,
    file: Pick<KeyFile, "id" | "label" | "keyType">,
    content: Uint8Array,
  ): Promise<Envelope> {
    const dek = randomBytes(dekBytes);
    try {
      const header = await this.ring.wrap(kek, dek);
      const keys = { dek, nonce: randomBytes(nonceBytes) };
      return sealEnvelope(header, keys, contextOf(this.storeId, file), content);
    } finally {
      dek.fill(0);
    }
  }

  async #rewrapped(kek: KekInUse, envelope: Envelope): Promise<Envelope> {
    const dek = await this.ring.unwrap(envelope);
    try {
      if (!fitsCommitment(envelope, dek)) throw absent();
      return withHeader(envelope, await this.ring.wrap(kek, dek));
    } finally {
      dek.fill(0);
    }
  }

  async #contentOf(file: KeyFile): Promise<Buffer> {
    if (!isEnveloped(file)) return this.#openedByMaster(file);
    const dek = await this.ring.unwrap(file.sealed);
    const content = openEnvelope(file.sealed, dek, contextOf(this.storeId, file));
    dek.fill(0);
    if (content === undefined) throw absent();
    return Buffer.from(content.buffer, content.byteOffset, content.length);
  }

  /** As releases before envelopes sealed: the master key over the key itself. */
  #openedByMaster({ id, label, keyType, sealed }: KeyFile): Buffer {
    const masterKey = this.#masterKey.present;
    if (masterKey === undefined || !Buffer.isBuffer(sealed)) throw absent();
    const context = ["pkid/sealed-key/1", this.storeId, id, label, keyType];
    return unseal(masterKey, context, sealed) ?? refused();
  }

  /**
   * True for what no version in use could make open: an absent key, which no rotation waits for.
   */
  #lost(file: KeyFile): boolean {
    if (isEnveloped(file)) return !this.ring.opens(file.sealed);
    try {
      this.#openedByMaster(file).fill(0);
      return false;
    } catch {
      return true; // Whatever keeps it from opening.
    }
  }

  #keyHandle(
    { id, label, keyType }: Pick<KeyFile, "id" | "label" | "keyType">,
    spki: Uint8Array,
  ): KeyHandle {
    const ref = { provider: "software", label, id } as const;
    return { ref, keyType, spki, deviceSerial: `software:${this.storeId}` };
  }

  #needsMasterKey(): boolean {
    const sealed = (["kek", "mlkem"] as const).some(
      (suffix) => sealedIds(this.#directory, suffix).length > 0,
    );
    return sealed || this.#files().some((file) => !isEnveloped(file));
  }

  #files(): KeyFile[] {
    return this.#ids().flatMap((id) => this.#read(id) ?? []);
  }

  #ids(): string[] {
    const names = readdirSync(this.#directory).filter((name) => keyFile.test(name));
    return names.map((name) => name.slice(0, idDigits));
  }

  #read(id: string): KeyFile | undefined {
    if (!keyFile.test(`${id}.key`)) return undefined;
    const octets = readSmall(this.#path(id), fileBytesMax);
    return octets && parseKeyFile(octets, id);
  }

  #path(id: string): string {
    return join(this.#directory, `${id}.key`);
  }
}

const taken = () => refuse("already_exists", { field: "label" });

/** Deliberately one answer for all of it: which check failed is nobody's business but the log's. */
const absent = () => refuse("key_unavailable", { retry_after: 2 });

function refused(): never {
  throw absent();
}

const idDigits = 40;
const keyFile = /^[0-9a-f]{40}\.key$/;
const listedMax = 10_000;
const fileBytesMax = 64 * 1024;
const dekBytes = 32;
const nonceBytes = 12;
/**
 * How many keys one step brings over, and how many it tries in vain: a step must end before its
 * caller gives up.
 */
const changedMax = 64;
const shutMax = 16;
const notArchived = "A private key does not open; an archive has no data key of";
const notResealed = "Private keys could not be brought under the active KEK version; the first is";
