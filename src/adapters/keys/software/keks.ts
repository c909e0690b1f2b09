/** Key-encryption keys in files sealed under the master key, beside the private keys they seal. */

import { randomBytes } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";

import { openAes256Gcm, sealAes256Gcm } from "#core/crypto.ts";
import { refuse } from "#core/problems.ts";
import type { WrappedDek } from "#core/envelope.ts";
import type { HeldKek, ListedKey } from "#domain/keys.ts";
import { type DekUse, type LocalRef, useContext } from "#adapters/keys/signer/provider.ts";

import { createDurably, readSmall, removeDurably } from "./files.ts";
import type { MasterKey } from "./master-key.ts";
import { seal, unseal } from "./seal.ts";

/** What the sealed KEKs of a key store need of it. */
interface Deps {
  readonly directory: string;
  readonly storeId: string;
  readonly masterKey: Pick<MasterKey, "present" | "require">;
}

/** The KEKs of one key store. */
export class SealedKeks {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Refuses `already_exists` for a label in use. */
  add(label: string): HeldKek {
    for (const name of kekNames(this.#deps.directory)) {
      if (this.#read(name.slice(0, idDigits))?.label === label) {
        throw refuse("already_exists", { field: "label" });
      }
    }
    const id = randomBytes(idDigits / 2).toString("hex");
    const secret = randomBytes(keyBytes);
    const sealed = seal(this.#deps.masterKey.require(), this.#context(id, label), secret);
    secret.fill(0);
    const file = { version: 1, id, label, sealed: sealed.toString("base64") };
    createDurably(this.#path(id), Buffer.from(`${JSON.stringify(file, undefined, 2)}\n`));
    const key = { provider: "software", label, id } as const;
    const deviceSerial = `software:${this.#deps.storeId}`;
    return { key, keyType: "aes-256", spki: undefined, deviceSerial };
  }

  /** Every KEK file, unopened. */
  list(): ListedKey[] {
    return kekNames(this.#deps.directory).flatMap((name) => {
      const id = name.slice(0, idDigits);
      const label = this.#read(id)?.label;
      if (label === undefined) return [];
      const held = { keyType: "aes-256", extractable: false, sensitive: true };
      return [{ provider: "software" as const, label, id, ...held }];
    });
  }

  /** The data key wrapped for one use. Refuses `key_unavailable` when the KEK is not there. */
  wrap(kek: LocalRef, dek: Uint8Array, use: DekUse): WrappedDek {
    return this.#using(kek, (secret) => {
      const iv = randomBytes(ivBytes);
      const sealed = sealAes256Gcm(secret, iv, useContext[use], dek);
      return { wrap: "AES-256-GCM", wrappedDek: Buffer.concat([iv, sealed]) };
    });
  }

  /** The data key; one refusal for every reason it may not be had. */
  unwrap(kek: LocalRef, { wrap, wrappedDek }: WrappedDek, use: DekUse): Uint8Array {
    return this.#using(kek, (secret) => {
      if (wrap !== "AES-256-GCM" || wrappedDek.length <= ivBytes) throw absent();
      const [iv, sealed] = [wrappedDek.subarray(0, ivBytes), wrappedDek.subarray(ivBytes)];
      const dek = openAes256Gcm(secret, iv, useContext[use], sealed);
      if (dek === undefined) throw absent();
      return dek;
    });
  }

  /** Destroys a KEK for good. Refuses when it is not there under this label. */
  remove(kek: LocalRef): void {
    if (this.#read(kek.id)?.label !== kek.label) throw absent();
    removeDurably(this.#path(kek.id));
  }

  #using<T>(kek: LocalRef, work: (secret: Uint8Array) => T): T {
    const file = this.#read(kek.id);
    const master = this.#deps.masterKey.present;
    if (file === undefined || master === undefined || file.label !== kek.label) throw absent();
    const secret = unseal(master, this.#context(kek.id, kek.label), file.sealed);
    if (secret?.length !== keyBytes) throw absent();
    try {
      return work(secret);
    } finally {
      secret.fill(0);
    }
  }

  #read(id: string) {
    if (!kekFile.test(`${id}.kek`)) return undefined;
    return parseFile(readSmall(this.#path(id), fileBytesMax), id);
  }

  #path(id: string): string {
    return join(this.#deps.directory, `${id}.kek`);
  }

  #context(id: string, label: string): string[] {
    return ["pkid/sealed-kek/1", this.#deps.storeId, id, label];
  }
}

/** The files of the KEKs in a key store. */
export const kekNames = (directory: string): string[] =>
  readdirSync(directory).filter((name) => kekFile.test(name));

function parseFile(octets: Buffer | undefined, id: string) {
  if (octets === undefined) return undefined;
  try {
    // Every member is checked below.
    const file = JSON.parse(octets.toString("utf8")) as Record<string, unknown>;
    const { version, id: claimed, label, sealed } = file;
    if (version !== 1 || claimed !== id) return undefined;
    if (typeof label !== "string" || typeof sealed !== "string") return undefined;
    return { label, sealed: Buffer.from(sealed, "base64") };
  } catch {
    return undefined; // Not JSON: a damaged file is an absent key.
  }
}

const absent = () => refuse("key_unavailable", { retry_after: 2 });

const keyBytes = 32;
const ivBytes = 12;
const idDigits = 40;
const kekFile = /^[0-9a-f]{40}\.kek$/;
const fileBytesMax = 4096;
