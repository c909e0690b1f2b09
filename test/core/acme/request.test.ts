/** Whether a request asks for what its order is about (FIN-2). */

import { describe, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";

import type { Identifier } from "#core/acme/identifiers.ts";
import { judgeCsr } from "#core/acme/request.ts";
import { parseCsr } from "#core/x509/csr.ts";

const dns = (value: string): Identifier => ({ type: "dns", value });
const ip = (value: string): Identifier => ({ type: "ip", value });

/** A request of openssl. */
function request(subject: string, sans = "") {
  const added = sans === "" ? [] : ["-addext", `subjectAltName=${sans}`];
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-utf8"];
  const args = ["req", ...key, "-keyout", "/dev/null", "-subj", subject, "-outform", "DER"];

  return parseCsr(
    execFileSync("openssl", [...args, ...added], { stdio: ["ignore", "pipe", "ignore"] }),
  );
}

describe("FIN-2: a request can be used whose", () => {
  // biome-ignore format: the table is read by column.
  const good: readonly (readonly [string, string, string, readonly Identifier[]])[] = [
    ["names are those of the order",             "/",               "DNS:b.example,DNS:a.example", [dns("a.example"), dns("b.example")]],
    ["names differ in case",                     "/",               "DNS:A.Example",               [dns("a.example")]],
    ["names have one twice",                     "/",               "DNS:a.example,DNS:a.example", [dns("a.example")]],
    ["names are a wildcard and its domain",      "/",               "DNS:*.a.example,DNS:a.example", [dns("a.example"), dns("*.a.example")]],
    ["only name is the common name",             "/CN=A.example",   "",                            [dns("a.example")]],
    ["common name adds what the names lack",     "/CN=b.example",   "DNS:a.example",               [dns("a.example"), dns("b.example")]],
    ["common name repeats a name",               "/CN=a.example",   "DNS:a.example",               [dns("a.example")]],
    ["common name is of one label",              "/CN=intranet",    "",                            [dns("intranet")]],
    ["names are addresses",                      "/",               "IP:192.0.2.1,IP:2001:db8::1", [ip("2001:db8::1"), ip("192.0.2.1")]],
    ["common name repeats an address",           "/CN=192.0.2.1",   "IP:192.0.2.1",                [ip("192.0.2.1")]],
    ["subject says more than names",             "/O=Example/CN=a.example", "DNS:a.example",       [dns("a.example")]],
  ];
  test.each(good)("%s", (_what, subject, sans, identifiers) => {
    expect(judgeCsr(request(subject, sans), identifiers)).toBeUndefined();
  });
});

describe("FIN-2: a request cannot be used that", () => {
  const other = "neither a DNS name nor an IP address";
  const [more, fewer] = ["that the order does not have", "it lacks a name"];
  const commonName = "common name";
  // biome-ignore format: the table is read by column.
  const wrong: readonly (readonly [string, string, string, string, readonly Identifier[]])[] = [
    ["has another name",                     more,       "/",              "DNS:b.example",               [dns("a.example")]],
    ["has a name more",                      more,       "/",              "DNS:a.example,DNS:b.example", [dns("a.example")]],
    ["has a name fewer",                     fewer,      "/",              "DNS:a.example",               [dns("a.example"), dns("b.example")]],
    ["has a domain for its wildcard",        more,       "/",              "DNS:a.example",               [dns("*.a.example")]],
    ["has a name below",                     more,       "/",              "DNS:www.a.example",           [dns("a.example")]],
    ["has no names at all",                  fewer,      "/O=Example",     "",                            [dns("a.example")]],
    ["has another common name",              commonName, "/CN=b.example",  "DNS:a.example",               [dns("a.example")]],
    ["has a common name that is no host",    commonName, "/CN=Example Inc", "DNS:a.example",              [dns("a.example")]],
    ["has a second common name",             commonName, "/CN=a.example/CN=b.example", "DNS:a.example",   [dns("a.example")]],
    ["has an address as its only name, in the subject", commonName, "/CN=192.0.2.1", "",                [ip("192.0.2.1")]],
    ["has an address more",                  more,       "/",              "DNS:a.example,IP:192.0.2.1",  [dns("a.example")]],
    ["has an address fewer",                 fewer,      "/",              "DNS:a.example",               [dns("a.example"), ip("192.0.2.1")]],
    ["has an address as a name",             more,       "/",              "DNS:192.0.2.1",               [ip("192.0.2.1")]],
    ["has a mail address",                   other,      "/",              "DNS:a.example,email:a@a.example", [dns("a.example")]],
    ["has a URI",                            other,      "/",              "DNS:a.example,URI:https://a.example", [dns("a.example")]],
    ["has a name of another kind",           other,      "/",              "DNS:a.example,otherName:1.2.3;UTF8:x", [dns("a.example")]],
    ["has a registered id",                  other,      "/",              "DNS:a.example,RID:1.2.3",     [dns("a.example")]],
  ];
  test.each(wrong)("%s", (_what, words, subject, sans, identifiers) => {
    expect(judgeCsr(request(subject, sans), identifiers)).toContain(words);
  });

  test("hides another host in its common name", () => {
    const csr = request("/", "DNS:a.example");
    for (const value of ["a.example ", " a.example", "a.example.", "a.example\0.b.test", ""]) {
      const subject = { ...csr.subject, attributes: [{ type: "CN", value }] };
      expect(judgeCsr({ ...csr, subject }, [dns("a.example")])).toContain(commonName);
    }
  });
});
