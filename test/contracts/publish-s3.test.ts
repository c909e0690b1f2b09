/** An S3-compatible store as a publish target: the guarantees of every target, and its own. */

import { afterAll, afterEach, expect, test } from "bun:test";

import { ArchiveBucket } from "#adapters/publish/archives.ts";
import { s3Target } from "#adapters/publish/s3.ts";
import { TargetFault } from "#domain/publishing/target.ts";
import { type Artefact, manifestOf } from "#core/publishing/manifest.ts";
import { noon } from "#test/support/stores/records.ts";
import { s3Credentials, startS3 } from "#test/support/servers/s3-server.ts";
import { artefact, publishTargetSuite } from "./publish-target.suite.ts";

const store = startS3();
afterAll(() => store.stop());
afterEach(() => {
  store.objects.clear();
  store.served.length = 0;
  store.before = () => undefined;
});

const { accessKeyId, secretAccessKey, ...place } = s3Credentials;
const rightKey = { accessKeyId, secretAccessKey, sessionToken: undefined };

const open = (changes: Partial<Parameters<typeof s3Target>[0]> = {}) =>
  s3Target({
    ...place,
    endpoint: store.endpoint,
    prefix: "pki",
    credentials: async () => rightKey,
    force_path_style: true,
    concurrency: 4,
    timeoutSeconds: 5,
    ...changes,
  });

publishTargetSuite("S3", () => ({
  target: open(),
  served: async (path) => store.objects.get(`pki/${path}`)?.octets,
  damage: async (path, octets) => {
    store.objects.set(`pki/${path}`, { octets, type: "", etag: '"damaged"' });
  },
}));

async function publish(name: string, artefacts: readonly Artefact[], text = "one") {
  const target = open();
  const snapshot = await target.begin(name, await target.previous());
  for (const one of artefacts) await snapshot.write(one, [Buffer.from(text)]);
  return { snapshot, manifest: manifestOf({ generatedAt: noon, cas: [], artefacts }) };
}

test("objects of the snapshot come first, then the fixed names, then the manifest", async () => {
  const { snapshot, manifest } = await publish("1", [
    artefact("a/ca.der", "one"),
    artefact("a/crl.der", "one"),
  ]);
  await snapshot.publish(manifest);
  const puts = store.served.filter((one) => one.startsWith("PUT")).map((one) => one.slice(8));
  expect(puts).toEqual([
    "snapshots/1/a/ca.der",
    "snapshots/1/a/crl.der",
    "a/crl.der",
    "a/ca.der",
    "snapshots/1/manifest.json",
    "manifest.json",
  ]);
  expect(store.objects.get("pki/a/crl.der")?.type).toBe("application/pkix-cert");
  expect(store.objects.get("pki/manifest.json")?.type).toBe("application/json");
});

test("of two publishers at once one is refused, and the manifest is the other's", async () => {
  await (await publish("1", [artefact("a/ca.der", "one")])).snapshot.publish(
    manifestOf({ generatedAt: noon, cas: [], artefacts: [artefact("a/ca.der", "one")] }),
  );
  const slow = await publish("2", [artefact("a/ca.der", "one")]);
  const fast = await publish("3", [artefact("a/ca.der", "one"), artefact("a/ca.pem", "one")]);
  await fast.snapshot.publish(fast.manifest);
  await expect(slow.snapshot.publish(slow.manifest)).rejects.toThrow("Another publisher");
  expect(await open().previous()).toEqual(fast.manifest);
});

test("a list that somebody replaced meanwhile is not replaced back", async () => {
  const { snapshot, manifest } = await publish("1", [artefact("a/crl.der", "one")]);
  const newer = { octets: Buffer.from("newer"), type: "", etag: '"newer"' };
  let looked = false;
  store.before = (method, key) => {
    // Between the look at the list and its replacement.
    if (method === "GET" && key === "pki/snapshots/1/a/crl.der" && !looked) {
      looked = true;
      store.objects.set("pki/a/crl.der", newer);
    }
    return undefined;
  };
  await expect(snapshot.publish(manifest)).rejects.toThrow("Another publisher");
  expect(store.objects.get("pki/a/crl.der")).toBe(newer);
});

