/** Sixty hostile chains beside OpenSSL's verdict, with a sentence for each that is not ours. */

import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";

import { integer } from "#core/asn1/der.ts";
import { oids } from "#core/asn1/oids.ts";
import { encodePem } from "#core/asn1/pem.ts";
import { serialFromBytes } from "#core/ids.ts";
import { isSoundPath } from "#core/policy/validate.ts";
import { instant } from "#core/time.ts";
import { type ParsedCertificate, parseCertificate } from "#core/x509/certificate.ts";
import * as extensions from "#core/x509/extensions.ts";
import { nameConstraints, type Subtrees } from "#core/x509/name-constraints.ts";
import { encodeName } from "#core/x509/names.ts";
import { findPath } from "#core/x509/path.ts";
import { policyConstraints, policyMappings } from "#core/x509/policy-extensions.ts";
import { scratchDirectory } from "#test/support/encodings/openssl.ts";
import { certify, makeKey, type TestKey } from "#test/support/encodings/x509.ts";

const now = instant(Date.UTC(2026, 5, 1));
const year = 365 * 86_400_000;
const keys = new Map<string, TestKey>();
const keyOf = (name: string): TestKey => {
  const known = keys.get(name) ?? makeKey("ecdsa-p256");
  keys.set(name, known);
  return known;
};
let count = 0;

interface Made {
  /** Whose key signs, where it is not the issuer's. */
  readonly by?: string;
  /** Whose key it holds, where it is not its own. */
  readonly key?: string;
  readonly from?: number;
  readonly until?: number;
  readonly extensions?: readonly extensions.Extension[];
}

/** A certificate `subject<issuer`. */
function made(
  names: string,
  { by, key, from = -year, until = year, extensions: more = [] }: Made = {},
): ParsedCertificate {
  const [subject = "", issuer = ""] = names.split("<");
  const name = (cn: string) => encodeName([{ type: "CN", value: cn }]).der;
  return parseCertificate(
    certify(keyOf(by ?? issuer), {
      serial: serialFromBytes(Uint8Array.of(1, ++count >> 8, count & 255)),
      signature: "ecdsa-sha256",
      issuer: name(issuer),
      notBefore: instant(now + from),
      notAfter: instant(now + until),
      subject: name(subject),
      spki: keyOf(key ?? subject).spki,
      extensions: [...more, extensions.subjectKeyIdentifier(Uint8Array.of(++count & 255, 1))],
    }),
  );
}

const none: Subtrees = { dns: [], ip: [], email: [], uri: [], dirNames: [] };
const { basicConstraints, keyUsage } = extensions;
const authority = (length?: number) => [basicConstraints(true, length), keyUsage(["keyCertSign"])];
const ca = (names: string, request: Made = {}, length?: number) =>
  made(names, { ...request, extensions: [...authority(length), ...(request.extensions ?? [])] });
const leaf = (names: string, request: Made = {}) =>
  made(names, {
    ...request,
    extensions: [
      extensions.subjectAltName([{ kind: "dns", value: "a.good.test" }], false),
      ...(request.extensions ?? []),
    ],
  });
const bound = (permitted: Partial<Subtrees>, excluded: Partial<Subtrees> = {}) =>
  nameConstraints(
    { permitted: { ...none, ...permitted }, excluded: { ...none, ...excluded } },
    true,
  );
const critical = (oid: string, value: Uint8Array) => ({ oid, critical: true, value });
const policy = (...names: string[]) => extensions.certificatePolicies({ oids: names }, false);
const root = ca("root<root");
const strict = policyConstraints({ requireExplicitPolicy: 0 });

