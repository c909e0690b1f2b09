/**
 * Our verdict on name constraints beside OpenSSL's: never milder, and stricter only where a
 * sentence here says why.
 */

import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import fc from "fast-check";

import { encodePem } from "#core/asn1/pem.ts";
import { pathViolations } from "#core/policy/name-constraints.ts";
import { instant } from "#core/time.ts";
import {
  basicConstraints,
  type Extension,
  keyUsage,
  subjectAltName,
} from "#core/x509/extensions.ts";
import type { GeneralName } from "#core/x509/general-names.ts";
import {
  nameConstraints,
  type NameConstraints,
  type Subtrees,
} from "#core/x509/name-constraints.ts";
import { encodeName, type NameAttribute } from "#core/x509/names.ts";
import { serialFromBytes } from "#core/ids.ts";
import { scratchDirectory } from "#test/support/encodings/openssl.ts";
import { certify, makeKey } from "#test/support/encodings/x509.ts";

const hosts = ["good.test", "a.good.test", "x.a.good.test", "GOOD.test", "evil.test", "test"];
const tricky = ["notgood.test", "good.test.evil.test", "_s.good.test", "*.good.test", "*.test"];
const names: readonly GeneralName[] = [
  ...hosts.map((value): GeneralName => ({ kind: "dns", value })),
  ...tricky.map((value): GeneralName => ({ kind: "dns", value })),
  ...["10.0.0.1", "10.1.2.3", "192.0.2.1", "2001:db8::1"].map(
    (value): GeneralName => ({ kind: "ip", value }),
  ),
  ...["a@good.test", "A@good.test", "b@GOOD.test", "a@x.good.test", "a@evil.test"].map(
    (value): GeneralName => ({ kind: "email", value }),
  ),
  ...[
    "https://good.test/",
    "https://x.good.test:8443/a?b#c",
    "spiffe://GOOD.test/a",
    "https://evil.test/@good.test",
    "https://evil.test?@good.test/",
    "https://10.0.0.1/",
    "https://u:p@good.test/",
    "https://good.test:p@evil.test/",
    "https://good.test\\@evil.test/",
    "https://good.test./",
    "https://good%2etest/",
    "urn:good.test:a",
  ].map((value): GeneralName => ({ kind: "uri", value })),
];
const organizations = ["Good", "good", "  GOOD ", "Good  Corp", "good corp", "Evil"];
const commonNames = ["Jane Doe", "good.test", "evil.test", "a.good.test", "10.0.0.1"];

const directory = (...values: readonly (readonly [string, string])[]) =>
  encodeName(values.map(([type, value]) => ({ type, value }))).der;
const some = <T>(values: readonly T[], maxLength = 2) => fc.subarray([...values], { maxLength });
const trees: fc.Arbitrary<Subtrees> = fc.record({
  dns: some(["good.test", ".good.test", "a.good.test", "Test", "", "evil.test"]),
  ip: some(["10.0.0.0/8", "10.1.0.0/16", "0.0.0.0/0", "2001:db8::/32", "192.0.2.1/32"]),
  email: some(["good.test", ".good.test", "a@good.test", "evil.test"]),
  uri: some(["good.test", ".good.test", "evil.test"]),
  dirNames: some(
    [
      directory(["O", "Good"]),
      directory(["O", "good corp "]),
      directory(["O", "GOOD"], ["CN", "jane  doe"]),
      directory(["CN", "Jane Doe"]),
    ],
    1,
  ),
});
const none: Subtrees = { dns: [], ip: [], email: [], uri: [], dirNames: [] };
const kinds = fc.subarray(["dns", "ip", "email", "uri", "dirNames"] as const, { maxLength: 3 });
/** Few kinds at once, so that more than a handful is allowed. */
const side = fc.tuple(kinds, trees).map(([kept, all]): Subtrees => {
  const picked: Record<string, unknown> = { ...none };
  for (const kind of kept) picked[kind] = all[kind];
  return picked as unknown as Subtrees; // The keys are those of `none`.
});
const constraints = fc
  .record({ permitted: side, excluded: side })
  .filter(
    (one) => Object.values({ ...one.permitted, x: Object.values(one.excluded) }).flat(2).length > 0,
  );
const combination = fc.record({
  sans: some(names, 3),
  organization: fc.option(fc.constantFrom(...organizations), { nil: undefined }),
  commonName: fc.constantFrom(...commonNames),
  mailbox: fc.option(fc.constantFrom("a@good.test", "a@evil.test"), { nil: undefined, freq: 6 }),
  upper: constraints,
  lower: fc.option(constraints, { nil: undefined }),
});
type Combination = typeof combination extends fc.Arbitrary<infer T> ? T : never;