test("an answer that could not be removed is named until it is, so that the next snapshot removes it", async () => {
  const both = await publish("1", [artefact("a/ca.der", "one"), artefact("a/ocsp.der", "one")]);
  await both.snapshot.publish(both.manifest);
  store.before = (method, key) =>
    method === "DELETE" && key === "pki/a/ocsp.der" ? 503 : undefined;
  const next = await publish("2", [artefact("a/ca.der", "one")]);
  await expect(next.snapshot.publish(next.manifest)).rejects.toThrow("The store failed");
  expect(await open().previous()).toEqual(both.manifest);
  store.before = () => undefined;
  const last = await publish("3", [artefact("a/ca.der", "one")]);
  await last.snapshot.publish(last.manifest);
  expect(store.objects.has("pki/a/ocsp.der")).toBe(false);
  expect(await open().previous()).toEqual(last.manifest);
});

test("what another publisher has just put under a name is not removed by one that is late", async () => {
  const first = await publish("1", [artefact("a/ca.der", "one"), artefact("a/ocsp.der", "one")]);
  await first.snapshot.publish(first.manifest);
  const late = await publish("2", [artefact("a/ca.der", "one")]);
  const other = await publish(
    "3",
    [artefact("a/ca.der", "two"), artefact("a/ocsp.der", "two")],
    "two",
  );
  await other.snapshot.publish(other.manifest);
  await expect(late.snapshot.publish(late.manifest)).rejects.toThrow("Another publisher");
  expect(store.objects.get("pki/a/ocsp.der")?.octets.toString()).toBe("two");
});

test("a store that fails, refuses or is away is told without a secret", async () => {
  const wrong = open({
    credentials: async () => ({ ...rightKey, secretAccessKey: "not the secret" }),
  });
  for (const target of [wrong, open({ endpoint: "http://127.0.0.1:9" })]) {
    const fault = await target.previous().catch((error: unknown) => error);
    expect(fault).toMatchObject({ name: "TargetFault" });
    expect(String(fault)).not.toContain(s3Credentials.accessKeyId);
    expect(String(fault)).not.toContain("secret");
  }
  store.before = (method) => (method === "PUT" ? 403 : undefined);
  await expect(publish("1", [artefact("a/ca.der", "one")])).rejects.toThrow("The store failed");
});

/** Two parts, and then what they were read from fails. */
async function* cutShort(): AsyncGenerator<Uint8Array> {
  yield new Uint8Array(9 * 1024 * 1024);
  yield new Uint8Array(9 * 1024 * 1024);
  throw new TargetFault("There is no more of it.");
}

test("a long list that is given up leaves neither parts nor an object", async () => {
  const { snapshot } = await publish("1", []);
  const list = artefact("ca/crl.der", "one");
  await expect(snapshot.write(list, cutShort())).rejects.toThrow("no more of it");
  expect([store.uploads.size, [...store.objects.keys()]]).toEqual([0, []]);
});

test("an archive that is given up leaves neither parts nor an object", async () => {
  const bucket = new ArchiveBucket(
    {
      ...place,
      endpoint: store.endpoint,
      prefix: undefined,
      force_path_style: true,
      concurrency: 1,
    },
    async () => rightKey,
  );
  const written = bucket.write("pkid-i-20260601T120000Z.tar.age", cutShort(), async () => ({}));
  await expect(written).rejects.toThrow("no more of it");
  expect([store.uploads.size, [...store.objects.keys()]]).toEqual([0, []]);
});

test("a store that does not answer is given up on", async () => {
  store.before = () => new Promise(() => {});
  await expect(open({ timeoutSeconds: 0.05 }).previous()).rejects.toThrow("in time");
});
