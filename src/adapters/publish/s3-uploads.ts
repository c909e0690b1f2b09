/** Aborts multipart uploads that a killed process left in a bucket. */

import { signedHeaders } from "#core/aws/signature.ts";
import { sha256Hex } from "#core/crypto.ts";
import { instant } from "#core/time.ts";
import { TargetFault } from "#domain/publishing/target.ts";
import type { S3Credentials, S3Place } from "./s3.ts";

/** Uploads to abort. */
export interface UploadQuery {
  /** Start of their keys. */
  readonly prefix: string;
  /** Accepts a key. */
  readonly matches: (key: string) => boolean;
  /** Milliseconds since 1970; younger uploads may still be in progress. */
  readonly startedBefore: number;
  readonly timeoutMs: number;
}

/**
 * Aborts the uploads that match; only the first page of the list is read. The client of the runtime
 * has no such request, so it is signed here.
 *
 * @returns keys of the aborted uploads
 * @throws {TargetFault} if the store refuses or does not respond
 */
export async function abortUploads(
  bucket: S3Place,
  credentials: S3Credentials,
  { prefix, matches, startedBefore, timeoutMs }: UploadQuery,
): Promise<readonly string[]> {
  const send = async (method: "GET" | "DELETE", key: string, query: string) => {
    const url = `${formatAddress(bucket)}/${key}?${query}`;
    const headers = { "x-amz-content-sha256": sha256Hex(new Uint8Array()) };
    const scope = { service: "s3", region: bucket.region, at: instant(Date.now()) };
    const signed = signedHeaders({ method, url, headers, body: "" }, credentials, scope);
    const signal = AbortSignal.timeout(timeoutMs);
    const response = await fetch(url, { method, headers: signed, redirect: "error", signal });
    const text = (await response.text()).slice(0, listBytesMax);
    if (!response.ok) throw new TargetFault(`The store refused with ${response.status}.`);
    return text;
  };
  const list = await send("GET", "", `prefix=${encodeURIComponent(prefix)}&uploads=`);
  const left = parseUploads(list).filter(
    ({ key, startedAt }) => isPlainKey(key) && matches(key) && startedAt < startedBefore,
  );
  for (const { key, id } of left) {
    await send("DELETE", key, `uploadId=${encodeURIComponent(id)}`);
  }
  return left.map(({ key }) => key);
}

function formatAddress({ endpoint, region, bucket, force_path_style }: S3Place): string {
  const { origin, protocol, host } = new URL(endpoint ?? `https://s3.${region}.amazonaws.com`);
  return force_path_style ? `${origin}/${bucket}` : `${protocol}//${bucket}.${host}`;
}

/** True for a key whose signed form has no escapes. */
const isPlainKey = (key: string): boolean => /^[A-Za-z0-9._~/-]+$/.test(key);

/** Parses the response of ListMultipartUploads. */
function parseUploads(xml: string) {
  return [...xml.matchAll(/<Upload>(.*?)<\/Upload>/gs)].map(([, upload = ""]) => ({
    key: parseElement(upload, "Key"),
    id: parseElement(upload, "UploadId"),
    startedAt: Date.parse(parseElement(upload, "Initiated")),
  }));
}

const parseElement = (xml: string, name: string): string =>
  (new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1] ?? "")
    .replaceAll("&quot;", '"')
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");

/** A page of 1,000 uploads has less. */
const listBytesMax = 4_194_304;
