/**
 * Publishes into an S3-compatible store: objects of the snapshot, then the fixed names, then the
 * manifest (PUB-3).
 */

import { createHash } from "node:crypto";

import { S3Client } from "bun";

import {
  type Artefact,
  BadManifest,
  encodeManifest,
  type Manifest,
  parseManifest,
} from "#core/publishing/manifest.ts";
import {
  type Octets,
  type PublishTarget,
  type Snapshot,
  TargetFault,
} from "#domain/publishing/target.ts";

/** What the store is asked with. */
export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | undefined;
}

/** Where objects go: the members of `publish.s3`. */
export interface S3Place {
  /** Undefined takes AWS's own for the region. */
  readonly endpoint: string | undefined;
  readonly region: string;
  readonly bucket: string;
  /** Before every name, text without slashes at either end. */
  readonly prefix: string | undefined;
  readonly force_path_style: boolean;
  readonly concurrency: number;
}

export interface S3Options extends S3Place {
  /** Asked for when a snapshot or a look at one begins; throws `TargetFault`. */
  readonly credentials: () => Promise<S3Credentials>;
  /** Longest one request may take. */
  readonly timeoutSeconds: number;
}

/** Opens the target; nothing is asked before a snapshot begins. */
export function s3Target(options: S3Options): PublishTarget {
  const opened = async () => new Bucket(options, await options.credentials());
  return {
    name: "s3",
    concurrency: options.concurrency,
    previous: async () => (await (await opened()).manifest())?.manifest,
    has: async (artefact) => await (await opened()).holds(artefact),
    begin: async (name) => {
      const bucket = await opened();
      const found = await bucket.manifest();
      const before = found?.manifest?.artefacts.map(({ path }) => path) ?? [];
      return new S3Snapshot(bucket, name, { etag: found?.etag, paths: before });
    },
  };
}

class S3Snapshot implements Snapshot {
  readonly #bucket: Bucket;
  readonly #name: string;
  readonly #before: Followed;
  readonly #written: Artefact[] = [];

  constructor(bucket: Bucket, name: string, before: Followed) {
    this.#bucket = bucket;
    this.#name = name;
    this.#before = before;
  }

  async write(artefact: Artefact, octets: Octets): Promise<void> {
    await this.#bucket.putNew(this.#named(artefact.path), octets, artefact.contentType);
    this.#written.push(artefact);
  }

