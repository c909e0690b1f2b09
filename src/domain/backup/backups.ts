/**
 * Backups of this instance: their archives, what is recorded of them, and what was last seen
 * (BAK-1, BAK-2).
 */

import {
  ArchiveUnfit,
  archiveName,
  type Manifest,
  type Protection,
  type Vouched,
} from "#core/backup/archive.ts";
import { type SignedRecord, encodeSignedRecord } from "#core/backup/record.ts";
import { createHash } from "#core/crypto.ts";
import { fitsCommitment, parseEnvelope } from "#core/envelope.ts";
import { Problem, refuse } from "#core/problems.ts";
import { type Instant, instant, parseTimestamp, timestamp } from "#core/time.ts";
import { authorOf, type Origin } from "#domain/actor.ts";
import type { Envelopes } from "#domain/envelopes/envelopes.ts";
import type { SealedValue } from "#domain/envelopes/store.ts";
import type { KekKeys, Keys } from "#domain/keys.ts";
import type { Clock, Random, Stopwatch } from "#domain/ports.ts";
import { ledgerKey, signDocument } from "#domain/signing/document.ts";
import type { Store } from "#domain/store.ts";
import type { Archiving, DataKeysAsked, DataKeysGiven } from "./archiving.ts";

export interface BackupDeps {
  readonly store: Store;
  readonly keys: Pick<Keys, "find" | "sign"> & { readonly keks: Pick<KekKeys, "handOut"> };
  readonly envelopes: Pick<Envelopes, "dataKey">;
  readonly clock: Clock;
  readonly stopwatch: Stopwatch;
  readonly random: Pick<Random, "uuid">;
  readonly archiving: Archiving;
}

/** What is asked. */
export interface BackupRequest {
  readonly protection: Protection;
  readonly withConfiguration: boolean;
}

/** A backup that was made: facts that are no secret. */
export interface BackupRecord {
  readonly artifact: string;
  readonly created_at: string;
  /** Of the audit chain. */
  readonly seq: number;
  /** Lower hex, of the encrypted archive. */
  readonly sha256: string;
  /** Octets of it. */
  readonly size: number;
  readonly recipients: readonly string[];
  readonly instance_id: string;
  readonly version: string;
  readonly schema_version: number;
  /** By the ledger key, over `encodeSignedRecord`; absent in records of earlier releases. */
  readonly signature?: Vouched | undefined;
}

/** An archive under way. */
export interface BackupRun {
  /** As the archive is called: `pkid-<instance>-<UTC stamp>.tar.age`. */
  readonly artifact: string;
  /** The encrypted archive; at its end the backup is recorded. */
  readonly pieces: AsyncGenerator<Uint8Array>;
}

/** How a drill ended. */
export interface DrillRecord {
  readonly artifact: string;
  readonly at: string;
  readonly result: "success" | "error";
  /** What was wrong; empty for a success. */
  readonly fault: string;
  /** Of the last one that succeeded; empty before the first. */
  readonly succeeded_at?: string;
}

/** What became of the last backup that was due. */
export interface ScheduledRun {
  readonly at: string;
  readonly result: "success" | "error";
  /** Empty when there is none. */
  readonly artifact: string;
  /** What was wrong; empty for a success. */
  readonly fault: string;
}

/** The last one by schedule; undefined before the first. */
export async function lastScheduled({
  read,
}: Pick<Store, "read">): Promise<ScheduledRun | undefined> {
  const text = await read.instance.value(scheduledName);
  return text === undefined ? undefined : JSON.parse(text); // Written by `remember` only.
}

/** How the last drill ended; undefined before the first. */
export async function lastDrill({ read }: Pick<Store, "read">): Promise<DrillRecord | undefined> {
  const text = await read.instance.value(drillName);
  return text === undefined ? undefined : JSON.parse(text); // Written by `drilled` only.
}

/** What was made and tried last with success: times in milliseconds since 1970, 0 for never. */
export async function backupFacts(
  store: Pick<Store, "read">,
): Promise<{ readonly at: number; readonly bytes: number; readonly drilledAt: number }> {
  const made = await lastMade(store);
  const drill = await lastDrill(store);
  const drilled = drill?.result === "success" ? drill.at : (drill?.succeeded_at ?? "");
  return {
    at: parseTimestamp(made?.created_at ?? "") ?? 0,
    bytes: made?.size ?? 0,
    drilledAt: parseTimestamp(drilled) ?? 0,
  };
}

