/**
 * An archive holds every row of every table, is read back to the same, and anything that was done
 * to it is refused.
 */

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generateKeyPairSync, sign } from "node:crypto";

import { decrypted, encrypted, newIdentity } from "#adapters/age/age.ts";
import { readArchive } from "#core/backup/reading.ts";
import { ScratchStore } from "#adapters/db/archive/scratch-store.ts";
import { archiveOf } from "#app/backup/write.ts";
import { moveDatabase } from "#adapters/db/move/databases.ts";
import { openForProof } from "#adapters/db/proofs/open.ts";
import { prove } from "#adapters/db/proofs/prove.ts";
import type { StoreOptions } from "#adapters/db/open.ts";
import { boxFor } from "#adapters/keys/signer/hand-over.ts";
import { systemClock, systemRandom } from "#adapters/system.ts";
import { ArchiveUnfit, type Manifest, type Opener } from "#core/backup/archive.ts";
import { tarEnd, tarHeader, tarPadding } from "#core/tar.ts";
import { tarMembers } from "#core/tar-reader.ts";
import { type Instant, instant } from "#core/time.ts";
import type { ArchiveHost } from "#domain/backup/archiving.ts";
import { ran } from "#test/support/child.ts";
import { selectByRun } from "#test/support/run-length.ts";
import { type SharedPostgres, sharePostgres } from "#test/support/servers/postgres.ts";
import { allRows, fullStore } from "#test/support/stores/full-store.ts";
import {
  type DatabaseUnderTest,
  emptyPostgresDatabase,
  postgresLimits,
  sqliteDatabase,
} from "#test/support/stores/stores.ts";

setDefaultTimeout(180_000);

let server: SharedPostgres;
let sample: Buffer;
let plain: Buffer;
let keys: { identity: string; recipient: string };
let folder: string;
beforeAll(async () => {
  server = await sharePostgres();
  folder = mkdtempSync(join(tmpdir(), "pkid-archives-"));
  keys = await newIdentity();
  plain = await whole(archived(await named(await fullStore())));
  sample = await whole(encrypted({ recipients: [keys.recipient] }, inPieces(plain)));
});
const flips = selectByRun(250, 1000);
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
});

test("what is read from an archive of either database is what was in it, octet for octet, but for what RES-2 voids", async () => {
  const from = await named(await fullStore());
  const away = await emptyPostgresDatabase(server);
  const at = { at: "noon", dryRun: false, again: false, random: systemRandom };
  const copy = await whole(archived(from));
  await moveDatabase({ from: optionsOf(from), to: optionsOf(away), ...at });
  const archives = [copy, await whole(archived(away))];
  // Nobody has a lease after a restore, and nothing is due.
  const none = "next_at = null, owner = null, lease_until = null";
  await from.tamper(`update acme_challenges set ${none}`);
  for (const archive of archives) {
    const target = sqliteDatabase();
    const { manifest } = await restoredTo(target.target, archive);
    expect(manifest.tables.length).toBeGreaterThan(30);
    const [read, written] = [allRows(target), allRows(from)];
    expect([written.presigned?.length, read.presigned]).toEqual([2, []]);
    expect([written.acme_nonces?.length, read.acme_nonces]).toEqual([2, []]);
    expect(manifest.tables).not.toContain("acme_nonces");
    // What an archive may not bring back, and numbers that leap.
    for (const changed of ["presigned", "acme_nonces", "crl_reservations"]) {
      delete read[changed];
      delete written[changed];
    }
    expect(read).toEqual(written);
    await (await target.open()).close();
  }
});

test("the data key of a private key that is destroyed while tables are read is in the archive", async () => {
  const [early, late] = ["aa".repeat(20), "bb".repeat(20)];
  const asked = [[early], [late]];
  const archive = archived(await small(), async ({ address }) => {
    const ids = asked.shift() ?? [];
    const boxes = ids.map((id) => ({
      id,
      box: boxFor(address, Buffer.from(id, "ascii"), "archive"),
    }));
    return { values: new Map(), privateKeys: boxes };
  });
  const members = await unpacked(await whole(archive));
  const { private_keys } = JSON.parse(String(members.get("keys/deks.json")));
  expect(private_keys.map(({ id }: { id: string }) => id)).toEqual([early, late]);
});

