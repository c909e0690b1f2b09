/**
 * Paths, client addresses and credentials, as they are read from a request before anything is
 * believed.
 */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { readAuthorization } from "#http/credentials.ts";
import { ClientAddresses, splitUrl } from "#http/request.ts";
import { reachable, Routes } from "#http/router.ts";
import { type OperationName, operationOf, operations } from "#operations";

describe("splitUrl", () => {
  test("agrees with the URL parser on every path and query", () => {
    fc.assert(
      fc.property(fc.webUrl({ withQueryParameters: true, withFragments: true }), (text) => {
        const url = new URL(text);
        expect(splitUrl(url.href)).toEqual({ path: url.pathname, query: url.search.slice(1) });
      }),
    );
  });

  test("keeps what URL parsers like to tidy, and reads a URL without origin", () => {
    expect(splitUrl("http://h/a//b%2F+?x=1?y")).toEqual({ path: "/a//b%2F+", query: "x=1?y" });
    expect(splitUrl("/a?b#c")).toEqual({ path: "/a", query: "b" });
    expect(splitUrl("http://h/a#b?c")).toEqual({ path: "/a", query: "" });
    expect(splitUrl("http://h")).toEqual({ path: "/", query: "" });
  });
});

describe("ClientAddresses", () => {
  const addresses = new ClientAddresses(["10.0.0.0/8", "2001:db8::/32", "192.0.2.1"]);
  const from = (peer: string, forwarded?: string) =>
    addresses.of(
      peer,
      new Headers(forwarded === undefined ? {} : { "x-forwarded-for": forwarded }),
    );

  test.each([
    ["an untrusted peer's header changes nothing", "203.0.113.9", "1.1.1.1", "203.0.113.9"],
    ["the rightmost untrusted entry counts", "10.0.0.1", "1.1.1.1, 2.2.2.2", "2.2.2.2"],
    ["trusted entries are passed over", "10.0.0.1", "1.1.1.1,10.9.9.9, 192.0.2.1", "1.1.1.1"],
    ["an IPv4 peer mapped into IPv6 is itself", "::ffff:10.0.0.1", "1.1.1.1", "1.1.1.1"],
    ["IPv6 proxies and clients count", "2001:DB8::1", "2001:DB9::5", "2001:db9::5"],
    ["ports and brackets are dropped", "10.0.0.1", "[2001:db9::5]:99", "2001:db9::5"],
    ["a port after IPv4 is dropped", "10.0.0.1", "1.1.1.1:80", "1.1.1.1"],
    ["an entry that is no address ends the walk", "10.0.0.1", "1.1.1.1, unknown", "10.0.0.1"],
    ["only trusted entries leave the peer", "10.0.0.1", "10.0.0.2, 10.0.0.3", "10.0.0.1"],
    ["an empty header leaves the peer", "10.0.0.1", "", "10.0.0.1"],
  ])("%s", (_, peer, forwarded, client) => {
    expect(from(peer, forwarded)).toBe(client);
  });

  test("more hops than any honest path has leave the peer", () => {
    expect(from("10.0.0.1", `1.1.1.1${", 10.0.0.2".repeat(40)}`)).toBe("10.0.0.1");
  });
});

describe("readAuthorization", () => {
  const basic = (pair: string) => `Basic ${Buffer.from(pair, "utf8").toString("base64")}`;

  test("RFC 7617: the name ends at the first colon, both are UTF-8", () => {
    expect(readAuthorization(basic("röt:a:b"))).toEqual({
      kind: "basic",
      name: "röt",
      password: "a:b",
    });
    expect(readAuthorization(`  bAsIc   ${btoa("n:")}  `)).toMatchObject({ password: "" });
  });

  test("a Basic value that cannot be read is malformed, never none", () => {
    for (const value of ["Basic", "Basic !!", "Basic bm8=", "Basic /w==:", "Basic bm86eA== x"]) {
      expect(readAuthorization(value)).toEqual({ kind: "malformed", scheme: "basic" });
    }
  });

  test("tokens come as Token in any case or as Bearer with our prefix, malformed ones too", () => {
    const secret = "pki_pat_abc";
    for (const value of [`Token ${secret}`, `tOKEN ${secret}`, `Bearer ${secret}`]) {
      expect(readAuthorization(value)).toEqual({ kind: "token", secret });
    }
    expect(readAuthorization("Token")).toEqual({ kind: "token", secret: "" });
    expect(readAuthorization("Bearer pki_pat_ä b")).toMatchObject({ kind: "token" });
  });

  test("any other Bearer is an identity token, another scheme is no credential", () => {
    expect(readAuthorization("Bearer a.b.c")).toEqual({ kind: "bearer", token: "a.b.c" });
    expect(readAuthorization("Bearer")).toEqual({ kind: "malformed", scheme: "bearer" });
    for (const value of ["Negotiate abc", "", "Digest x=1"]) {
      expect(readAuthorization(value)).toBeUndefined();
    }
  });

  test("no header makes it throw", () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.constantFrom("Basic ", "Token ", "Bearer ", ""),
        (text, scheme) => {
          const kinds = ["basic", "token", "bearer", "malformed", undefined];
          expect(kinds).toContain(readAuthorization(scheme + text)?.kind);
        },
      ),
    );
  });
});

test("the hot path finds exactly what the router finds", () => {
  const names = Object.keys(operations) as OperationName[]; // The table's own keys.
  const rows = reachable(
    "main",
    names.map((name) => [name, operationOf(name)] as const),
  );
  const routes = new Routes(rows);
  const cold = new Routes(rows.map(([name, { hot: _, ...row }]) => [name, row]));
  const segment = fc.oneof(
    fc.constantFrom("api", "ca", "ocsp", "crl", "", "a%2F", "%41", "crl:publish", "MEQ"),
    fc.string({ maxLength: 3 }).map((text) => text.replace(/[?#\n]/g, "")),
  );
  const paths = fc.tuple(
    fc.constantFrom("/api/ca/", "/api/ca/1/", "/api/ca/1/ocsp/", "/"),
    fc.array(segment, { maxLength: 4 }).map((segments) => segments.join("/")),
  );
  fc.assert(
    fc.property(fc.constantFrom("GET", "HEAD", "POST", "PUT"), paths, (method, [head, tail]) => {
      expect(routes.find(method, head + tail)).toEqual(cold.find(method, head + tail));
    }),
    { numRuns: 2000 },
  );
});
