/** An archive, unpacked into a place of its own: an instance that is there, but not in service. */

import { closeSync, existsSync, fstatSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";

import { decrypted } from "#adapters/age/age.ts";
import { readArchive, type ReadArchive } from "#core/backup/reading.ts";
import { ScratchStore } from "#adapters/db/archive/scratch-store.ts";
import { openStore } from "#adapters/db/open.ts";
import type { ProofRequest } from "#adapters/db/proofs/prove.ts";
import { writeDurably } from "#adapters/keys/software/files.ts";
import { osUser, systemClock, systemRandom } from "#adapters/system.ts";
import { openApp } from "#app";
import type { App } from "#app/composed.ts";
import { build } from "#app/version.ts";
import { createWorkDirectory, type WorkDirectory } from "#app/work-directories.ts";
import type { ArchiveSource } from "#cli/command.ts";
import { Failure } from "#cli/failure.ts";
import type { Config } from "#config/schema.ts";
import { Secret } from "#config/secret.ts";
import { ArchiveUnfit, memberNames } from "#core/backup/archive.ts";
import { type DataKeys, parseDataKeys } from "#core/backup/data-keys.ts";
import { sha256Hex } from "#core/crypto.ts";
import { parseTimestamp } from "#core/time.ts";
import { fingerprintOf } from "#core/x509/public-keys.ts";
import type { Recovery } from "#domain/envelopes/recovery.ts";
import type { Log } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import type { KeySetParts } from "#core/proofs/key-set.ts";
import { SignaturesAhead } from "./signatures-ahead.ts";

/** What an archive is unpacked with. */
export interface RestoreWays {
  readonly log: Log;
  /** The main module, for threads. */
  readonly workerUrl: string;
}

/** A place on the volume of what is to become of it. */
export class Scratch {
  readonly #root: string;
  readonly #directory: WorkDirectory;
  readonly #workerUrl: string | undefined;
  #dataKeys: DataKeys | undefined;
  #verified: KeySetParts | undefined;

  /**
   * `root` is made now, with mode 0700, and must not be there; `workerUrl` is the main module, for
   * threads that verify.
   */
  constructor(root: string, workerUrl: string | undefined) {
    this.#root = root;
    this.#workerUrl = workerUrl;
    this.#directory = createWorkDirectory(root);
  }

  get root(): string {
    return this.#root;
  }

  /** What becomes the data directory. */
  get dataDir(): string {
    return join(this.#root, "data");
  }

  get database(): string {
    return join(this.#root, "pkid.db");
  }

  get keystore(): string {
    return join(this.#root, "keys");
  }

  get masterKey(): string {
    return join(this.#root, "master.key");
  }

  /** The configuration the archive brought; the file is there only if it did. */
  get configuration(): string {
    return join(this.#root, "pkid.yaml");
  }

  /** What opens everything that is sealed in it, as the archive has it. */
  get dataKeys(): DataKeys {
    if (this.#dataKeys !== undefined) return this.#dataKeys;
    throw new ArchiveUnfit(`The archive has no ${memberNames.dataKeys}.`);
  }

  /** `verifiedText` of signatures that were verified while the archive was loaded; given once. */
  takeVerified(): KeySetParts | undefined {
    const verified = this.#verified;
    this.#verified = undefined;
    return verified;
  }

  /** By what other threads may look at its database, which nobody changes while it is proven. */
  get aside(): ProofRequest["aside"] {
    const [path, workerUrl] = [this.database, this.#workerUrl];
    return workerUrl === undefined ? undefined : { path, workerUrl };
  }

  /** `config`, with this place for its own. */
  configured(config: Config): Config {
    const { key_provider, database } = config;
    const software = { ...key_provider.software, keystore_dir: this.keystore };
    const underFile = key_provider.software.master_key_file !== undefined;
    const dsn = { from: "value", value: new Secret(this.database) } as const;
    return {
      ...config,
      data_dir: this.dataDir,
      database: { ...database, driver: "sqlite", dsn, min_free_mb: 0 },
      access_log: { ...config.access_log, path: join(this.#root, "access-log.db") },
      key_provider: {
        ...key_provider,
        software: { ...software, ...(underFile && { master_key_file: this.masterKey }) },
      },
    };
  }

  /**
   * Reads the archive into this place: nothing of it is in service, and all of it is proven when
   * this returns. What `leaves` says of a file of the key store stays in the archive. Throws
   * `ArchiveUnfit`.
   */
  async unpack(
    { archive, opener, ledgerKey, instance }: ArchiveSource,
    leaves: (file: string) => boolean = () => false,
  ): Promise<ReadArchive> {
    mustBeReadable(archive);
    mkdirSync(this.dataDir, { mode: 0o700 });
    mkdirSync(this.keystore, { mode: 0o700 });
    const stores: ScratchStore[] = [];
    const files = new Map<string, Uint8Array>();
    const plain = decrypted(opener, Bun.file(archive).stream());
    const url = this.#workerUrl;
    const ahead = url === undefined ? undefined : new SignaturesAhead({ archive, opener }, url);
    try {
      const read = await readArchive(plain, {
        manifest: async (manifest) => {
          requireInstance(manifest.instance_id, instance);
          stores.push(await ScratchStore.make(this.database, manifest));
        },
        rows: async (table, piece) => stores[0]?.rows(table, piece),
        dataKeys: (octets) => {
          this.#dataKeys = parseDataKeys(octets);
        },
        keyFile: (name, octets) => {
          if (!leaves(name)) files.set(join(this.keystore, name), octets);
        },
        masterKey: (octets) => {
          if (!leaves(basename(memberNames.masterKey))) files.set(this.masterKey, octets);
        },
        configuration: (octets) => void files.set(this.configuration, octets),
      });
      await stores[0]?.finish(systemClock.now());
      this.#verified = await ahead?.end();
      for (const [path, octets] of files) writeDurably(path, octets);
      this.#identify(read.manifest.instance_id);
      await this.#mustBeVouchedFor(read.signedBy, ledgerKey);
      return read;
    } catch (error) {
      stores[0]?.abandon();
      await ahead?.end();
      throw error;
    }
  }

  /** Copies the master key of `config` to an archive without it (`backup.include_master_key`). */
  addMasterKey({ key_provider }: Config): void {
    const file = key_provider.software.master_key_file;
    if (file === undefined || existsSync(this.masterKey) || !existsSync(file)) return;
    writeDurably(this.masterKey, readFileSync(file));
  }

  /** Opens its database, for whoever closes it. */
  async store(): Promise<Store> {
    const options = { driver: "sqlite", path: this.database, busy_timeout_ms: 5000 } as const;
    const access_log = { path: join(this.#root, "access-log.db") };
    return await openStore(
      { ...options, access_log },
      { clock: systemClock, random: systemRandom },
    );
  }

  /** The first event of the history that goes on here (RES-2). */
  async recordRestore(archive: string, { manifest }: ReadArchive, newKek: boolean): Promise<void> {
    const store = await this.store();
    try {
      const user = osUser();
      const now = systemClock.now();
      const made = parseTimestamp(manifest.created_at) ?? now;
      const detail = {
        archive: basename(archive),
        seq: manifest.audit.seq,
        created_at: manifest.created_at,
        lost_seconds: Math.max(0, Math.trunc((now - made) / 1000)),
        ledger_number: manifest.ledger.number,
        new_kek: newKek || undefined,
      };
      const by = { actor: `local:${user}`, actorName: user } as const;
      const event = { action: "system.restore", result: "success", ...by, detail } as const;
      await store.atomically((tx) => tx.audit.appendEvent(event, now));
    } finally {
      await store.close();
    }
  }

  /**
   * Opens the instance, which serves nobody, with a new KEK when there is a `recovery`; throws what
   * keeps it from opening. A `drill` does not change the token.
   */
  async open(
    config: Config,
    log: Log,
    { recovery, drill = false }: { readonly recovery?: Recovery; readonly drill?: boolean } = {},
  ): Promise<App> {
    return await openApp({
      config: this.configured(config),
      build,
      log,
      mayFound: false,
      keepRootPassword: () => {},
      recovery,
      drill,
    });
  }

  remove(): void {
    this.#directory.remove();
  }

  #identify(instance: string): void {
    const identity = { instance_id: instance, founded: true };
    const text = `${JSON.stringify(identity)}\n`;
    writeDurably(join(this.dataDir, "identity"), Buffer.from(text));
  }

  /** Whoever knows a recipient can make an archive; the ledger key only the instance has. */
  async #mustBeVouchedFor(spki: string, pinned: string | undefined): Promise<void> {
    const signer = fingerprintOf(sha256Hex(Buffer.from(spki, "hex")));
    if (pinned !== undefined && signer !== pinned) {
      throw new ArchiveUnfit(
        `The archive is another instance's: ${signer} vouches for it, not ${pinned}.`,
      );
    }
    const store = await this.store();
    try {
      const [genesis] = await store.read.audit.ledgerAfter(0, 1);
      if (genesis?.signerFingerprint === signer) return;
      throw new ArchiveUnfit(
        `The archive is not vouched for by its own ledger key: ${memberNames.digests} is signed by ${signer}.`,
      );
    } finally {
      await store.close();
    }
  }
}

function requireInstance(found: string, expected: string | undefined): void {
  if (expected === undefined || found === expected) return;
  throw new ArchiveUnfit(`The archive belongs to instance ${found}, not to ${expected}.`);
}

/** Throws `Failure` for what is no file to read: a directory opens too, and reads as nothing. */
export function mustBeReadable(archive: string): void {
  try {
    const file = openSync(archive, "r");
    const regular = fstatSync(file).isFile();
    closeSync(file);
    if (regular) return;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
    throw new Failure(`${archive} cannot be read: ${code}.`);
  }
  throw new Failure(`${archive} is no file; an archive is one.`);
}