/** Columns: what, the leaf, what is sent with it. */
const chains: (readonly [string, ParsedCertificate, readonly ParsedCertificate[]])[] = [
  ["nothing wrong", leaf("l<m"), [ca("m<root")]],
  ["the intermediate missing", leaf("l<m"), []],
  ["another key's signature on the leaf", leaf("l<m", { by: "x" }), [ca("m<root")]],
  ["another key's signature on the CA", leaf("l<m"), [ca("m<root", { by: "x" })]],
  ["a leaf that signs", leaf("l<m"), [leaf("m<root")]],
  [
    "a CA flag without keyCertSign",
    leaf("l<m"),
    [made("m<root", { extensions: [basicConstraints(true, undefined), keyUsage(["cRLSign"])] })],
  ],
  [
    "keyCertSign without the CA flag",
    leaf("l<m"),
    [made("m<root", { extensions: [keyUsage(["keyCertSign"])] })],
  ],
  ["a CA that says nothing of itself", leaf("l<m"), [made("m<root")]],
  [
    "an explicit no to the CA flag",
    leaf("l<m"),
    [
      made("m<root", {
        extensions: [basicConstraints(false, undefined), keyUsage(["keyCertSign"])],
      }),
    ],
  ],
  ["an expired leaf", leaf("l<m", { until: -1000 }), [ca("m<root")]],
  ["an early leaf", leaf("l<m", { from: 1000 }), [ca("m<root")]],
  ["an expired CA", leaf("l<m"), [ca("m<root", { until: -1000 })]],
  ["an early CA", leaf("l<m"), [ca("m<root", { from: 1000 })]],
  ["an expired CA before a valid one", leaf("l<m"), [ca("m<root", { until: -1000 }), ca("m<root")]],
  ["an early CA before a valid one", leaf("l<m"), [ca("m<root", { from: 1000 }), ca("m<root")]],
  ["a valid CA before an expired one", leaf("l<m"), [ca("m<root"), ca("m<root", { until: -1000 })]],
  ["a path of three, length 0 at the top", leaf("l<m"), [ca("m<n"), ca("n<root", {}, 0)]],
  ["a path of three, length 1 at the top", leaf("l<m"), [ca("m<n"), ca("n<root", {}, 1)]],
  ["a path of four, length 1 at the top", leaf("l<m"), [ca("m<n"), ca("n<o"), ca("o<root", {}, 1)]],
  [
    "a self-issued CA under length 0",
    leaf("l<m"),
    [ca("m<m", { by: "m2" }), ca("m<root", { key: "m2" }, 0)],
  ],
  ["a self-signed CA that is not the anchor", leaf("l<m"), [ca("m<m")]],
  ["a self-signed leaf", leaf("l<l"), [ca("m<root")]],
  ["two CAs that certify each other", leaf("l<m"), [ca("m<n"), ca("n<m")]],
  [
    "three CAs in a ring, and a way out",
    leaf("l<m"),
    [ca("m<n"), ca("n<o"), ca("o<m"), ca("o<root")],
  ],
  [
    "a root of the right name and another key",
    leaf("l<m"),
    [ca("m<root", { by: "x" }), ca("root<root", { by: "x", key: "x" })],
  ],
  [
    "twenty namesakes, all strangers",
    leaf("l<m"),
    Array.from({ length: 20 }, (_, at) => ca("m<root", { by: "x", until: year + at * 1000 })),
  ],
  [
    "a path of seventeen",
    leaf("l<c0"),
    Array.from({ length: 17 }, (_, at) => ca(`c${at}<${at === 16 ? "root" : `c${at + 1}`}`)),
  ],
  [
    "a critical extension nobody knows, in the leaf",
    leaf("l<m", { extensions: [critical("1.2.3.4.5", Uint8Array.of(5, 0))] }),
    [ca("m<root")],
  ],
  [
    "a critical extension nobody knows, in the CA",
    leaf("l<m"),
    [ca("m<root", { extensions: [critical("1.2.3.4.5", Uint8Array.of(5, 0))] })],
  ],
  [
    "a plain extension nobody knows",
    leaf("l<m", {
      extensions: [{ oid: "1.2.3.4.5", critical: false, value: Uint8Array.of(5, 0) }],
    }),
    [ca("m<root")],
  ],
  [
    "constraints that fit",
    leaf("l<m"),
    [ca("m<root", { extensions: [bound({ dns: ["good.test"] })] })],
  ],
  [
    "constraints that do not",
    leaf("l<m"),
    [ca("m<root", { extensions: [bound({ dns: ["other.test"] })] })],
  ],
  [
    "an excluded name",
    leaf("l<m"),
    [ca("m<root", { extensions: [bound({}, { dns: ["good.test"] })] })],
  ],
  ["everything excluded", leaf("l<m"), [ca("m<root", { extensions: [bound({}, { dns: [""] })] })]],
  [
    "constraints far above",
    leaf("l<m"),
    [ca("m<n"), ca("n<root", { extensions: [bound({ dns: ["other.test"] })] })],
  ],
  [
    "constraints that widen below",
    leaf("l<m"),
    [
      ca("m<n", { extensions: [bound({ dns: [""] })] }),
      ca("n<root", { extensions: [bound({ dns: ["other.test"] })] }),
    ],
  ],
  [
    "constraints of a directory",
    leaf("l<m"),
    [
      ca("m<root", {
        extensions: [bound({ dirNames: [encodeName([{ type: "O", value: "Good" }]).der] })],
      }),
    ],
  ],
  [
    "constraints of addresses alone",
    leaf("l<m"),
    [ca("m<root", { extensions: [bound({ ip: ["10.0.0.0/8"] })] })],
  ],
  [
    "a constraint in a namesake only",
    leaf("l<m"),
    [ca("m<root", { extensions: [bound({ dns: ["other.test"] })] }), ca("m<root")],
  ],
  [
    "a common name out of bounds",
    made("evil.test<m"),
    [ca("m<root", { extensions: [bound({ dns: ["good.test"] })] })],
  ],
  [
    "a common name in bounds",
    made("b.good.test<m"),
    [ca("m<root", { extensions: [bound({ dns: ["good.test"] })] })],
  ],
  [
    "a demanded policy that is there",
    leaf("l<m", { extensions: [policy("1.2.3")] }),
    [ca("m<root", { extensions: [policy("1.2.3"), strict] })],
  ],
  [
    "a demanded policy that is missing",
    leaf("l<m"),
    [ca("m<root", { extensions: [policy("1.2.3"), strict] })],
  ],
  [
    "a demanded policy that is another",
    leaf("l<m", { extensions: [policy("1.2.4")] }),
    [ca("m<root", { extensions: [policy("1.2.3"), strict] })],
  ],
  [
    "a demanded policy, any in the leaf",
    leaf("l<m", { extensions: [policy("2.5.29.32.0")] }),
    [ca("m<root", { extensions: [policy("1.2.3"), strict] })],
  ],
  [
    "the same where any is inhibited",
    leaf("l<m", { extensions: [policy("2.5.29.32.0")] }),
    [
      ca("m<root", {
        extensions: [policy("1.2.3"), strict, critical(oids.inhibitAnyPolicy, integer(0))],
      }),
    ],
  ],
  [
    "the same, inhibited one below",
    leaf("l<m", { extensions: [policy("2.5.29.32.0")] }),
    [
      ca("m<root", {
        extensions: [policy("1.2.3"), strict, critical(oids.inhibitAnyPolicy, integer(1))],
      }),
    ],
  ],
  [
    "a demand after one more",
    leaf("l<m"),
    [
      ca("m<root", {
        extensions: [policy("1.2.3"), policyConstraints({ requireExplicitPolicy: 1 })],
      }),
    ],
  ],
  [
    "a demand after two more",
    leaf("l<m"),
    [
      ca("m<root", {
        extensions: [policy("1.2.3"), policyConstraints({ requireExplicitPolicy: 2 })],
      }),
    ],
  ],
  [
    "a mapped policy",
    leaf("l<m", { extensions: [policy("1.2.9")] }),
    [
      ca("m<root", {
        extensions: [
          policy("1.2.3"),
          strict,
          policyMappings([{ issuer: "1.2.3", subject: "1.2.9" }]),
        ],
      }),
    ],
  ],
  [
    "a policy mapped away",
    leaf("l<m", { extensions: [policy("1.2.3")] }),
    [
      ca("m<root", {
        extensions: [
          policy("1.2.3"),
          strict,
          policyMappings([{ issuer: "1.2.3", subject: "1.2.9" }]),
        ],
      }),
    ],
  ],
  [
    "a mapping that is inhibited",
    leaf("l<m", { extensions: [policy("1.2.9")] }),
    [
      ca("m<n", {
        extensions: [policy("1.2.3"), policyMappings([{ issuer: "1.2.3", subject: "1.2.9" }])],
      }),
      ca("n<root", {
        extensions: [
          policy("1.2.3"),
          policyConstraints({ requireExplicitPolicy: 0, inhibitPolicyMapping: 0 }),
        ],
      }),
    ],
  ],
  ["a demand in the leaf itself", leaf("l<m", { extensions: [strict] }), [ca("m<root")]],
  [
    "a CA that renews itself in a circle",
    leaf("l<m"),
    [ca("m<m", { by: "m2", key: "m3" }), ca("m<m", { by: "m3", key: "m2" })],
  ],
  ["a leaf for a name of the root", leaf("root<m"), [ca("m<root")]],
  ["a leaf that is its own issuer's namesake", leaf("m<m", { by: "m", key: "l" }), [ca("m<root")]],
  ["the leaf among the others", leaf("l<m"), [leaf("l<m"), ca("m<root")]],
  ["the root among the others", leaf("l<m"), [root, ca("m<root")]],
  [
    "strangers before, between and after",
    leaf("l<m"),
    [ca("q<r"), ca("m<root"), leaf("z<q"), ca("r<q")],
  ],
  ["a dead end before the way", leaf("l<m"), [ca("m<gone"), ca("m<root")]],
];

