/** Signs requests to AWS: Signature Version 4, with the authorization in a header. */

import { hmacSha256, sha256Hex } from "#core/crypto.ts";
import type { Instant } from "#core/time.ts";

/** An access key; the session token belongs to temporary ones. */
export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

/** What is signed; header names are lower case and values have no line ends. */
export interface AwsRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** For whom and when. */
export interface AwsScope {
  readonly service: string;
  readonly region: string;
  readonly at: Instant;
}

/**
 * The headers of the request with those that carry date, session and signature; all of them are
 * signed, and the host.
 */
export function signedHeaders(
  request: AwsRequest,
  { accessKeyId, secretAccessKey, sessionToken }: AwsCredentials,
  { service, region, at }: AwsScope,
): Record<string, string> {
  const moment = new Date(at).toISOString().replace(/[-:]|\.\d{3}/g, "");
  const day = moment.slice(0, 8);
  const headers = {
    ...request.headers,
    "x-amz-date": moment,
    ...(sessionToken === undefined ? {} : { "x-amz-security-token": sessionToken }),
  };
  const { canonical, names } = canonicalRequest({ ...request, headers });
  const scope = `${day}/${region}/${service}/aws4_request`;
  const toSign = [algorithm, moment, scope, sha256Hex(octets(canonical))].join("\n");
  const key = [day, region, service, "aws4_request"].reduce<Uint8Array>(
    (secret, part) => hmacSha256(secret, octets(part)),
    octets(`AWS4${secretAccessKey}`),
  );
  const signature = hmacSha256(key, octets(toSign)).toHex();
  const authorization = `${algorithm} Credential=${accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`;
  return { ...headers, authorization };
}

/**
 * The one form of a request that both sides hash; the path is encoded once more, as every service
 * but S3 has it.
 */
function canonicalRequest({ method, url, headers, body }: AwsRequest) {
  const { host, pathname, search } = new URL(url);
  const all = Object.entries({ ...headers, host });
  const sorted = all
    .map(([name, value]) => [name, value.trim().replace(/ +/g, " ")] as const)
    .sort(([a], [b]) => order(a, b));
  const names = sorted.map(([name]) => name).join(";");
  const canonical = [
    method,
    pathname.split("/").map(encoded).join("/"),
    canonicalQuery(search),
    ...sorted.map(([name, value]) => `${name}:${value}`),
    "",
    names,
    sha256Hex(octets(body)),
  ].join("\n");
  return { canonical, names };
}

function canonicalQuery(search: string): string {
  const pairs = [...new URLSearchParams(search)].map(
    ([name, value]) => [encoded(name), encoded(value)] as const,
  );
  const sorted = pairs.sort(([a, x], [b, y]) => order(a, b) || order(x, y));
  return sorted.map(([name, value]) => `${name}=${value}`).join("&");
}

/** RFC 3986 §2.3: everything but the unreserved characters. */
const encoded = (text: string): string =>
  encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );

const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
const octets = (text: string): Uint8Array => new TextEncoder().encode(text);
const algorithm = "AWS4-HMAC-SHA256";
