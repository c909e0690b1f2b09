/** What preflight says of ACME: directories as they are fetched, resolvers, keys of bindings. */

import { describe, expect, test } from "bun:test";

import {
  type DnsLook,
  judgeAcmeDirectory,
  judgeResolvers,
  type NameServerLook,
} from "#core/preflight/network.ts";
import { judgeMacKeys } from "#core/preflight/secrets.ts";

const base = "https://pki.example.com/acme/";
const directory = {
  newNonce: `${base}new-nonce`,
  newAccount: `${base}new-account`,
  newOrder: `${base}new-order`,
  revokeCert: `${base}revoke-cert`,
  keyChange: `${base}key-change`,
  renewalInfo: `${base}renewal-info`,
  meta: { externalAccountRequired: false },
};
const judged = (document: unknown) =>
  judgeAcmeDirectory(new TextEncoder().encode(JSON.stringify(document)), base);

describe("a directory as it is fetched", () => {
  test("is this instance's when every address lies below its own", () => {
    expect(judged(directory)).toBeUndefined();
    expect(judged({ ...directory, newAuthz: `${base}new-authz` })).toBeUndefined();
  });

  test("is another's when one address lies elsewhere, as behind a proxy that writes them anew", () => {
    const elsewhere = { ...directory, newOrder: "http://10.0.0.5:8443/acme/new-order" };
    expect(judged(elsewhere)).toBe("its newOrder lies elsewhere");
    const prefix = { ...directory, newNonce: "https://pki.example.com/acme2/new-nonce" };
    expect(judged(prefix)).toBe("its newNonce lies elsewhere");
  });

  test("is none when an address is missing, or it is no JSON object", () => {
    const { keyChange: _, ...lacking } = directory;
    expect(judged(lacking)).toBe("it has no keyChange");
    expect(judged({ ...directory, revokeCert: 5 })).toBe("it has no revokeCert");
    for (const text of ["<html>", "[]", "", '{"newNonce":"a","newNonce":"b"}']) {
      const octets = new TextEncoder().encode(text);
      expect(judgeAcmeDirectory(octets, base)).toBe("it is no ACME directory");
    }
  });
});

describe("resolvers of several purposes", () => {
  const well: DnsLook = { answered: true, elapsedMs: 5, authenticated: true };
  const gone: DnsLook = { answered: false, failure: "timeout" };
  const look = (server: string, answer: DnsLook): NameServerLook => ({
    server,
    udp: answer,
    tcp: answer,
  });

  test("pass together, and are all told", () => {
    const found = judgeResolvers([[look("a:53", well)], [look("b:53", well)]]);
    expect(found.status).toBe("pass");
    expect(found.detail).toContain("a:53");
    expect(found.detail).toContain("b:53");
  });

  test("fail by the group nobody answers in, whatever the others do", () => {
    const found = judgeResolvers([[look("a:53", well)], [look("b:53", gone)]]);
    expect(found).toMatchObject({ status: "fail" });
    expect(found.detail).toContain("b:53 does not answer over UDP (timeout).");
  });

  test("warn where one of a group is silent and another answers", () => {
    const found = judgeResolvers([[look("a:53", well), look("b:53", gone)]]);
    expect(found.status).toBe("warn");
  });
});

test("a key of bindings under 32 octets warns, and its value is not told", () => {
  const named = (octets: number) => ({
    key: "acme.eab_hmac_keys.k",
    value: Buffer.alloc(octets, 0xa5).toString("base64url"),
  });
  const short = named(31);
  expect(judgeMacKeys([short])).toEqual([
    { status: "warn", detail: "acme.eab_hmac_keys.k has 31 octets; 32 are due." },
  ]);
  expect(JSON.stringify(judgeMacKeys([short]))).not.toContain(short.value);
  expect(judgeMacKeys([named(32)])).toEqual([]);
});