test("of 500 combinations none is allowed that OpenSSL refuses, and few that it allows are refused", () => {
  const combinations = fc.sample(combination, { seed: 20_261_122, numRuns: 500 });
  const theirs = opensslVerdicts(combinations);
  const count = { both: 0, neither: 0, stricter: 0 };
  for (const [index, one] of combinations.entries()) {
    const ours = isAllowed(one);
    const agreed = theirs[index] === ours;
    if (!agreed)
      expect({ index, one, ours, explained: isStricterHere(one) }).toEqual({
        index,
        one,
        ours: false,
        explained: true,
      });
    if (agreed) count[ours ? "both" : "neither"]++;
    else count.stricter++;
  }
  // The generator is of use only while both verdicts are frequent.
  expect(count.both).toBeGreaterThan(60);
  expect(count.neither).toBeGreaterThan(200);
  expect(count.stricter).toBeLessThan(60);
});

function isAllowed({ sans, upper, lower, ...request }: Combination): boolean {
  const path = [lower, upper].filter((one) => one !== undefined);
  const leaf = { subject: encodeName(subjectOf(request)), sans, forServers: false };
  const below = { subject: encodeName(lowerSubject(request, 0)), sans: [], forServers: false };
  return pathViolations(leaf, path).length === 0 && pathViolations(below, [upper]).length === 0;
}

/** Why we may refuse what OpenSSL lets pass. */
function isStricterHere({ sans, commonName, upper, lower }: Combination): boolean {
  const named = sans.some(({ kind }) => kind === "dns");
  const excludesDns = [upper, lower].some((one) => (one?.excluded.dns.length ?? 0) > 0);
  return (
    // It looks at the common name only where there is no DNS name, and never takes it for an
    // address.
    (named && commonName.includes(".")) ||
    commonName === "10.0.0.1" ||
    // It compares a wildcard as it stands; we ask what it stands for.
    (excludesDns && sans.some(({ value }) => value.startsWith("*."))) ||
    // It looks for the host up to the first colon or slash, whatever precedes it.
    sans.some(({ kind, value }) => kind === "uri" && /[\\%@?]|\d\/$|\.\/$|^urn/.test(value))
  );
}

function subjectOf(
  request: Omit<Combination, "sans" | "upper" | "lower">,
): readonly NameAttribute[] {
  const { organization, commonName, mailbox } = request;
  const attributes: NameAttribute[] = [];
  if (organization !== undefined) attributes.push({ type: "O", value: organization });
  attributes.push({ type: "CN", value: commonName });
  if (mailbox !== undefined) attributes.push({ type: "emailAddress", value: mailbox });
  return attributes;
}

/**
 * Of the lower CA; its organization is the leaf's, so that constraints on names of directories let
 * some pass.
 */
function lowerSubject({ organization }: Pick<Combination, "organization">, index: number) {
  const own = [{ type: "CN", value: `Lower CA ${index}` }];
  return organization === undefined ? own : [{ type: "O", value: organization }, ...own];
}

/** One run of openssl over all leaves; true where it prints OK. */
function opensslVerdicts(combinations: readonly Combination[]): readonly boolean[] {
  using scratch = scratchDirectory();
  const key = makeKey("ecdsa-p256");
  let serial = 0;
  const certificate = (
    issuer: readonly NameAttribute[],
    subject: readonly NameAttribute[],
    extensions: readonly Extension[],
  ) =>
    encodePem(
      "CERTIFICATE",
      certify(key, {
        serial: serialFromBytes(new Uint8Array([1, ++serial >> 8, serial & 255])),
        signature: "ecdsa-sha256",
        issuer: encodeName(issuer).der,
        notBefore: instant(Date.UTC(2025, 0, 1)),
        notAfter: instant(Date.UTC(2049, 0, 1)),
        subject: encodeName(subject).der,
        spki: key.spki,
        extensions,
      }),
    );
  const ca = (limits: NameConstraints | undefined) => {
    const base = [basicConstraints(true, undefined), keyUsage(["keyCertSign"])];
    return limits === undefined ? base : [...base, nameConstraints(limits, true)];
  };
  const root = [{ type: "CN", value: "Root" }];
  const between: string[] = [];
  const files = combinations.map(({ sans, upper, lower, ...request }, index) => {
    const above = [{ type: "CN", value: `Upper CA ${index}` }];
    const below = lowerSubject(request, index);
    between.push(certificate(root, above, ca(upper)), certificate(above, below, ca(lower)));
    const extensions = sans.length === 0 ? [] : [subjectAltName(sans, false)];
    return scratch.write(`${index}.pem`, certificate(below, subjectOf(request), extensions));
  });
  const trusted = scratch.write("root.pem", certificate(root, root, ca(undefined)));
  const untrusted = scratch.write("between.pem", between.join(""));
  const args = ["verify", "-CAfile", trusted, "-untrusted", untrusted, ...files];
  const { stdout } = spawnSync("openssl", args, { maxBuffer: 64 * 1024 * 1024 });
  const good = new Set(stdout.toString().split("\n"));
  return files.map((file) => good.has(`${file}: OK`));
}
