/**
 * A small S3: objects with ETags, parts, conditional writes, and signatures (Signature Version 4)
 * that are really checked.
 */

import { createHash, createHmac } from "node:crypto";

export interface S3Object {
  readonly octets: Buffer;
  readonly type: string;
  readonly etag: string;
}

export interface S3Server {
  readonly endpoint: string;
  /** By key, without the bucket. */
  readonly objects: Map<string, S3Object>;
  /** `METHOD key` of every request that was served. */
  readonly served: string[];
  /** Uploads that were begun and neither completed nor aborted: their parts are kept. */
  readonly uploads: ReadonlyMap<string, unknown>;
  /** Starts an upload that is never completed. */
  startUpload(key: string): void;
  /** Decides on a request before it is served: a status to fail with, or undefined to go on. */
  before: (method: string, key: string) => number | undefined | Promise<number | undefined>;
  stop(): Promise<void>;
}

export const s3Credentials = {
  bucket: "pki-public",
  region: "eu-test-1",
  accessKeyId: "AKIDEXAMPLE",
  secretAccessKey: "s3cr3t/of+the=store",
};

/** Opens it on loopback with one bucket. */
export function startS3(): S3Server {
  const objects = new Map<string, S3Object>();
  const uploads = new Map<string, Map<number, Buffer>>();
  const keys = new Map<string, string>();
  const served: string[] = [];
  const handle = async (request: Request): Promise<Response> => {
    const url = new URL(request.url);
    const body = Buffer.from(await request.arrayBuffer());
    const problem = signatureProblem(request, url, body);
    if (problem !== undefined) return failure(403, "SignatureDoesNotMatch", problem);
    const [, bucket, ...rest] = decodeURIComponent(url.pathname).split("/");
    if (bucket !== s3Credentials.bucket) return failure(404, "NoSuchBucket");
    const key = rest.join("/");
    const refused = await server.before(request.method, key);
    if (refused !== undefined) return failure(refused, "InternalError");
    served.push(`${request.method} ${key}`);
    if (request.method === "POST" && url.searchParams.has("uploads")) {
      const id = crypto.randomUUID();
      uploads.set(id, new Map());
      keys.set(id, key);
      const names = `<Bucket>${bucket}</Bucket><Key>${key}</Key><UploadId>${id}</UploadId>`;
      return xml(`<InitiateMultipartUploadResult>${names}</InitiateMultipartUploadResult>`);
    }
    const response = serveUploads(request, url, { uploads, keys });
    if (response !== undefined) return response;
    if (request.method === "GET" && url.searchParams.get("list-type") === "2") {
      return xml(listing(objects.keys(), url.searchParams));
    }
    const parts = uploads.get(url.searchParams.get("uploadId") ?? "");
    if (request.method === "PUT" && parts !== undefined) {
      parts.set(Number(url.searchParams.get("partNumber")), body);
      return new Response("", { headers: { etag: tagOf(body) } });
    }
    if (request.method === "POST" && parts !== undefined) {
      const inOrder = [...parts].sort(([a], [b]) => a - b).map(([, part]) => part);
      const octets = Buffer.concat(inOrder);
      uploads.delete(url.searchParams.get("uploadId") ?? "");
      objects.set(key, { octets, type: "", etag: tagOf(octets) });
      const names = `<Bucket>${bucket}</Bucket><Key>${key}</Key><ETag>${tagOf(octets)}</ETag>`;
      return xml(`<CompleteMultipartUploadResult>${names}</CompleteMultipartUploadResult>`);
    }
    return serveObject(objects, key, request, body);
  };
  const listener = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: handle });
  const server: S3Server = {
    endpoint: `http://127.0.0.1:${listener.port}`,
    objects,
    served,
    uploads,
    startUpload: (key) => {
      keys.set(key, key);
      uploads.set(key, new Map());
    },
    before: () => undefined,
    stop: () => listener.stop(true),
  };
  return server;
}

/** Serves the list of uploads and the end of one; undefined for any other request. */
function serveUploads(
  request: Request,
  { searchParams }: URL,
  { uploads, keys }: { uploads: Map<string, unknown>; keys: ReadonlyMap<string, string> },
): Response | undefined {
  const id = searchParams.get("uploadId");
  if (request.method === "DELETE" && id !== null) {
    uploads.delete(id);
    return new Response(null, { status: 204 });
  }
  if (request.method !== "GET" || !searchParams.has("uploads")) return undefined;
  const prefix = searchParams.get("prefix") ?? "";
  const listed = [...uploads.keys()].filter((one) => keys.get(one)?.startsWith(prefix));
  const started = `<Initiated>${new Date(Date.now() - 60_000).toISOString()}</Initiated>`;
  const rows = listed.map(
    (one) => `<Upload><Key>${keys.get(one)}</Key><UploadId>${one}</UploadId>${started}</Upload>`,
  );
  return xml(`<ListMultipartUploadsResult>${rows.join("")}</ListMultipartUploadsResult>`);
}

