/**
 * Who a client certificate stands for: the path, its time and purpose, revocation by this instance,
 * and the roles.
 */

import { beforeEach, describe, expect, test } from "bun:test";
import fc from "fast-check";

import type { Binding } from "#core/access/client-bindings.ts";
import { decodePem } from "#core/asn1/pem.ts";
import { instant } from "#core/time.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { basicConstraints, keyUsage } from "#core/x509/extensions.ts";
import { ClientCertificates, type ClientTrust } from "#domain/access/client-certificates.ts";
import type { Store } from "#domain/store.ts";
import { type ClientCertificate, OutsideCa } from "#test/support/tls/client-certificates.ts";
import { admin, type GovernedWorld, governedWorld } from "#test/support/worlds/governed-world.ts";
import { csr } from "#test/support/worlds/issuance.ts";
import { createMemoryStore } from "#test/support/stores/memory-store.ts";
import { clientPaths, somewhere } from "#test/support/worlds/client-paths.ts";
import { testClock } from "#test/support/ports.ts";

const robot: Binding = {
  name: "robots",
  selectors: { subjectCn: "robot" },
  subject: "robot",
  roles: ["issuer"],
  tenantRoles: {},
};

/** Asks under this trust; `counted` are the results metrics are told. */
function clients(trust: ClientTrust, store: Store = createMemoryStore(), clock = testClock()) {
  const counted: string[] = [];
  const logged: object[] = [];
  const inForce = { trust };
  const service = new ClientCertificates({
    store,
    clock,
    trust: () => inForce.trust,
    paths: clientPaths(),
    onLogin: (result) => counted.push(result),
    log: { write: (level, message, facts) => logged.push({ level, message, ...facts }) },
  });
  const principal = (client: Pick<ClientCertificate, "chain">) =>
    service.principal(client, somewhere);
  const subject = async (client: Pick<ClientCertificate, "chain">) =>
    (await principal(client))?.subject;
  return { subject, principal, counted, logged, clock, inForce };
}

const trusting = (...anchors: readonly Uint8Array[]): ClientTrust => ({
  anchors: anchors.map(parseCertificate),
  bindings: [robot],
});

const at = (text: string) => instant(Date.parse(text));
const inYear = { notBefore: at("2026-01-01T00:00:00Z"), notAfter: at("2027-01-01T00:00:00Z") };
const root = OutsideCa.root("Outside", inYear);
const issuing = root.below("Issuing", inYear);

