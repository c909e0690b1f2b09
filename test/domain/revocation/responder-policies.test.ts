/**
 * A responder is accepted wherever the certificates it speaks of are: under a CA that demands a
 * policy it has one (RFC 5280 §6.1).
 */

import { writeFileSync } from "node:fs";
import { beforeEach, expect, test } from "bun:test";

import { encodePem } from "#core/asn1/pem.ts";
import { responderPolicies } from "#core/policy/certificate-policy.ts";
import type { CaPolicies } from "#core/policy/certificate-extensions.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { encodeOcspRequest } from "#core/x509/ocsp.ts";
import { policyFactsOf } from "#core/x509/path-policies.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import { caRequest, initRoot, rootOrigin } from "#test/support/worlds/issuance.ts";
import { scratchDirectory } from "#test/support/encodings/openssl.ts";
import { revokingWorld } from "#test/support/worlds/revoking-world.ts";
import { certificateOf } from "#test/support/worlds/rollover.ts";

let world: ReturnType<typeof revokingWorld>;
let root: CaRecord;
beforeEach(async () => {
  world = revokingWorld({ urlBase: "https://pki.example", activating: true });
  root = await initRoot(world);
});

const policies = (more: Partial<CaPolicies> = {}): CaPolicies => ({
  oids: ["1.2.3.4"],
  cps: undefined,
  critical: false,
  mappings: [],
  requireExplicitPolicy: undefined,
  inhibitPolicyMapping: undefined,
  ...more,
});
const under = (parent: CaRecord, label: string, more: Partial<CaPolicies> | undefined) =>
  world.authorities.issueIntermediate(
    rootOrigin,
    parent,
    caRequest({ label, policies: more && policies(more) }),
  );
async function responderOf(ca: CaRecord): Promise<Uint8Array> {
  const found = await world.store.read.revocations.responder(ca.id);
  if (found === undefined) throw new Error(`no responder: ${world.failures.map(String)}`);
  return found.certificate;
}
const policiesOf = async (ca: CaRecord) => {
  const { policies: found } = policyFactsOf(parseCertificate(await responderOf(ca)));
  return found && [...found];
};

/** What openssl says of a certificate as the signer of OCSP answers, processing policies. */
function opensslVerdict(leaf: Uint8Array, between: readonly CaRecord[]): string {
  using scratch = scratchDirectory();
  const pem = (der: Uint8Array) => encodePem("CERTIFICATE", der);
  const run = Bun.spawnSync([
    "openssl",
    "verify",
    ...anyPolicyWanted,
    "-purpose",
    "ocsphelper",
    "-attime",
    String(Math.floor(world.clock.now() / 1000)),
    "-CAfile",
    scratch.write("root.pem", pem(certificateOf(root))),
    "-untrusted",
    scratch.write("between.pem", between.map((ca) => pem(certificateOf(ca))).join("")),
    scratch.write("leaf.pem", pem(leaf)),
  ]);
  return run.exitCode === 0 ? "OK" : run.stderr.toString();
}

/** What `openssl ocsp` says of our answer about a certificate of this CA, processing policies. */
async function ocspVerdict(ca: CaRecord): Promise<string> {
  using scratch = scratchDirectory();
  const pem = (der: Uint8Array) => encodePem("CERTIFICATE", der);
  const { subject, spki, serial } = parseCertificate(certificateOf(ca));
  const question = encodeOcspRequest({
    issuerName: subject.der,
    issuerSpki: spki,
    serial,
    hash: "sha1",
    nonce: undefined,
  });
  const { der } = await world.ocsp.answer(ca.id, question);
  const [asked, answered] = [`${scratch.path}/asked.der`, `${scratch.path}/answered.der`];
  writeFileSync(asked, question);
  writeFileSync(answered, der);
  const run = Bun.spawnSync([
    "openssl",
    "ocsp",
    ...anyPolicyWanted,
    "-attime",
    String(Math.floor(world.clock.now() / 1000)),
    "-reqin",
    asked,
    "-respin",
    answered,
    "-CAfile",
    scratch.write("root.pem", pem(certificateOf(root))),
    "-verify_other",
    scratch.write("ca.pem", pem(certificateOf(ca))),
  ]);
  return run.stderr.toString();
}

/** openssl processes policies at all only when it is told which it would take. */
const anyPolicyWanted = ["-policy_check", "-policy", "2.5.29.32.0"];

test("a responder under a CA that demands a policy has those of its CA, and openssl takes its answers", async () => {
  const ca = await under(root, "strict", { requireExplicitPolicy: 0 });
  expect(await policiesOf(ca)).toEqual(["1.2.3.4"]);
  expect(opensslVerdict(await responderOf(ca), [ca])).toBe("OK");
  expect(await ocspVerdict(ca)).toContain("Response verify OK");
});

test("where nobody demands a policy a responder has none, whatever its CA has", async () => {
  const free = await under(root, "free", {});
  expect(await policiesOf(root)).toBeUndefined();
  expect(await policiesOf(free)).toBeUndefined();
  expect(opensslVerdict(await responderOf(free), [free])).toBe("OK");
});

test("a demand from further up counts the CAs below it, and policies are followed through mappings", async () => {
  const mappings = [{ issuer: "1.2.3.4", subject: "1.2.3.9" }];
  const upper = await under(root, "upper", { requireExplicitPolicy: 2 });
  expect(await policiesOf(upper)).toBeUndefined();
  const maps = await under(upper, "maps", { mappings });
  expect(await policiesOf(maps)).toEqual(["1.2.3.9"]);
  expect(opensslVerdict(await responderOf(maps), [maps, upper])).toBe("OK");
});

test("below a CA with any policy it has the one a CA above names, or any itself", async () => {
  const named = await under(root, "named", { requireExplicitPolicy: 0 });
  const any = await under(named, "any", { oids: ["2.5.29.32.0"] });
  expect(await policiesOf(any)).toEqual(["1.2.3.4"]);
  expect(opensslVerdict(await responderOf(any), [any, named])).toBe("OK");
  const all = await under(root, "all", { oids: ["2.5.29.32.0"], requireExplicitPolicy: 0 });
  expect(await policiesOf(all)).toEqual(["2.5.29.32.0"]);
  expect(opensslVerdict(await responderOf(all), [all])).toBe("OK");
});

test("under a path on which no policy is valid a responder has none, and answers all the same", async () => {
  const upper = await under(root, "upper", { requireExplicitPolicy: 2 });
  const bare = await under(upper, "bare", undefined);
  expect(await policiesOf(bare)).toBeUndefined();
  expect(await ocspVerdict(bare)).not.toContain("Response verify OK");
});

test("of policies without end a responder has a hundred", () => {
  const policyPath = [
    {
      policies: new Set(Array.from({ length: 20_000 }, (_, at) => `1.2.3.${at}`)),
      mappings: [],
      requireExplicitPolicy: 0,
      inhibitPolicyMapping: undefined,
      inhibitAnyPolicy: undefined,
      selfIssued: false,
    },
  ];
  expect(responderPolicies({ policyPath })).toHaveLength(100);
});