function serveObject(
  objects: Map<string, S3Object>,
  key: string,
  request: Request,
  body: Buffer,
): Response {
  const found = objects.get(key);
  if (request.method === "PUT") {
    const wanted = request.headers.get("if-match");
    const absent = request.headers.get("if-none-match") === "*";
    if (wanted !== null && found === undefined) return failure(404, "NoSuchKey");
    const changed = wanted !== null && found?.etag !== wanted;
    if (changed || (absent && found !== undefined)) return failure(412, "PreconditionFailed");
    const type = request.headers.get("content-type") ?? "";
    objects.set(key, { octets: body, type, etag: tagOf(body) });
    return new Response("", { headers: { etag: tagOf(body) } });
  }
  if (request.method === "DELETE") {
    objects.delete(key);
    return new Response(null, { status: 204 });
  }
  if (found === undefined) return failure(404, "NoSuchKey");
  const headers = { etag: found.etag, "content-type": found.type };
  return new Response(new Uint8Array(found.octets), { headers });
}

/**
 * What is wrong with the signature of a request, in the header or in the query; undefined when it
 * is right.
 */
function signatureProblem(request: Request, url: URL, body: Buffer): string | undefined {
  const presigned = url.searchParams.get("X-Amz-Signature");
  const field = (name: string) =>
    presigned === null
      ? new RegExp(`${name}=([^, ]+)`).exec(request.headers.get("authorization") ?? "")?.[1]
      : (url.searchParams.get(`X-Amz-${name}`) ?? undefined);
  const [id, day, region, service, end] = (field("Credential") ?? "").split("/");
  if (id !== s3Credentials.accessKeyId || region !== s3Credentials.region) return "unknown key";
  if (service !== "s3" || end !== "aws4_request") return "wrong scope";
  const at =
    presigned === null ? request.headers.get("x-amz-date") : url.searchParams.get("X-Amz-Date");
  const payload =
    presigned === null ? request.headers.get("x-amz-content-sha256") : "UNSIGNED-PAYLOAD";
  if (payload !== "UNSIGNED-PAYLOAD" && payload !== hex(body)) return "wrong digest of the body";
  const names = (field("SignedHeaders") ?? "").split(";");
  const headers = names.map((name) => `${name}:${(request.headers.get(name) ?? "").trim()}\n`);
  const canonical = [
    request.method,
    url.pathname,
    canonicalQuery(url),
    headers.join(""),
    names.join(";"),
    payload,
  ].join("\n");
  const scope = [day, region, service, end].join("/");
  const text = ["AWS4-HMAC-SHA256", at, scope, hex(canonical)].join("\n");
  const steps = [day, region, service, end].reduce<string | Buffer>(
    (key, part) =>
      createHmac("sha256", key)
        .update(part ?? "")
        .digest(),
    `AWS4${s3Credentials.secretAccessKey}`,
  );
  const right = createHmac("sha256", steps).update(text).digest("hex");
  return right === (presigned ?? field("Signature")) ? undefined : "wrong signature";
}

const canonicalQuery = (url: URL): string =>
  [...url.searchParams]
    .filter(([name]) => name !== "X-Amz-Signature")
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .sort()
    .join("&");

const encoded = (text: string) =>
  encodeURIComponent(text).replace(
    /[!'()*]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
  );

const hex = (octets: string | Buffer) => createHash("sha256").update(octets).digest("hex");
const tagOf = (octets: Buffer) => `"${createHash("md5").update(octets).digest("hex")}"`;

const xml = (text: string, status = 200) =>
  new Response(`<?xml version="1.0" encoding="UTF-8"?>${text}`, {
    status,
    headers: { "content-type": "application/xml" },
  });

const failure = (status: number, code: string, message = "") =>
  xml(`<Error><Code>${code}</Code><Message>${message}</Message></Error>`, status);

/** ListObjectsV2, a page at a time. */
function listing(keys: Iterable<string>, asked: URLSearchParams): string {
  const [prefix, after] = [asked.get("prefix") ?? "", asked.get("start-after") ?? ""];
  const all = [...keys].filter((key) => key.startsWith(prefix) && key > after).sort();
  const page = all.slice(0, Number(asked.get("max-keys") ?? "1000"));
  const contents = page.map((key) => `<Contents><Key>${key}</Key></Contents>`).join("");
  return `<ListBucketResult><IsTruncated>${page.length < all.length}</IsTruncated>${contents}</ListBucketResult>`;
}
