/** Backups by schedule: when they are due, what is kept, and what happens when one fails. */

import { afterEach, beforeEach, expect, test } from "bun:test";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { ArchiveDirectory, type ArchivePlace } from "#app/backup/directory.ts";
import { ScheduledBackups } from "#app/backup/scheduled.ts";
import type { Config } from "#config/schema.ts";
import { ArchiveBucket } from "#adapters/publish/archives.ts";
import { sha256Hex } from "#core/crypto.ts";
import { type Manifest, nameOfArchive } from "#core/backup/archive.ts";
import { type BackupDeps, Backups, lastScheduled } from "#domain/backup/backups.ts";
import type { Store } from "#domain/store.ts";
import { systemOrigin } from "#domain/revocation/system-origin.ts";
import { configOf } from "#test/support/config.ts";
import { openMemoryKeys } from "#test/support/keys/memory-keys.ts";
import { createMemoryStore } from "#test/support/stores/memory-store.ts";
import { seededRandom, testClock } from "#test/support/ports.ts";
import { s3Credentials, startS3 } from "#test/support/servers/s3-server.ts";

const by = systemOrigin("backup");
const hour = 3600;
const id = "instance";

let folder: string;
let archives: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "pkid-scheduled-"));
  archives = join(folder, "archives");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Creates the lock between replicas, which PostgreSQL has and a store in memory lacks. */
function createLock(): Store["exclusively"] {
  let last: Promise<unknown> = Promise.resolve();
  return (_name, work) => {
    const result = last.then(work);
    last = result.catch(() => {});
    return result;
  };
}

async function world(backup: Partial<Config["backup"]> = {}) {
  const [store, clock] = [{ ...createMemoryStore(), exclusively: createLock() }, testClock()];
  const logs: Readonly<Record<string, unknown>>[] = [];
  await store.atomically((tx) => tx.instance.setValue("instance_id", id));
  const state = {
    broken: false,
    drills: 0,
    /** How long an archive takes. */
    seconds: 0,
    places: [new ArchiveDirectory(archives)] as ArchivePlace[],
  };
  const manifest = { audit: { seq: 7 }, instance_id: id, version: "1", schema_version: 1 };
  const deps: BackupDeps = {
    store,
    clock,
    stopwatch: clock.stopwatch,
    keys: openMemoryKeys(),
    envelopes: { dataKey: async () => new Uint8Array() },
    random: seededRandom(),
    archiving: async function* (wish, host) {
      host.begun({ ...manifest, created_at: wish.createdAt } as Manifest);
      clock.advance(state.seconds);
      yield Buffer.from(`archive of ${wish.createdAt}`);
      if (state.broken) throw new Error("the database is away");
    },
  };
  const [backups, replica] = [new Backups(deps), new Backups(deps)];
  const { backup: usual } = configOf("");
  const settings = { ...usual, enabled: true, retention: { keep: 2, max_age_days: 0 }, ...backup };
  const make = () =>
    new ScheduledBackups({
      store,
      clock,
      log: { write: (_level, _message, fields = {}) => void logs.push(fields) },
      backups,
      config: () => ({ backup: settings }) as Config,
      configured: async () => ({ recipients: ["age1x"] }),
      places: () => state.places,
      drill: async () => {
        state.drills += 1;
      },
    });
  return { store, clock, state, logs, backups, replica, make, scheduled: make() };
}

const there = () => readdirSync(archives).sort();
const ages = () => there().filter((name) => name.endsWith(".age"));

test("one is made when it is due, over restarts and replicas, and not before", async () => {
  const { scheduled, clock, make, store } = await world();
  await scheduled.runDue(by);
  expect(ages().length).toBe(1);
  expect(statSync(archives).mode & 0o777).toBe(0o700);
  clock.advance(24 * hour - 1);
  await make().runDue(by);
  expect(ages().length).toBe(1);
  clock.advance(1);
  await Promise.all([make().runDue(by), make().runDue(by)]);
  expect(ages().length).toBe(2);
  const runs = store.listEvents().filter(({ action }) => action === "backup.run");
  expect(runs.map(({ result }) => result)).toEqual(["success", "success"]);
});

