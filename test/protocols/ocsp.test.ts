/** OCSP over HTTP: both forms of the request, and what caches are told. */

import { beforeEach, expect, test } from "bun:test";

import fc from "fast-check";

import { sha256Hex } from "#core/crypto.ts";
import { Problem, refuse } from "#core/problems.ts";
import { encodeOcspRequest } from "#core/x509/ocsp.ts";
import { parseOcspResponse } from "#core/x509/ocsp-responses.ts";
import { issuerOf } from "#domain/revocation/issuers.ts";
import { ocspHandlers, requestOctets } from "#protocols/ocsp.ts";
import { rootOrigin, type SmallCa, smallCa } from "#test/support/worlds/small-ca.ts";

let small: SmallCa;
const words: string[] = [];
const onAnswer = (word: string) => void words.push(word);
let handlers: ReturnType<typeof ocspHandlers>;
let der: Uint8Array;
let serial: Awaited<ReturnType<SmallCa["issue"]>>["serial"];

beforeEach(async () => {
  small = await smallCa();
  const { ocsp, clock } = small;
  handlers = ocspHandlers({ ocsp, clock, config: cachedFor(0), onAnswer });
  ({ serial } = await small.issue());
  der = questionOf();
});

function questionOf(nonce?: Uint8Array): Uint8Array {
  const issuerName = issuerOf(small.ca).subject.der;
  return encodeOcspRequest({ issuerName, issuerSpki: small.ca.spki, serial, hash: "sha1", nonce });
}

const ask = async (init: RequestInit, request: string, id: string = small.ca.id) => {
  const url = `http://pki.example/api/ca/${id}/ocsp/${request}`;
  const call = { request: new Request(url, init), path: { id, request } };
  const handler = init.method === "POST" ? handlers.post : handlers.get;
  return (await handler({ ...call, query: "", ip: "192.0.2.1", requestId: "r" })).response;
};
const get = (request: string, headers: Record<string, string> = {}) => ask({ headers }, request);
const post = (body: Uint8Array) => ask({ method: "POST", body: new Uint8Array(body) }, "");
const base64 = () => Buffer.from(der).toString("base64");
const statusIn = async (response: Response) => {
  const parsed = parseOcspResponse(await response.bytes());
  return parsed.basic?.answers[0]?.status.status ?? parsed.status;
};

test("an answer to GET may be kept until nextUpdate, at most a day", async () => {
  const response = await get(base64());
  const body = await response.clone().bytes();
  expect(response.status).toBe(200);
  expect(Object.fromEntries(response.headers)).toEqual({
    "content-type": "application/ocsp-response",
    "content-length": String(body.length),
    "cache-control": "public, max-age=86400, no-transform",
    etag: `"${sha256Hex(body)}"`,
    expires: "Tue, 02 Jun 2026 12:00:00 GMT",
  });
  small.clock.advance(1800);
  expect((await get(base64())).headers.get("cache-control")).toContain("max-age=84600,");
});

test("an answer given to many carries the id of each request, and to nobody's none", async () => {
  const url = `http://pki.example/api/ca/${small.ca.id}/ocsp/${base64()}`;
  const call = { path: { id: small.ca.id, request: base64() }, query: "", ip: "192.0.2.1" };
  const asking = (requestId: string) =>
    handlers.get({ ...call, request: new Request(url), requestId });
  await asking("zero");
  const [one, two] = [await asking("one"), await asking("two")];
  const given = [one.responseTo("one"), two.responseTo("two"), two.response];
  expect(given.map(({ headers }) => headers.get("x-request-id"))).toEqual(["one", "two", null]);
  const bodies = await Promise.all(given.map((response) => response.bytes()));
  for (const body of bodies) expect(body).toEqual(bodies[0] ?? new Uint8Array(0));
});

test("the setting shortens what shared caches may keep", async () => {
  const { ocsp, clock } = small;
  handlers = ocspHandlers({ ocsp, clock, config: cachedFor(300), onAnswer });
  expect((await get(base64())).headers.get("cache-control")).toContain("max-age=300,");
});

test("every spelling of the request is read", async () => {
  const plain = base64();
  const urlSafe = Buffer.from(der).toString("base64url");
  const spellings = [plain, plain.replace(/=+$/, ""), urlSafe, encodeURIComponent(plain)];
  for (const spelling of spellings) expect(await statusIn(await get(spelling))).toBe("good");
});

