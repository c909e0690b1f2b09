/** Archives in an S3-compatible store: streamed in parts, read back, listed, let go. */

import { createHash } from "node:crypto";

import type { S3Client } from "bun";

import { nameOfArchive, newestFirst } from "#core/backup/archive.ts";
import { isObject } from "#core/shape.ts";
import { TargetFault } from "#domain/publishing/target.ts";
import { faultCode, type S3Credentials, type S3Place, s3Client } from "./s3.ts";

/** One that is there with its sidecar. */
export interface BucketArchive {
  readonly artifact: string;
  /** RFC 3339. */
  readonly created_at: string;
  readonly facts: Readonly<Record<string, unknown>>;
}

/** The bucket and prefix they go to. */
export class ArchiveBucket {
  readonly name = "s3";
  readonly #place: S3Place;
  readonly #credentials: () => Promise<S3Credentials>;
  readonly #silenceMaxMs: number;

  /**
   * `credentials` are asked for anew by every verb. A store that says nothing for `silenceMaxMs`
   * milliseconds is given up; while a part is sent nothing is heard, so that it has ten times that.
   */
  constructor(
    place: S3Place,
    credentials: () => Promise<S3Credentials>,
    silenceMaxMs: number = silenceUsualMs,
  ) {
    this.#place = place;
    this.#credentials = credentials;
    this.#silenceMaxMs = silenceMaxMs;
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
        if (!free) await this.#mustBeFree(client, artifact);
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
   * Those of an instance, newest first, with what stands beside each; what has no sidecar is
   * nobody's here. Throws `TargetFault`.
   */
  async list(instance: string): Promise<readonly BucketArchive[]> {
    const client = await this.#client();
    const prefix = this.#key(`pkid-${instance}-`);
    const found: BucketArchive[] = [];
    for (let startAfter: string | undefined; ; ) {
      const asked = { prefix, maxKeys: 1000, ...(startAfter && { startAfter }) };
      const page = await this.#within("its archives", () => client.list(asked));
      const keys = (page.contents ?? []).map(({ key }) => key);
      for (const key of keys.filter((one) => one.endsWith(sidecarSuffix))) {
        const facts = await this.#beside(client, key);
        if (facts?.instance_id !== instance) continue;
        const { artifact, created_at } = facts;
        if (typeof artifact !== "string" || typeof created_at !== "string") continue;
        // Whoever writes to the bucket names what is in it: such a name leads to other files here.
        if (nameOfArchive(artifact)?.instance !== instance) continue;
        if (this.#key(artifact) + sidecarSuffix === key)
          found.push({ artifact, created_at, facts });
      }
      startAfter = keys.at(-1);
      if (page.isTruncated !== true || startAfter === undefined) break;
    }
    return newestFirst(found);
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
      if (!(error instanceof TargetFault) || error.message.endsWith(": NoSuchKey."))
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
/** One part over a slow line: eight mebibytes at 112 kbit/s. */
const partSilences = 10;
const sidecarMax = 1_048_576;
const sidecarSuffix = ".manifest.json";
const partSize = 8 * 1024 * 1024;
