/** Certificate policies along a path, by the rules of RFC 5280 §6.1 as RFC 9618 words them. */

import { expect, test } from "bun:test";

import { DerError } from "#core/asn1/cursor.ts";
import { implicit, integer, sequence } from "#core/asn1/der.ts";
import { oids } from "#core/asn1/oids.ts";
import { type PolicyFacts, policyFactsIn, policyFault } from "#core/x509/path-policies.ts";
import { anyPolicy } from "#core/x509/policy-extensions.ts";

const facts = (
  policies: readonly string[] | undefined,
  more: Partial<PolicyFacts> = {},
): PolicyFacts => ({
  policies: policies && new Set(policies),
  mappings: [],
  requireExplicitPolicy: undefined,
  inhibitPolicyMapping: undefined,
  inhibitAnyPolicy: undefined,
  selfIssued: false,
  ...more,
});
const strict = { requireExplicitPolicy: 0 };
const map = (issuer: string, subject: string) => ({ mappings: [{ issuer, subject }] });

// biome-ignore format: the table is read by column.
const paths: readonly [what: string, path: readonly PolicyFacts[], at: number | undefined][] = [
  ["nothing demanded, nothing said",            [facts(undefined), facts(undefined)],                                       undefined],
  ["demanded and said all the way",             [facts(["1.1"], strict), facts(["1.1"])],                                   undefined],
  ["demanded and not said by the leaf",         [facts(["1.1"], strict), facts(undefined)],                                 1],
  ["demanded and another one said",             [facts(["1.1"], strict), facts(["1.2"])],                                   1],
  ["demanded and lost in between",              [facts(["1.1"], strict), facts(undefined), facts(["1.1"])],                 1],
  ["demanded by the leaf itself",               [facts(["1.1"]), facts(["1.2"], strict)],                                   1],
  ["demanded after one certificate",            [facts(["1.1"], { requireExplicitPolicy: 1 }), facts(["1.2"])],             1],
  ["demanded after two certificates",           [facts(["1.1"], { requireExplicitPolicy: 2 }), facts(["1.2"])],             undefined],
  ["a self-issued one does not count",          [facts(["1.1"], { requireExplicitPolicy: 2 }), facts(["1.1"], { selfIssued: true }), facts(["1.2"])], undefined],
  ["the same, not self-issued",                 [facts(["1.1"], { requireExplicitPolicy: 2 }), facts(["1.1"]), facts(["1.2"])], 2],
  ["any stands for the policy below",           [facts([anyPolicy], strict), facts(["1.1"])],                               undefined],
  ["any in the leaf",                           [facts(["1.1"], strict), facts([anyPolicy])],                               undefined],
  ["any inhibited at once",                     [facts(["1.1"], { ...strict, inhibitAnyPolicy: 0 }), facts([anyPolicy])],   1],
  ["any inhibited one below",                   [facts(["1.1"], { ...strict, inhibitAnyPolicy: 1 }), facts([anyPolicy])],   undefined],
  ["any inhibited, in a self-issued CA",        [facts(["1.1"], { ...strict, inhibitAnyPolicy: 0 }), facts([anyPolicy], { selfIssued: true }), facts(["1.1"])], undefined],
  ["any inhibited, in a self-issued leaf",      [facts(["1.1"], { ...strict, inhibitAnyPolicy: 0 }), facts([anyPolicy], { selfIssued: true })], 1],
  ["mapped",                                    [facts(["1.1"], { ...strict, ...map("1.1", "2.1") }), facts(["2.1"])],      undefined],
  ["mapped away",                               [facts(["1.1"], { ...strict, ...map("1.1", "2.1") }), facts(["1.1"])],      1],
  ["mapped where it is inhibited",              [facts(["1.1"], { ...strict, inhibitPolicyMapping: 0 }), facts(["1.1"], map("1.1", "2.1")), facts(["2.1"])], 2],
  ["mapped from any",                           [facts([anyPolicy], { ...strict, ...map("1.1", "2.1") }), facts(["2.1"])],  undefined],
  ["mapped twice in a row",                     [facts(["1.1"], { ...strict, ...map("1.1", "2.1") }), facts(["2.1"], map("2.1", "3.1")), facts(["3.1"])], undefined],
  ["anyPolicy mapped",                          [facts(["1.1"], map("1.1", anyPolicy)), facts(["1.1"])],                    0],
  ["anyPolicy mapped from",                     [facts(["1.1"], map(anyPolicy, "1.1")), facts(["1.1"])],                    0],
];

for (const [what, path, at] of paths) {
  test(what, () => expect(policyFault(path)?.at).toBe(at));
}

test("an anchor alone has no path to judge", () => {
  expect(policyFault([])).toBeUndefined();
});

const read = (oid: string, value: Uint8Array) =>
  policyFactsIn({ extensions: [{ oid, critical: true, value }] }, false);

test("the extensions are read, absent parts too", () => {
  const both = sequence(implicit(0, Uint8Array.of(3)), implicit(1, Uint8Array.of(0)));
  expect(read(oids.policyConstraints, both)).toMatchObject({
    requireExplicitPolicy: 3,
    inhibitPolicyMapping: 0,
  });
  const one = sequence(implicit(1, Uint8Array.of(1, 0)));
  expect(read(oids.policyConstraints, one)).toMatchObject({
    requireExplicitPolicy: undefined,
    inhibitPolicyMapping: 256,
  });
  expect(read(oids.inhibitAnyPolicy, integer(2)).inhibitAnyPolicy).toBe(2);
});

test("counts that are negative, padded or none are no counts", () => {
  for (const hex of ["020180", "02020001", "0200", "0201", "050100", "", "02080102030405060708"]) {
    expect(() => read(oids.inhibitAnyPolicy, Uint8Array.fromHex(hex))).toThrow(DerError);
  }
});
