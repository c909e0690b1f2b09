/** Purposes and policies of CAs: what they say binds what is issued below, as OpenSSL reads it. */

import { beforeEach, expect, test } from "bun:test";

import { oids } from "#core/asn1/oids.ts";
import { encodePem } from "#core/asn1/pem.ts";
import type { CaPolicies } from "#core/policy/certificate-extensions.ts";
import type { Profile } from "#core/policy/profile.ts";
import { ProfileSet } from "#core/policy/profiles.ts";
import { Problem } from "#core/problems.ts";
import { extensionOf, parseCertificate } from "#core/x509/certificate.ts";
import { parseExtendedKeyUsage } from "#core/x509/extensions.ts";
import { CrossSigning } from "#domain/hierarchy/cross-sign.ts";
import type { CaRequest } from "#domain/hierarchy/create.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { Issued } from "#domain/certificates/issue.ts";
import {
  caRequest,
  csr,
  initRoot,
  issuanceWorld,
  leafRequest,
  rootOrigin,
  type World,
} from "#test/support/worlds/issuance.ts";
import { scratchDirectory } from "#test/support/encodings/openssl.ts";
import { certificateOf, sameAgain } from "#test/support/worlds/rollover.ts";

let world: World;
let root: CaRecord;
beforeEach(async () => {
  world = issuanceWorld();
  root = await initRoot(world);
});

const server = new ProfileSet().named("server");
const under = (parent: CaRecord, label: string, request: Partial<CaRequest>) =>
  world.authorities.issueIntermediate(rootOrigin, parent, caRequest({ label, ...request }));
const policies = (more: Partial<CaPolicies> = {}): CaPolicies => ({
  oids: ["1.2.3.4"],
  cps: undefined,
  critical: false,
  mappings: [],
  requireExplicitPolicy: undefined,
  inhibitPolicyMapping: undefined,
  ...more,
});
const withPolicies = (name: string, ...names: readonly string[]): Profile => ({
  ...server,
  name,
  policies: { oids: names, cps: undefined, critical: false },
});
const issue = (ca: CaRecord, profile: string) =>
  world.issuance.issue(rootOrigin, ca, leafRequest({ profile, csr: csr() }));
/** The reason of the gate, or that it let pass. */
const objection = (promise: Promise<unknown>) =>
  promise.then(
    () => "accepted",
    (error) => {
      if (!(error instanceof Problem)) throw error;
      const gates = (error.facts.gates ?? []) as {
        name: string;
        status: string;
        reason?: string;
      }[];
      const failed = gates.filter(({ status }) => status === "fail");
      expect(failed.map(({ name }) => name)).toEqual(["certificate_policy"]);
      return failed[0]?.reason;
    },
  );

function opensslAccepts(issued: Issued, ...flags: readonly string[]): boolean {
  using scratch = scratchDirectory();
  const pem = (der: Uint8Array) => encodePem("CERTIFICATE", der);
  const between = issued.intermediates.map(pem).join("");
  const run = Bun.spawnSync([
    "openssl",
    "verify",
    "-x509_strict",
    "-policy",
    "2.5.29.32.0",
    ...flags,
    "-attime",
    String(Math.floor(world.clock.now() / 1000)),
    "-CAfile",
    scratch.write("root.pem", pem(certificateOf(root))),
    "-untrusted",
    scratch.write("between.pem", between),
    scratch.write("leaf.pem", pem(issued.certificate)),
  ]);
  if (run.exitCode !== 0) console.log(run.stderr.toString());
  return run.exitCode === 0;
}

test("a CA that demands a policy issues only with one that is valid under it", async () => {
  world.setProfiles([withPolicies("same", "1.2.3.4"), withPolicies("other", "1.2.3.5")]);
  const ca = await under(root, "strict", { policies: policies({ requireExplicitPolicy: 0 }) });
  expect(await objection(issue(ca, "server"))).toBe(
    "the CA demands a policy, and the certificate has none",
  );
  expect(await objection(issue(ca, "other"))).toBe(
    "the CA demands a policy, and none of the certificate's is valid under it",
  );
  expect(opensslAccepts(await issue(ca, "same"))).toBe(true);
});

test("a demand counts the CAs below it", async () => {
  world.setProfiles([withPolicies("same", "1.2.3.4")]);
  const upper = await under(root, "upper", { policies: policies({ requireExplicitPolicy: 2 }) });
  expect(await objection(issue(upper, "server"))).toBe("accepted");
  const free = await under(upper, "free", { policies: undefined });
  expect(await objection(issue(free, "server"))).toContain("demands a policy");
  // Without a policy of its own a CA has none to give.
  expect(await objection(issue(free, "same"))).toContain("demands a policy");
  const lower = await under(upper, "lower", { policies: policies() });
  expect(opensslAccepts(await issue(lower, "same"))).toBe(true);
  const now = await under(root, "now", { policies: policies({ requireExplicitPolicy: 0 }) });
  expect(await objection(under(now, "bare", { policies: undefined }))).toContain(
    "demands a policy",
  );
});

