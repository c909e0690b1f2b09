/**
 * Finds later archives of the instance that is restored: its history would fork (RES-5). Names and
 * unsigned sidecars are not trusted, because other programs can write to the same directory.
 */

import {
  closeSync,
  createReadStream,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";

import { decrypted } from "#adapters/age/age.ts";
import type { ArchiveBucket } from "#adapters/publish/archives.ts";
import { bucketOf } from "#app/backup/backups.ts";
import { sidecarOf } from "#app/backup/directory.ts";
import type { RestoreReport } from "#cli/command.ts";
import type { Config } from "#config/schema.ts";
import { SecretUnavailable, type Secrets } from "#config/secret.ts";
import { ArchiveUnfit, nameOfArchive, type Opener, stampOf } from "#core/backup/archive.ts";
import { type ReadArchive, readArchive, readManifest } from "#core/backup/reading.ts";
import { verifyRecord } from "#core/backup/record.ts";
import { TargetFault } from "#domain/publishing/target.ts";

/** Archive that is restored: its file, what opens it, and its verified content. */
export interface RestoredArchive {
  readonly file: string;
  readonly opener: Opener;
  readonly read: Pick<ReadArchive, "manifest" | "signedBy">;
}

type LaterReport = RestoreReport["later"];

/**
 * Searches the directory of the archive, and the directory and bucket of the configuration. A
 * bucket that does not respond, and a file that claims to be later and is not verified, are
 * reported.
 */
export async function findLaterArchives(
  config: Config,
  secrets: Secrets,
  archive: RestoredArchive,
): Promise<LaterReport> {
  const search = new LaterSearch(archive);
  for (const directory of listDirectories(config, archive.file)) {
    await search.run(directory, () => openDirectory(directory));
  }
  const bucket = bucketOf(config, secrets);
  if (bucket !== undefined) {
    await search.run(`s3:${config.backup.s3.bucket ?? ""}`, () => openBucket(bucket));
  }
  return search.report;
}

/** Throws `ArchiveUnfit` if there is a later archive. */
export function requireNewest({ found }: LaterReport): void {
  const [first] = found;
  if (first === undefined) return;
  throw new ArchiveUnfit(
    `${first} is a later archive of this instance; --older restores this one all the same.`,
  );
}

/** File that may be an archive, or the sidecar of a missing archive. */
interface Candidate {
  readonly name: string;
  /** Reads its sidecar; undefined if there is none. */
  readSidecar(): Promise<Readonly<Record<string, unknown>> | undefined>;
  /** Content; undefined if there is only a sidecar. */
  readonly read: (() => AsyncGenerator<Uint8Array>) | undefined;
}

class LaterSearch {
  readonly #archive: RestoredArchive;
  readonly #stamp: string;
  readonly #searched: string[] = [];
  readonly #unseen: { place: string; why: string }[] = [];
  readonly #found = new Set<string>();

  constructor(archive: RestoredArchive) {
    const { instance_id, created_at } = archive.read.manifest;
    const named = nameOfArchive(basename(archive.file));
    this.#archive = archive;
    this.#stamp = named?.instance === instance_id ? named.stamp : stampOf(created_at);
  }

  get report(): LaterReport {
    return { looked_in: this.#searched, unseen: this.#unseen, found: [...this.#found] };
  }

  async run(location: string, open: () => AsyncIterable<Candidate>): Promise<void> {
    try {
      await this.#search(location, open());
      this.#searched.push(location);
    } catch (error) {
      this.#report(location, formatReason(error));
    }
  }

  #report(location: string, reason: string): void {
    this.#unseen.push({ place: location, why: reason });
  }

  async #search(location: string, candidates: AsyncIterable<Candidate>): Promise<void> {
    let opened = 0;
    let reported = 0;
    for await (const candidate of candidates) {
      if (this.#isOtherOrEarlier(candidate.name)) continue;
      if (++opened > candidatesMax) {
        throw new TargetFault(`More than ${candidatesMax} files there may be archives.`);
      }
      const reason = await this.#check(candidate);
      if (reason === undefined || ++reported > reportedMax) continue;
      this.#report(location, `${candidate.name} is not a verified archive: ${reason}`);
    }
  }

  /** True for names of other instances, and for names of this one that are not later. */
  #isOtherOrEarlier(name: string): boolean {
    const named = nameOfArchive(name);
    if (named === undefined) return false;
    const isOwn = named.instance === this.#archive.read.manifest.instance_id;
    return !isOwn || named.stamp <= this.#stamp;
  }

  /** Returns the reason if the file claims to be later and is not verified. */
  async #check(candidate: Candidate): Promise<string | undefined> {
    const { manifest, signedBy } = this.#archive.read;
    const sidecar = (await candidate.readSidecar()) ?? {};
    const record = verifyRecord(sidecar, signedBy);
    if (record?.instance_id === manifest.instance_id && record.seq > manifest.audit.seq) {
      this.#found.add(candidate.name);
      return undefined;
    }
    const claims =
      nameOfArchive(candidate.name) !== undefined ||
      (sidecar.instance_id === manifest.instance_id && Number(sidecar.seq) > manifest.audit.seq);
    if (candidate.read === undefined) {
      return claims ? "it is missing, and the ledger key did not sign its sidecar." : undefined;
    }
    try {
      if (await this.#isLater(candidate.read)) this.#found.add(candidate.name);
      return undefined;
    } catch (error) {
      if (error instanceof ClaimError) return error.message;
      const isSystemError = error instanceof Error && "code" in error;
      if (!isSystemError && !(error instanceof ArchiveUnfit)) throw error;
      if (!claims) return undefined;
      return isSystemError ? formatReason(error) : error.message;
    }
  }

  /**
   * Reads the manifest, and the whole archive if the manifest claims to be later. Throws
   * `ArchiveUnfit` for other content, `ClaimError` for a later manifest that is not verified.
   */
  async #isLater(read: () => AsyncGenerator<Uint8Array>): Promise<boolean> {
    const { manifest, signedBy } = this.#archive.read;
    const claimed = await this.#readFrom(read, readManifest);
    if (claimed.instance_id !== manifest.instance_id) return false;
    if (claimed.audit.seq <= manifest.audit.seq) return false;
    try {
      const whole = await this.#readFrom(read, (plain) => readArchive(plain, discard));
      if (whole.signedBy === signedBy) return true;
    } catch (error) {
      if (error instanceof ArchiveUnfit) throw new ClaimError(error.message);
      throw error;
    }
    throw new ClaimError("another ledger key signed it.");
  }

  async #readFrom<T>(
    read: () => AsyncGenerator<Uint8Array>,
    parse: (plain: AsyncIterable<Uint8Array>) => Promise<T>,
  ): Promise<T> {
    const source = read();
    try {
      return await parse(decrypted(this.#archive.opener, source));
    } finally {
      await source.return(undefined);
    }
  }
}

/** Reason why an archive with a later manifest is not verified. */
class ClaimError extends Error {
  override readonly name = "ClaimError";
}

/** Takes an archive without storing it; its digests and its signature are verified anyway. */
const discard = {
  manifest: async () => {},
  rows: async () => {},
  dataKeys: () => {},
  keyFile: () => {},
  masterKey: () => {},
  configuration: () => {},
};

/** The directory of the archive and the configured one, each once. */
function listDirectories({ backup }: Config, archive: string): readonly string[] {
  const own = dirname(archive);
  const { dir } = backup;
  return dir === undefined || isSameDirectory(own, dir) ? [own] : [own, dir];
}

function isSameDirectory(one: string, other: string): boolean {
  try {
    return realpathSync(one) === realpathSync(other);
  } catch {
    return false; // A missing directory is reported when it is searched.
  }
}

async function* openDirectory(directory: string): AsyncGenerator<Candidate> {
  const names = readdirSync(directory);
  const files = new Set(names);
  for (const name of names) {
    const archive = name.endsWith(sidecarSuffix) ? name.slice(0, -sidecarSuffix.length) : name;
    const isFile = lstatSync(join(directory, name), { throwIfNoEntry: false })?.isFile() === true;
    if (!isFile || (archive !== name && files.has(archive))) continue;
    const claims = nameOfArchive(name) !== undefined || files.has(`${name}${sidecarSuffix}`);
    if (archive === name && !claims && !hasAgeHeader(join(directory, name))) continue;
    const read = archive === name ? () => readFileChunks(join(directory, name)) : undefined;
    const readSidecar = async () => sidecarOf(join(directory, archive));
    yield { name: archive, readSidecar, read };
  }
}

/** True for a readable file that starts as the age format does. */
function hasAgeHeader(file: string): boolean {
  const head = Buffer.alloc(ageHeader.length);
  try {
    const descriptor = openSync(file, "r");
    try {
      return readSync(descriptor, head) === head.length && head.toString("latin1") === ageHeader;
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return false; // Neither its name nor a sidecar claims that it is an archive.
  }
}

async function* readFileChunks(file: string): AsyncGenerator<Uint8Array> {
  const stream = createReadStream(file, { highWaterMark: 262_144 });
  try {
    yield* stream;
  } finally {
    stream.destroy();
  }
}

async function* openBucket(bucket: ArchiveBucket): AsyncGenerator<Candidate> {
  const names: string[] = [];
  for await (const { name } of bucket.names("")) {
    names.push(name);
    if (names.length > namesMax) throw new TargetFault(`It has more than ${namesMax} objects.`);
  }
  const files = new Set(names);
  for (const name of names) {
    const archive = name.endsWith(sidecarSuffix) ? name.slice(0, -sidecarSuffix.length) : name;
    if (archive !== name && files.has(archive)) continue;
    // In a bucket with many other objects, only names with the usual suffix are opened.
    if (names.length > candidatesMax && !archive.endsWith(".age")) continue;
    const hasSidecar = files.has(`${archive}${sidecarSuffix}`);
    const readSidecar = async () => (hasSidecar ? await bucket.readSidecar(archive) : undefined);
    const read = archive === name ? () => bucket.pieces(name) : undefined;
    yield { name: archive, readSidecar, read };
  }
}

function formatReason(error: unknown): string {
  if (error instanceof TargetFault || error instanceof SecretUnavailable) return error.message;
  if (error instanceof Error && "code" in error) return `It cannot be read: ${String(error.code)}.`;
  throw error;
}

const ageHeader = "age-encryption.org/v1\n";
const sidecarSuffix = ".manifest.json";
/** Files of one directory or bucket that are opened. */
const candidatesMax = 1000;
const namesMax = 100_000;
/** Unverified files of one directory or bucket that the report names. */
const reportedMax = 20;