test("RES-2: two restores of one archive continue with CRL numbers that never meet, also of scopes that had none", async () => {
  const archive = await whole(archived(await small()));
  const restoreNumbers = async (now: Instant) => {
    const { target } = sqliteDatabase();
    const { manifest } = await restoredTo(target, archive, now);
    const file = new Database(target);
    const [[last] = []] = file.query("select number from crl_reservations").values();
    const name = "name = 'crl_number_floor'";
    const [[floor] = []] = file.query(`select value from instance where ${name}`).values();
    file.close();
    return { last: Number(last), floor, made: Date.parse(manifest.created_at) };
  };
  const early = await restoreNumbers(instant(0));
  expect([early.last, early.floor]).toEqual([1_000_007, "1000000"]);
  const first = await restoreNumbers(instant(early.made + 60_000));
  const second = await restoreNumbers(instant(early.made + 60_001));
  expect(first.last).toBeGreaterThan(1_000_007);
  expect(second.last - first.last).toBe(1000);
  expect(Number(second.floor) - Number(first.floor)).toBe(1000);
});

test("RES-2: nonces, leases and challenges of ACME are void, and what was decided stays", async () => {
  const from = await small();
  await from.tamper("insert into acme_nonces values ('00', 1)");
  const ids = ["pending", "ready", "valid", "invalid"];
  for (const [at, status] of ids.entries()) {
    await from.tamper(
      `insert into acme_orders (id, account, directory, tenant, ca_id, status, identifiers, authorizations, profile, created_at, expires_at, ends_at)
       values ('${status}', 'a', 'default', 'default', 'ca', '${status}', '[]', '[]', 'p', 1, 1, 1)`,
    );
    const state = status === "ready" ? "deactivated" : status;
    await from.tamper(
      `insert into acme_authorizations (id, account, directory, identifier_type, identifier, wildcard, status, created_at, expires_at, challenges, ordered)
       values ('z${at}', 'a', 'default', 'dns', 'a.example', 0, '${state}', 1, 1, '[]', 1)`,
    );
    for (const challenge of ["pending", "processing"]) {
      await from.tamper(
        `insert into acme_challenges (id, authorization_id, account, type, token, status, attempts, next_at, owner, lease_until)
         values ('${challenge}${at}', 'z${at}', 'a', 'http-01', 't', '${challenge}', 1, 5, 6, 7)`,
      );
    }
  }
  const target = sqliteDatabase();
  await restoredTo(target.target, await whole(archived(from)));
  const file = new Database(target.target);
  const rows = (text: string) => file.query(text).values();
  expect(rows("select count(*) from acme_nonces")).toEqual([[0]]);
  const problem = "json_extract(error, '$.type')";
  expect(rows(`select id, status, ${problem} from acme_orders order by id`)).toEqual([
    ["invalid", "invalid", null],
    ["pending", "invalid", "serverInternal"],
    ["ready", "ready", null],
    ["valid", "valid", null],
  ]);
  expect(rows("select id, status from acme_authorizations order by id")).toEqual([
    ["z0", "invalid"],
    ["z1", "deactivated"],
    ["z2", "valid"],
    ["z3", "invalid"],
  ]);
  const its = `id, status, ${problem}, next_at, owner, lease_until`;
  const challenges = `select ${its} from acme_challenges where authorization_id in ('z0', 'z2')`;
  expect(rows(`${challenges} order by id`)).toEqual([
    ["pending0", "invalid", "serverInternal", null, null, null],
    ["pending2", "pending", null, null, null, null],
    ["processing0", "invalid", "serverInternal", null, null, null],
    ["processing2", "pending", null, null, null, null],
  ]);
  const epochs = rows("select value from instance where name = 'acme_nonce_epoch'");
  expect(epochs).toEqual([[expect.stringMatching(/^[0-9a-f-]{36}$/)]]);
  file.close();
});

