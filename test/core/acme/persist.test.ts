/** Standing records (dns-persist-01 of draft-ietf-acme-dns-persist-02). */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import {
  judgePersistRecord,
  type PersistAccount,
  persistAccountUris,
  persistUntil,
} from "#core/acme/persist.ts";
import { instant } from "#core/time.ts";

/** Of the draft's §10.2. */
const account: PersistAccount = {
  name: "example.com",
  accountUrl: "https://ca.example/acct/123",
  accountHashPrefix: "https://ca.example/account-hash/",
  thumbprints: ["NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"],
};
const facts = {
  wildcard: false,
  issuerDomainNames: ["authority.example"],
  now: instant(1_767_225_600_000),
};
const base = "https://ca.example/account-hash/sha-256/";
const own = `${base}5SQm7n6tPh2-PlLbCKGnViTXX5z19SCN4cPGQHSk-kw`;
const everywhere = `${base}NpDnSwUthQK8zCgFdefYxAdAVPnygMLbs9US6oO-5ug`;
const judged = (value: string, more: Partial<PersistAccount & typeof facts> = {}) =>
  judgePersistRecord(value, {
    ...facts,
    ...more,
    accountUris: persistAccountUris({ ...account, ...more }),
  });

test("the account is named as in the draft's example, for the name and for all names", () => {
  expect([...persistAccountUris(account)]).toEqual([own, everywhere]);
});

describe("a record matches", () => {
  test.each([
    `authority.example; accounturi=${own}`,
    `authority.example;accounturi=${everywhere}`,
    ` AUTHORITY.Example ;\taccounturi = ${own} `,
    `authority.example; ACCOUNTURI=${own}`,
    `authority.example; accounturi=${own}; policy=wildcard`,
    `authority.example; accounturi=${own}; policy=other`,
    `authority.example; unknown=1; unknown=2; accounturi=${own}; persistUntil=1767225600`,
    `authority.example; accounturi=${own}; persistuntil=99999999999999999999`,
  ])("%s", (value) => {
    expect(judged(value)).toBe("match");
  });

  test("with the value of a former key, as long as the caller holds it", () => {
    const { thumbprints } = account;
    const value = `authority.example; accounturi=${own}`;
    expect(judged(value, { thumbprints: ["new", ...thumbprints] })).toBe("match");
    expect(judged(value, { thumbprints: ["new"] })).toBe("no_match");
  });
});

describe("a record does not match", () => {
  const good = `authority.example; accounturi=${own}`;
  test.each([
    ["another issuer", `other.example; accounturi=${own}`],
    ["no issuer", `; accounturi=${own}`],
    ["no account", "authority.example"],
    ["the account's URL itself", `authority.example; accounturi=${account.accountUrl}`],
    ["another spelling of the value", `authority.example; accounturi=${own.toLowerCase()}`],
    ["another hash", `authority.example; accounturi=${own.replace("sha-256", "sha-512")}`],
    ["an end that has come", `${good}; persistUntil=1767225599`],
    ["an end before the epoch", `${good}; persistUntil=-1`],
  ])("%s", (_what, value) => {
    expect(judged(value)).toBe("no_match");
  });

  test("for another name, account or issuer than it was made for", () => {
    expect(judged(good, { name: "www.example.com" })).toBe("no_match");
    expect(judged(good, { accountUrl: "https://ca.example/acct/124" })).toBe("no_match");
    expect(judged(good, { issuerDomainNames: ["authority"] })).toBe("no_match");
    expect(judged(`authority.example; accounturi=${everywhere}`, { name: "a.test" })).toBe("match");
  });

  test("for a wildcard, unless its policy says so, in any case", () => {
    const wildcard = { wildcard: true };
    expect(judged(good, wildcard)).toBe("no_match");
    expect(judged(`${good}; policy=specific`, wildcard)).toBe("no_match");
    expect(judged(`${good}; policy=WildCard`, wildcard)).toBe("match");
  });
});

describe("a record is malformed with", () => {
  const good = `authority.example; accounturi=${own}`;
  test.each([
    ["an end that is no number", `${good}; persistUntil=2027-01-01`],
    ["an end that is none of base ten", `${good}; persistUntil=0x7f`],
    ["an end with a fraction", `${good}; persistUntil=1767225600.5`],
    ["an empty end", `${good}; persistUntil=`],
    ["two ends", `${good}; persistUntil=1767225600; persistUntil=1767225600`],
    ["two accounts", `${good}; accounturi=${everywhere}`],
    ["two policies", `${good}; policy=wildcard; policy=wildcard`],
    ["a parameter without value", `${good}; policy`],
    ["a semicolon at the end", `${good};`],
    ["an issuer that is no domain", `author ity; accounturi=${own}`],
  ])("%s", (_what, value) => {
    expect(judged(value)).toBe("malformed");
  });

  test("nothing where it is another issuer's, so that nobody is told of it", () => {
    expect(judged("other.example; persistUntil=never")).toBe("no_match");
  });
});

test("a record says until when it may be relied on", () => {
  expect(persistUntil(`a.example; persistUntil=1767225600`)).toBe(instant(1_767_225_600_999));
  expect(persistUntil("a.example; accounturi=x")).toBeUndefined();
  expect(persistUntil("a.example; persistUntil=never")).toBeUndefined();
  expect(persistUntil("= no record =")).toBeUndefined();
});

test("whatever stands in the DNS is judged, and does not match by chance", () => {
  const value = fc.oneof(
    fc.string(),
    fc.string().map((text) => `authority.example; accounturi=${text}`),
    fc.string().map((text) => `authority.example;${text}`),
  );
  fc.assert(fc.property(value, (text) => judged(text) !== "match"));
});
