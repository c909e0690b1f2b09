/**
 * History has one end: an archive is not restored while a later one is known, wherever the
 * configuration has archives go.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

import { backedUp } from "#test/support/instances/backed-up.ts";
import { Instance, newHome, runCli, writeConfig } from "#test/support/instances/instance.ts";
import { freePort } from "#test/support/servers/free-port.ts";
import { type S3Server, s3Credentials, startS3 } from "#test/support/servers/s3-server.ts";

let s3: S3Server;
let older: string;
let newer: string;
let identity: string;
beforeAll(async () => {
  s3 = startS3();
  const instance = await Instance.start();
  const first = await backedUp(instance);
  ({ archive: older, identity } = first);
  ({ archive: newer } = await backedUp(instance, identity));
  await instance.stop();
}, 60_000);
afterAll(() => s3.stop());

const bucket = (endpoint = s3.endpoint) => {
  const { accessKeyId, secretAccessKey, bucket: name, region } = s3Credentials;
  const place = { endpoint, bucket: name, region, prefix: "backups", force_path_style: true };
  return { ...place, access_key_id: accessKeyId, secret_access_key: secretAccessKey };
};

/** The older archive by itself, in a folder of its own, and what else is put somewhere. */
function placed(config: object, put: (folder: string) => void) {
  const home = newHome();
  const folder = join(home, "alone");
  mkdirSync(folder);
  const archive = join(folder, basename(older));
  copyFileSync(older, archive);
  put(folder);
  writeConfig(home, { backup: config });
  const restore = (...flags: readonly string[]) =>
    runCli(home, ["restore", archive, "--identity", identity, "--dry-run", ...flags]);
  return { restore, folder };
}

const copied = (to: string, suffix = "") =>
  copyFileSync(`${newer}${suffix}`, join(to, `${basename(newer)}${suffix}`));

const kept = () => {
  const directory = newHome();
  copied(directory, ".manifest.json");
  return directory;
};

const inBucket = () => {
  for (const suffix of ["", ".manifest.json"]) {
    const octets = readFileSync(`${newer}${suffix}`);
    const key = `backups/${basename(newer)}${suffix}`;
    s3.objects.set(key, { octets, type: "", etag: '"of no matter"' });
  }
};

test.each([
  ["beside it, by its name", () => placed({}, (folder) => copied(folder))],
  [
    "beside it, though only its manifest is left",
    () => placed({}, (folder) => copied(folder, ".manifest.json")),
  ],
  ["in backup.dir", () => placed({ dir: kept() }, () => {})],
  ["in the bucket", () => placed({ s3: bucket() }, inBucket)],
] as const)(
  "RES-5: an archive is refused while a later one is %s",
  async (_, place) => {
    const { restore } = place();
    const refused = await restore();
    expect([refused.code, refused.stdout]).toEqual([1, ""]);
    expect(refused.stderr).toContain(`${basename(newer)} is a later archive of this instance`);
    const allowed = await restore("--older");
    expect([allowed.code, allowed.stderr]).toEqual([0, ""]);
    expect(allowed.stdout).toContain(
      `There are later archives of this instance: ${basename(newer)}.`,
    );
  },
  60_000,
);

test("RES-5: a later archive under another name and without a sidecar is found", async () => {
  const { restore } = placed({}, (folder) => copyFileSync(newer, join(folder, "copy-of-monday")));
  const refused = await restore();
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringContaining("copy-of-monday is a later archive of this instance"),
  ]);
}, 60_000);