test("age itself opens what pkid encrypts, and pkid opens what age encrypts", async () => {
  const file = (name: string, content: string | Uint8Array) => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  const identity = file("identity", keys.identity);
  const opened = await ran([
    "age",
    "-d",
    "-i",
    identity,
    "-o",
    join(folder, "a.tar"),
    file("a", sample),
  ]);
  expect([opened.code, opened.stderr]).toEqual([0, ""]);
  expect(Buffer.from(await Bun.file(join(folder, "a.tar")).bytes()).equals(plain)).toBe(true);
  const listed = await ran(["tar", "-tf", join(folder, "a.tar")]);
  expect(listed.stdout.split("\n")[0]).toBe("manifest.json");
  expect(listed.stdout.trimEnd().split("\n").at(-1)).toBe("digests.json");

  const made = await ran([
    "age",
    "-r",
    keys.recipient,
    "-o",
    join(folder, "b.age"),
    file("b", plain),
  ]);
  expect([made.code, made.stderr]).toEqual([0, ""]);
  const back = decrypted(
    { identities: [keys.identity] },
    inPieces(await Bun.file(join(folder, "b.age")).bytes()),
  );
  expect((await whole(back)).equals(plain)).toBe(true);
});

test("a passphrase opens what was encrypted with it, and nothing else does", async () => {
  const passphrase = "correct horse battery staple";
  const locked = await whole(encrypted({ passphrase }, inPieces(plain)));
  expect((await whole(decrypted({ passphrase }, inPieces(locked)))).equals(plain)).toBe(true);
  expect(
    await refusal(whole(decrypted({ passphrase: "another one entirely" }, inPieces(locked)))),
  ).toBe("The passphrase does not open the archive.");
  expect(await refusal(read(locked))).toBe(
    "The archive is encrypted with a passphrase; give that.",
  );
  expect(await refusal(read(sample, { passphrase }))).toBe(
    "The archive is encrypted to recipients; give an identity.",
  );
});

test(`an archive with a flipped bit is refused with its reason (${flips} random ones)`, async () => {
  expect(await refusal(read(sample))).toBe("read");
  const reasons = new Map<string, number>();
  for (let flip = 0; flip < flips; flip++) {
    const altered = Buffer.from(sample);
    const at = Math.floor(Math.random() * altered.length);
    altered[at] = (altered[at] ?? 0) ^ (1 << Math.floor(Math.random() * 8));
    const why = await refusal(read(altered));
    reasons.set(why, (reasons.get(why) ?? 0) + 1);
  }
  expect([...reasons.keys()].filter((why) => why === "read" || why === "")).toEqual([]);
});

test(`an archive with a flipped bit in its content is refused (${flips} random ones)`, async () => {
  expect(await refusal(readPlain(plain))).toBe("read");
  for (let flip = 0; flip < flips; flip++) {
    const altered = Buffer.from(plain);
    const at = Math.floor(Math.random() * altered.length);
    altered[at] = (altered[at] ?? 0) ^ (1 << Math.floor(Math.random() * 8));
    expect([flip, at, await refusal(readPlain(altered))]).not.toEqual([flip, at, "read"]);
  }
});

test("an archive that was cut off anywhere is refused, and one that goes on behind its end", async () => {
  for (let cut = 0; cut < 100; cut++) {
    const length = Math.floor(Math.random() * sample.length);
    expect(await refusal(read(sample.subarray(0, length)))).not.toBe("read");
  }
  for (const more of [Buffer.of(0), Buffer.alloc(70_000), sample]) {
    expect(await refusal(read(Buffer.concat([sample, more])))).not.toBe("read");
  }
});

test("a key that does not fit, another format and no archive at all are told apart", async () => {
  const other = await newIdentity();
  expect(await refusal(read(sample, { identities: [other.identity] }))).toBe(
    "None of the identities opens the archive: it is encrypted to others.",
  );
  expect(await refusal(read(sample, { identities: ["AGE-SECRET-KEY-1QQQ"] }))).toContain(
    "no identity of the age format",
  );
  expect(await refusal(read(Buffer.from("PK\x03\x04 something")))).toBe(
    "This is no archive of the age format.",
  );
  const foreign = await whole(
    encrypted({ recipients: [keys.recipient] }, inPieces(await repacked(new Map([["a", "b"]])))),
  );
  expect(await refusal(read(foreign))).toBe("This is no backup of pkid.");
});

