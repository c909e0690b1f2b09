/** Who may revoke what over ACME, and what is answered (RFC 8555 §7.6). */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash, KeyObject } from "node:crypto";

import { type AcmeClient, type Downloaded, refusalOf } from "#test/support/acme/client.ts";
import { newCsr, subscriberKeys } from "#test/support/acme/csr.ts";
import { keyOf, newKey, type SigningKey } from "#test/support/acme/keys.ts";
import { AcmeWorld } from "#test/support/acme/world.ts";
import { x509 } from "#test/support/encodings/peculiar.ts";
import { command } from "#test/support/instances/first-certificate.ts";

let world: AcmeWorld;
let client: AcmeClient;
beforeAll(async () => {
  world = await AcmeWorld.start();
  client = await world.client();
}, 30_000);
afterAll(() => world.stop());

/** A certificate with the key it is for, as one that signs requests. */
async function certified(kind: "P-256" | "RSA-2048" | "Ed25519" = "P-256", one = client) {
  const name = world.name();
  const order = await one.order([name]);
  await one.prove(order, "http-01", world.show);
  const { der, keys } = await newCsr({ names: [name], kind });
  const done = await one.finalize(order, der);
  const { leaf } = await one.download(done.certificate ?? "");
  return { name, leaf, key: signingKey(kind, keys) };
}

function signingKey(kind: "P-256" | "RSA-2048" | "Ed25519", keys: CryptoKeyPair): SigningKey {
  const algorithm = ({ "P-256": "ES256", "RSA-2048": "RS256", Ed25519: "EdDSA" } as const)[kind];
  return keyOf(algorithm, {
    privateKey: KeyObject.from(keys.privateKey),
    publicKey: KeyObject.from(keys.publicKey),
  });
}

interface Shown {
  readonly status: string;
  readonly reason?: string;
  readonly revoked_at?: string;
}

const shown = async ({ serial }: Downloaded["leaf"]): Promise<Shown> =>
  await world.instance.admin("GET", `/api/ca/${world.chain.intermediateId}/certificates/${serial}`);

const byKey = (key: SigningKey) => ({ key, by: "jwk" }) as const;

describe("revokes", () => {
  test("for the account that ordered it, with an empty answer and two events", async () => {
    const { leaf } = await certified();
    const answer = await client.revoke(leaf.der);
    expect(answer).toMatchObject({ status: 200, text: "" });
    expect(answer.headers.get("replay-nonce")).not.toBeNull();
    expect((await shown(leaf)).status).toBe("revoked");
    for (const action of ["acme.cert.revoke", "cert.revoke"]) {
      expect((await world.events(action))[0]).toMatchObject({ serial: leaf.serial });
    }
  });

  test.each(["P-256", "RSA-2048", "Ed25519"] as const)(
    "for whoever has its %s key, also without account",
    async (kind) => {
      const { leaf, key } = await certified(kind);
      const stranger = await world.stranger(key);
      expect((await stranger.revoke(leaf.der)).status).toBe(200);
      expect((await shown(leaf)).status).toBe("revoked");
    },
  );

  test("for an account that has proved all its names, and not before", async () => {
    const { name, leaf } = await certified();
    const other = await world.client();
    expect(refusalOf(await other.revoke(leaf.der))).toBe("403 unauthorized");
    await other.prove(await other.order([world.name()]), "http-01", world.show);
    expect(refusalOf(await other.revoke(leaf.der))).toBe("403 unauthorized");
    await other.prove(await other.order([name]), "http-01", world.show);
    expect((await other.revoke(leaf.der)).status).toBe(200);
  });

  test("a certificate that people issued, for who has proved its names", async () => {
    const name = world.name();
    const { der } = await newCsr({ names: [name] });
    const issued = await world.instance.admin<{ certificate: string }>(
      "POST",
      `/api/ca/${world.chain.intermediateId}/issue`,
      { csr: pemOf(der), profile: "server" },
    );
    const leaf = Buffer.from(new x509.X509Certificate(issued.certificate).rawData);
    expect(refusalOf(await client.revoke(leaf))).toBe("403 unauthorized");
    await client.prove(await client.order([name]), "http-01", world.show);
    expect((await client.revoke(leaf)).status).toBe(200);
  });

  test("for good what is held", async () => {
    const { leaf } = await certified();
    const ca = "issuing-ecdsa-p256";
    await command(world.instance, ["revoke", "suspend", "--ca", ca, leaf.serial]);
    expect((await client.revoke(leaf.der, 4)).status).toBe(200);
    expect(await shown(leaf)).toMatchObject({ status: "revoked", reason: "superseded" });
  });

  test.each([
    [undefined, "unspecified"],
    [0, "unspecified"],
    [1, "keyCompromise"],
    [3, "affiliationChanged"],
    [4, "superseded"],
    [5, "cessationOfOperation"],
  ])("with the reason %j as %s", async (reason, word) => {
    const { leaf } = await certified();
    expect((await client.revoke(leaf.der, reason)).status).toBe(200);
    expect(await shown(leaf)).toMatchObject({ status: "revoked", reason: word });
  });
});