test("RES-5: junk files and sidecars of a directory and of a bucket neither prevent a restore nor hide a later archive", async () => {
  const instance = /^pkid-(.*)-\d{8}T/.exec(basename(older))?.[1] ?? "";
  const junk = Array.from({ length: 7 }, (_, at) => {
    const artifact = `pkid-${instance}-2099010${at + 1}T000000Z.tar.age`;
    const claims = { artifact, instance_id: instance, created_at: "2099-01-01T00:00:00Z" };
    return { artifact, sidecar: JSON.stringify({ ...claims, seq: 1e9, sha256: "00", size: 1 }) };
  });
  s3.objects.clear();
  const fill = (folder: string) => {
    for (const { artifact, sidecar } of junk) {
      writeFileSync(join(folder, artifact), "junk");
      writeFileSync(join(folder, `${artifact}.manifest.json`), sidecar);
      const object = { type: "", etag: '"junk"' };
      s3.objects.set(`backups/${artifact}`, { ...object, octets: Buffer.from("junk") });
      const claims = { ...object, octets: Buffer.from(sidecar) };
      s3.objects.set(`backups/${artifact}.manifest.json`, claims);
    }
    // A sidecar of a missing archive, and one that claims the restored archive is newer.
    writeFileSync(join(folder, `${junk[0]?.artifact}-gone.manifest.json`), junk[0]?.sidecar ?? "");
    const claim = { artifact: basename(older), instance_id: instance, seq: 1e9 };
    const forged = JSON.stringify({ ...claim, created_at: "2099-01-01T00:00:00Z" });
    writeFileSync(join(folder, `${basename(older)}.manifest.json`), forged);
  };
  const { restore } = placed({ s3: bucket() }, fill);
  const restored = await restore();
  expect([restored.code, restored.stdout]).toEqual([
    0,
    expect.stringContaining("No later archive of this instance"),
  ]);
  expect(restored.stderr).toContain(`${junk[6]?.artifact} is not a verified archive`);
  const hidden = placed({}, (folder) => {
    fill(folder);
    copied(folder);
    const lower = { artifact: basename(newer), instance_id: instance, seq: 0 };
    const sidecar = JSON.stringify({ ...lower, created_at: "2020-01-01T00:00:00Z" });
    writeFileSync(join(folder, `${basename(newer)}.manifest.json`), sidecar);
  });
  const refused = await hidden.restore();
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringContaining(`${basename(newer)} is a later archive of this instance`),
  ]);
}, 60_000);

test("the newest is restored, and it is told where a later one was looked for", async () => {
  s3.objects.clear();
  const directory = newHome();
  const { restore, folder } = placed({ dir: directory, s3: bucket() }, () => {});
  const { code, stderr, stdout } = await restore("--json");
  expect([code, stderr]).toEqual([0, ""]);
  const { later } = JSON.parse(stdout);
  const places = [folder, directory, `s3:${s3Credentials.bucket}`];
  expect(later).toEqual({ looked_in: places, unseen: [], found: [] });
  // An archive of another instance is none.
  copyFileSync(newer, join(folder, `pkid-${crypto.randomUUID()}-99991231T000000Z.tar.age`));
  const told = await restore();
  expect([told.code, told.stdout]).toEqual([
    0,
    expect.stringContaining(`No later archive of this instance is in ${places.join(" or ")};`),
  ]);
}, 60_000);

test("RES-5: where nobody answers is told, and keeps nobody from restoring", async () => {
  const nobody = `http://127.0.0.1:${await freePort()}`;
  const gone = newHome();
  rmSync(gone, { recursive: true });
  const { restore, folder } = placed({ dir: gone, s3: bucket(nobody) }, () => {});
  const { code, stderr, stdout } = await restore();
  expect([code, stdout]).toEqual([0, expect.stringContaining(`is in ${folder};`)]);
  const unseen = (place: string) => `Whether there is a later archive in ${place} is not known.`;
  expect(stderr).toContain(`${unseen(gone)} It cannot be read: ENOENT.`);
  expect(stderr).toContain(`${unseen(`s3:${s3Credentials.bucket}`)} The store failed on`);
  expect(stderr).not.toContain(s3Credentials.secretAccessKey);
  expect(readdirSync(folder)).toEqual([basename(older)]);
}, 60_000);