describe("a certificate from outside", () => {
  test("stands for the principal of its binding, who is one person however it comes", async () => {
    const { principal, counted } = clients(trusting(root.der));
    const found = await principal(issuing.client(inYear));
    expect(found).toMatchObject({
      subject: "robot",
      name: "robots",
      isRoot: false,
      roles: ["issuer"],
      tenantRoles: {},
      groups: [],
      mechanism: "mtls",
    });
    expect(found?.person).toEqual({ subject: "robot", voucher: "mtls", issuer: "", address: "" });
    expect(counted).toEqual(["success"]);
  });

  test("with several common names meets no binding by one, wherever it stands, and the log says so once", async () => {
    const cn = (value: string) => ({ type: "CN", value });
    for (const subject of [
      [cn("robot"), cn("stranger")],
      [cn("stranger"), cn("robot")],
      [cn("robot"), cn("robot")],
    ]) {
      const { principal, counted, logged } = clients(trusting(root.der));
      const client = issuing.client({ ...inYear, subject });
      expect([await principal(client), await principal(client)]).toEqual([undefined, undefined]);
      expect(counted).toEqual(["denied", "denied"]);
      expect(logged).toEqual([
        {
          level: "warn",
          message: "client_certificate_not_bound",
          why: "subject_cn is met by no certificate with several common names",
          subject: "robot",
          common_names: subject.map(({ value }) => value),
        },
      ]);
    }
    const { logged, subject } = clients(trusting(root.der));
    await subject(issuing.client({ ...inYear, subject: [cn("a"), cn("b")] }));
    expect(await subject(issuing.client(inYear))).toBe("robot");
    expect(logged).toEqual([]);
  });

  test("needs a path to what is trusted, which may be any CA of it", async () => {
    const client = issuing.client(inYear);
    expect(await clients(trusting(issuing.der)).subject(client)).toBe("robot");
    const [leaf = new Uint8Array()] = client.chain;
    const short = { chain: [leaf] };
    expect(await clients(trusting(issuing.der)).subject(short)).toBe("robot");
    for (const [trust, chain] of [
      [trusting(root.der), [leaf]],
      [trusting(OutsideCa.root("Outside", inYear).der), client.chain],
      [trusting(), client.chain],
      [trusting(root.der), []],
      [trusting(root.der), [new Uint8Array([48, 0])]],
    ] as const) {
      const { subject, counted } = clients(trust);
      expect(await subject({ chain })).toBeUndefined();
      // It counts as absent.
      expect(counted).toEqual([]);
    }
  });

  test("is not believed through a certificate that is no CA, or may have no CA below it", async () => {
    const usage = keyUsage(["keyCertSign"]);
    const flat = { ...inYear, more: [basicConstraints(true, 0), usage] };
    for (const [trusted, made] of [
      [root, root.below("Leaf", { ...inYear, more: [keyUsage(["digitalSignature"])] })],
      [root, root.below("Leaf", { ...inYear, more: [basicConstraints(false, undefined)] })],
      [
        root,
        root.below("Mute", {
          ...inYear,
          more: [basicConstraints(true, undefined), keyUsage(["cRLSign"])],
        }),
      ],
      [root, root.below("Flat", flat).below("Deeper", inYear)],
    ] as const) {
      expect(await clients(trusting(trusted.der)).subject(made.client(inYear))).toBeUndefined();
    }
    const last = root.below("Flat", flat).client(inYear);
    expect(await clients(trusting(root.der)).subject(last)).toBe("robot");
  });

  test("is good from its first second to its last, and so is every certificate above it", async () => {
    const clock = testClock("2026-03-01T00:00:00Z");
    const month = { notBefore: at("2026-02-01T00:00:00Z"), notAfter: at("2026-04-01T00:00:00Z") };
    const { subject, counted } = clients(trusting(root.der), undefined, clock);
    const brief = issuing.client(month);
    const below = root.below("Brief", month).client(inYear);
    for (const [now, who] of [
      ["2026-01-31T23:59:59Z", undefined],
      ["2026-02-01T00:00:00Z", "robot"],
      ["2026-04-01T00:00:00Z", "robot"],
      ["2026-04-01T00:00:01Z", undefined],
    ] as const) {
      clock.at = at(now);
      expect([now, await subject(brief), await subject(below)]).toEqual([now, who, who]);
    }
    expect(counted.filter((result) => result === "denied")).toHaveLength(4);
  });

  test("is for TLS clients by its extended key usage, or has none", async () => {
    const { subject } = clients(trusting(root.der));
    const used = (...usages: readonly string[]) => issuing.client({ ...inYear, usages });
    expect(await subject(used())).toBe("robot");
    expect(await subject(used("serverAuth", "clientAuth"))).toBe("robot");
    expect(await subject(used("serverAuth"))).toBeUndefined();
    expect(await subject(used("anyExtendedKeyUsage"))).toBeUndefined();
  });

  test("without a binding stands for nobody, and is counted", async () => {
    const { subject, counted } = clients(trusting(root.der));
    const stranger = issuing.client({ ...inYear, subject: [{ type: "CN", value: "stranger" }] });
    expect(await subject(stranger)).toBeUndefined();
    expect(counted).toEqual(["denied"]);
  });

  test("follows a reload on the connection it came by", async () => {
    const { subject, inForce } = clients(trusting(root.der));
    const client = issuing.client(inYear);
    expect(await subject(client)).toBe("robot");
    inForce.trust = { ...trusting(root.der), bindings: [{ ...robot, subject: "other" }] };
    expect(await subject(client)).toBe("other");
    inForce.trust = trusting(OutsideCa.root("Another", inYear).der);
    expect(await subject(client)).toBeUndefined();
    inForce.trust = trusting(root.der);
    expect(await subject(client)).toBe("robot");
  });
});

describe("whatever octets are shown", () => {
  test("nobody comes in by a certificate in which one bit is another", async () => {
    const { subject } = clients(trusting(root.der));
    const client = issuing.client(inYear);
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.nat(1), fc.nat(7), async (position, member, bit) => {
        const chain = client.chain.map((der) => der.slice());
        const der = chain[member] ?? new Uint8Array(1);
        const at = position % der.length;
        der[at] = (der[at] ?? 0) ^ (1 << bit);
        expect(await subject({ chain })).toBeUndefined();
      }),
      { numRuns: 500 },
    );
    expect(await subject(client)).toBe("robot");
  });

  test("nobody comes in, and nothing breaks", async () => {
    const { subject } = clients(trusting(root.der));
    const octets = fc.oneof(
      fc.uint8Array({ maxLength: 64 }),
      fc.constantFrom(root.der, issuing.der),
      fc.nat(issuing.der.length).map((length) => issuing.der.slice(0, length)),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(octets, { maxLength: 30 }), async (chain) => {
        expect(await subject({ chain })).toBeUndefined();
      }),
      { numRuns: 500 },
    );
  });
});

