/** The CRL over HTTP: DER and PEM, validators, and what is refused. */

import { beforeEach, expect, test } from "bun:test";

import { decodePem, encodePem } from "#core/asn1/pem.ts";
import { sha256Hex } from "#core/crypto.ts";
import { parseSerial } from "#core/ids.ts";
import { refuse } from "#core/problems.ts";
import { parseCrl } from "#core/x509/crl.ts";
import type { CrlHead } from "#domain/revocation/store.ts";
import type { PublicHandler } from "#http/public.ts";
import { crlHandlers } from "#protocols/crl.ts";
import { rootOrigin, type SmallCa, smallCa } from "#test/support/worlds/small-ca.ts";

let small: SmallCa;
let handlers: ReturnType<typeof crlHandlers>;
let read: PublicHandler;
async function open(options?: Parameters<typeof smallCa>[0], http_max_age_seconds = 0) {
  small = await smallCa(options);
  handlers = crlHandlers({ ...small, crl: { http_max_age_seconds } });
  read = handlers["crl.read"];
}
beforeEach(() => open());

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
    "last-modified": "Mon, 01 Jun 2026 12:00:00 GMT",
    expires: "Mon, 08 Jun 2026 12:00:00 GMT",
  });
});

test("the same octets are served until another CRL is published", async () => {
  const first = await (await get()).bytes();
  expect(await (await get()).bytes()).toEqual(first);
  await small.publisher.publishBase(small.ca, rootOrigin);
  expect(parseCrl(await (await get()).bytes()).number).toBe(2);
});

test("a list that two newer ones pushed out while it was being fetched is no refusal: the newest is served", async () => {
  for (const format of ["", "format=pem"]) {
    let overtaken = 0;
    const publisher = {
      current: (...of: Parameters<typeof small.publisher.current>) =>
        small.publisher.current(...of),
      async *pieces(crl: CrlHead, from?: number) {
        if (overtaken++ > 0) return yield* small.publisher.pieces(crl, from);
        for (let newer = 0; newer < 2; newer++) {
          await small.publisher.publishBase(small.ca, rootOrigin);
        }
        throw refuse("crl_unavailable", { retry_after: 5 });
      },
    };
    read = crlHandlers({ ...small, publisher, crl: { http_max_age_seconds: 0 } })["crl.read"];
    const { number } = await small.publisher.current(small.ca);
    const octets = await (await get(format)).bytes();
    const der = format === "" ? octets : decodePem(new TextDecoder().decode(octets), ["X509 CRL"]);
    expect(parseCrl(der ?? new Uint8Array()).number).toBe(number + 2);
  }
});

test("a list whose octets cannot be had, and that none replaces, is refused at once", async () => {
  let asked = 0;
  const publisher = {
    current: (...of: Parameters<typeof small.publisher.current>) => small.publisher.current(...of),
    // biome-ignore lint/correctness/useYield: it has nothing to give.
    async *pieces(): AsyncGenerator<Uint8Array> {
      asked++;
      throw refuse("crl_unavailable", { retry_after: 5 });
    },
  };
  read = crlHandlers({ ...small, publisher, crl: { http_max_age_seconds: 0 } })["crl.read"];
  expect(await codeOf(get())).toBe("crl_unavailable");
  expect(asked).toBe(1);
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
    304,
    etag,
    "",
  ]);
  const stale = { "if-none-match": '"x"', "if-modified-since": "Mon, 08 Jun 2026 12:00:00 GMT" };
  expect((await get("", stale)).status).toBe(200);
  const earlier = { "if-modified-since": "Mon, 01 Jun 2026 11:59:59 GMT" };
  expect((await get("", earlier)).status).toBe(200);
});

const at = (milliseconds: number) => new Date(milliseconds).toUTCString();
const since = async (milliseconds: number) =>
  (await get("", { "if-modified-since": at(milliseconds) })).status;

test("a copy fetched just before a revocation is never confirmed as current, by whatever time its owner goes", async () => {
  small.clock.advance(0.2);
  const copy = await get();
  const modified = Date.parse(copy.headers.get("last-modified") ?? "");
  const fetched = small.clock.at;
  // Signed and published in the same second as the copy was fetched.
  small.clock.advance(0.5);
  await small.publisher.publishBase(small.ca, rootOrigin);
  for (const later of [0, 0.4, 60, 80 * 3600]) {
    small.clock.advance(later);
    expect([await since(modified), await since(fetched)]).toEqual([200, 200]);
  }
});

test.each([
  ["a clock that was set back a little", -3.5, 1],
  ["a replica whose clock is behind", -2.5, 1],
  ["a clock that was an hour ahead", -3600, 1],
  ["one after the other by a clock that is behind", -4.5, 6],
])("a copy of the list before is not confirmed by its time: %s", async (_what, step, lists) => {
  await get();
  small.clock.advance(3);
  const modified = Date.parse((await get()).headers.get("last-modified") ?? "");
  small.clock.step(step);
  for (let list = 0; list < lists; list++) {
    await small.publisher.publishBase(small.ca, rootOrigin);
  }
  for (const later of [0, 4, 60, 3600, 80 * 3600]) {
    small.clock.advance(later);
    expect([later, await since(modified)]).toEqual([later, 200]);
  }
});

test("lists one after the other within a second are served all the same, though their times run ahead", async () => {
  const quick = await smallCa({ issuance: { backdate_seconds: 0 } });
  for (let list = 0; list < 12; list++) await quick.publisher.publishBase(quick.ca, rootOrigin);
  const served = await quick.publisher.published(quick.ca.id, "full", "base");
  expect(served?.number).toBe(12);
});