describe("refuses", () => {
  test.each([2, 6, 7, 8, 9, 10, 11, -1, 1.5, "1", null])("the reason %j", async (reason) => {
    const { leaf } = await certified();
    expect(refusalOf(await client.revoke(leaf.der, reason))).toBe("400 badRevocationReason");
    expect((await shown(leaf)).status).toBe("good");
  });

  test("a second time, and the first time and reason stay", async () => {
    const { leaf, key } = await certified();
    await client.revoke(leaf.der, 4);
    const before = await shown(leaf);
    expect(refusalOf(await client.revoke(leaf.der, 1))).toBe("400 alreadyRevoked");
    const again = await client.revoke(leaf.der, 1, byKey(key));
    expect(refusalOf(again)).toBe("400 alreadyRevoked");
    expect(await shown(leaf)).toEqual(before);
  });

  test("another key, and the key of another certificate", async () => {
    const [one, other] = [await certified(), await certified()];
    for (const key of [newKey(), other.key, newKey("RS256")]) {
      const answer = await client.revoke(one.leaf.der, undefined, byKey(key));
      expect(refusalOf(answer)).toBe("403 unauthorized");
    }
    expect((await shown(one.leaf)).status).toBe("good");
  });

  test("a key that an account has, where it claims to be the certificate's", async () => {
    const { leaf } = await certified();
    const answer = await client.revoke(leaf.der, undefined, byKey(client.key));
    expect(refusalOf(answer)).toBe("403 unauthorized");
  });

  test("what is no certificate", async () => {
    for (const der of [Buffer.from("no"), Buffer.alloc(40, 0x30), Buffer.alloc(0)]) {
      expect(refusalOf(await client.revoke(der))).toBe("400 malformed");
    }
    const none = await client.post(client.directory.revokeCert, {});
    expect(refusalOf(none)).toBe("400 malformed");
    const reading = await client.post(client.directory.revokeCert, undefined);
    expect(refusalOf(reading)).toBe("400 malformed");
  });

  test("one that was forged: the victim's serial and names with the forger's key", async () => {
    const { name, leaf } = await certified();
    const keys = await subscriberKeys("P-256");
    const forged = await forgery(keys, name, leaf.serial);
    const key = signingKey("P-256", keys);
    const answer = await client.revoke(forged, 1, byKey(key));
    expect(refusalOf(answer)).toBe("404 malformed");
    expect((await shown(leaf)).status).toBe("good");
    const own = await client.revoke(forged, 1);
    expect(refusalOf(own)).toBe("404 malformed");
  });

  test("one octet that differs, and the certificate of another CA", async () => {
    const { leaf } = await certified();
    const changed = Buffer.from(leaf.der);
    const last = changed.length - 1;
    changed[last] = (changed[last] ?? 0) ^ 1;
    expect(refusalOf(await client.revoke(changed))).toBe("404 malformed");
    for (const file of [world.chain.intermediate, world.chain.root]) {
      const ca = new x509.X509Certificate(await Bun.file(file).text());
      expect(refusalOf(await client.revoke(Buffer.from(ca.rawData)))).toBe("404 malformed");
    }
    expect((await shown(leaf)).status).toBe("good");
  });
});

describe("keyCompromise", () => {
  const digestOf = ({ pair }: SigningKey) =>
    createHash("sha256")
      .update(pair.publicKey.export({ format: "der", type: "spki" }))
      .digest("hex");
  const blocked = async (key: SigningKey) => {
    const path = `/api/blocked-keys?public_key_sha256=${digestOf(key)}`;
    return (await world.instance.admin<{ items: unknown[] }>("GET", path)).items.length;
  };

  test("by the key itself blocks it", async () => {
    const { leaf, key } = await certified();
    expect((await client.revoke(leaf.der, 1, byKey(key))).status).toBe(200);
    expect(await blocked(key)).toBe(1);
    const stranger = await world.stranger(key);
    expect(refusalOf(await stranger.register({}))).toBe("400 badPublicKey");
  });

  test("of another reason blocks nothing", async () => {
    const { leaf, key } = await certified();
    expect((await client.revoke(leaf.der, 5, byKey(key))).status).toBe(200);
    expect(await blocked(key)).toBe(0);
  });
});

async function forgery(keys: CryptoKeyPair, name: string, serial: string): Promise<Buffer> {
  const issuer = new x509.X509Certificate(await Bun.file(world.chain.intermediate).text());
  const made = await x509.X509CertificateGenerator.create({
    serialNumber: BigInt(serial).toString(16),
    subject: "",
    issuer: issuer.subject,
    notBefore: new Date(),
    notAfter: new Date(Date.now() + 86_400_000),
    publicKey: keys.publicKey,
    signingKey: keys.privateKey,
    signingAlgorithm: { name: "ECDSA", hash: "SHA-256" },
    extensions: [new x509.SubjectAlternativeNameExtension([{ type: "dns", value: name }])],
  });
  return Buffer.from(made.rawData);
}

const pemOf = (der: Buffer): string =>
  `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString("base64")}\n-----END CERTIFICATE REQUEST-----\n`;
