/**
 * The key that seals the KEKs of the software store: from a file of 32 octets, or from a
 * passphrase.
 */

import { argon2Sync, randomBytes } from "node:crypto";
import { lstatSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";

import { LaunchFault } from "#adapters/keys/requests.ts";
import type { SoftwareSettings } from "#adapters/keys/settings.ts";
import { resolveSecret } from "#adapters/keys/signer/secret.ts";

import { createDurably, readSmall } from "./files.ts";
import { seal, unseal } from "./seal.ts";

/** Holds the master key once it exists. */
export class MasterKey {
  readonly #settings: SoftwareSettings;
  readonly #storeId: string;
  readonly #passphrase: string | undefined;
  #key: Uint8Array | undefined;

  /**
   * Reads what is there. Throws a `configuration` fault (V-12) when the file is readable by others,
   * has a wrong length, is missing although keys are sealed under it, or does not open the known
   * value.
   */
  constructor(settings: SoftwareSettings, storeId: string, sealedKeysExist: () => boolean) {
    this.#settings = settings;
    this.#storeId = storeId;
    const { passphrase } = settings;
    this.#passphrase = passphrase && resolveSecret(passphrase, "passphrase");
    this.#key = this.#existing();
    if (this.#key === undefined && sealedKeysExist())
      throw fault("is missing while sealed keys exist");
    if (this.#key !== undefined) this.#check(this.#key, sealedKeysExist);
  }

  /** The key, undefined while none was ever made. */
  get present(): Uint8Array | undefined {
    return this.#key;
  }

  /** The key; made on first use and durable, together with the known value, before it is given. */
  require(): Uint8Array {
    this.#key ??= this.#make();
    return this.#key;
  }

  #existing(): Uint8Array | undefined {
    if (this.#passphrase !== undefined) {
      const salt = readSmall(this.#saltPath(), fileBytesMax);
      return salt && derive(this.#passphrase, salt.toString("utf8"));
    }
    const file = readSmall(this.#settings.master_key_file, fileBytesMax);
    if (file === undefined) return undefined;
    if ((lstatSync(this.#settings.master_key_file).mode & 0o077) !== 0)
      throw fault("is open to others");
    if (file.length !== keyBytes) throw fault("has a wrong length");
    return file;
  }

  #make(): Uint8Array {
    if (this.#passphrase !== undefined) {
      createDurably(
        this.#saltPath(),
        Buffer.from(`${parametersText}${randomBytes(16).toString("hex")}`),
      );
    } else {
      mkdirSync(dirname(this.#settings.master_key_file), { recursive: true, mode: 0o700 });
      createDurably(this.#settings.master_key_file, randomBytes(keyBytes));
    }
    // Read back rather than remembered: another process may have been faster, and then its key is
    // the key.
    const key = this.#existing();
    if (key === undefined) throw fault("cannot be written");
    this.#check(key, () => false);
    return key;
  }

  /** Opens the known value, or leaves one when there is none yet. */
  #check(key: Uint8Array, sealedKeysExist: () => boolean): void {
    const context = ["pkid/master-key/1", this.#storeId];
    const known = readSmall(this.#checkPath(), fileBytesMax);
    if (known === undefined && sealedKeysExist())
      throw fault("cannot be checked: its known value is gone");
    if (known === undefined) createDurably(this.#checkPath(), seal(key, context, knownValue));
    else if (unseal(key, context, known) === undefined)
      throw fault("is not the one the keys were sealed with");
  }

  #saltPath(): string {
    return join(this.#settings.keystore_dir, "master.salt");
  }

  #checkPath(): string {
    return join(this.#settings.keystore_dir, "master.check");
  }
}

/**
 * Argon2id with the parameters beside the salt, so that later ones do not lock out earlier stores.
 */
function derive(passphrase: string, stored: string): Uint8Array {
  const parts = /^argon2id:(\d{1,7}):(\d{1,2}):(\d):([0-9a-f]{32})$/.exec(stored);
  if (parts === null) throw fault("cannot be derived: its salt file is damaged");
  const [, memory, passes, parallelism, salt] = parts;
  return argon2Sync("argon2id", {
    message: passphrase,
    nonce: Buffer.from(salt ?? "", "hex"),
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    tagLength: keyBytes,
  });
}

const fault = (what: string): LaunchFault =>
  new LaunchFault("configuration", `The master key of the software key store ${what}.`);

const keyBytes = 32;
const fileBytesMax = 1024;
/**
 * RFC 9106 §4, second recommended option: 64 MiB, three passes; one lane, because one thread
 * derives.
 */
const parametersText = "argon2id:65536:3:1:";
const knownValue = Buffer.from("pkid master key");
