/** Paths, good and bad, judged as openssl judges them. */

import { expect, test } from "bun:test";

import { decodePem, encodePem } from "#core/asn1/pem.ts";
import {
  type Check,
  isFaultless,
  isSoundPath,
  judgePath,
  type RevocationState,
  unbuilt,
} from "#core/policy/validate.ts";
import { type Serial, serialFromBytes } from "#core/ids.ts";
import { type Instant, instant } from "#core/time.ts";
import { type ParsedCertificate, parseCertificate } from "#core/x509/certificate.ts";
import * as extensions from "#core/x509/extensions.ts";
import { nameConstraints } from "#core/x509/name-constraints.ts";
import { encodeName } from "#core/x509/names.ts";
import { clientPath, validAt } from "#core/x509/client-path.ts";
import { findPath } from "#core/x509/path.ts";
import { openssl, scratchDirectory } from "#test/support/encodings/openssl.ts";
import { certify, makeKey, type TestKey } from "#test/support/encodings/x509.ts";

const now = instant(Date.UTC(2026, 5, 1));
const year = 365 * 86_400_000;
const keys = {
  root: makeKey("ecdsa-p256"),
  middle: makeKey("ecdsa-p256"),
  leaf: makeKey("ecdsa-p256"),
};
const name = (cn: string) => encodeName([{ type: "CN", value: cn }]).der;
const keyId = (key: TestKey) => extensions.subjectKeyId(key.spki, "rfc7093");
const serial = (): Serial => serialFromBytes(crypto.getRandomValues(new Uint8Array(12)).with(0, 1));
const caUsage = extensions.keyUsage(["keyCertSign", "cRLSign"]);
const empty = { dns: [], ip: [], email: [], uri: [], dirNames: [] };

interface Made {
  readonly subject?: string;
  readonly issuer?: string;
  readonly key?: TestKey;
  readonly by?: TestKey;
  readonly notBefore?: number;
  readonly notAfter?: number;
  readonly extensions?: readonly extensions.Extension[];
}

function make({ subject = "leaf", issuer = "middle", ...made }: Made): ParsedCertificate {
  const { key = keys.leaf, by = keys.middle } = made;
  const fields = {
    serial: serial(),
    signature: "ecdsa-sha256" as const,
    spki: key.spki,
    issuer: name(issuer),
    subject: name(subject),
    notBefore: instant(made.notBefore ?? now - year),
    notAfter: instant(made.notAfter ?? now + year),
    extensions: [
      ...(made.extensions ?? leafExtensions),
      extensions.subjectKeyIdentifier(keyId(key)),
      extensions.authorityKeyIdentifier(keyId(by)),
    ],
  };
  return parseCertificate(certify(by, fields));
}

const dns = (value: string) => extensions.subjectAltName([{ kind: "dns", value }], false);
const leafExtensions = [extensions.keyUsage(["digitalSignature"]), dns("a.example")];
const caExtensions = (pathLength?: number) => [
  extensions.basicConstraints(true, pathLength),
  caUsage,
];
const root = make({
  subject: "root",
  issuer: "root",
  key: keys.root,
  by: keys.root,
  extensions: caExtensions(),
});
const middle = (made: Made = {}) =>
  make({
    subject: "middle",
    issuer: "root",
    key: keys.middle,
    by: keys.root,
    extensions: caExtensions(0),
    ...made,
  });
const constrained = (dnsTrees: readonly string[]) =>
  nameConstraints({ permitted: { ...empty, dns: dnsTrees }, excluded: empty }, true);
const unknown = { oid: "1.3.6.1.4.1.99999.1", critical: true, value: Uint8Array.of(5, 0) };

// biome-ignore format: the table is read by column.
const cases: readonly (readonly [string, ParsedCertificate, readonly ParsedCertificate[], Check["name"] | undefined])[] = [
  ["a plain path",                          make({}), [middle()], undefined],
  ["a path under fitting name constraints", make({}), [middle({ extensions: [...caExtensions(0), constrained(["example"])] })], undefined],
  ["a name outside the constraints",        make({}), [middle({ extensions: [...caExtensions(0), constrained(["other.test"])] })], "name_constraints"],
  ["an expired leaf",                       make({ notAfter: now - 1000 }), [middle()], "validity"],
  ["a leaf of the future",                  make({ notBefore: now + 1000 }), [middle()], "validity"],
  ["an expired intermediate",               make({}), [middle({ notAfter: now - 1000 })], "validity"],
  ["an issuer that is no CA",               make({}), [middle({ extensions: [caUsage] })], "key_usage"],
  ["an issuer that may not certify",        make({}), [middle({ extensions: [extensions.basicConstraints(true, 0), extensions.keyUsage(["cRLSign"])] })], "key_usage"],
  ["an unknown critical extension",         make({ extensions: [...leafExtensions, unknown] }), [middle()], "chain"],
  ["a missing intermediate",                make({}), [], "chain"],
  ["a signature by another key",            make({ by: keys.leaf }), [middle()], "chain"],
];

