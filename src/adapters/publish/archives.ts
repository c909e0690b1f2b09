/** Archives in an S3-compatible store: streamed in parts, read back, listed, deleted. */

import { createHash } from "node:crypto";

import type { S3Client } from "bun";

import { nameOfArchive, newestFirst } from "#core/backup/archive.ts";
import { isObject } from "#core/shape.ts";
import { TargetFault } from "#domain/publishing/target.ts";
import { abortUploads } from "./s3-uploads.ts";
import { faultCode, type S3Credentials, type S3Place, s3Client } from "./s3.ts";

/** Object with the name of an archive. The name does not verify its content. */
export interface BucketArchive {
  readonly artifact: string;
  /** Text that changes if the content is replaced; undefined if the store reports none. */
  readonly version: string | undefined;
}

/** The bucket and prefix they go to. */
export class ArchiveBucket {
  readonly name = "s3";
  readonly #place: S3Place;
  readonly #credentials: () => Promise<S3Credentials>;
  readonly #silenceMaxMs: number;
  readonly #uploadAgeMs: number;

  /**
   * `credentials` are asked for anew by every verb. A store that says nothing for `silenceMaxMs`
   * milliseconds is given up; while a part is sent nothing is heard, so that it has ten times that.
   * Uploads of the instance that are older than `uploadAgeMs` milliseconds were left by a killed
   * process.
   */
  constructor(
    place: S3Place,
    credentials: () => Promise<S3Credentials>,
    silenceMaxMs: number = silenceUsualMs,
    uploadAgeMs: number = dayMs,
  ) {
    this.#place = place;
    this.#credentials = credentials;
    this.#silenceMaxMs = silenceMaxMs;
    this.#uploadAgeMs = uploadAgeMs;
  }