test("a header without end is read no further than it may be long", async () => {
  let given = 0;
  const endless = async function* () {
    yield Buffer.from("age-encryption.org/v1\n-> X25519 ");
    for (;;) {
      given += 65_536;
      yield Buffer.alloc(65_536, 0x61);
    }
  };
  expect(await refusal(whole(decrypted({ identities: [keys.identity] }, endless())))).toContain(
    "not what was written",
  );
  expect(given).toBeLessThan(300_000);
});

test("the effort a header asks for is bounded", async () => {
  const costly = Buffer.from(
    `age-encryption.org/v1\n-> scrypt ${"A".repeat(22)} 30\n${"A".repeat(43)}\n--- ${"A".repeat(43)}\n`,
  );
  expect(await refusal(read(costly, { passphrase: "a passphrase that is long" }))).toContain(
    "asks for a scrypt effort of 30",
  );
});

test("members that are missing, doubled, in another order or of another table are refused", async () => {
  const members = await unpacked(plain);
  const without = (name: string) => new Map([...members].filter(([one]) => one !== name));
  expect(await refusal(readPlain(await repacked(without("digests.json"))))).toContain("incomplete");
  expect(await refusal(readPlain(await repacked(without("manifest.json"))))).toBe(
    "This is no backup of pkid.",
  );
  expect(await refusal(readPlain(await repacked(without("database/cas.jsonl"))))).toContain(
    "lacks the table cas",
  );
  const turned = new Map([...members].toReversed());
  expect(await refusal(readPlain(await repacked(turned)))).toContain("behind the end");
  const added = new Map([
    ["manifest.json", members.get("manifest.json") ?? ""],
    ["x", "y"],
  ]);
  expect(await refusal(readPlain(await repacked(added)))).toBe("x has no place in an archive.");
  const strange = new Map(members);
  strange.set("database/cas.jsonl", '["id"]\n["a","b"]\n');
  expect(await refusal(readPlain(await repacked(strange)))).toContain("does not hold rows");
});

test("an archive of a newer schema names the version that restores it", async () => {
  const members = await unpacked(plain);
  const manifest = JSON.parse(Buffer.from(members.get("manifest.json") ?? "").toString());
  const newer = JSON.stringify({ ...manifest, schema_version: 999, version: "9.9.9" });
  members.set("manifest.json", newer);
  const target = join(folder, "newer.db");
  expect(await refusal(restoredTo(target, await repacked(members)))).toContain(
    "Restore it with pkid 9.9.9 or newer.",
  );
});

test("a value of another type than its column has is refused", async () => {
  const members = await unpacked(plain);
  for (const [name, other] of [
    ["expires_at", '"soon"'],
    ["expires_at", "1.5"],
    ["serial", "7"],
    ["ca_id", "x"],
  ] as const) {
    const rows = String(members.get("database/revocations.jsonl")).split("\n");
    const at = (JSON.parse(rows[0] ?? "[]") as string[]).indexOf(name);
    const row = (JSON.parse(rows[1] ?? "[]") as unknown[]).map((one) => JSON.stringify(one));
    row[at] = other;
    const strange = new Map(members);
    strange.set("database/revocations.jsonl", [rows[0], `[${row.join()}]`, ""].join("\n"));
    const target = join(folder, `${crypto.randomUUID()}.db`);
    expect(await refusal(restoredTo(target, await repacked(strange)))).toMatch(
      /revocations.* does not hold rows as pkid writes them/,
    );
  }
});

test("a chain that does not verify is named by its proof when it has been read", async () => {
  const from = await named(await fullStore());
  await from.tamper("update events set detail = 'x' where seq = 2");
  const path = join(folder, "broken.db");
  await restoredTo(path, await whole(archived(from)));
  const engine = await openForProof({ driver: "sqlite", path, busy_timeout_ms: 5000 });
  const { results } = await prove(engine, { since: 0, fresh: true, random: systemRandom });
  await engine.close();
  const audit = results.find(({ name }) => name === "audit");
  expect(audit?.first).toContain("Event 2 has another hash.");
});