const found = (certificate: ParsedCertificate, intermediates: readonly ParsedCertificate[]) =>
  findPath({
    certificate,
    intermediates,
    anchors: [root],
    now,
    accept: (path) => isFaultless(path, now),
  });

function judge(
  leaf: ParsedCertificate,
  pool: readonly ParsedCertificate[],
  states?: RevocationState[],
) {
  const path = found(leaf, pool)?.path;
  if (path === undefined) return unbuilt;
  const good: RevocationState = { state: "good", source: "store" };
  return judgePath({ path, revocation: states ?? path.slice(1).map(() => good), now });
}

const failed = (checks: readonly Check[]) =>
  checks.filter(({ status }) => status === "fail").map((check) => check.name);

test.each(cases)("%s", (_what, leaf, pool, wrong) => {
  expect(failed(judge(leaf, pool))).toEqual(wrong === undefined ? [] : [wrong]);
  expect(opensslAccepts(leaf, pool)).toBe(wrong === undefined);
});

test("a path length is counted as openssl counts it", () => {
  const upper = makeKey("ecdsa-p256");
  const above = (length: number) =>
    make({
      subject: "upper",
      issuer: "root",
      key: upper,
      by: keys.root,
      extensions: caExtensions(length),
    });
  const lower = middle({ issuer: "upper", by: upper });
  for (const [length, right] of [
    [0, false],
    [1, true],
  ] as const) {
    const pool = [lower, above(length)];
    expect(failed(judge(make({}), pool))).toEqual(right ? [] : ["key_usage"]);
    expect(opensslAccepts(make({}), pool)).toBe(right);
  }
});

test("a detour is taken where the straight way has a stranger's signature", () => {
  const stranger = makeKey("ecdsa-p256");
  const false1 = middle({ by: stranger });
  expect(failed(judge(make({}), [false1, middle()]))).toEqual([]);
});

test("certificates that certify one another end the search", () => {
  const other = makeKey("ecdsa-p256");
  const pool = Array.from({ length: 30 }, (_, at) =>
    make({
      subject: `ca${at % 2}`,
      issuer: `ca${(at + 1) % 2}`,
      key: other,
      by: other,
      extensions: caExtensions(),
    }),
  );
  const leaf = make({ issuer: "ca0", by: other });
  expect(found(leaf, pool)).toBeUndefined();
});

/** Every order of the certificates. */
function* orders<T>(values: readonly T[]): Generator<readonly T[]> {
  if (values.length < 2) yield values;
  for (const [at, first] of values.entries()) {
    const rest = [...values.slice(0, at), ...values.slice(at + 1)];
    if (values.length > 1) for (const more of orders(rest)) yield [first, ...more];
  }
}

test("a renewed CA of one key, an expired and a useless one: some order of them never hides the path that is valid", () => {
  const expired = middle({ notAfter: now - 1000 });
  const future = middle({ notBefore: now + 1000 });
  const useless = middle({ extensions: [...caExtensions(0), constrained(["other.test"])] });
  const noCa = middle({ extensions: [caUsage] });
  for (const wrong of [
    [expired, middle()],
    [expired, useless, middle()],
    [noCa, future, middle()],
    [useless, noCa, expired, middle()],
  ]) {
    for (const pool of orders(wrong)) expect(failed(judge(make({}), pool))).toEqual([]);
  }
});

test("where no path is valid, the one that is signed all the way is judged", () => {
  expect(failed(judge(make({}), [middle({ notAfter: now - 1000 })]))).toEqual(["validity"]);
});