async function lastMade({ read }: Pick<Store, "read">): Promise<BackupRecord | undefined> {
  const text = await read.instance.value(lastBackup);
  return text === undefined ? undefined : JSON.parse(text); // Written by `#done` only.
}

/** Makes them, one at a time. */
export class Backups {
  readonly #deps: BackupDeps;
  #running = false;

  constructor(deps: BackupDeps) {
    this.#deps = deps;
  }

  /** The last one that was made, and the last drill; undefined for none. */
  async last(): Promise<{ backup: BackupRecord | undefined; drill: DrillRecord | undefined }> {
    const { store } = this.#deps;
    return { backup: await lastMade(store), drill: await lastDrill(store) };
  }

  /**
   * Begins an archive of this moment, under a name that no other archive of the instance has and
   * that stands behind those of all before it. `recipients` name who can open it. Refuses
   * `operation_running` while another one is being read.
   */
  async begin(
    origin: Origin,
    { protection, withConfiguration }: BackupRequest,
    recipients: readonly string[],
  ): Promise<BackupRun> {
    const { store, clock } = this.#deps;
    if (this.#running) throw refuse("operation_running", { operation_id: "backup" });
    const at = clock.now();
    const id = (await store.read.instance.value("instance_id")) ?? "";
    const artifact = archiveName(id, await this.#stamp(at));
    const wish = { protection, withConfiguration, createdAt: timestamp(at) };
    return { artifact, pieces: this.#recorded(origin, { artifact, recipients }, wish) };
  }

  /** Keeps what became of a backup that was due. */
  async remember(run: ScheduledRun): Promise<void> {
    const text = JSON.stringify(run);
    await this.#deps.store.atomically((tx) => tx.instance.setValue(scheduledName, text));
  }

  /**
   * Records how a drill of an archive ended, which took so many `seconds`; undefined for one that
   * could not open it.
   */
  async drilled(
    origin: Origin,
    drill: Pick<DrillRecord, "artifact" | "result" | "fault">,
    seconds?: number,
  ): Promise<void> {
    const { store, clock } = this.#deps;
    const now = clock.now();
    const { artifact, result, fault } = drill;
    const before = await lastDrill(store);
    const earlier = before?.result === "success" ? before.at : (before?.succeeded_at ?? "");
    const at = timestamp(now);
    const of = { artifact, result, fault };
    const record: DrillRecord = { ...of, at, succeeded_at: result === "success" ? at : earlier };
    await store.atomically(async (tx) => {
      await tx.instance.setValue(drillName, JSON.stringify(record));
      const detail = { artifact, reason: fault || undefined, duration: seconds };
      const draft = {
        action: "backup.verify",
        result,
        ...authorOf(origin, undefined),
        detail,
      } as const;
      await tx.audit.appendEvent(draft, now);
    });
  }

  /**
   * The second of `at`, or the one behind the last that was given out, by any replica: names tell
   * seconds, of which one is enough for two backups, and a clock may be set back.
   */
  async #stamp(at: Instant): Promise<Instant> {
    return await this.#deps.store.atomically(async (tx) => {
      const last = await tx.instance.add(stampName, 0);
      const next = Math.max(Math.floor(at / 1000), last + 1);
      await tx.instance.add(stampName, next - last);
      return instant(next * 1000);
    });
  }

