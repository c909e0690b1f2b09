/** Drills with what lies in a bucket: fetched, tried as a local archive is, and gone again. */

import { afterEach, beforeEach, expect, test } from "bun:test";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { createChain } from "#test/support/instances/first-certificate.ts";
import { Instance, newHome, runCli } from "#test/support/instances/instance.ts";
import { type S3Server, s3Credentials, startS3 } from "#test/support/servers/s3-server.ts";

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
  const backup = {
    enabled: true,
    recipients: [made.stdout.trim()],
    verify: { identity_file: identity },
    s3: {
      endpoint: s3.endpoint,
      region,
      bucket,
      prefix: "backups",
      force_path_style: true,
      access_key_id: accessKeyId,
      secret_access_key: secretAccessKey,
    },
    ...more,
  };
  return await Instance.start({ home, config: { backup } });
}

const left = (instance: Instance) =>
  readdirSync(instance.dataDir).filter((name) => name.startsWith("drill"));
const statusOf = async (instance: Instance) =>
  JSON.parse((await instance.cli("backup", "status", "--json")).stdout).drill;
const drilled = (instance: Instance, ...flags: string[]) =>
  instance.cli("backup", "drill", "--json", ...flags);

test("BAK-3: the newest archive of the bucket is fetched, rehearsed with and removed", async () => {
  const instance = await started();
  try {
    await createChain(instance, "ecdsa-p256");
    expect((await instance.cli("backup", "run")).code).toBe(0);
    // Names tell seconds.
    await Bun.sleep(1100);
    const made = await instance.cli("backup", "run");
    expect([made.code, made.stderr]).toEqual([0, ""]);
    const newest = made.stdout.trim();
    const told = await drilled(instance);
    expect([told.code, told.stderr]).toEqual([0, ""]);
    const archive = `s3://pki-public/backups/${newest}`;
    expect(JSON.parse(told.stdout)).toMatchObject({ archive, revoked: true, lists: 2 });
    expect(await statusOf(instance)).toMatchObject({ artifact: newest, result: "success" });
    expect(left(instance)).toEqual([]);
    // Somebody else's archives in the same bucket are not looked at.
    const other = `backups/pkid-${crypto.randomUUID()}-99991231T000000Z.tar.age`;
    s3.objects.set(other, { octets: Buffer.from("x"), type: "", etag: '"x"' });
    expect((await drilled(instance)).code).toBe(0);
  } finally {
    await instance.dispose();
  }
}, 120_000);

test("what is damaged, missing or out of reach in the store fails the drill, and nothing of it stays", async () => {
  const instance = await started();
  const failed = async (reason: string) => {
    const told = await drilled(instance);
    expect([told.code, told.stdout]).toEqual([1, ""]);
    expect(told.stderr).toContain(reason);
    expect(told.stderr).not.toContain(s3Credentials.secretAccessKey);
    expect(await statusOf(instance)).toMatchObject({ result: "error" });
    expect(left(instance)).toEqual([]);
  };
  try {
    await failed("There is no archive in s3://pki-public/backups.");
    const name = (await instance.cli("backup", "run")).stdout.trim();
    const key = `backups/${name}`;
    const whole = s3.objects.get(key);
    if (whole === undefined) throw new Error("the archive is in the bucket");
    const replaced = (octets: Buffer) => s3.objects.set(key, { ...whole, octets });
    const flipped = Buffer.from(whole.octets);
    flipped[flipped.length >> 1] = (flipped[flipped.length >> 1] ?? 0) ^ 1;
    replaced(flipped);
    await failed("is not what the file beside it says");
    expect((await statusOf(instance)).artifact).toBe(name);
    replaced(Buffer.concat([whole.octets, Buffer.alloc(10_000_000)]));
    await failed("is not what the file beside it says");
    replaced(whole.octets.subarray(0, -1));
    await failed("is not what the file beside it says");
    s3.objects.delete(key);
    await failed(`The store failed on ${name}: NoSuchKey.`);
    s3.objects.set(key, whole);
    s3.before = (_, asked) => (asked === key ? 500 : undefined);
    await failed(`The store failed on ${name}: InternalError.`);
    s3.before = () => undefined;
    const beside = s3.objects.get(`${key}.manifest.json`);
    if (beside === undefined) throw new Error("its facts are in the bucket");
    const facts = { ...JSON.parse(beside.octets.toString()), size: 1e15 };
    const large = { ...beside, octets: Buffer.from(JSON.stringify(facts)) };
    s3.objects.set(`${key}.manifest.json`, large);
    await failed("There is no room to fetch the archive: 953674573 MiB are wanted");
    s3.objects.set(`${key}.manifest.json`, beside);
    expect((await drilled(instance)).code).toBe(0);
    await s3.stop();
    await failed("The store failed on");
  } finally {
    await instance.dispose();
  }
}, 120_000);

test("with a directory as well both are tried, and one that fails is what is remembered", async () => {
  const home = newHome();
  const dir = join(home, "archives");
  const instance = await started({ dir });
  try {
    const made = (await instance.cli("backup", "run")).stdout.trim().split(", ");
    expect(made.length).toBe(2);
    const { items } = JSON.parse((await drilled(instance)).stdout);
    const archives = items.map(({ archive }: { archive: string }) => archive);
    expect(archives).toEqual([join(dir, made[0] ?? ""), `s3://pki-public/backups/${made[1]}`]);
    writeFileSync(join(dir, made[0] ?? ""), "something else");
    const broken = await drilled(instance);
    expect([broken.code, broken.stderr]).toEqual([1, expect.stringContaining("age")]);
    expect(await statusOf(instance)).toMatchObject({ artifact: made[0], result: "error" });
    const one = await drilled(instance, "--from", "s3");
    expect(JSON.parse(one.stdout)).toMatchObject({ archive: archives[1], revoked: true });
    expect((await drilled(instance, "--from", "tape")).code).toBe(2);
  } finally {
    await instance.dispose();
  }
}, 120_000);

test("the drill of the schedule fetches it too", async () => {
  const instance = await started({ verify: { enabled: true } });
  try {
    expect((await instance.cli("backup", "run")).code).toBe(0);
    // Without an identity it looks at what it has fetched.
    for (;;) {
      const drill = await statusOf(instance);
      if (drill !== undefined) {
        expect(drill).toMatchObject({ result: "success", fault: "" });
        break;
      }
      await Bun.sleep(500);
    }
    expect(left(instance)).toEqual([]);
    expect(s3.served.some((line) => /^GET backups\/pkid-.*\.tar\.age$/.test(line))).toBe(true);
  } finally {
    await instance.dispose();
  }
}, 180_000);