describe("a certificate of this instance", () => {
  let world: GovernedWorld;
  let held: { readonly chain: readonly Uint8Array[]; readonly serial: string; readonly ca: string };
  let roots: readonly Uint8Array[];

  beforeEach(async () => {
    world = await governedWorld();
    const { id } = await world.ca("web-issuing");
    const request = csr({ subject: [{ type: "CN", value: "robot" }], dns: ["robot.example"] });
    const body = { csr: request, profile: "client" };
    const { certificate, serial } = await world.ask("cert.issue", admin, { path: { id }, body });
    roots = [(await world.ca("web-root")).certificate ?? new Uint8Array()];
    const above = (await world.ca("web-issuing")).certificate ?? new Uint8Array();
    const leaf = decodePem(certificate, ["CERTIFICATE"]) ?? new Uint8Array();
    held = { chain: [leaf, above], serial, ca: id };
  });

  const under = (trust: ClientTrust) => clients(trust, world.store, world.clock);
  const change = (verb: "revoke" | "suspend" | "release", ca: string, serial: string) =>
    verb === "revoke"
      ? world.ask("cert.revoke", admin, { path: { id: ca }, body: { serial } })
      : world.ask(`cert.${verb}`, admin, { path: { id: ca, serial }, body: {} });

  test("binds nobody from the request on that follows its revocation", async () => {
    const { subject, counted } = under(trusting(...roots));
    expect(await subject(held)).toBe("robot");
    await change("revoke", held.ca, held.serial);
    expect(await subject(held)).toBeUndefined();
    expect(counted).toEqual(["success", "denied"]);
  });

  test("binds nobody while it is on hold, and again when it is released", async () => {
    const { subject } = under(trusting(...roots));
    await change("suspend", held.ca, held.serial);
    expect(await subject(held)).toBeUndefined();
    await change("release", held.ca, held.serial);
    expect(await subject(held)).toBe("robot");
  });

  test("binds nobody when the CA above it is revoked, shown or not", async () => {
    const issuer = await world.ca("web-issuing");
    const short = { chain: held.chain.slice(0, 1) };
    const ways = [under(trusting(...roots)), under(trusting(...held.chain.slice(1)))];
    const [byRoot, byIssuing] = ways;
    expect(await byRoot?.subject(held)).toBe("robot");
    expect(await byIssuing?.subject(short)).toBe("robot");
    const { parent, serial } = issuer;
    if (parent === undefined || serial === undefined) throw new Error("it has an issuer");
    await world.store.atomically((tx) =>
      tx.revocations.put({
        caId: parent,
        serial,
        revokedAt: world.clock.now(),
        reason: "keyCompromise",
        known: true,
        expiresAt: undefined,
      }),
    );
    expect(await byRoot?.subject(held)).toBeUndefined();
    expect(await byIssuing?.subject(short)).toBeUndefined();
  });

  test("has roles in the tenants of its binding, and none in one that does not exist", async () => {
    const tenantRoles = { web: ["issuer"], nowhere: ["admin"] } as const;
    const bindings = [{ ...robot, roles: [], tenantRoles }];
    const { principal } = under({ ...trusting(...roots), bindings });
    const who = await principal(held);
    expect(who).toMatchObject({ roles: [], tenantRoles: { web: ["issuer"] } });
    if (who === undefined) throw new Error("it is bound");
    const seen = await world.ask("ca.list", who);
    expect(seen.items.map(({ label }: { label: string }) => label).toSorted()).toEqual([
      "web-issuing",
      "web-root",
    ]);
  });

  test("that cannot be looked up lets nobody in, and says so", async () => {
    const broken: Store = {
      ...world.store,
      read: {
        ...world.store.read,
        revocations: {
          ...world.store.read.revocations,
          certStatus: () => Promise.reject(new Error("the database is away")),
        },
      },
    };
    const { subject, counted } = clients(trusting(...roots), broken, world.clock);
    await expect(subject(held)).rejects.toThrow("away");
    expect(counted).toEqual(["error"]);
  });
});