  async *#recorded(
    origin: Origin,
    named: Pick<BackupRecord, "artifact" | "recipients">,
    wish: Parameters<Archiving>[0],
  ): AsyncGenerator<Uint8Array> {
    if (this.#running) throw refuse("operation_running", { operation_id: "backup" });
    this.#running = true;
    const { stopwatch } = this.#deps;
    const beganMs = stopwatch.elapsedMs();
    const hash = createHash("sha256");
    let [size, begun]: [number, Manifest | undefined] = [0, undefined];
    let ended = false;
    try {
      const host = {
        begun: (manifest: Manifest) => {
          begun = manifest;
        },
        dataKeys: (asked: DataKeysAsked) => this.#dataKeys(asked),
        sign: (octets: Uint8Array) => this.#vouched(octets),
      };
      for await (const piece of this.#deps.archiving(wish, host)) {
        hash.update(piece);
        size += piece.length;
        yield piece;
      }
      ended = true;
    } catch (error) {
      ended = true;
      await this.failed(origin, named.artifact, reasonOf(error));
      throw error;
    } finally {
      this.#running = false;
      // Whoever read it has gone away.
      if (!ended) await this.failed(origin, named.artifact, "abandoned");
    }
    // Whoever reads on has the whole of it.
    if (begun !== undefined) {
      const seconds = Math.round(stopwatch.elapsedMs() - beganMs) / 1000;
      const archive = { ...named, sha256: hash.digest("hex"), size };
      await this.#done(origin, archive, begun, seconds);
    }
  }

  async #done(
    origin: Origin,
    archive: Pick<BackupRecord, "artifact" | "recipients" | "sha256" | "size">,
    manifest: Manifest,
    seconds: number,
  ): Promise<void> {
    const { store, clock } = this.#deps;
    const { created_at, audit, instance_id, version, schema_version } = manifest;
    const of = { created_at, seq: audit.seq, instance_id, version, schema_version };
    const unsigned: BackupRecord = { ...archive, ...of };
    const record = { ...unsigned, signature: await this.#signRecord(unsigned) };
    const { artifact, recipients, sha256 } = archive;
    const now = clock.now();
    await store.atomically(async (tx) => {
      await tx.instance.setValue(lastBackup, JSON.stringify(record));
      const opened = recipients.join(",");
      const detail = { artifact, seq: audit.seq, sha256, recipients: opened, duration: seconds };
      const draft = {
        action: "backup.run",
        result: "success",
        ...authorOf(origin, undefined),
        detail,
      } as const;
      await tx.audit.appendEvent(draft, now);
    });
  }

  /** Records that an archive came to nothing; `reason` is a word. */
  async failed(origin: Origin, artifact: string, reason: string): Promise<void> {
    const { store, clock } = this.#deps;
    const detail = { artifact, reason };
    const now = clock.now();
    const draft = {
      action: "backup.run",
      result: "error",
      ...authorOf(origin, undefined),
      detail,
    } as const;
    // The database may be what failed; then whoever asked is the one who is told.
    await store.atomically((tx) => tx.audit.appendEvent(draft, now).then(() => {})).catch(() => {});
  }

  /** With these everything opens without its KEK; they are protected by the archive alone. */
  async #dataKeys({ values: sealed, address }: DataKeysAsked): Promise<DataKeysGiven> {
    const { keys } = this.#deps;
    const values = new Map<string, Uint8Array>();
    for (const value of sealed) values.set(value.place, await this.#dataKey(value));
    const privateKeys = await keys.keks.handOut(address);
    // Private keys that do not open are left out; a KEK that went away meanwhile is another matter.
    const [first] = sealed;
    if (first !== undefined) (await this.#dataKey(first)).fill(0);
    return { values, privateKeys };
  }

  /** Of a value as it was; a rotation since has only changed its header. */
  async #dataKey(value: SealedValue): Promise<Uint8Array> {
    const { store, envelopes } = this.#deps;
    try {
      return await envelopes.dataKey(value);
    } catch (error) {
      const now = await store.read.envelopes.at(value.place);
      if (!(error instanceof Problem) || now === undefined) throw error;
      const dek = await envelopes.dataKey(now);
      const was = parseEnvelope(value.envelope);
      if (was !== undefined && fitsCommitment(was, dek)) return dek;
      dek.fill(0);
      throw error;
    }
  }

  /** Returns undefined for an instance without a ledger key. */
  async #signRecord(record: SignedRecord): Promise<Vouched | undefined> {
    if ((await ledgerKey(this.#deps.store)) === undefined) return undefined;
    return await this.#vouched(encodeSignedRecord(record));
  }

  async #vouched(octets: Uint8Array): Promise<Vouched> {
    const { store, keys } = this.#deps;
    const value = await signDocument(this.#deps, octets);
    const ref = await ledgerKey(store);
    if (ref === undefined) throw refuse("key_unavailable", { retry_after: 2 });
    const { spki } = await keys.find(ref);
    return { value: value.toHex(), spki: spki.toHex() };
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof ArchiveUnfit) return "unproven";
  return error instanceof Problem ? error.code : "internal";
}

const scheduledName = "backup_scheduled_last";
/** Under which the instance keeps the last one that was made, a `BackupRecord` in JSON. */
export const lastBackup = "backup_last";
const drillName = "backup_drill_last";
/** The last second that names an archive, since 1970. */
const stampName = "backup_stamp_last";