test("beside each archive stands what is no secret, with its digest", async () => {
  await (await world()).scheduled.run(by);
  const [archive = "", sidecar = ""] = there();
  expect(archive).toMatch(/^pkid-instance-\d{8}T\d{6}Z\.tar\.age$/);
  expect(sidecar).toBe(`${archive}.manifest.json`);
  const facts = JSON.parse(readFileSync(join(archives, sidecar), "utf8"));
  const octets = readFileSync(join(archives, archive));
  expect(facts).toMatchObject({ artifact: archive, seq: 7, instance_id: id });
  expect([facts.sha256, facts.size]).toEqual([sha256Hex(octets), octets.length]);
});

test("older ones go when a newer one is there; what is somebody else's stays", async () => {
  const { scheduled, clock } = await world();
  mkdirSync(archives, { mode: 0o700 });
  const foreign = ["notes.txt", "pkid-other-20200101T000000Z.tar.age", "pkid-instance-x.tar.age"];
  for (const name of foreign) writeFileSync(join(archives, name), "x");
  const other = { artifact: foreign[1], instance_id: "other", created_at: "2020-01-01T00:00:00Z" };
  writeFileSync(join(archives, `${foreign[1]}.manifest.json`), JSON.stringify(other));
  for (let n = 0; n < 4; n++) {
    await scheduled.run(by);
    clock.advance(24 * hour);
  }
  const own = ages().filter((name) => !foreign.includes(name));
  expect(own.length).toBe(2);
  expect(there()).toEqual(expect.arrayContaining(foreign));
});

/** Names and sidecars that claim to be the newest archives of the instance. */
const junk = Array.from({ length: 7 }, (_, at) => {
  const artifact = `pkid-${id}-2099010${at + 1}T000000Z.tar.age`;
  const claims = { artifact, instance_id: id, created_at: "2099-01-01T00:00:00Z", seq: 1e9 };
  return { artifact, sidecar: JSON.stringify({ ...claims, sha256: sha256Hex(Buffer.from("x")) }) };
});

test("BAK-4: junk files with later names and sidecars displace no archive of a directory", async () => {
  const { scheduled, clock, logs } = await world();
  mkdirSync(archives, { mode: 0o700 });
  for (const { artifact, sidecar } of junk) {
    writeFileSync(join(archives, artifact), "x");
    writeFileSync(join(archives, `${artifact}.manifest.json`), sidecar);
  }
  const archived: string[] = [];
  for (let n = 0; n < 4; n++) {
    archived.push(await scheduled.run(by));
    clock.advance(24 * hour);
  }
  const names = junk.map(({ artifact }) => artifact);
  expect(ages()).toEqual([...archived.slice(2), ...names].sort());
  expect(logs.at(-1)).toMatchObject({ target: "dir", count: 7, files: names.toReversed() });
});

test("BAK-4: an archive that was replaced is not counted and not deleted, and the newest stays", async () => {
  const { scheduled, clock } = await world({ retention: { keep: 1, max_age_days: 0 } });
  const first = await scheduled.run(by);
  clock.advance(24 * hour);
  writeFileSync(join(archives, first), "replaced");
  const second = await scheduled.run(by);
  expect(ages()).toEqual([first, second]);
  clock.advance(24 * hour);
  const third = await scheduled.run(by);
  expect(ages()).toEqual([first, third]);
  // A restored instance has no events of them.
  const other = await world({ retention: { keep: 1, max_age_days: 0 } });
  other.clock.advance(72 * hour);
  const fourth = await other.scheduled.run(by);
  expect(ages()).toEqual([first, third, fourth]);
});