const signer = generateKeyPairSync("ed25519");

function archived(
  { target }: Pick<DatabaseUnderTest, "target">,
  dataKeys: ArchiveHost["dataKeys"] = async () => ({ values: new Map(), privateKeys: [] }),
): AsyncGenerator<Uint8Array> {
  const keystore = join(folder, "keys");
  mkdirSync(keystore, { recursive: true });
  writeFileSync(join(keystore, "store-id"), "one");
  writeFileSync(join(keystore, ".new-unfinished"), "not taken along");
  const order = {
    store: optionsOf({ target }),
    keystore,
    masterKeyFile: undefined,
    withMasterKey: true,
    configuration: "data_dir: /x\n",
    version: "0.1.0",
    createdAt: "2026-11-23T12:00:00Z",
    mustVerify: false,
    hsmTokens: [],
  };
  const host = {
    begun: () => {},
    dataKeys,
    sign: async (octets: Uint8Array) => ({
      value: sign(null, octets, signer.privateKey).toString("hex"),
      spki: signer.publicKey.export({ format: "der", type: "spki" }).toString("hex"),
    }),
  };
  return archiveOf(order, host);
}

/** An archive names its instance, and members after scopes, which the fixture's rows do not fit. */
async function named(database: DatabaseUnderTest): Promise<DatabaseUnderTest> {
  await database.tamper("insert into instance (name, value) values ('instance_id', 'i')");
  await database.tamper("update crl_heads set ca_id = 'home', scope = 'shard-' || (number % 2)");
  return database;
}

async function small(): Promise<DatabaseUnderTest> {
  const database = sqliteDatabase();
  await (await database.open()).close();
  await named(database);
  await database.tamper("insert into crl_reservations values ('ca', 'full', 7, 0, 0, null)");
  return database;
}

const optionsOf = ({ target }: Pick<DatabaseUnderTest, "target">): StoreOptions =>
  target.startsWith("postgres")
    ? { driver: "postgres", dsn: target, ...postgresLimits, migrate: true }
    : { driver: "sqlite", path: target, busy_timeout_ms: 5000 };

async function restoredTo(path: string, archive: Uint8Array, now = systemClock.now()) {
  let store: ScratchStore | undefined;
  try {
    const read = await readArchive(inPieces(archive), {
      ...ignored,
      manifest: async (manifest: Manifest) => {
        store = await ScratchStore.make(path, manifest);
      },
      rows: async (table, piece) => store?.rows(table, piece),
    });
    await store?.finish(now);
    return read;
  } catch (error) {
    store?.abandon();
    throw error;
  }
}

const ignored = {
  manifest: async () => {},
  rows: async () => {},
  dataKeys: () => {},
  keyFile: () => {},
  masterKey: () => {},
  configuration: () => {},
};

const readPlain = (archive: Uint8Array) => readArchive(inPieces(archive), ignored);

const read = (archive: Uint8Array, opener: Opener = { identities: [keys.identity] }) =>
  readArchive(decrypted(opener, inPieces(archive)), ignored);

async function unpacked(archive: Uint8Array): Promise<Map<string, string | Uint8Array>> {
  const members = new Map<string, string | Uint8Array>();
  for await (const member of tarMembers(inPieces(archive))) {
    members.set(member.name, await whole(member.content()));
  }
  return members;
}

async function repacked(members: ReadonlyMap<string, string | Uint8Array>): Promise<Buffer> {
  const pieces = [...members].flatMap(([name, content]) => {
    const octets = Buffer.from(content);
    return [tarHeader(name, octets.length, 0, 0o600), octets, tarPadding(octets.length)];
  });
  return Buffer.concat([...pieces, tarEnd()]);
}

async function* inPieces(octets: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < octets.length; at += 60_000) yield octets.subarray(at, at + 60_000);
}

async function whole(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(Uint8Array.from(piece));
  return Buffer.concat(all);
}

const refusal = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "read",
    (error: unknown) => {
      if (error instanceof ArchiveUnfit || error instanceof Error) return error.message;
      throw error;
    },
  );
