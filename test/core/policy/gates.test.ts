/**
 * The gates: they report together, refuse when they cannot decide, and alone make what is signed.
 */

import { expect, test } from "bun:test";

import { admit, type LeafRequest } from "#core/policy/admit.ts";
import { repeatedExtensions } from "#core/policy/certificate-extensions.ts";
import { type Candidate, clear, gates } from "#core/policy/gates.ts";
import type { IssuanceSections, Issuer } from "#core/policy/plan.ts";
import type { Profile } from "#core/policy/profile.ts";
import { ProfileSet } from "#core/policy/profiles.ts";
import { addSeconds, instant, secondsPerDay } from "#core/time.ts";
import { mustStaple } from "#core/x509/extensions.ts";
import { parseCsr } from "#core/x509/csr.ts";
import { caId } from "#core/ids.ts";
import { encodeName } from "#core/x509/names.ts";
import { type CsrOptions, csr, drawnSerial, soundKey } from "#test/support/worlds/issuance.ts";

const now = instant(Date.parse("2026-06-01T12:00:00Z"));
const keyId = new Uint8Array(20).fill(9);
const id = caId("11111111-1111-4111-8111-111111111111");
const issuer: Issuer = {
  id,
  subject: encodeName([{ type: "CN", value: "Issuer" }]).der,
  keyId,
  spkiSha256: "",
  signature: "ecdsa-sha256",
  maxPathLength: undefined,
  constraints: [],
  notBefore: addSeconds(now, -86_400),
  notAfter: addSeconds(now, 3650 * secondsPerDay),
  policyPath: [],
  purposes: [],
  repeated: repeatedExtensions({ id, keyId, urlBase: "https://pki.example" }),
};
const config: IssuanceSections = {
  issuance: { backdate_seconds: 300, ski_method: "rfc7093", max_names: 3 },
  policy: { max_cert_validity_days: 0 },
};
const server = new ProfileSet().named("server");

interface Asked extends CsrOptions {
  readonly profile?: Partial<Profile>;
  readonly request?: Partial<LeafRequest>;
  readonly issuer?: Partial<Issuer>;
}

function admission(asked: Asked) {
  const request: LeafRequest = {
    csr: parseCsr(csr(asked)),
    validitySeconds: undefined,
    mustStaple: undefined,
    caller: "interactive",
    ...asked.request,
  };
  const profile = { ...server, ...asked.profile };
  return admit(request, profile, { ...issuer, ...asked.issuer }, config, now);
}

function candidate(asked: Asked = {}): Candidate {
  const admitted = admission(asked);
  if (!admitted.readable) throw admitted.refusal;
  const { plan, objections } = admitted;
  const profile = { ...server, ...asked.profile };
  const facts = { profile, keyFacts: soundKey, drawn: drawnSerial("1234"), now };
  return { plan, objections, ...facts, issuer: { ...issuer, ...asked.issuer } };
}

function refusal(asked: Asked) {
  const clearance = clear(candidate(asked));
  if (clearance.cleared) return { code: "cleared", failed: [] };
  const failed = clearance.gates.filter(({ status }) => status === "fail");
  return { code: clearance.refusal.code, failed: failed.map(({ name }) => name) };
}

test("what the profile allows passes every gate", () => {
  const clearance = clear(candidate());
  expect(clearance.cleared).toBe(true);
  const open = clearance.cleared ? clearance.plan.gates.filter((g) => g.status !== "pass") : [];
  expect(open).toEqual([{ name: "caa", status: "skipped" }]);
});

test("the gates stand in the order that is agreed on", () => {
  const order = ["names", "certificate_policy", "must_staple", "lint", "caa"];
  const last = ["name_constraints", "keycheck", "validity", "approval"];
  expect(gates.map(({ name }) => name as string)).toEqual([...order, ...last]);
});

test("all gates that refuse report together", () => {
  const asked: Asked = {
    dns: ["-bad-.example"],
    request: { validitySeconds: 400 * secondsPerDay },
    profile: { names: { ...server.names, permittedDns: ["other.example"] } },
  };
  expect(refusal(asked)).toEqual({
    code: "gate_refused",
    failed: ["lint", "name_constraints", "validity"],
  });
});

test("a gate that refuses alone says so with its own code when it has one", () => {
  const validity = { request: { validitySeconds: 398 * secondsPerDay } };
  expect(refusal(validity)).toEqual({ code: "validity_exceeds_limit", failed: ["validity"] });
  const policy: Asked = { profile: { keyUsages: ["keyEncipherment"], extKeyUsages: [] } };
  expect(refusal(policy)).toEqual({
    code: "key_usage_unsuitable",
    failed: ["certificate_policy"],
  });
});

test("a gate that throws has refused", () => {
  const broken = candidate();
  const trap = new Proxy(server, {
    get: (profile, name) => {
      if (name === "keyChecks") throw new Error("the blocklist cannot be read");
      return Reflect.get(profile, name);
    },
  });
  const clearance = clear({ ...broken, profile: trap });
  if (clearance.cleared) throw new Error("a broken gate let a plan pass");
  expect(clearance.gates.find(({ name }) => name === "keycheck")).toEqual({
    name: "keycheck",
    status: "fail",
    reason: "the gate could not decide",
  });
});

