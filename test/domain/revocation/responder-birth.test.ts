/**
 * RSP-2: whatever a CA is, its responder is made when it becomes active, and none of our gates
 * refuses it; a failure is loud.
 */

import { beforeEach, describe, expect, test } from "bun:test";
import fc from "fast-check";

import { oids } from "#core/asn1/oids.ts";
import { encodePem } from "#core/asn1/pem.ts";
import { defaultTenant } from "#core/ids.ts";
import { pathViolations } from "#core/policy/name-constraints.ts";
import { responderSubject } from "#core/policy/responder-subject.ts";
import { Problem, refuse } from "#core/problems.ts";
import { addSeconds } from "#core/time.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import type { Subtrees } from "#core/x509/name-constraints.ts";
import { commonName, encodeName, type NameAttribute, nameText } from "#core/x509/names.ts";
import type { CaRequest } from "#domain/hierarchy/create.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import { externalRoot } from "#test/support/worlds/external-root.ts";
import { caRequest, initRoot, rootOrigin } from "#test/support/worlds/issuance.ts";
import { revokingWorld } from "#test/support/worlds/revoking-world.ts";
import { opensslVerifies } from "#test/support/worlds/rollover.ts";

let world: ReturnType<typeof revokingWorld>;
beforeEach(() => {
  world = revokingWorld({ urlBase: "https://pki.example", activating: true });
});

const responderOf = ({ id }: CaRecord) => world.store.read.revocations.responder(id);
const certificateOf = async (ca: CaRecord) => {
  const responder = await responderOf(ca);
  if (responder === undefined) throw new Error(`no responder: ${world.failures.map(String)}`);
  return parseCertificate(responder.certificate);
};
const events = () => world.store.listEvents();
const cn = (value: string): readonly NameAttribute[] => [{ type: "CN", value }];
const trees = (some: Partial<Subtrees>): Subtrees => ({
  dns: [],
  ip: [],
  email: [],
  uri: [],
  dirNames: [],
  ...some,
});
const only = (permitted: Partial<Subtrees>) => ({
  permitted: trees(permitted),
  excluded: trees({}),
  critical: true,
});
const directory = (...attributes: NameAttribute[]) => encodeName(attributes).der;
const organization: NameAttribute = { type: "O", value: "Example Ltd" };

const requests: Record<string, Partial<CaRequest>> = {
  "a common name of 49 characters": { subject: cn("n".repeat(49)) },
  "a common name of 50 characters": { subject: cn("n".repeat(50)) },
  "a common name of 64 characters beyond the BMP": { subject: cn("𝒩".repeat(64)) },
  "no common name": { subject: [organization] },
  "the longest name it may have": {
    subject: [
      { type: "C", value: "DE" },
      { type: "ST", value: "s".repeat(128) },
      { type: "L", value: "l".repeat(128) },
      { type: "O", value: "o".repeat(64) },
      { type: "OU", value: "u".repeat(64) },
      { type: "CN", value: "c".repeat(64) },
    ],
  },
  "an RSA key of 4096 bits": { keyType: "rsa-4096" },
  "an Ed25519 key": { keyType: "ed25519" },
  "an ML-DSA key": { keyType: "ml-dsa-87" },
  "an SLH-DSA key": { keyType: "slh-dsa-sha2-128s" },
  "two keys": { alternativeKeyType: "ml-dsa-65" },
  "path length 0": { maxPathLength: 0 },
  "a permitted host": { nameConstraints: only({ dns: ["example.com"] }) },
  "a permitted directory name it lies in": {
    subject: [organization, { type: "CN", value: "Issuing" }],
    nameConstraints: only({ dirNames: [directory(organization)] }),
  },
  "a permitted directory name it does not lie in": {
    nameConstraints: only({ dirNames: [directory({ type: "O", value: "Customer" })] }),
  },
  "its own directory name excluded": {
    subject: [organization, { type: "CN", value: "Issuing" }],
    nameConstraints: {
      permitted: trees({}),
      excluded: trees({ dirNames: [directory(organization)] }),
      critical: true,
    },
  },
  "a mail address outside its permitted ones": {
    subject: [
      { type: "emailAddress", value: "pki@elsewhere.example" },
      { type: "CN", value: "Issuing" },
    ],
    nameConstraints: only({ email: ["mail.example"] }),
  },
};

describe("a CA answers from its first moment, with a responder OpenSSL trusts, when it has", () => {
  test.each(Object.entries(requests))("%s", async (_what, request) => {
    const ca = await initRoot(world, request);
    const responder = await certificateOf(ca);
    expect([...commonName(responder.subject)].length).toBeLessThanOrEqual(64);
    expect(commonName(responder.subject)).toEndWith("OCSP Responder");
    expect(world.failures).toEqual([]);
    const postQuantum = /^(ml|slh)-dsa/.test(ca.keyType);
    if (postQuantum) return;
    const trusted = [ca.certificate ?? new Uint8Array()];
    const at = world.clock.now();
    expect(opensslVerifies({ leaf: responder.der, trusted, untrustedPem: "", at })).toBe(true);
  });
});