test("a copy of the list itself is confirmed by the time it came with, and by any later one that has been", async () => {
  await get();
  small.clock.advance(90);
  const { headers } = await get();
  expect(headers.get("last-modified")).toBe("Mon, 01 Jun 2026 12:00:01 GMT");
  const modified = Date.parse(headers.get("last-modified") ?? "");
  expect([await since(modified), await since(modified + 60_000)]).toEqual([304, 304]);
  // RFC 9110 §13.1.3: what has not been says nothing.
  expect(await since(small.clock.at + 60_000)).toBe(200);
  expect((await get("", { "if-modified-since": "yesterday" })).status).toBe(200);
});

test("a list of an older release, of which nobody knows when it was published, is not asked by time", async () => {
  await get();
  await small.store.tamper("update crl_heads set published_at = null");
  small.clock.advance(60);
  const response = await get("", { "if-modified-since": at(small.clock.at) });
  expect([response.status, response.headers.has("last-modified")]).toEqual([200, false]);
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
  small.keys.checkTicket = away;
  expect(await codeOf(get())).toBe("crl_unavailable");
  small.keys.checkTicket = () => {};
  small.clock.advance(5);
  await get();
  small.keys.checkTicket = away;
  expect((await get()).status).toBe(200);
  small.clock.advance(168 * 3600);
  expect(await codeOf(get())).toBe("crl_unavailable");
});

const asked = (operation: keyof typeof handlers, shard: string, init: RequestInit = {}) => {
  const request = new Request("http://pki.example/", init);
  const path = { id: small.ca.id, shard };
  return Promise.resolve(
    handlers[operation]({ request, path, query: "", ip: "192.0.2.1", requestId: "r" }),
  );
};

test("deltas and partitions have names of their own, and a delta its own lifetime", async () => {
  await open({ crl: { shards: 3, base_url: "http://crl.example" } });
  const names = await Promise.all(
    (["crl.read", "crl.delta", "crl.partition", "crl.partition_delta"] as const).map(
      async (operation) => {
        const { headers } = await asked(operation, "2");
        return [headers.get("content-disposition"), headers.get("cache-control")];
      },
    ),
  );
  const cached = (age: number) => `public, max-age=${age}, no-transform`;
  const [week, hour] = [cached(604_800), cached(3600)] as const;
  expect(names).toEqual([
    ['attachment; filename="crl.der"', week],
    ['attachment; filename="crl-delta.der"', hour],
    ['attachment; filename="crl-2.der"', week],
    ['attachment; filename="crl-2-delta.der"', hour],
  ]);
  for (const shard of ["3", "x", "-1"]) {
    expect(await codeOf(asked("crl.partition", shard))).toBe("bad_partition");
  }
});

test("crl.http_max_age_seconds limits what shared caches keep", async () => {
  await open({}, 120);
  const { headers } = await get();
  expect(headers.get("cache-control")).toBe("public, max-age=120, no-transform");
});

test("RFC 9110 §14: one range of octets is sent as such, an impossible one is 416, others are ignored", async () => {
  const whole = await (await get()).bytes();
  const etag = (await get()).headers.get("etag") ?? "";
  const ranged = async (range: string, more: Record<string, string> = {}) => {
    const response = await get("", { range, ...more });
    return [response.status, response.headers.get("content-range"), await response.bytes()];
  };
  const size = whole.length;
  const part = (first: number, last: number) => [
    206,
    `bytes ${first}-${last}/${size}`,
    whole.slice(first, last + 1),
  ];
  expect(await ranged("bytes=0-9")).toEqual(part(0, 9));
  expect(await ranged("bytes=10-")).toEqual(part(10, size - 1));
  expect(await ranged("bytes=-5")).toEqual(part(size - 5, size - 1));
  expect(await ranged(`bytes=7-${size * 2}`)).toEqual(part(7, size - 1));
  expect(await ranged("bytes=0-9", { "if-range": etag })).toEqual(part(0, 9));
  expect(await ranged(`bytes=${size}-`)).toEqual([416, `bytes */${size}`, new Uint8Array(0)]);
  for (const ignored of ["bytes=0-1,3-4", "octets=0-1", "bytes=5-2", "bytes=-"]) {
    expect(await ranged(ignored)).toEqual([200, null, whole]);
  }
  expect(await ranged("bytes=0-9", { "if-range": '"other"' })).toEqual([200, null, whole]);
});

test("HEAD tells the length and reads nothing", async () => {
  const { size } = await small.publisher.current(small.ca);
  const head = await asked("crl.read", "", { method: "HEAD" });
  expect([head.headers.get("content-length"), head.body]).toEqual([String(size), null]);
});

test("a list of several pieces is sent whole, in ranges across them, and as PEM", async () => {
  await small.store.atomically((tx) =>
    tx.revocations.putMany(
      small.ca.id,
      Array.from({ length: 40_000 }, (_, n) => ({
        caId: small.ca.id,
        serial: parseSerial(String(10n ** 30n + BigInt(n))),
        revokedAt: small.clock.at,
        reason: "keyCompromise" as const,
        known: false,
        expiresAt: undefined,
      })),
    ),
  );
  const whole = await (await get()).bytes();
  expect(whole.length).toBeGreaterThan(1_500_000);
  expect(parseCrl(whole).entries).toHaveLength(40_000);
  expect((await get()).headers.get("etag")).toBe(`"${sha256Hex(whole)}"`);
  const range = await get("", { range: "bytes=524280-1600000" });
  expect(Buffer.from(await range.bytes()).equals(whole.slice(524_280, 1_600_001))).toBe(true);
  const pem = await get("format=pem");
  const text = await pem.text();
  expect(pem.headers.get("content-length")).toBe(String(text.length));
  expect(pem.headers.get("etag")).toBe(`"${sha256Hex(Buffer.from(text))}"`);
  expect(text).toBe(encodePem("X509 CRL", whole));
}, 20_000);
