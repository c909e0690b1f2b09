/** Drills with what lies in a bucket, which somebody else writes to, or which is out of reach. */

import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { drillPlaces } from "#test/support/instances/drill-places.ts";
import { Instance, newHome, runCli } from "#test/support/instances/instance.ts";
import { type S3Server, s3Credentials, startS3 } from "#test/support/servers/s3-server.ts";
import { until } from "#test/support/until.ts";

let s3: S3Server;
beforeEach(() => {
  s3 = startS3();
});
afterEach(() => s3.stop());

/** An instance whose backups go into the bucket, and where `more` says. */
async function started(more: object = {}) {
  const home = newHome();
  const identity = join(home, "identity");
  const made = await runCli(home, ["backup", "keygen", "--out", identity]);
  const { accessKeyId, secretAccessKey, bucket, region } = s3Credentials;
  const place = { endpoint: s3.endpoint, region, bucket, prefix: "backups" };
  const credentials = { access_key_id: accessKeyId, secret_access_key: secretAccessKey };
  const backup = {
    recipients: [made.stdout.trim()],
    verify: { identity_file: identity },
    s3: { ...place, ...credentials, force_path_style: true },
    ...more,
  };
  return await Instance.start({ home, config: { backup } });
}

const lastDrill = async (instance: Instance) =>
  JSON.parse((await instance.cli("backup", "status", "--json")).stdout).drill;

test("what is damaged, missing or out of reach fails the drill, is remembered, and leaves nothing here", async () => {
  const instance = await started();
  let failures = 0;
  const failed = async (reason: string) => {
    failures += 1;
    const told = await instance.cli("backup", "drill", "--json");
    expect([told.code, told.stdout]).toEqual([1, ""]);
    expect(told.stderr).toContain(reason);
    expect(told.stderr).not.toContain(s3Credentials.secretAccessKey);
    expect(await lastDrill(instance)).toMatchObject({ result: "error" });
    expect(drillPlaces(instance)).toEqual([]);
    const metrics = await instance.metrics();
    expect(metrics).toContain(`pki_backup_drills_total{result="error"} ${failures}\n`);
  };
  try {
    const name = (await instance.cli("backup", "run")).stdout.trim();
    const key = `backups/${name}`;
    const whole = s3.objects.get(key);
    const beside = s3.objects.get(`${key}.manifest.json`);
    if (whole === undefined || beside === undefined) throw new Error("both are in the bucket");
    const otherwise = "is not what the file beside it says";
    const flipped = Buffer.from(whole.octets);
    flipped[flipped.length >> 1] = (flipped[flipped.length >> 1] ?? 0) ^ 1;
    const longer = Buffer.concat([whole.octets, Buffer.alloc(10_000_000)]);
    for (const octets of [flipped, longer, whole.octets.subarray(0, -1)]) {
      s3.objects.set(key, { ...whole, octets });
      await failed(otherwise);
    }
    expect((await lastDrill(instance)).artifact).toBe(name);
    s3.objects.delete(key);
    await failed(`The store failed on ${name}: NoSuchKey.`);
    s3.objects.set(key, whole);
    s3.before = (_, asked) => (asked === key ? 500 : undefined);
    await failed(`The store failed on ${name}: InternalError.`);
    s3.before = () => undefined;
    const facts = JSON.parse(beside.octets.toString());
    const saying = (more: object) => {
      const octets = Buffer.from(JSON.stringify({ ...facts, ...more }));
      s3.objects.set(`${key}.manifest.json`, { ...beside, octets });
    };
    saying({ size: 1e15 });
    await failed("There is no room for");
    for (const more of [{ size: "much" }, { size: -1 }, { sha256: undefined }, { sha256: "00" }]) {
      saying(more);
      await failed("in the store is not what pkid writes");
    }
    saying({});
    const fetched = instance.cli("backup", "drill");
    await until(() => drillPlaces(instance).length > 0);
    expect((await fetched).code).toBe(0);
    expect(drillPlaces(instance)).toEqual([]);
    await s3.stop();
    await failed("The store failed on");
  } finally {
    await instance.dispose();
  }
}, 120_000);

test("with a directory as well both are tried, and one that fails is what is remembered", async () => {
  const dir = join(newHome(), "archives");
  const instance = await started({ dir });
  try {
    const made = (await instance.cli("backup", "run")).stdout.trim().split(", ");
    expect(made.length).toBe(2);
    // Another instance's archive beside them is not looked at.
    writeFileSync(join(dir, `pkid-${crypto.randomUUID()}-99991231T000000Z.tar.age`), "x");
    const { items } = JSON.parse((await instance.cli("backup", "drill", "--json")).stdout);
    expect(items.map(({ archive }: { archive: string }) => archive)).toEqual(made);
    writeFileSync(join(dir, made[0] ?? ""), "something else");
    const broken = await instance.cli("backup", "drill");
    expect([broken.code, broken.stderr]).toEqual([1, expect.stringContaining("age format")]);
    expect(await lastDrill(instance)).toMatchObject({ artifact: made[0], result: "error" });
    const one = await instance.cli("backup", "drill", "--from", "s3", "--json");
    expect(JSON.parse(one.stdout)).toMatchObject({ archive: made[1], revoked: true });
    expect((await instance.cli("backup", "drill", "--from", "tape")).code).toBe(2);
  } finally {
    await instance.dispose();
  }
}, 120_000);