  /**
   * The object under the fixed name stays; only what changes has an object in the snapshot's
   * folder.
   */
  async keep(artefact: Artefact, look: "whole" | "size"): Promise<boolean> {
    if (look === "whole") return await this.#bucket.holds(artefact);
    return (await this.#bucket.head(artefact.path))?.size === artefact.size;
  }

  async publish(manifest: Manifest): Promise<void> {
    // Who publishes at the same time is found out by the lists first: none is put back to an older
    // number.
    const lists = this.#written.filter(({ crlNumber }) => crlNumber !== undefined);
    for (const list of lists) await this.#replaceList(list);
    const others = this.#written.filter(({ crlNumber }) => crlNumber === undefined);
    await inTurns(others, this.#bucket.concurrency, (one) => this.#copy(one));
    const text = encodeManifest(manifest);
    await this.#bucket.put(this.#named(manifestName), [Buffer.from(text)], manifestType);
    await this.#removeLeft(manifest);
    const { etag } = this.#before;
    await this.#bucket.replace(manifestName, Buffer.from(text), manifestType, etag);
    if ((await this.#bucket.get(manifestName))?.toString("utf8") !== text) {
      throw new TargetFault("The manifest in the store does not read back as it was written.");
    }
  }

  /**
   * What the manifest no longer names would go on being served under its fixed name: a "good" of
   * what is revoked. It goes before the manifest: as long as one names it, the next snapshot knows
   * that it has to go.
   */
  async #removeLeft({ artefacts }: Manifest): Promise<void> {
    const named = new Set(artefacts.map(({ path }) => path));
    const left = this.#before.paths.filter((path) => !named.has(path));
    if (left.length === 0) return;
    // By now it may be what another publisher has put there.
    if ((await this.#bucket.head(manifestName))?.etag !== this.#before.etag) {
      throw new TargetFault(`Another publisher replaced ${manifestName} meanwhile.`);
    }
    await inTurns(left, this.#bucket.concurrency, (path) => this.#bucket.remove(path));
  }

  async abandon(): Promise<void> {
    for (const { path } of this.#written)
      await this.#bucket.remove(this.#named(path)).catch(nothing);
  }

  /**
   * By its ETag, so that a list another process put there meanwhile is not replaced by this one.
   */
  async #replaceList(list: Artefact): Promise<void> {
    const before = await this.#bucket.head(list.path);
    const octets = await this.#bucket.get(this.#named(list.path));
    if (octets === undefined) throw gone(list.path);
    await this.#bucket.replace(list.path, octets, list.contentType, before?.etag);
  }

  async #copy({ path, contentType }: Artefact): Promise<void> {
    const octets = await this.#bucket.get(this.#named(path));
    if (octets === undefined) throw gone(path);
    await this.#bucket.put(path, [octets], contentType);
  }

  #named(path: string): string {
    return `snapshots/${this.#name}/${path}`;
  }
}

/** What a snapshot follows. */
interface Followed {
  /** Of the published manifest; undefined when there is none. */
  readonly etag: string | undefined;
  /** What it names. */
  readonly paths: readonly string[];
}

/** The runtime's client of such a store. */
export function s3Client(
  { endpoint, region, bucket, force_path_style }: S3Place,
  { accessKeyId, secretAccessKey, sessionToken }: S3Credentials,
): S3Client {
  return new S3Client({
    region,
    bucket,
    accessKeyId,
    secretAccessKey,
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(sessionToken === undefined ? {} : { sessionToken }),
    ...(force_path_style ? {} : { virtualHostedStyle: true }),
  });
}

/** The requests, each with a limit in time and told in sentences without credentials. */
class Bucket {
  readonly concurrency: number;
  readonly #client: S3Client;
  readonly #prefix: string;
  readonly #timeoutMs: number;

  constructor(options: S3Options, credentials: S3Credentials) {
    this.concurrency = options.concurrency;
    this.#prefix = options.prefix === undefined ? "" : `${options.prefix}/`;
    this.#timeoutMs = options.timeoutSeconds * 1000;
    this.#client = s3Client(options, credentials);
  }

  async manifest(): Promise<{ manifest: Manifest | undefined; etag: string } | undefined> {
    const head = await this.head(manifestName);
    const text = head && (await this.get(manifestName))?.toString("utf8");
    if (head === undefined || text === undefined) return undefined;
    try {
      return { manifest: parseManifest(text), etag: head.etag };
    } catch (error) {
      // Somebody wrote over it: nothing of it is taken over, and the next one stands in its place.
      if (error instanceof BadManifest) return { manifest: undefined, etag: head.etag };
      throw error;
    }
  }

  async head(path: string): Promise<{ readonly etag: string; readonly size: number } | undefined> {
    return await this.#asked(path, async () => {
      const { etag, size } = await this.#client.stat(this.#key(path));
      return { etag, size };
    });
  }

  async get(path: string): Promise<Buffer | undefined> {
    return await this.#asked(path, async () =>
      Buffer.from(await this.#client.file(this.#key(path)).arrayBuffer()),
    );
  }

