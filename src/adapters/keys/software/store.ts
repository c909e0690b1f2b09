/** The directory of sealed key files: one file per key, named by its id, bound to all it says of itself. */

import { readdirSync } from "node:fs";
import { join } from "node:path";

import { refuse } from "#core/problems.ts";
import { type KeyType, parseKeyType } from "#core/x509/algorithms.ts";
import { keyIdOf } from "#core/x509/public-keys.ts";
import type { HeldKey, ListedKey } from "#domain/keys.ts";
import type { SoftwareSettings } from "#adapters/keys/settings.ts";
import type { LocalRef } from "#adapters/keys/signer/provider.ts";

import { createDurably, privateDirectory, readSmall, removeDurably } from "./files.ts";
import { kekFiles, SealedKeks } from "./keks.ts";
import { MasterKey } from "./master-key.ts";
import { exportSecret, importSecret, type Secret, spkiOf } from "./secrets.ts";
import { seal, unseal } from "./seal.ts";

/** A key, opened. */
export interface OpenKey {
  readonly held: HeldKey;
  readonly secret: Secret;
}

/** The sealed keys of one key store. */
export class SealedKeys {
  readonly #directory: string;
  readonly #masterKey: MasterKey;
  /** Random, made once: tells two key stores apart in the ledger, and keeps their files from being mixed. */
  readonly storeId: string;
  /** The key-encryption keys beside them. */
  readonly keks: SealedKeks;

  /** Opens or makes the directory; throws a `configuration` fault (V-12). */
  constructor(settings: SoftwareSettings) {
    this.#directory = settings.keystoreDir;
    privateDirectory(this.#directory);
    const idPath = join(this.#directory, "store-id");
    createDurably(idPath, Buffer.from(crypto.randomUUID()));
    this.storeId = readSmall(idPath, 64)?.toString("utf8") ?? "";
    const sealedFiles = this.#names().length + kekFiles(this.#directory).length;
    this.#masterKey = new MasterKey(settings, this.storeId, sealedFiles > 0);
    const { storeId } = this;
    this.keks = new SealedKeks({ directory: this.#directory, storeId, masterKey: this.#masterKey });
  }

  /** Seals a new key durably. Refuses a label that is taken (KEY-2). */
  add(label: string, keyType: KeyType, secret: Secret): OpenKey {
    if (this.#labels().has(label)) throw refuse("already_exists", { field: "label" });
    const spki = spkiOf(secret);
    const id = keyIdOf(spki);
    const content = exportSecret(secret);
    const sealed = seal(this.#masterKey.require(), this.#context(id, label, keyType), content);
    content.fill(0);
    const file = { version: 1, id, label, key_type: keyType, sealed: sealed.toString("base64") };
    createDurably(this.#path(id), Buffer.from(`${JSON.stringify(file, undefined, 2)}\n`));
    return { held: this.#held(id, label, keyType, spki), secret };
  }

  /** Opens a key. Refuses with `key_unavailable` what is absent, renamed, swapped or altered. */
  open(ref: LocalRef): OpenKey {
    const file = this.#read(ref.id);
    const masterKey = this.#masterKey.present;
    if (file === undefined || masterKey === undefined || file.label !== ref.label) throw absent();
    const content = unseal(masterKey, this.#context(ref.id, file.label, file.keyType), file.sealed);
    if (content === undefined) throw absent();
    const secret = importSecret(content);
    content.fill(0);
    const spki = spkiOf(secret);
    if (keyIdOf(spki) !== ref.id) throw absent();
    return { held: this.#held(ref.id, file.label, file.keyType, spki), secret };
  }

  /** Destroys a key for good. Refuses when it is not there under this label. */
  remove(ref: LocalRef): void {
    if (this.#read(ref.id)?.label !== ref.label) throw absent();
    removeDurably(this.#path(ref.id));
  }

  /** Every key file, unopened. A sealed key is shown to nobody and leaves only as a whole, under the master key. */
  list(): ListedKey[] {
    const keys = this.#names()
      .slice(0, listedMax)
      .flatMap((name): ListedKey[] => {
        const id = name.slice(0, idDigits);
        const file = this.#read(id);
        if (file === undefined) return [];
        const { label, keyType } = file;
        return [{ provider: "software", label, id, keyType, extractable: false, sensitive: true }];
      });
    return [...keys, ...this.keks.list()];
  }

  #held(id: string, label: string, keyType: KeyType, spki: Uint8Array): HeldKey {
    const ref = { provider: "software", label, id } as const;
    return { ref, keyType, spki, deviceSerial: `software:${this.storeId}` };
  }

  #names(): string[] {
    return readdirSync(this.#directory).filter((name) => keyFile.test(name));
  }

  #labels(): Set<string> {
    const labels = this.#names().map((name) => this.#read(name.slice(0, idDigits))?.label ?? "");
    return new Set(labels);
  }

  #read(id: string) {
    const path = this.#path(id);
    return keyFile.test(`${id}.key`) ? parseFile(readSmall(path, fileBytesMax), id) : undefined;
  }

  #path(id: string): string {
    return join(this.#directory, `${id}.key`);
  }

  /** What the seal binds: a file cannot be renamed, relabelled, retyped or carried to another store. */
  #context(id: string, label: string, keyType: KeyType): string[] {
    return ["pkid/sealed-key/1", this.storeId, id, label, keyType];
  }
}

function parseFile(octets: Buffer | undefined, id: string) {
  if (octets === undefined) return undefined;
  try {
    // Every member is checked below.
    const file = JSON.parse(octets.toString("utf8")) as Record<string, unknown>;
    const { version, id: claimed, label, key_type: typeName, sealed } = file;
    const keyType = typeof typeName === "string" ? parseKeyType(typeName) : undefined;
    if (version !== 1 || claimed !== id || keyType === undefined) return undefined;
    if (typeof label !== "string" || typeof sealed !== "string") return undefined;
    return { label, keyType, sealed: Buffer.from(sealed, "base64") };
  } catch {
    return undefined; // Not JSON: a damaged file is an absent key.
  }
}

/** Deliberately one answer for all of it: which check failed is nobody's business but the log's. */
const absent = () => refuse("key_unavailable", { retry_after: 2 });

const idDigits = 40;
const keyFile = /^[0-9a-f]{40}\.key$/;
const listedMax = 10_000;
const fileBytesMax = 64 * 1024;