  /**
   * Writes one, reads it back by its digest, and puts what `proven` gives beside it. Throws
   * `TargetFault`, also for a name that is taken, whose archive stays; otherwise nothing is left
   * under its name. Parts that were sent are kept, and cost, until somebody takes them away; the
   * runtime cannot, but ended they are an object, which can be removed.
   */
  async write(
    artifact: string,
    pieces: AsyncIterable<Uint8Array>,
    proven: (sha256: string) => Promise<Readonly<Record<string, unknown>>>,
  ): Promise<void> {
    const client = await this.#client();
    const key = this.#key(artifact);
    const sending = <T>(ask: () => Promise<T>) =>
      this.#within(artifact, ask, this.#silenceMaxMs * partSilences);
    const writer = client.file(key).writer({ partSize, queueSize: 2 });
    let free = false;
    let given = 0;
    try {
      const sent = createHash("sha256");
      for await (const piece of pieces) {
        // Not before there is a piece: a store that is away is a backup that failed.
        if (!free) {
          await this.#mustBeFree(client, artifact);
          await this.#abortUploads(artifact);
        }
        free = true;
        sent.update(piece);
        given += piece.length;
        await sending(async () => {
          writer.write(piece);
          await writer.flush();
        });
      }
      await sending(async () => await writer.end());
      const sha256 = sent.digest("hex");
      const read = createHash("sha256");
      for await (const piece of this.#read(client, artifact)) read.update(piece);
      if (read.digest("hex") !== sha256) {
        throw new TargetFault(`${artifact} does not read back from the store as it was sent.`);
      }
      const facts = `${JSON.stringify(await proven(sha256), undefined, 2)}\n`;
      const type = "application/json";
      await sending(() => client.write(`${key}${sidecarSuffix}`, facts, { type }));
    } catch (error) {
      if (free) {
        const ended = async () => await writer.end();
        if (given >= partSize) await this.#within(artifact, ended).catch(ignored);
        await this.#deleted(client, artifact).catch(ignored);
      }
      throw error;
    }
  }

  /**
   * Lists the objects with names of an instance, newest name first. The sidecar of a missing
   * archive counts as well. Throws `TargetFault`.
   */
  async list(instance: string): Promise<readonly BucketArchive[]> {
    const found = new Map<string, BucketArchive>();
    for await (const { name, version } of this.names(`pkid-${instance}-`)) {
      const isSidecar = name.endsWith(sidecarSuffix);
      const artifact = isSidecar ? name.slice(0, -sidecarSuffix.length) : name;
      // Other programs may name objects: such a name must lead to no other files here.
      if (nameOfArchive(artifact)?.instance !== instance) continue;
      if (isSidecar && found.has(artifact)) continue;
      found.set(artifact, { artifact, version: isSidecar ? undefined : version });
    }
    return newestFirst([...found.values()]);
  }

  /** Lists the names directly under the prefix that start with `start`. Throws `TargetFault`. */
  async *names(start: string): AsyncGenerator<{ name: string; version: string | undefined }> {
    const client = await this.#client();
    const [prefix, folder] = [this.#key(start), this.#key("")];
    for (let startAfter: string | undefined; ; ) {
      const query = { prefix, maxKeys: 1000, ...(startAfter && { startAfter }) };
      const page = await this.#within("its archives", () => client.list(query));
      const objects = page.contents ?? [];
      for (const { key, eTag, size, lastModified } of objects) {
        const name = key.slice(folder.length);
        const version = eTag === undefined ? undefined : [eTag, size, lastModified].join(" ");
        if (!name.includes("/")) yield { name, version };
      }
      startAfter = objects.at(-1)?.key;
      if (page.isTruncated !== true || startAfter === undefined) return;
    }
  }

  /** Reads the sidecar of an archive; undefined if there is none. Throws `TargetFault`. */
  async readSidecar(artifact: string): Promise<Readonly<Record<string, unknown>> | undefined> {
    return await this.#beside(await this.#client(), `${this.#key(artifact)}${sidecarSuffix}`);
  }

  /**
   * Computes the lowercase hex SHA-256 of an archive; undefined if it does not exist. Throws
   * `TargetFault`.
   */
  async computeDigest(artifact: string): Promise<string | undefined> {
    const hash = createHash("sha256");
    try {
      for await (const chunk of this.#read(await this.#client(), artifact)) hash.update(chunk);
    } catch (error) {
      if (error instanceof TargetFault && error.message.endsWith(missingObject)) return undefined;
      throw error;
    }
    return hash.digest("hex");
  }

  /** Removes one and what stands beside it. Throws `TargetFault`. */
  async remove(artifact: string): Promise<void> {
    const client = await this.#client();
    await this.#deleted(client, artifact);
    await this.#deleted(client, `${artifact}${sidecarSuffix}`);
  }

  /** Its octets, piece by piece. Throws `TargetFault`. */
  async *pieces(artifact: string): AsyncGenerator<Uint8Array> {
    yield* this.#read(await this.#client(), artifact);
  }

  async *#read(client: S3Client, artifact: string): AsyncGenerator<Uint8Array> {
    const reader = client.file(this.#key(artifact)).stream().getReader();
    try {
      for (;;) {
        const { done, value } = await this.#within(artifact, () => reader.read());
        if (done) return;
        yield value;
      }
    } finally {
      // Whoever stops early ends what is upstream, which may have ended by itself.
      reader.cancel().catch(() => {});
    }
  }

  async #mustBeFree(client: S3Client, artifact: string): Promise<void> {
    const key = this.#key(artifact);
    if (!(await this.#within(artifact, () => client.exists(key)))) return;
    throw new TargetFault(`${artifact} is in the store; an archive is never written over.`);
  }

  /** Removes what killed uploads left; a store that does not allow it must not stop the backup. */
  async #abortUploads(artifact: string): Promise<void> {
    const instance = nameOfArchive(artifact)?.instance;
    if (instance === undefined) return;
    const prefix = this.#key(`pkid-${instance}-`);
    const folder = this.#key("");
    await abortUploads(this.#place, await this.#credentials(), {
      prefix,
      matches: (key) => nameOfArchive(key.slice(folder.length))?.instance === instance,
      startedBefore: Date.now() - this.#uploadAgeMs,
      timeoutMs: this.#silenceMaxMs,
    }).catch(ignored);
  }

  async #deleted(client: S3Client, name: string): Promise<void> {
    await this.#within(name, () => client.delete(this.#key(name)));
  }

  /** What stands beside an archive; undefined where that is nothing pkid has written. */
  async #beside(
    client: S3Client,
    key: string,
  ): Promise<Readonly<Record<string, unknown>> | undefined> {
    try {
      const octets = await this.#within(key, () => client.file(key).slice(0, sidecarMax).text());
      const facts: unknown = JSON.parse(octets);
      return isObject(facts) ? facts : undefined;
    } catch (error) {
      if (!(error instanceof TargetFault) || error.message.endsWith(missingObject))
        return undefined;
      throw error;
    }
  }

  /** Throws `TargetFault` for what the store refuses, and when it says nothing for too long. */
  async #within<T>(
    what: string,
    ask: () => Promise<T>,
    limitMs: number = this.#silenceMaxMs,
  ): Promise<T> {
    const late = Promise.withResolvers<never>();
    const silent = new TargetFault(`The store did not answer in time about ${what}.`);
    const timer = setTimeout(() => late.reject(silent), limitMs);
    try {
      return await Promise.race([ask(), late.promise]);
    } catch (error) {
      if (error instanceof TargetFault) throw error;
      throw new TargetFault(`The store failed on ${what}: ${faultCode(error)}.`);
    } finally {
      clearTimeout(timer);
    }
  }

  async #client(): Promise<S3Client> {
    return s3Client(this.#place, await this.#credentials());
  }

  #key(name: string): string {
    const { prefix } = this.#place;
    return prefix === undefined ? name : `${prefix}/${name}`;
  }
}

/** What went wrong before is what is told. */
const ignored = (): void => {};
/** Between two pieces, not for all of them. */
const silenceUsualMs = 60_000;
const dayMs = 86_400_000;
/** One part over a slow line: eight mebibytes at 112 kbit/s. */
const partSilences = 10;
/** End of the message about an object that does not exist. */
const missingObject = ": NoSuchKey.";
const sidecarMax = 1_048_576;
const sidecarSuffix = ".manifest.json";
const partSize = 8 * 1024 * 1024;
