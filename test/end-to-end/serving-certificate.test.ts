/**
 * The certificate pkid serves TLS with, from a CA of its own: until there is one, then from it, and
 * again before it ends.
 */

import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "bun:test";

import { type Chain, createChain } from "#test/support/instances/first-certificate.ts";
import { Instance, newHome } from "#test/support/instances/instance.ts";
import { connected } from "#test/support/tls/tls-client.ts";

const home = newHome();
let instance: Instance;
let chain: Chain;

const configured = (more: object = {}) => ({
  server: {
    tls: { self_issue: { ca_id: "issuing-own", key_type: "ecdsa-p384", ...more } },
  },
});

beforeAll(async () => {
  instance = await Instance.start({ home, config: configured() });
}, 30_000);

afterAll(() => instance.dispose());

/** What the listener shows now. */
async function shown(): Promise<X509Certificate> {
  const socket = await connected(Number(new URL(instance.url).port));
  const { raw } = socket.getPeerCertificate();
  socket.destroy();
  return new X509Certificate(raw);
}

/** Has the running instance look again, as it does every minute. */
async function looked(): Promise<void> {
  const count = () => instance.logs.filter((line) => line.includes('"config_reloaded"')).length;
  const before = count();
  instance.signal("SIGHUP");
  while (count() === before) await Bun.sleep(10);
}

async function restarted(config: Record<string, unknown>): Promise<void> {
  await instance.stop();
  instance = await Instance.start({ home, config });
}

test("while its CA does not exist it is one of the internal CA, and the log says why", async () => {
  expect((await shown()).issuer).toContain("pkid internal serving CA");
  const [line] = instance.logs.filter((one) => one.includes("serving_certificate_refused"));
  expect(JSON.parse(line ?? "{}")).toMatchObject({ level: "error", ca: "issuing-own" });
  expect((await instance.fetch("/healthz")).status).toBe(200);
}, 30_000);

test("from the moment the CA exists it is that CA's, with the key that is configured, and clients that trust the root verify it", async () => {
  chain = await createChain(instance, "ecdsa-p256", "own");
  await looked();
  const certificate = await shown();
  expect(certificate.issuer).toContain("Issuing own");
  expect(certificate.publicKey.asymmetricKeyDetails?.namedCurve).toBe("secp384r1");
  expect(instance.servingCa().trim()).toBe(readFileSync(chain.root, "utf8").trim());
  expect((await instance.fetch("/healthz")).status).toBe(200);
  const { items } = await instance.admin<{ items: { target: string }[] }>(
    "GET",
    `/api/events?action=cert.issue&actor=system:serving`,
  );
  expect(items.map(({ target }) => target)).toContain(chain.intermediateId);
}, 30_000);

test("it stays as long as it is good, also over a restart", async () => {
  const { serialNumber } = await shown();
  await looked();
  expect((await shown()).serialNumber).toBe(serialNumber);
  await restarted(configured());
  expect((await shown()).serialNumber).toBe(serialNumber);
}, 30_000);

test("it is replaced, with a new key, when less is left of its life than is configured", async () => {
  const before = await shown();
  const days = (before.validToDate.getTime() - before.validFromDate.getTime()) / 86_400_000;
  await restarted(configured({ renew_before: `${Math.floor(days / 2)}d` }));
  expect((await shown()).serialNumber).toBe(before.serialNumber);
  // Of an hour, two thirds are the most that may be left when it is replaced.
  const short = configured({ renew_before: "1h", validity_seconds: 3600, key_type: "rsa-2048" });
  await restarted(short);
  const rsa = await shown();
  expect(rsa.publicKey.asymmetricKeyType).toBe("rsa");
  await looked();
  expect((await shown()).serialNumber).toBe(rsa.serialNumber);
  const due = configured({ validity_seconds: 3600, key_type: "ecdsa-p521", renew_before: "1h" });
  await restarted(due);
  expect((await shown()).publicKey.asymmetricKeyDetails?.namedCurve).toBe("secp521r1");
}, 30_000);

test("a name its profile forbids leaves the one there is, and is asked for once, not every minute", async () => {
  const before = await shown();
  const strict = {
    name: "strict",
    key_usages: ["digitalSignature"],
    ext_key_usages: ["serverAuth"],
    default_validity_days: 10,
    names: { permitted_dns: ["example.test"] },
  };
  const refusals = async () => {
    const path = "/api/events?action=cert.issue&result=denied";
    return (await instance.admin<{ total: number }>("GET", path)).total;
  };
  const earlier = await refusals();
  const request = configured({ profile: "strict", dnsnames: ["evil.invalid"] });
  await restarted({ ...request, profiles: [strict] });
  await looked();
  await looked();
  expect((await shown()).serialNumber).toBe(before.serialNumber);
  expect(await refusals()).toBe(earlier + 1);
  const lines = instance.logs.filter((line) => line.includes("serving_certificate_refused"));
  expect(lines).toHaveLength(1);
}, 30_000);

test("without the setting it is the internal CA's again", async () => {
  await restarted({});
  expect((await shown()).issuer).toContain("pkid internal serving CA");
  expect(instance.servingCa()).not.toBe(readFileSync(chain.root, "utf8"));
}, 30_000);