test("base64 in any spelling comes back as the octets it stands for", () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 200 }), (octets) => {
      const plain = Buffer.from(octets).toString("base64");
      const urlSafe = Buffer.from(octets).toString("base64url");
      for (const spelling of [plain, urlSafe, encodeURIComponent(plain)]) {
        expect([...requestOctets(spelling)]).toEqual([...octets]);
      }
    }),
  );
});

test("no path makes the reader throw", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 300 }), (rest) => {
      expect(requestOctets(rest)).toBeInstanceOf(Uint8Array);
    }),
  );
  for (const rest of ["", "%", "%zz", "a", "====", "a b", "A".repeat(100_000)]) {
    expect(requestOctets(rest)).toHaveLength(0);
  }
});

test("what cannot be read is malformedRequest with 200, not to be kept", async () => {
  const response = await get("not-a-request!");
  expect([response.status, response.headers.get("cache-control")]).toEqual([200, "no-store"]);
  expect(await statusIn(response)).toBe("malformedRequest");
});

test("an unknown CA id is an unauthorized response with 200", async () => {
  const response = await ask({}, base64(), "5f0c3b9e-0000-4000-8000-000000000000");
  expect([response.status, await statusIn(response)]).toEqual([200, "unauthorized"]);
});

test("If-None-Match answers 304, If-Modified-Since never does", async () => {
  const first = await get(base64());
  const etag = first.headers.get("etag") ?? "";
  const later = "Tue, 02 Jun 2026 12:00:00 GMT";
  expect((await get(base64(), { "if-none-match": `W/"x", ${etag}` })).status).toBe(304);
  expect((await get(base64(), { "if-none-match": "*" })).status).toBe(304);
  for (const since of [later, "Mon, 01 Jun 2026 12:00:00 GMT"]) {
    expect((await get(base64(), { "if-modified-since": since })).status).toBe(200);
  }
  const both = { "if-none-match": '"other"', "if-modified-since": later };
  expect((await get(base64(), both)).status).toBe(200);
});

test("a kept path says revoked the instant a revocation is acknowledged", async () => {
  expect(await statusIn(await get(base64()))).toBe("good");
  const request = { ca: small.ca, serial, origin: rootOrigin, mayManageCa: false };
  await small.revoker.revoke(request, "superseded");
  expect(await statusIn(await get(base64()))).toBe("revoked");
});

test("a nonce and an unknown serial are not to be kept", async () => {
  der = questionOf(new Uint8Array(16).fill(1));
  expect((await get(base64())).headers.get("cache-control")).toBe("no-store");
  serial = "99" as typeof serial; // A serial nobody issued, in canonical form.
  der = questionOf();
  expect((await get(base64())).headers.get("cache-control")).toBe("no-store");
});

test("POST answers whatever the content type, for the asker alone", async () => {
  const response = await post(der);
  expect(response.headers.get("cache-control")).toBe("no-store");
  expect(await statusIn(response)).toBe("good");
  expect(await statusIn(await post(new Uint8Array(65_536)))).toBe("malformedRequest");
});

test("a POST over 64 KiB is refused", async () => {
  const refused = await post(new Uint8Array(65_537)).catch((error) => error);
  expect(refused).toBeInstanceOf(Problem);
  expect(refused.code).toBe("body_too_large");
});

test("a shed request is 503 with Retry-After and tryLater inside", async () => {
  small.keys.checkTicket = ({ purpose }) => {
    if (purpose === "ocsp") throw refuse("overloaded", { retry_after: 2 });
  };
  const response = await get(base64());
  expect([response.status, response.headers.get("retry-after")]).toEqual([503, "2"]);
  expect(await statusIn(response)).toBe("tryLater");
});

test("every answer tells its status word, from memory too", async () => {
  words.length = 0;
  await get(base64());
  await get(base64());
  await post(new Uint8Array(1));
  expect(words).toEqual(["successful", "successful", "malformedRequest"]);
});

const cachedFor = (http_max_age_seconds: number) => ({
  ocsp: { http_max_age_seconds },
  server: { ocsp_cache_entries: 100 },
});