test("a signature with SHA-1 is verified, and is the reason", () => {
  using scratch = scratchDirectory();
  const at = (file: string) => `${scratch.path}/${file}`;
  const of = (file: string) =>
    parseCertificate(decodePem(scratch.read(file).toString(), ["CERTIFICATE"]) ?? new Uint8Array());
  const rsa = ["-newkey", "rsa:2048", "-nodes"];
  const named = (cn: string) => ["-subj", `/CN=${cn}`];
  openssl([
    "req",
    "-x509",
    ...rsa,
    ...named("sha"),
    "-keyout",
    at("ca.key"),
    "-out",
    at("ca.pem"),
    "-addext",
    "keyUsage=critical,keyCertSign",
    "-days",
    "3650",
  ]);
  openssl(["req", ...rsa, ...named("leaf"), "-keyout", at("leaf.key"), "-out", at("leaf.csr")]);
  const under = ["-CA", at("ca.pem"), "-CAkey", at("ca.key"), "-CAcreateserial"];
  openssl(["x509", "-req", "-in", at("leaf.csr"), ...under, "-sha1", "-out", at("leaf.pem")]);
  const [leaf, anchor] = [of("leaf.pem"), of("ca.pem")];
  const moment = instant(leaf.notBefore + 1000);
  const search = { certificate: leaf, intermediates: [], anchors: [anchor], now: moment };
  const path = findPath({ ...search, accept: (one) => isFaultless(one, moment) });
  expect(path).toMatchObject({ whole: false });
  const checks = judgePath({ path: path?.path ?? [], revocation: [], now: moment });
  expect(failed(checks)).toEqual(["weak_signature"]);
  expect(
    clientPath([leaf], { anchors: [anchor], now: moment, sound: isSoundPath }),
  ).toBeUndefined();
});

test("namesakes without end, and names under subtrees without end, are given up in time", () => {
  const many = Array.from({ length: 300 }, (_, at) =>
    middle({ by: keys.leaf, notAfter: now + year + at * 1000 }),
  );
  expect(found(make({}), many)).toBeUndefined();
  const names = Array.from({ length: 2000 }, (_, at) => ({
    kind: "dns" as const,
    value: `a${at}.example`,
  }));
  const trees = Array.from({ length: 2000 }, (_, at) => `b${at}.example`);
  const permitted = { ...empty, dns: ["example"] };
  const heavy = nameConstraints({ permitted, excluded: { ...empty, dns: trees } }, true);
  const leaf = make({
    extensions: [leafExtensions[0], extensions.subjectAltName(names, false)].filter(
      (one) => one !== undefined,
    ),
  });
  const checks = judge(leaf, [middle({ extensions: [...caExtensions(0), heavy] })]);
  expect(checks.find(({ name: check }) => check === "name_constraints")).toMatchObject({
    status: "fail",
    detail: expect.stringContaining("2001 names: not decidable"),
  });
});

const trusting = (at: Instant) => ({ anchors: [root], now: at, sound: isSoundPath });

test("a client is let in over the path that is valid, in whatever order it shows it", () => {
  const leaf = make({});
  const shown = [middle({ notAfter: now - 1000 }), middle(), middle({ extensions: [caUsage] })];
  for (const others of orders(shown)) {
    expect(clientPath([leaf, ...others], trusting(now))).toEqual([leaf, shown[1] ?? leaf, root]);
  }
  const ended = instant(now + 2 * year);
  const over = clientPath([leaf, ...shown], trusting(ended));
  expect(over && validAt(over, ended)).toBe(false);
});

test("revoked, held and never issued fail; what nobody knows warns; skipped is said", () => {
  const status = (state: RevocationState["state"], source: RevocationState["source"] = "store") =>
    judge(make({}), [middle()], [{ state, source }]).find((one) => one.name === "revocation")
      ?.status;
  expect(status("good")).toBe("pass");
  expect(status("revoked")).toBe("fail");
  expect(status("held")).toBe("fail");
  expect(status("unknown")).toBe("fail");
  expect(status("unknown", "none")).toBe("warn");
  expect(status("skipped", "none")).toBe("skipped");
});

function opensslAccepts(leaf: ParsedCertificate, pool: readonly ParsedCertificate[]): boolean {
  using scratch = scratchDirectory();
  const pem = ({ der }: ParsedCertificate) => encodePem("CERTIFICATE", der);
  const anchor = scratch.write("root.pem", pem(root));
  const between = scratch.write("pool.pem", pool.map(pem).join(""));
  const file = scratch.write("leaf.pem", pem(leaf));
  const untrusted = pool.length === 0 ? [] : ["-untrusted", between];
  const { exitCode } = Bun.spawnSync([
    "openssl",
    "verify",
    "-attime",
    String(now / 1000),
    "-CAfile",
    anchor,
    ...untrusted,
    file,
  ]);
  return exitCode === 0;
}
