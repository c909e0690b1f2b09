/** URIs by the grammar of RFC 3986, and what differs from reader to reader is refused. */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { dnsHost, hasDotSegments, parseUri } from "#core/x509/uris.ts";

const hostOf = (text: string) => parseUri(text)?.authority?.host;

// biome-ignore format: the table is read by column.
const wrong: readonly [text: string, why: string][] = [
  ["https://evil.test\\@ex.test/",    "a backslash ends the host for browsers only"],
  ["http://good.test\\@victim.test/", "a backslash within the authority"],
  ["spiffe://ex%2etest/a",            "an escape in the host"],
  ["https://ex.test./",               "a final dot"],
  ["https://.ex.test/",               "an empty label"],
  ["https://ex..test/",               "an empty label within"],
  ["https:good.test",                 "a host without slashes, to browsers"],
  ["https:/good.test/",               "one slash"],
  ["https:///good.test/",             "an empty authority"],
  ["https://:443/",                   "a port alone"],
  ["https://user@/",                  "a user alone"],
  ["https://a@b@good.test/",          "two signs of a user"],
  ["https://good.test:port/",         "a port that is no number"],
  ["https://[::1/",                   "an open bracket"],
  ["https://[good.test]/",            "a name in brackets"],
  ["https://good.test[1]/",           "brackets after a name"],
  ["https://[fe80::1%25eth0]/",       "a zone"],
  ["https://gööd.test/",              "not ASCII"],
  ["https://good.test/ a",            "a blank"],
  ["https://good.test/%zz",           "half an escape"],
  ["https://good.test/%4",            "a cut escape"],
  ["https://good.test/#a#b",          "two fragments"],
  ["https://good.test/\u0000",        "NUL"],
  ["//good.test/",                    "no scheme"],
  ["1http://good.test/",              "a scheme that begins with a digit"],
  ["/a",                              "a path"],
  ["urn:",                            "nothing after the scheme"],
  ["",                                "nothing"],
];

describe("a URI is refused", () => {
  for (const [text, why] of wrong) {
    test(`with ${why}: ${JSON.stringify(text)}`, () => expect(parseUri(text)).toBeUndefined());
  }
});

test("a URI is read by its parts", () => {
  expect(parseUri("HTTPS://User:x@Good.Test:8443/A?b#c")).toEqual({
    scheme: "https",
    authority: { userinfo: "User:x", host: "good.test", port: "8443" },
    rest: "/A?b#c",
  });
  expect(parseUri("urn:uuid:1")).toMatchObject({ scheme: "urn", authority: undefined });
  expect(hostOf("https://good.example@evil.com/")).toBe("evil.com");
  expect(hostOf("https://evil.com#@good.example/")).toBe("evil.com");
  expect(hostOf("https://evil.com?@good.example/")).toBe("evil.com");
  expect(hostOf("https://[2001:DB8::1]/")).toBe("[2001:db8::1]");
  expect(parseUri("https://good.test:/")?.authority?.port).toBeUndefined();
});

test("a host is a DNS name only where no software reads an address", () => {
  const named = (text: string) => {
    const authority = parseUri(text)?.authority;
    return authority && dnsHost(authority);
  };
  expect(named("spiffe://td/a")).toBe("td");
  expect(named("https://_a.good.test/")).toBe("_a.good.test");
  for (const host of [
    "192.0.2.1",
    "127.1",
    "2130706433",
    "0x7f000001",
    "[::1]",
    "a,b",
    "-a.test",
  ]) {
    expect({ host, named: named(`https://${host}/`) }).toEqual({ host, named: undefined });
  }
});

test("a path that leads elsewhere is seen, escaped too", () => {
  const leads = (text: string) => hasDotSegments(parseUri(text) ?? { ...none });
  for (const path of ["/a/../b", "/a/%2e%2E/b", "/.", "/a/.%2e"]) {
    expect(leads(`https://good.test${path}`)).toBe(true);
  }
  for (const path of ["/a..b/...", "/?a=/../b", "/#/../"]) {
    expect(leads(`https://good.test${path}`)).toBe(false);
  }
});

const none = { scheme: "", authority: undefined, rest: "" };

test("every host it reads is the one browsers read, and what follows the authority never is part of it", () => {
  const piece = fc.constantFrom(
    ..."abz09.-_:@/\\?#[]%!~ ",
    "//",
    "%2e",
    "good.test",
    "evil.test",
    "127.0.0.1",
    "::1",
  );
  const text = fc.array(piece, { maxLength: 12 }).map((pieces) => `https://${pieces.join("")}`);
  fc.assert(
    fc.property(text, (given) => {
      const authority = parseUri(given)?.authority;
      const host = authority && dnsHost(authority);
      if (host === undefined) return;
      expect(URL.parse(given)?.hostname ?? host).toBe(host);
    }),
    { numRuns: 3000 },
  );
});