test("BAK-4: a drill tries only archives of its own instance, and no junk files with later names", async () => {
  const dir = join(newHome(), "archives");
  const instance = await started({ dir });
  const other = await Instance.start();
  try {
    const archives = (await instance.cli("backup", "run")).stdout.trim().split(", ");
    const { instance_id } = JSON.parse(readFileSync(join(instance.dataDir, "identity"), "utf8"));
    const foreign = join(other.home, "foreign.age");
    const recipient = /age1\S+/.exec(readFileSync(join(instance.home, "identity"), "utf8"))?.[0];
    const create = ["backup", "create", "--out", foreign, "--recipient", recipient ?? ""];
    expect((await other.cli(...create)).code).toBe(0);
    const later = (at: number) => `pkid-${instance_id}-2099010${at}T000000Z.tar.age`;
    for (let at = 1; at <= 7; at++) {
      const content = at === 7 ? readFileSync(foreign) : Buffer.from("junk");
      const sha256 = new Bun.CryptoHasher("sha256").update(content).digest("hex");
      const claims = { artifact: later(at), instance_id, created_at: "2099-01-01T00:00:00Z" };
      const sidecar = JSON.stringify({ ...claims, seq: 1e9, size: content.length, sha256 });
      writeFileSync(join(dir, later(at)), content);
      writeFileSync(join(dir, `${later(at)}.manifest.json`), sidecar);
      const object = { type: "", etag: '"junk"' };
      s3.objects.set(`backups/${later(at)}`, { ...object, octets: content });
      const claim = { ...object, octets: Buffer.from(sidecar) };
      s3.objects.set(`backups/${later(at)}.manifest.json`, claim);
    }
    const drilled = await instance.cli("backup", "drill", "--json");
    expect([drilled.code, drilled.stderr]).toEqual([0, ""]);
    const { items } = JSON.parse(drilled.stdout);
    expect(items.map(({ archive }: { archive: string }) => archive)).toEqual(archives);
    // If there is no recorded archive, the newest name is tried, and must belong to the instance.
    for (const name of archives) {
      rmSync(join(dir, name), { force: true });
      s3.objects.delete(`backups/${name}`);
      s3.objects.delete(`backups/${name}.manifest.json`);
    }
    for (const target of ["dir", "s3"]) {
      const refused = await instance.cli("backup", "drill", "--from", target);
      expect([refused.code, refused.stderr]).toEqual([
        1,
        expect.stringContaining(`not to ${instance_id}`),
      ]);
    }
    const key = "0".repeat(64);
    const pinned = await instance.cli("backup", "drill", "--ledger-key", key);
    expect([pinned.code, pinned.stderr]).toEqual([1, expect.stringContaining(`not ${key}`)]);
  } finally {
    await other.dispose();
    await instance.dispose();
  }
}, 120_000);

test("a store that answers what it likes writes nowhere but where a drill unpacks", async () => {
  const store = lyingStore();
  const instance = await started({
    s3: { ...store.place, access_key_id: "x", secret_access_key: "y" },
  });
  try {
    const archives = join(instance.home, "archives");
    mkdirSync(archives);
    expect((await instance.cli("backup", "create", "--out", archives)).code).toBe(0);
    store.instance = JSON.parse(
      readFileSync(join(instance.dataDir, "identity"), "utf8"),
    ).instance_id;
    const told = await instance.cli("backup", "drill");
    expect([told.code, told.stderr]).toEqual([1, expect.stringContaining("in the bucket")]);
    // The listing; such a name is never requested.
    expect(store.asked).toBe(1);
    expect(readdirSync(instance.dataDir).filter((name) => name.includes("stolen"))).toEqual([]);
    expect(drillPlaces(instance)).toEqual([]);
  } finally {
    await instance.dispose();
    store.stop();
  }
}, 60_000);

/** Lists an archive whose name leads out of any folder, and answers for it whatever is asked. */
function lyingStore() {
  const store = { instance: "", asked: 0 };
  const listener = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request) => {
      store.asked += 1;
      const { pathname, searchParams } = new URL(request.url);
      const artifact = `pkid-${store.instance}-/../../stolen`;
      if (searchParams.get("list-type") === "2") {
        const key = `<Contents><Key>${artifact}.manifest.json</Key></Contents>`;
        const xml = `<ListBucketResult><IsTruncated>false</IsTruncated>${key}</ListBucketResult>`;
        return new Response(xml, { headers: { "content-type": "application/xml" } });
      }
      if (!pathname.endsWith(".manifest.json")) return new Response("abc");
      const created_at = "2999-01-01T00:00:00Z";
      const sha256 = new Bun.CryptoHasher("sha256").update("abc").digest("hex");
      const facts = { artifact, instance_id: store.instance, created_at, size: 3, sha256 };
      return Response.json(facts);
    },
  });
  const endpoint = `http://127.0.0.1:${listener.port}`;
  const place = { endpoint, region: "eu-test-1", bucket: "b", force_path_style: true };
  return Object.assign(store, { place, stop: () => listener.stop(true) });
}
