/**
 * Octets that two readers could take apart in two ways, at each of the two ways the main listener
 * ends TLS.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { OutsideCa } from "#test/support/tls/client-certificates.ts";
import { Instance, newHome } from "#test/support/instances/instance.ts";
import { overheard, rawOverTls } from "#test/support/tls/raw-tls.ts";

const home = newHome();
const caFile = join(home, "client-cas.pem");
const bindings = [{ name: "robots", subject_cn: "robot", subject: "robot", roles: ["issuer"] }];
const doors: readonly (readonly [string, object])[] = [
  ["where the runtime ends TLS", {}],
  [
    "where clients are asked for certificates",
    { mtls: { enabled: true, ca_file: caFile, bindings } },
  ],
];

describe.each(doors)("%s,", (_door, auth) => {
  let instance: Instance;
  let secret: string;

  beforeAll(async () => {
    writeFileSync(caFile, OutsideCa.root("Outside").pem);
    instance = await Instance.start({ config: { auth } });
    secret = await instance.token(["admin"], { scope: "platform" });
  }, 30_000);

  afterAll(() => instance.dispose());

  const credential = () => `Authorization: Token ${secret}\r\n`;
  const me = () => head("GET /api/me");

  describe("a head that is no head", () => {
    // biome-ignore format: the table is read by column.
    const heads: readonly (readonly [string, () => string])[] = [
      ["lines that end in a bare LF",         () => "GET /api/me HTTP/1.1\nHost: x\n\n"],
      ["a credential behind a bare LF",       () => `${me()}X: a\n${credential()}\r\n`],
      ["a credential behind a bare CR",       () => `${me()}X: a\r${credential()}\r\n`],
      ["an end in a bare LF",                 () => `${me()}${credential()}\n${smuggled}`],
      ["a folded credential",                 () => `${me()}Authorization: Token\r\n ${secret}\r\n\r\n`],
      ["a line that begins with a blank",     () => `${me()} ${credential()}\r\n`],
      ["a NUL behind the credential",         () => `${me()}Authorization: Token ${secret}\0\r\n\r\n`],
      ["a NUL in another value",              () => `${me()}X: a\0b\r\n${credential()}\r\n`],
      ["a NUL in the path",                   () => head("GET /api/me\0", "\r\n")],
      ["a blank before the colon",            () => `${me()}Authorization : Token ${secret}\r\n\r\n`],
      ["a blank in a name",                   () => `${me()}Author ization: Token ${secret}\r\n\r\n`],
      ["a name that is empty",                () => `${me()}: x\r\n${credential()}\r\n`],
      ["no version",                          () => "GET /api/me\r\n\r\n"],
      ["another version",                     () => "GET /api/me HTTP/2.0\r\nHost: x\r\n\r\n"],
      ["a version that goes on",              () => "GET /api/me HTTP/1.1x\r\nHost: x\r\n\r\n"],
      ["tabs between the parts of its line",  () => "GET\t/api/me\tHTTP/1.1\r\nHost: x\r\n\r\n"],
      ["two blanks between the parts",        () => "GET  /api/me HTTP/1.1\r\nHost: x\r\n\r\n"],
      ["empty lines before it",               () => `\r\n\r\n${me()}${credential()}\r\n`],
      ["a star for a path",                   () => head("OPTIONS *", "\r\n")],
    ];

    test.each(heads)("is refused and ends the connection: %s", async (_what, octets) => {
      const { answer, closed } = await overheard(instance, octets() + smuggled, 5000);
      expect([statusesIn(answer).length, closed]).toEqual([1, true]);
      expect(answer).toMatch(/^HTTP\/1\.1 (400|505) /);
    });
  });

  describe("a body whose length is told wrongly", () => {
    const post = () =>
      head("POST /api/tokens", `${credential()}Content-Type: application/json\r\n`);
    const chunks = (text: string) => `${post()}Transfer-Encoding: chunked\r\n\r\n${text}`;
    // biome-ignore format: the table is read by column.
    const bodies: readonly (readonly [string, () => string])[] = [
      ["coded twice",                      () => `${post()}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
      ["coded twice in one line",          () => `${post()}Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n`],
      ["coded, with a vertical tab",       () => `${post()}Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n`],
      ["coded, in quotes",                 () => `${post()}Transfer-Encoding: "chunked"\r\n\r\n0\r\n\r\n`],
      ["coded as itself, with a length",   () => `${post()}Transfer-Encoding: identity\r\nContent-Length: 2\r\n\r\n{}`],
      ["coded as nothing, with a length",  () => `${post()}Transfer-Encoding:\r\nContent-Length: 2\r\n\r\n{}`],
      ["coded, in HTTP/1.0",               () => chunks("0\r\n\r\n").replace("HTTP/1.1", "HTTP/1.0")],
      ["a length in hex",                  () => `${post()}Content-Length: 0x2\r\n\r\n{}`],
      ["an empty length",                  () => `${post()}Content-Length:\r\n\r\n{}`],
      ["a negative length",                () => `${post()}Content-Length: -2\r\n\r\n{}`],
      ["two lengths in one",               () => `${post()}Content-Length: 2 2\r\n\r\n{}`],
      ["a length told twice alike",        () => `${post()}Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}`],
      ["a length told twice, elsewhere",   () => `${post()}Content-Length: 2\r\nX: y\r\ncontent-length: 2\r\n\r\n{}`],
      ["a length that overflows",          () => `${post()}Content-Length: 18446744073709551618\r\n\r\n{}`],
      ["a chunk in hex with a prefix",     () => chunks("0x2\r\n{}\r\n0\r\n\r\n")],
      ["a signed chunk",                   () => chunks("+2\r\n{}\r\n0\r\n\r\n")],
      ["a negative chunk",                 () => chunks("-2\r\n{}\r\n0\r\n\r\n")],
      ["a chunk with a blank",             () => chunks("2 \r\n{}\r\n0\r\n\r\n")],
      ["a chunk without a size",           () => chunks("\r\n{}\r\n0\r\n\r\n")],
      ["a chunk that overflows",           () => chunks("10000000000000002\r\n{}\r\n0\r\n\r\n")],
      ["a chunk longer than it says",      () => chunks("2\r\n{}XX0\r\n\r\n")],
      ["chunks that end in a bare LF",     () => chunks("2\n{}\n0\n\n")],
      ["an extension ending in a bare LF", () => chunks("2;a=b\n{}\r\n0\r\n\r\n")],
      ["an extension with a bare CR",      () => chunks("2;a\rb\r\n{}\r\n0\r\n\r\n")],
    ];

    test.each(bodies)(
      "is refused, mints nothing and hides no request: %s",
      async (_what, octets) => {
        const { answer, closed } = await overheard(instance, octets() + smuggled, 5000);
        expect([statusesIn(answer), closed]).toEqual([["400"], true]);
      },
    );

    test("zeros before a length and an extension of a chunk change nothing", async () => {
      for (const octets of [
        `${post()}Content-Length: 002\r\n\r\n[]`,
        chunks("2;a=b\r\n[]\r\n0\r\n\r\n"),
      ]) {
        expect(await rawOverTls(instance, octets)).toContain('"code":"invalid_field"');
      }
    });

    test("a body is none of ours to read as a request, whatever the answer to its head", async () => {
      const inside = (line: string) =>
        `${head(line)}Content-Length: ${smuggled.length}\r\n\r\n${smuggled}${head("GET /healthz", "Connection: close\r\n\r\n")}`;
      for (const [line, status] of [
        ["GET /healthz", "200"],
        ["POST /healthz", "405"],
        ["POST /nothing", "404"],
        ["POST /api/tokens", "401"],
        ["DELETE /api/tokens/x", "401"],
        ["OPTIONS /api/tokens", "405"],
      ] as const) {
        const { answer } = await overheard(instance, inside(line), 300);
        expect([line, statusesIn(answer)]).toEqual([line, [status, "200"]]);
      }
    });

    test("nothing of all that was heard as a request", async () => {
      await instance.fetch("/after-all-of-them");
      await instance.logged("http_request", (line) => line.includes("/after-all-of-them"));
      const log = instance.logs.join("\n");
      expect(log).not.toContain("/smuggled");
      expect(log).not.toContain("request_failed");
      const { total } = await instance.admin<{ total: number }>("GET", "/api/tokens");
      expect(total).toBe(1);
    });
  });

  describe("who is asking", () => {
    test("is worked out anew for every request of a connection", async () => {
      const both = [`${me()}${credential()}\r\n`, `${me()}\r\n`];
      for (const [order, expected] of [
        [both, ["200", "401"]],
        [both.toReversed(), ["401", "200"]],
      ] as const) {
        const { answer } = await overheard(instance, order.join(""), 300);
        expect(statusesIn(answer)).toEqual([...expected]);
      }
    });

    test("is not said by a trailer, a second host, another address in the line, or a method in a header", async () => {
      const trailer = `${me()}Transfer-Encoding: chunked\r\n\r\n0\r\n${credential()}\r\n`;
      expect(await rawOverTls(instance, trailer)).toStartWith("HTTP/1.1 401");
      const elsewhere = "X-Original-URL: /healthz\r\nX-Rewrite-URL: /healthz\r\n";
      expect(await rawOverTls(instance, `${me()}${elsewhere}\r\n`)).toStartWith("HTTP/1.1 401");
      for (const host of ["y", "localhost"]) {
        for (const path of ["/api/me", "/healthz", "/api/ca/x/crl", "/console/"]) {
          const twice = `${head(`GET ${path}`)}Host: ${host}\r\n\r\n${smuggled}`;
          const { answer, closed } = await overheard(instance, twice, 5000);
          expect([path, statusesIn(answer), closed]).toEqual([path, ["400"], true]);
          expect(answer).toContain('"code":"bad_header"');
        }
      }
      const absolute = head("GET https://root:root@other.test/api/me", "\r\n");
      expect(await rawOverTls(instance, absolute)).toStartWith("HTTP/1.1 401");
      const override = ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"]
        .map((name) => `${name}: DELETE\r\n`)
        .join("");
      const listed = await rawOverTls(
        instance,
        `${head("GET /api/tokens")}${credential()}${override}\r\n`,
      );
      expect(listed).toContain('"items":[{');
    });

    test("a host with a path in it leads nowhere else", async () => {
      for (const host of [
        "x/healthz?",
        "x#",
        "x/healthz#",
        "a@b",
        "[::1",
        "x:99999",
        "x\\healthz",
      ]) {
        const octets = `GET /api/me HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
        expect([host, (await rawOverTls(instance, octets)).slice(9, 12)]).toEqual([host, "401"]);
      }
    });
  });
});

const head = (line: string, more = "") => `${line} HTTP/1.1\r\nHost: localhost\r\n${more}`;
/** A request that would be logged under a path nobody else asks for. */
const smuggled = head("GET /smuggled", "\r\n");
const statusesIn = (answer: string): string[] =>
  [...answer.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status = ""]) => status);
