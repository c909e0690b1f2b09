/** Key-encryption keys in files sealed under the master key, beside the private keys they seal. */

import { randomBytes } from "node:crypto";

import { openAes256Gcm, sealAes256Gcm } from "#core/crypto.ts";
import { refuse } from "#core/problems.ts";
import type { WrappedDek } from "#core/envelope.ts";
import type { KekHandle, ListedKey } from "#domain/keys.ts";
import { type DekUse, type LocalRef, useContext } from "#adapters/keys/signer/provider.ts";

import { SealedFiles, type SealedDeps } from "./sealed-files.ts";

/** The KEKs of one key store. */
export class SealedKeks {
  readonly #storeId: string;
  readonly #files: SealedFiles;

  constructor(deps: SealedDeps) {
    this.#storeId = deps.storeId;
    const kind = { suffix: "kek", purpose: "pkid/sealed-kek/1", length: keyBytes } as const;
    this.#files = new SealedFiles(deps, kind);
  }

  /** Refuses `already_exists` for a label in use. */
  add(label: string): KekHandle {
    if (this.#files.list().some((other) => other.label === label)) throw taken();
    const id = randomBytes(idBytes).toString("hex");
    const secret = randomBytes(keyBytes);
    const added = this.#files.add({ id, label }, secret);
    secret.fill(0);
    if (!added) throw taken();
    const key = { provider: "software", label, id } as const;
    const deviceSerial = `software:${this.#storeId}`;
    return { key, keyType: "aes-256", spki: undefined, deviceSerial };
  }

  /** Every KEK file, unopened. */
  list(): ListedKey[] {
    const attributes = { keyType: "aes-256", extractable: false, sensitive: true };
    return this.#files.list().map((ref) => ({ provider: "software", ...ref, ...attributes }));
  }

  /** The data key wrapped for one use. Refuses `key_unavailable` when the KEK is not there. */
  wrap(kek: LocalRef, dek: Uint8Array, use: DekUse): Promise<WrappedDek> {
    return this.#files.using(kek, (secret) => {
      const iv = randomBytes(ivBytes);
      const sealed = sealAes256Gcm(secret, iv, useContext[use], dek);
      return { wrap: "AES-256-GCM", wrappedDek: Buffer.concat([iv, sealed]) };
    });
  }

  /** The data key; one refusal for every reason it may not be had. */
  unwrap(kek: LocalRef, { wrap, wrappedDek }: WrappedDek, use: DekUse): Promise<Uint8Array> {
    return this.#files.using(kek, (secret) => {
      if (wrap !== "AES-256-GCM" || wrappedDek.length <= ivBytes) throw absent();
      const [iv, sealed] = [wrappedDek.subarray(0, ivBytes), wrappedDek.subarray(ivBytes)];
      const dek = openAes256Gcm(secret, iv, useContext[use], sealed);
      if (dek === undefined) throw absent();
      return dek;
    });
  }

  /** Destroys a KEK for good. Refuses when it is not there under this label. */
  remove(kek: LocalRef): void {
    this.#files.remove(kek);
  }
}

const taken = () => refuse("already_exists", { field: "label" });
const absent = () => refuse("key_unavailable", { retry_after: 2 });

const keyBytes = 32;
const ivBytes = 12;
const idBytes = 20;