test("with max_age_days older ones stay until they are so old", async () => {
  const { scheduled, clock } = await world({ retention: { keep: 1, max_age_days: 3 } });
  for (let n = 0; n < 6; n++) {
    await scheduled.run(by);
    clock.advance(24 * hour);
  }
  expect(ages().length).toBe(4);
});

test("one that fails is told, leaves nothing, lets nothing go, and is tried again within the hour", async () => {
  const { scheduled, clock, state, store } = await world({
    retention: { keep: 1, max_age_days: 0 },
  });
  await scheduled.runDue(by);
  const before = there();
  clock.advance(24 * hour);
  state.broken = true;
  await scheduled.runDue(by).catch(() => {});
  expect(there()).toEqual(before);
  expect(await lastScheduled(store)).toMatchObject({ result: "error" });
  const events = store.listEvents().filter(({ action }) => action === "backup.run");
  expect(events.map(({ result }) => result)).toEqual(["success", "error"]);
  state.broken = false;
  clock.advance(hour - 1);
  await scheduled.runDue(by);
  expect(there()).toEqual(before);
  clock.advance(1);
  await scheduled.runDue(by);
  expect(there()).not.toEqual(before);
});

test("an event tells how long a backup and a drill took, whatever becomes of the clock", async () => {
  const { scheduled, backups, clock, state, store } = await world();
  state.seconds = 2.5;
  await scheduled.run(by);
  const drill = { artifact: "a", result: "success", fault: "" } as const;
  await backups.drilled(by, drill, 12.345);
  await backups.drilled(by, drill);
  clock.step(-hour);
  state.broken = true;
  await scheduled.run(by).catch(() => {});
  const events = store.listEvents().map(({ detail }) => detail);
  expect(events.map((detail) => / duration=(\S+)/.exec(detail)?.[1])).toEqual([
    "2.5",
    "12.345",
    undefined,
    undefined,
  ]);
});

test("a drill is due when the last one is as long ago as its schedule says, and there is a backup", async () => {
  const { scheduled, clock, state, backups } = await world();
  await scheduled.drillDue();
  expect(state.drills).toBe(0);
  await scheduled.run(by);
  await scheduled.drillDue();
  expect(state.drills).toBe(1);
  await backups.drilled(by, { artifact: "a", result: "success", fault: "" });
  clock.advance(24 * hour - 1);
  await scheduled.drillDue();
  expect(state.drills).toBe(1);
  clock.advance(1);
  await scheduled.drillDue();
  expect(state.drills).toBe(2);
});

test("two made within one second have a name each, in their order, whoever makes them", async () => {
  const { backups, replica, store } = await world();
  const asked = { protection: { recipients: ["age1x"] }, withConfiguration: false };
  const names: string[] = [];
  for (const one of [backups, replica, backups]) {
    const { artifact, pieces } = await one.begin(by, asked, []);
    names.push(artifact);
    await Array.fromAsync(pieces);
  }
  const stamps = names.map((name) => nameOfArchive(name)?.stamp);
  expect(stamps).toEqual(["20260601T120000Z", "20260601T120001Z", "20260601T120002Z"]);
  const made = store.listEvents().map(({ detail }) => detail.split(" ")[0]);
  expect(made).toEqual(names.map((name) => `artifact=${name}`));
  expect((await backups.last()).backup?.created_at).toStartWith("2026-06-01T12:00:00.");
});

test("after a clock was set back the newest is still what was made last, by its name too", async () => {
  const { scheduled, clock } = await world({ retention: { keep: 2, max_age_days: 0 } });
  const made: string[] = [];
  for (let n = 0; n < 3; n++) {
    made.push(await scheduled.run(by));
    clock.step(-hour);
  }
  expect(made.toSorted()).toEqual(made);
  expect(ages()).toEqual(made.slice(1));
  clock.step(4 * hour);
  expect(nameOfArchive(await scheduled.run(by))?.stamp).toBe("20260601T130000Z");
});

