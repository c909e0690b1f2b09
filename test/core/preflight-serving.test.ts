/**
 * The judgement of the serving certificate: its life, its names, its path, and what is really
 * shown.
 */

import { describe, expect, test } from "bun:test";

import { addSeconds, type Instant, secondsPerDay } from "#core/time.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { judgeListener, judgeServed, type ServingFacts } from "#core/preflight/serving.ts";
import {
  caRequest,
  initRoot,
  issuanceWorld,
  leafRequest,
  rootOrigin,
  csr,
} from "#test/support/worlds/issuance.ts";

const world = issuanceWorld();
const root = await initRoot(world);
const below = await world.authorities.issueIntermediate(
  rootOrigin,
  root,
  caRequest({ label: "below" }),
);
const { certificate: leaf } = await world.issuance.issue(
  rootOrigin,
  below,
  leafRequest({ csr: csr({ dns: ["pki.example.test", "*.wild.example.test"] }) }),
);
const { notAfter } = parseCertificate(leaf);
const intermediate = below.certificate ?? new Uint8Array();
const facts: ServingFacts & { shown: NonNullable<ServingFacts["shown"]> } = {
  kept: [leaf, intermediate],
  keyFits: true,
  selfIssued: false,
  publicHost: undefined,
  shown: { der: leaf, protocol: "TLSv1.3" },
  now: world.clock.now(),
};

describe("certs.serving_expiry", () => {
  const judged = (more: Partial<typeof facts>): string => judgeServed({ ...facts, ...more }).status;
  const before = (days: number): Instant => addSeconds(notAfter, -days * secondsPerDay);

  test("warns under 14 days, fails when expired, and gives what renews itself until a quarter is left", () => {
    expect([judged({ now: before(14) }), judged({ now: before(13.9) })]).toEqual(["pass", "warn"]);
    expect(judged({ now: addSeconds(notAfter, 1) })).toBe("fail");
    expect(judged({ now: before(13.9), selfIssued: true })).toBe("warn");
  });

  test("fails for a name it is not for, under wildcards too", () => {
    for (const host of ["pki.example.test", "PKI.example.test", "a.wild.example.test"]) {
      expect(judged({ publicHost: host })).toBe("pass");
    }
    for (const host of ["example.test", "b.a.wild.example.test", "192.0.2.1", "[2001:db8::1]"]) {
      expect(judged({ publicHost: host })).toBe("fail");
    }
  });

  test("warns when it is not the one in the files, and fails for what is no certificate", () => {
    expect(judged({ kept: [intermediate] })).toBe("warn");
    expect(judged({ shown: { der: Uint8Array.of(1), protocol: "" } })).toBe("fail");
  });
});

describe("listener.tls", () => {
  const judged = (more: Partial<ServingFacts>, served = true): string =>
    judgeListener({ ...facts, ...more }, served).status;

  test("passes for a pair with its path, live or not", () => {
    expect([judged({}), judged({ shown: undefined }, false)]).toEqual(["pass", "pass"]);
    expect(judged({ kept: [leaf, intermediate, root.certificate ?? leaf] })).toBe("pass");
  });

  test("warns of a path with a gap, fails for a foreign key, for no handshake and for no certificate", () => {
    expect(judged({ kept: [leaf] })).toBe("warn");
    expect(judged({ kept: [leaf], selfIssued: true })).toBe("pass");
    expect(judged({ kept: [leaf, root.certificate ?? leaf] })).toBe("warn");
    expect(judged({ keyFits: false })).toBe("fail");
    expect(judged({ shown: undefined })).toBe("fail");
    expect(judged({ kept: [Uint8Array.of(1)] })).toBe("fail");
    expect(judged({ kept: undefined, shown: undefined }, false)).toBe("fail");
    expect(judged({ kept: undefined, shown: undefined, selfIssued: true }, false)).toBe("skip");
  });
});
