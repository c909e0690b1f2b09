/** The CRL over HTTP: DER and PEM, validators, and what is refused. */

import { beforeEach, expect, test } from "bun:test";

import { decodePem } from "#core/asn1/pem.ts";
import { sha256Hex } from "#core/crypto.ts";
import { refuse } from "#core/problems.ts";
import { parseCrl } from "#core/x509/crl.ts";
import type { PublicHandler } from "#http/public.ts";
import { crlHandlers } from "#protocols/crl.ts";
import { rootOrigin, type SmallCa, smallCa } from "#test/support/small-ca.ts";

let small: SmallCa;
let read: PublicHandler;
beforeEach(async () => {
  small = await smallCa();
  read = crlHandlers({ ...small, httpMaxAgeSeconds: 0 })["crl.read"];
});

const get = (query = "", headers: Record<string, string> = {}, id: string = small.ca.id) => {
  const request = new Request("http://pki.example/", { headers });
  const call = { request, path: { id }, query, ip: "192.0.2.1", requestId: "r" };
  return Promise.resolve(read(call));
};
const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "accepted",
    (error) => error.code,
  );

test("a CRL is built at first use and carries its validators", async () => {
  const response = await get();
  const body = await response.clone().bytes();
  expect(parseCrl(body).number).toBe(1);
  expect(Object.fromEntries(response.headers)).toEqual({
    "accept-ranges": "bytes",
    "content-type": "application/pkix-crl",
    "content-disposition": 'attachment; filename="crl.der"',
    "content-length": String(body.length),
    "cache-control": "public, max-age=604800, no-transform",
    etag: `"${sha256Hex(body)}"`,
    "last-modified": "Mon, 01 Jun 2026 11:55:00 GMT",
    expires: "Mon, 08 Jun 2026 12:00:00 GMT",
  });
});

test("the same octets are served until another CRL is published", async () => {
  const first = await (await get()).bytes();
  expect(await (await get()).bytes()).toEqual(first);
  await small.publisher.publishBase(small.ca, rootOrigin);
  expect(parseCrl(await (await get()).bytes()).number).toBe(2);
});

test("PEM is the same CRL under an ETag of its own", async () => {
  const der = await get();
  const pem = await get("format=pem");
  expect(pem.headers.get("content-type")).toBe("application/x-pem-file");
  expect(pem.headers.get("etag")).not.toBe(der.headers.get("etag"));
  const inside = decodePem(await pem.text(), ["X509 CRL"]);
  expect(inside).toEqual(await der.bytes());
});

test("304 when the asker has it", async () => {
  const etag = (await get()).headers.get("etag") ?? "";
  const response = await get("", { "if-none-match": etag });
  expect([response.status, response.headers.get("etag"), await response.text()]).toEqual([
    ...[304, etag, ""],
  ]);
  const stale = { "if-none-match": '"x"', "if-modified-since": "Mon, 08 Jun 2026 12:00:00 GMT" };
  expect((await get("", stale)).status).toBe(200);
  const earlier = { "if-modified-since": "Mon, 01 Jun 2026 11:54:59 GMT" };
  expect((await get("", earlier)).status).toBe(200);
});

test("unknown parameters are ignored, an unknown format is refused", async () => {
  expect((await get("x=1")).status).toBe(200);
  expect(await codeOf(get("format=txt"))).toBe("bad_query");
});

test("an unknown CA id is 404 under /crl", async () => {
  expect(await codeOf(get("", {}, "nobody"))).toBe("not_found");
});

test("crl_unavailable when none is stored and none can be signed, and the stored one till then", async () => {
  const away = () => {
    throw refuse("key_unavailable", { retry_after: 2 });
  };
  small.keys.beforeSign = away;
  expect(await codeOf(get())).toBe("crl_unavailable");
  small.keys.beforeSign = () => {};
  small.clock.advance(5);
  await get();
  small.keys.beforeSign = away;
  expect((await get()).status).toBe(200);
  small.clock.advance(168 * 3600);
  expect(await codeOf(get())).toBe("crl_unavailable");
});