test("without a target, or with one that cannot be written, it says so", async () => {
  const { scheduled, state } = await world();
  state.places = [];
  const why = (work: Promise<unknown>) =>
    work.then(
      () => "made",
      (error: Error) => error.message,
    );
  expect(await why(scheduled.run(by))).toContain("A target (backup.dir, backup.s3.bucket)");
  writeFileSync(join(folder, "file"), "");
  state.places = [new ArchiveDirectory(join(folder, "file", "below"))];
  expect(await why(scheduled.run(by))).toContain("ENOTDIR");
});

test("an S3-compatible store takes archives in parts, lists them, and lets the older ones go", async () => {
  const s3 = startS3();
  const { accessKeyId, secretAccessKey, bucket: named, region } = s3Credentials;
  const place = { endpoint: s3.endpoint, bucket: named, region, prefix: "backups" };
  try {
    const { scheduled, clock, state } = await world();
    const bucket = new ArchiveBucket(
      { ...place, force_path_style: true, concurrency: 1 },
      async () => ({ accessKeyId, secretAccessKey, sessionToken: undefined }),
    );
    state.places = [bucket];
    const made: string[] = [];
    for (let n = 0; n < 3; n++) {
      made.push(await scheduled.run(by));
      clock.advance(24 * hour);
    }
    const listed = (await bucket.list(id)).map(({ artifact }) => artifact);
    expect(listed).toEqual(made.slice(1).toReversed());
    for (const { artifact, sidecar } of junk) {
      const object = { type: "", etag: '"junk"' };
      s3.objects.set(`backups/${artifact}`, { ...object, octets: Buffer.from("x") });
      const claims = { ...object, octets: Buffer.from(sidecar) };
      s3.objects.set(`backups/${artifact}.manifest.json`, claims);
    }
    made.push(await scheduled.run(by));
    const left = (await bucket.list(id)).map(({ artifact }) => artifact);
    const names = junk.map(({ artifact }) => artifact);
    expect(left).toEqual([...made.slice(2), ...names].sort().reverse());
    const octets = await Array.fromAsync(bucket.pieces(made[2] ?? ""));
    expect(Buffer.concat(octets).toString()).toStartWith("archive of ");
    expect(await bucket.list("another")).toEqual([]);
    const before = s3.objects.get(`backups/${made[2]}`);
    const over = bucket.write(made[2] ?? "", inOnePiece("other"), async () => ({}));
    await expect(over).rejects.toThrow("is in the store; an archive is never written over.");
    expect(s3.objects.get(`backups/${made[2]}`)).toEqual(before);
  } finally {
    await s3.stop();
  }
});

test("the next backup aborts the upload that a killed process left in the bucket, and no other", async () => {
  const s3 = startS3();
  const { accessKeyId, secretAccessKey, bucket, region } = s3Credentials;
  const options = { endpoint: s3.endpoint, bucket, region, prefix: "backups" };
  const target = { ...options, force_path_style: true, concurrency: 1 };
  const open = async () => ({ accessKeyId, secretAccessKey, sessionToken: undefined });
  try {
    const { scheduled, state } = await world();
    const others = ["backups/pkid-other-20260101T000000Z.tar.age", "backups/report.pdf"];
    const abandoned = `backups/pkid-${id}-20260101T000000Z.tar.age`;
    for (const key of [abandoned, ...others]) s3.startUpload(key);
    // A replica may still be sending it.
    state.places = [new ArchiveBucket(target, open)];
    await scheduled.run(by);
    expect([...s3.uploads.keys()]).toEqual([abandoned, ...others]);
    state.places = [new ArchiveBucket(target, open, undefined, 0)];
    await scheduled.run(by);
    expect([...s3.uploads.keys()]).toEqual(others);
  } finally {
    await s3.stop();
  }
});

async function* inOnePiece(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