test("policies are followed through mappings", async () => {
  world.setProfiles([withPolicies("mapped", "1.2.3.9"), withPolicies("same", "1.2.3.4")]);
  const mappings = [{ issuer: "1.2.3.4", subject: "1.2.3.9" }];
  const upper = await under(root, "upper", { policies: policies({ requireExplicitPolicy: 0 }) });
  const ca = await under(upper, "maps", { policies: policies({ mappings }) });
  expect(opensslAccepts(await issue(ca, "mapped"))).toBe(true);
  expect(await objection(issue(ca, "same"))).toContain("none of the certificate's is valid");
  const limited = policies({ requireExplicitPolicy: 0, inhibitPolicyMapping: 0 });
  const still = await under(root, "still", { policies: limited });
  const vain = await under(still, "vain", { policies: policies({ mappings }) });
  expect(await objection(issue(vain, "mapped"))).toContain("demands a policy");
});

test("a CA with purposes issues for no other, nor do the CAs below it", async () => {
  const ca = await under(root, "servers", { extKeyUsages: ["serverAuth", "1.3.6.1.5.5.7.3.17"] });
  const made = parseCertificate(certificateOf(ca));
  const extension = extensionOf(made, oids.extKeyUsage);
  expect(extension?.critical).toBe(false);
  expect(parseExtendedKeyUsage(extension?.value ?? new Uint8Array())).toEqual([
    "1.3.6.1.5.5.7.3.1",
    "1.3.6.1.5.5.7.3.17",
  ]);
  expect(opensslAccepts(await issue(ca, "server"), "-purpose", "sslserver")).toBe(true);
  const no = "the CA may not certify for the purpose 1.3.6.1.5.5.7.3.2";
  expect(await objection(issue(ca, "client"))).toBe(no);
  const below = await under(ca, "below", {});
  expect(await objection(issue(below, "client"))).toBe(no);
  expect(await objection(under(ca, "wider", { extKeyUsages: ["clientAuth"] }))).toBe(no);
  world.setProfiles([{ ...server, name: "everything", extKeyUsages: [] }]);
  expect(await objection(issue(ca, "everything"))).toBe("the CA may not certify for every purpose");
});

test("purposes and policies outlive a rollover, and a cross certificate has them too", async () => {
  const ca = await under(root, "servers", { extKeyUsages: ["serverAuth"], policies: policies() });
  const own = parseCertificate(certificateOf(ca));
  const other = await initRoot(world, { label: "other" });
  const request = { validityDays: undefined, maxPathLength: undefined };
  const cross = await new CrossSigning(world).sign(rootOrigin, other, {
    subject: { source: "local-ca", ca },
    ...request,
  });
  const { successor } = await world.authorities.rotate(rootOrigin, ca, sameAgain);
  for (const der of [cross.certificate, certificateOf(successor)]) {
    const made = parseCertificate(der);
    for (const oid of [oids.extKeyUsage, oids.certificatePolicies]) {
      expect(extensionOf(made, oid)).toEqual(extensionOf(own, oid));
    }
  }
});

test("a public profile tells when the intermediate lacks what the public web wants of it", async () => {
  const open = { ...withPolicies("open", "2.23.140.1.2.1"), caa: { ...server.caa } };
  const profile: Profile = { ...open, lint: { ...server.lint, public: true, disabled: true } };
  world.setProfiles([profile]);
  const said = async (ca: CaRecord) => {
    const request = { ...leafRequest({ profile: "open" }), asked: { csr: csr() } };
    const { gates } = await world.issuance.preview(ca, request);
    return gates.find(({ name }) => name === "certificate_policy");
  };
  const bare = await under(root, "bare", {});
  expect(await said(bare)).toEqual({
    name: "certificate_policy",
    status: "warn",
    reason: "the CA is without extended key usages",
  });
  const half = await under(root, "half", { extKeyUsages: ["serverAuth"] });
  expect(await said(half)).toMatchObject({ reason: "the CA is without certificate policies" });
  const whole = await under(root, "whole", {
    extKeyUsages: ["serverAuth"],
    policies: policies({ oids: ["2.23.140.1.2.1"] }),
  });
  expect(await said(whole)).toMatchObject({ status: "pass" });
});