/** Ours, where OpenSSL's is another: it follows one path and goes back from none. */
const others: Readonly<Record<string, boolean>> = {
  // It takes a certificate of one name for both ends as self-signed, and stops there.
  "a self-issued CA under length 0": true,
  "a leaf that is its own issuer's namesake": true,
  // There is a way, once the first issuer of a name is left again.
  "three CAs in a ring, and a way out": true,
  "a constraint in a namesake only": true,
  "a dead end before the way": true,
  // No honest path is as long.
  "a path of seventeen": false,
};

test("there are sixty", () => expect(chains).toHaveLength(60));

for (const [what, certificate, sent] of chains) {
  test(what, () => {
    const accept = (path: readonly ParsedCertificate[]) => isSoundPath(path, now);
    const search = { certificate, intermediates: sent, anchors: [root], now, accept };
    const theirs = opensslAccepts(certificate, sent);
    expect(theirs).not.toBe(others[what] ?? !theirs);
    expect(findPath(search)?.whole === true).toBe(others[what] ?? theirs);
  });
}

function opensslAccepts(
  certificate: ParsedCertificate,
  others: readonly ParsedCertificate[],
): boolean {
  using scratch = scratchDirectory();
  const pem = ({ der }: ParsedCertificate) => encodePem("CERTIFICATE", der);
  const untrusted = scratch.write("others.pem", others.map(pem).join(""));
  const { status } = spawnSync("openssl", [
    "verify",
    "-policy",
    "2.5.29.32.0",
    "-attime",
    String(now / 1000),
    "-CAfile",
    scratch.write("root.pem", pem(root)),
    ...(others.length === 0 ? [] : ["-untrusted", untrusted]),
    scratch.write("leaf.pem", pem(certificate)),
  ]);
  return status === 0;
}