test("names: as many as the setting allows, one more is refused", () => {
  expect(refusal({ dns: ["a.example", "b.example", "c.example"] }).code).toBe("cleared");
  const four = { dns: ["a.example", "b.example", "c.example", "d.example"] };
  expect(refusal(four)).toEqual({ code: "gate_refused", failed: ["names"] });
});

test("names: a common name alone is enough unless the profile wants a SAN", () => {
  expect(refusal({ dns: [] }).code).toBe("cleared");
  const host = { dns: [], subject: [{ type: "CN", value: "a.example" }] };
  expect(refusal(host)).toEqual({ code: "gate_refused", failed: ["lint"] });
  const strict = { dns: [], profile: { names: { ...server.names, requireSan: true } } };
  expect(refusal(strict)).toEqual({ code: "gate_refused", failed: ["names"] });
});

test("must_staple: the request decides only where the profile lets it", () => {
  const asked = { request: { mustStaple: true } };
  expect(refusal(asked)).toEqual({ code: "gate_refused", failed: ["must_staple"] });
  const allowed = candidate({ ...asked, profile: { allowMustStapleOverride: true } });
  expect(allowed.plan.mustStaple).toBe(true);
  const inCsr = { extensions: [mustStaple()] };
  expect(candidate(inCsr).plan.mustStaple).toBe(false);
  expect(candidate({ ...inCsr, profile: { allowMustStapleOverride: true } }).plan.mustStaple).toBe(
    true,
  );
});

test("EXT-1: keyEncipherment is kept for RSA keys only", () => {
  expect(candidate({ keyType: "ecdsa-p256" }).plan.keyUsages).toEqual(["digitalSignature"]);
  expect(candidate({ keyType: "ed25519" }).plan.keyUsages).toEqual(["digitalSignature"]);
  expect(candidate({ keyType: "rsa-2048" }).plan.keyUsages).toEqual([
    "digitalSignature",
    "keyEncipherment",
  ]);
});

test("EXT-1: a key that can serve none of the profile's usages is refused", () => {
  const profile = { keyUsages: ["keyEncipherment"] as const };
  expect(refusal({ keyType: "ecdsa-p256", profile })).toMatchObject({
    code: "key_usage_unsuitable",
    failed: ["certificate_policy"],
  });
  expect(refusal({ keyType: "rsa-2048", profile }).code).toBe("cleared");
});

test("PRO-5: the same SAN twice is one, a U-label is an A-label, the subject may be empty", () => {
  const { plan } = candidate({ dns: ["A.example", "a.example"], subject: [] });
  expect(plan.sans).toEqual([{ kind: "dns", value: "a.example" }]);
  expect(plan.subject.attributes).toEqual([]);
  expect(refusal({ subject: [] }).code).toBe("cleared");
});

test("a request that names nothing, or what is never issued, cannot be read into a plan", () => {
  const code = (asked: Asked) => {
    const admitted = admission(asked);
    return admitted.readable ? "readable" : admitted.refusal.code;
  };
  expect(code({ subject: [], dns: [] })).toBe("bad_csr");
  expect(code({ subject: [{ type: "O", value: "x" }], dns: [] })).toBe("bad_csr");
  expect(code({ subject: [{ type: "pseudonym", value: "x" }] })).toBe("bad_csr");
  expect(code({ subject: [{ type: "O", value: "x" }] })).toBe("readable");
});

test("a warning of a relaxed rule clears and stays visible", () => {
  const lint = { ...server.lint, mode: "warn" as const };
  const clearance = clear(candidate({ dns: ["-bad-.example"], profile: { lint } }));
  expect(clearance.cleared && clearance.plan.gates.find((g) => g.name === "lint")?.status).toBe(
    "warn",
  );
});

test("EXT-4: a profile without revocation pointers keeps caIssuers", () => {
  const { plan } = candidate({ profile: { omitRevocationPointers: true } });
  const found = plan.extensions.map(({ oid }) => oid);
  expect(found).toContain("1.3.6.1.5.5.7.1.1");
  expect(found).not.toContain("2.5.29.31");
});

test("approval: people are refused where the profile wants one, protocols never are", () => {
  const profile = { requireApproval: true };
  expect(refusal({ profile })).toEqual({ code: "gate_refused", failed: ["approval"] });
  expect(refusal({ profile, request: { caller: "protocol" } }).code).toBe("cleared");
});

test("names: the email profile wants a mailbox among the names", () => {
  const email = new ProfileSet().named("email");
  const mailbox = { sans: [{ kind: "email" as const, value: "ada@a.example" }] };
  expect(refusal({ ...mailbox, profile: email }).code).toBe("cleared");
  expect(refusal({ dns: ["a.example"], profile: email }).failed).toContain("names");
});

test("a serial is for one certificate: the gates clear it once", () => {
  const once = candidate();
  expect(clear(once).cleared).toBe(true);
  const again = clear(once);
  const lint = again.cleared ? undefined : again.gates.find(({ name }) => name === "lint");
  expect(lint?.findings?.map(({ code }) => code)).toEqual(["serial_entropy"]);
});

test("BR 6.3.2: a public profile shortens its default to a day below the maximum", () => {
  const lint = { ...server.lint, public: true };
  const days = ({ plan }: Candidate) => (plan.notAfter - plan.notBefore + 1000) / 86_400_000;
  expect(days(candidate({ profile: { lint } }))).toBe(199);
  expect(days(candidate({ profile: { lint, defaultValiditySeconds: 90 * 86_400 } }))).toBe(90);
  expect(days(candidate())).toBe(397);
});