test("the responder is named as its CA is, but for the common name, which is cut to fit", async () => {
  const subject = [organization, { type: "CN", value: "n".repeat(60) }];
  const ca = await initRoot(world, { subject });
  const responder = await certificateOf(ca);
  expect(nameText(responder.subject)).toBe(`CN=${"n".repeat(49)} OCSP Responder,O=Example Ltd`);
});

test("a successor has its responder from the rotation on, under the constraints of the whole path", async () => {
  const within = only({ dirNames: [directory(organization)] });
  const root = await initRoot(world, { nameConstraints: within });
  const issuing = await world.authorities.issueIntermediate(
    rootOrigin,
    root,
    caRequest({ label: "issuing", subject: [organization, ...cn("Issuing")] }),
  );
  const { successor } = await world.authorities.rotate(rootOrigin, issuing, {
    label: undefined,
    keyType: undefined,
    validityDays: undefined,
  });
  for (const ca of [root, issuing, successor]) {
    expect(nameText((await certificateOf(ca)).subject)).toEndWith("O=Example Ltd");
  }
});

test("a CA that was certified this very second has a responder that begins with it, whatever its name has", async () => {
  using elsewhere = externalRoot();
  const { notBefore } = parseCertificate(elsewhere.root);
  const pending = await world.external.request(rootOrigin, defaultTenant, {
    label: "below",
    subject: cn("Below"),
    keyType: "ecdsa-p256",
    maxPathLength: undefined,
  });
  const certificatePem = elsewhere.certify({
    csrPem: encodePem("CERTIFICATE REQUEST", pending.csr ?? new Uint8Array()),
    subject: "/C=DE/O=Example/CN=Below/emailAddress=pki@example.com/CN=Below once more",
  });
  const chainPem = elsewhere.upperPem + elsewhere.rootPem;
  world.clock.at = addSeconds(notBefore, 5);
  const request = { certificatePem, chainPem, replace: false };
  const { ca } = await world.external.certify(rootOrigin, pending, request);
  const responder = await certificateOf(ca);
  expect(responder.notBefore).toBeGreaterThanOrEqual(ca.notBefore ?? 0);
  expect(responder.extensions.some(({ oid }) => oid === oids.ocspNoCheck)).toBe(true);
});

test("a failure is logged, an event, and tried again by questions once a minute at most", async () => {
  world.keys.checkTicket = (ticket) => {
    if (ticket.purpose === "responder_certificate") throw refuse("key_unavailable");
  };
  const ca = await initRoot(world);
  expect(await responderOf(ca)).toBeUndefined();
  expect(world.failures.map((error) => error instanceof Problem && error.code)).toEqual([
    "key_unavailable",
  ]);
  const told = () => events().filter(({ action }) => action === "cert.issue");
  expect(told()).toMatchObject([
    {
      result: "error",
      actor: "system:ocsp",
      target: ca.id,
      detail: "requester=system:ocsp reasons=key_unavailable",
    },
  ]);
  const keys = () => world.store.listLedger().filter(({ kind }) => kind === "key").length;
  const before = keys();
  for (let second = 0; second < 64; second += 7) {
    await world.askOcsp(ca, ca.serial ?? ("1" as never)).catch(() => {});
    world.clock.advance(7);
  }
  expect(keys()).toBe(before + 2);
  // A second failure of the same kind is in the log, and not in the chain.
  expect(world.failures).toHaveLength(2);
  expect(told()).toHaveLength(1);
  world.keys.checkTicket = () => {};
  await world.responders.renewals();
  expect(await responderOf(ca)).toBeUndefined();
  world.clock.advance(60);
  await world.responders.renewals();
  await certificateOf(ca);
});

test("CAs of an older release get theirs by the schedule, the internal one only when asked about", async () => {
  world.activation.run = async () => {};
  const ca = await initRoot(world);
  const internal = await world.serving.internalCa();
  expect(await responderOf(ca)).toBeUndefined();
  await world.responders.renewals();
  await certificateOf(ca);
  expect(await responderOf(internal)).toBeUndefined();
});

test("no constraints a CA can be within keep its responder from having a name they allow", () => {
  const word = fc.constantFrom("A", "B", "C");
  const attribute = fc.record({ type: fc.constantFrom("O", "OU", "CN", "DC"), value: word });
  const name = fc.array(attribute, { minLength: 1, maxLength: 4 });
  const bases = fc.array(fc.array(attribute, { minLength: 1, maxLength: 2 }), { maxLength: 2 });
  fc.assert(
    fc.property(name, bases, (attributes, permitted) => {
      const subject = encodeName(attributes);
      const bound = permitted.filter((base) => base.every(({ type }) => type !== "CN"));
      const constraints = [only({ dirNames: bound.map((base) => directory(...base)) })];
      const given = responderSubject({ subject: subject.der, constraints });
      expect(pathViolations({ subject: given, sans: [], forServers: false }, constraints)).toEqual(
        [],
      );
      expect(given.attributes.filter(({ type }) => type === "CN")).toHaveLength(1);
    }),
  );
});