  /** True when the object under the path has the size and digest of the artefact. */
  async holds({ path, sha256, size }: Artefact): Promise<boolean> {
    const head = await this.head(path);
    if (head?.size !== size) return false;
    const digest = await this.#asked(path, async () => {
      const hash = createHash("sha256");
      for await (const piece of this.#client.file(this.#key(path)).stream()) hash.update(piece);
      return hash.digest("hex");
    });
    return digest === sha256;
  }

  /** Whatever is there is replaced; long octets go in parts. */
  async put(path: string, octets: Octets, type: string): Promise<void> {
    const writer = this.#writing(path, type);
    await this.#within(path, () => sentBy(writer, octets));
  }

  /**
   * The same under a name that nothing has. What is given up leaves no parts: ended, they are an
   * object, and that is removed.
   */
  async putNew(path: string, octets: Octets, type: string): Promise<void> {
    const writer = this.#writing(path, type);
    let given = 0;
    try {
      await this.#within(path, () =>
        sentBy(writer, octets, (length) => {
          given += length;
        }),
      );
    } catch (error) {
      if (given < partSize) throw error;
      const takenBack = async () => {
        await writer.end();
        await this.#client.delete(this.#key(path));
      };
      // What went wrong before is what is told.
      await this.#within(path, takenBack).catch(() => {});
      throw error;
    }
  }

  #writing(path: string, type: string): Bun.NetworkSink {
    return this.#client.file(this.#key(path)).writer({ type, partSize, queueSize: 2 });
  }

  /**
   * Replaces exactly what has this ETag, or nothing at all: another publisher's object is never
   * written over.
   */
  async replace(path: string, octets: Buffer, type: string, etag: string | undefined) {
    // The client has no conditional requests; of a presigned one only the host header is signed.
    const url = this.#client.presign(this.#key(path), { method: "PUT", expiresIn: 300 });
    const condition: Record<string, string> =
      etag === undefined ? { "if-none-match": "*" } : { "if-match": quoted(etag) };
    const response = await this.#within(path, (signal) =>
      fetch(url, {
        method: "PUT",
        body: new Uint8Array(octets),
        redirect: "error",
        signal,
        headers: { "content-type": type, ...condition },
      }),
    );
    await response.body?.cancel();
    if (response.status === 412 || response.status === 409) {
      throw new TargetFault(`Another publisher replaced ${path} meanwhile.`);
    }
    if (!response.ok) throw new TargetFault(`The store refused ${path} with ${response.status}.`);
  }

  async remove(path: string): Promise<void> {
    await this.#asked(path, () => this.#client.delete(this.#key(path)));
  }

  #key(path: string): string {
    return `${this.#prefix}${path}`;
  }

  /** Undefined where there is no such object. */
  async #asked<T>(path: string, ask: () => Promise<T>): Promise<T | undefined> {
    try {
      return await this.#within(path, ask);
    } catch (error) {
      if (error instanceof MissingObject) return undefined;
      throw error;
    }
  }

  async #within<T>(path: string, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const late = AbortSignal.timeout(this.#timeoutMs);
    const timedOut = new Promise<never>((_, reject) => {
      late.addEventListener(
        "abort",
        () => reject(new TargetFault(`The store did not answer in time about ${path}.`)),
        {
          once: true,
        },
      );
    });
    try {
      return await Promise.race([ask(late), timedOut]);
    } catch (error) {
      if (error instanceof TargetFault) throw error;
      const code = faultCode(error);
      if (code === "NoSuchKey" || code === "NotFound" || code === "UnknownError404")
        throw new MissingObject();
      throw new TargetFault(`The store failed on ${path}: ${code}.`);
    }
  }
}

class MissingObject extends Error {}

async function sentBy(
  writer: Bun.NetworkSink,
  octets: Octets,
  counted: (length: number) => void = () => {},
): Promise<void> {
  for await (const piece of octets) {
    counted(piece.length);
    writer.write(piece);
    await writer.flush();
  }
  await writer.end();
}

async function inTurns<T>(
  all: readonly T[],
  atOnce: number,
  work: (one: T) => Promise<void>,
): Promise<void> {
  const waiting = all.values();
  const lane = async () => {
    for (const one of waiting) await work(one);
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
}

/**
 * A word of the store or the runtime; never a message, which may carry an address with credentials.
 */
export function faultCode(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" && /^[A-Za-z0-9_]{1,64}$/.test(code) ? code : "unknown error";
}

const gone = (path: string) => new TargetFault(`${path} is gone from the snapshot just written.`);
const quoted = (etag: string) => (etag.startsWith('"') ? etag : `"${etag}"`);
const nothing = () => undefined;
const manifestName = "manifest.json";
const manifestType = "application/json";
const partSize = 8 * 1024 * 1024;
