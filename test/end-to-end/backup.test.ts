/**
 * The disk died: an archive that was made under load is restored by the binary, on another disk, in
 * PostgreSQL, with the token that holds the keys, and history goes on where nobody has been.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

import { parseCrl } from "#core/x509/crl.ts";
import { ran } from "#test/support/child.ts";
import { backedUp, identityIn } from "#test/support/instances/backed-up.ts";
import { createChain, walkCertificate } from "#test/support/instances/first-certificate.ts";
import {
  binary,
  Instance,
  newHome,
  runCli,
  writeConfig,
} from "#test/support/instances/instance.ts";
import { drillPlaces } from "#test/support/instances/drill-places.ts";
import { membersOf } from "#test/support/instances/rewritten-archive.ts";
import { createHsmToken, type SoftHsmToken } from "#test/support/keys/soft-token.ts";
import { csr } from "#test/support/worlds/issuance.ts";
import { s3Credentials, startS3 } from "#test/support/servers/s3-server.ts";
import { type PostgresServer, startPostgres } from "#test/support/servers/postgres.ts";
import { until } from "#test/support/until.ts";

let server: PostgresServer;
/** Instance that tests read and archive, and never change. */
let plain: Instance;
beforeAll(async () => {
  [server, plain] = await Promise.all([startPostgres(), Instance.start()]);
}, 60_000);
afterAll(async () => {
  await plain.dispose();
  await server.stop();
});

const publicHttp = { server: { public_http: { enabled: true, address: "127.0.0.1:0" } } };

const moves = [
  ["sqlite", "sqlite", "software"],
  ["sqlite", "postgres", "software"],
  ["postgres", "sqlite", "software"],
  ["sqlite", "sqlite", "softhsm"],
] as const;

describe.each(moves)("from %s to %s, keys in %s", (from, to, keys) => {
  test("RES-2: everything acknowledged before the archive is there, and numbers leap past the loss", async () => {
    const token = keys === "softhsm" ? await createHsmToken() : undefined;
    const settings = { ...publicHttp, ...token?.config };
    const first = newHome();
    const config = { ...settings, ...(from === "postgres" ? await onServer(first, settings) : {}) };
    const instance = await Instance.start({ home: first, config, env: token?.env ?? {} });
    const chain = await createChain(instance, "ecdsa-p256");
    const ca = chain.intermediateId;
    const early = await issue(instance, ca, "early");
    await instance.admin("POST", `/api/ca/${ca}/revoke`, { serial: early, reason: "superseded" });

    const load = new Load(instance, ca);
    while (load.issued.length < 100) await Bun.sleep(5);
    const before = [...load.issued];
    const { archive, identity } = await backedUp(instance);
    const seen = load.issued.length;
    await load.stop();
    expect(seen).toBeGreaterThan(before.length);
    // What the world has seen since.
    const late = await issue(instance, ca, "late");
    await instance.admin("POST", `/api/ca/${ca}/revoke`, { serial: late, reason: "keyCompromise" });
    await instance.admin("POST", `/api/ca/${ca}/revoke`, {
      serial: before[0] ?? "",
      reason: "keyCompromise",
    });
    const { published, file } = await newestList(instance, ca, late);
    await instance.kill();

    const second = newHome();
    const place = to === "postgres" ? { database: await emptyDatabase() } : {};
    const target = { ...settings, ...place };
    writeConfig(second, target);
    const open = ["--identity", identity, "--with-crl", file];
    const env = token?.env ?? {};
    const looked = await runCli(second, ["restore", archive, ...open, "--dry-run"], "", env);
    expect([looked.code, looked.stderr]).toEqual([0, ""]);
    expect(looked.stdout).toContain("nothing was changed");
    expect(existsSync(join(second, "data"))).toBe(false);
    const restored = await runCli(second, ["restore", archive, ...open, "--json"], "", env);
    expect([restored.code, restored.stderr]).toEqual([0, ""]);
    expect(JSON.parse(restored.stdout)).toMatchObject({ database: to, imported: 2, unsigned: [] });
    const again = await runCli(second, ["restore", archive, ...open], "", env);
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining("is not empty")]);

    const back = await Instance.start({ home: second, config: target, env });
    try {
      const revoked = [early, late, ...before.slice(0, 1)];
      await holds(back, ca, { issued: before, revoked });
      expect((await newestList(back, ca, late)).published - published).toBeGreaterThan(900_000n);
      // Issue, OCSP, revocation and lists, as openssl sees them.
      await walkCertificate(back, chain, "ecdsa-p384");
    } finally {
      await back.dispose();
      token?.remove();
    }
  }, 180_000);
});

test("RES-2: two restores of one archive publish no CRL number twice", async () => {
  const origin = await Instance.start({ config: publicHttp });
  const { intermediateId: ca } = await createChain(origin, "ecdsa-p256");
  const serial = await issue(origin, ca, "early");
  await origin.admin("POST", `/api/ca/${ca}/revoke`, { serial, reason: "superseded" });
  const { archive, identity } = await backedUp(origin);
  await origin.kill();
  const restoreAndPublish = async () => {
    const home = newHome();
    writeConfig(home, publicHttp);
    const restored = await runCli(home, ["restore", archive, "--identity", identity]);
    expect(restored.code).toBe(0);
    const instance = await Instance.start({ home, config: publicHttp });
    const numbers: bigint[] = [];
    for (let n = 0; n < 5; n++) {
      numbers.push((await newestList(instance, ca, serial)).published);
    }
    await instance.dispose();
    return numbers;
  };
  const [first, second] = [await restoreAndPublish(), await restoreAndPublish()];
  expect(first.at(0)).toBeGreaterThan(1_000_000n);
  expect(second.at(0)).toBeGreaterThan(first.at(-1) ?? 0n);
  await origin.dispose();
}, 120_000);

test("BAK-3: a drill leaves the instance as it was, and is remembered", async () => {
  const home = newHome();
  const identity = join(home, "identity");
  const made = await runCli(home, ["backup", "keygen", "--out", identity]);
  const archives = join(home, "archives");
  mkdirSync(archives);
  const backup = {
    dir: archives,
    recipients: [made.stdout.trim()],
    verify: { identity_file: identity },
  };
  const instance = await Instance.start({ home, config: { backup } });
  try {
    const none = await instance.cli("backup", "drill");
    expect([none.code, none.stderr]).toEqual([
      1,
      expect.stringContaining("There is no archive in"),
    ]);
    const chain = await createChain(instance, "ecdsa-p256");
    await issue(instance, chain.intermediateId, "one");
    expect((await instance.cli("backup", "create", "--out", archives)).code).toBe(0);
    const drilling = instance.cli("backup", "drill", "--json");
    await until(() => drillPlaces(instance).length === 1);
    expect(JSON.parse((await drilling).stdout)).toMatchObject({ revoked: true, lists: 2 });
    expect(drillPlaces(instance)).toEqual([]);
    const status = await instance.cli("backup", "status");
    expect(status.stdout).toMatch(/The drill of .* with pkid-.*\.tar\.age succeeded\./);
    // No certificate of the drill is in the inventory, and no key of it in the key store.
    const list = await instance.cli("cert", "list", "--ca", chain.intermediateId, "--json");
    expect(list.stdout).not.toContain("drill-");
    const [archive = ""] = readdirSync(archives).filter((name) => name.endsWith(".age"));
    writeFileSync(join(archives, archive), "something else");
    const failed = await instance.cli("backup", "drill");
    expect([failed.code, failed.stderr]).toEqual([
      1,
      expect.stringContaining("no archive of the age"),
    ]);
    expect((await instance.cli("backup", "status")).stdout).toContain("failed: This is no archive");
  } finally {
    await instance.dispose();
  }
}, 120_000);

test("BAK-3: where archives go to a bucket only, the newest is fetched for the drill, and metrics tell of both", async () => {
  const s3 = startS3();
  const home = newHome();
  const identity = join(home, "identity");
  const made = await runCli(home, ["backup", "keygen", "--out", identity]);
  const { accessKeyId, secretAccessKey, bucket, region } = s3Credentials;
  const place = { endpoint: s3.endpoint, bucket, region, prefix: "backups" };
  const credentials = { access_key_id: accessKeyId, secret_access_key: secretAccessKey };
  const backup = {
    recipients: [made.stdout.trim()],
    verify: { identity_file: identity },
    s3: { ...place, ...credentials, force_path_style: true },
  };
  const instance = await Instance.start({ home, config: { backup } });
  const measured = async () => await instance.metrics();
  try {
    const none = await instance.cli("backup", "drill");
    expect([none.code, none.stderr]).toEqual([1, expect.stringContaining("in the bucket")]);
    expect(await measured()).toContain("pki_backup_last_success_timestamp_seconds 0");
    expect((await instance.cli("backup", "run")).code).toBe(0);
    const newest = await instance.cli("backup", "run");
    const drilled = await instance.cli("backup", "drill", "--json");
    expect([drilled.code, drilled.stderr]).toEqual([0, ""]);
    const told = { revoked: true, proofs: 13, archive: newest.stdout.trim() };
    expect(JSON.parse(drilled.stdout)).toMatchObject(told);
    expect(drillPlaces(instance)).toEqual([]);
    const text = await measured();
    expect(text).toMatch(/^pki_backups_total{result="success"} 2$/m);
    expect(text).toMatch(/^pki_backup_drills_total{result="success"} 1$/m);
    expect(text).toMatch(/^pki_backup_last_success_timestamp_seconds 1\.?\d+(e\+9)?/m);
    expect(text).toMatch(/^pki_backup_last_success_bytes [1-9]\d+$/m);
    expect(text).toMatch(/^pki_backup_duration_seconds_count 2$/m);
    expect(text).toMatch(/^pki_backup_drill_duration_seconds_count 1$/m);
    const [, before] = /^pki_backup_drill_last_success_timestamp_seconds (\S+)$/m.exec(text) ?? [];
    expect(Number(before)).toBeGreaterThan(1e9);
    for (const [key, object] of s3.objects) {
      if (key.endsWith(".age")) s3.objects.set(key, { ...object, octets: Buffer.from("other") });
    }
    expect((await instance.cli("backup", "drill")).code).toBe(1);
    const after = await measured();
    expect(after).toMatch(/^pki_backup_drills_total{result="error"} 1$/m);
    // A drill that fails leaves the time of the last good one.
    expect(after).toContain(`pki_backup_drill_last_success_timestamp_seconds ${before}\n`);
  } finally {
    await instance.dispose();
    await s3.stop();
  }
}, 120_000);

test("RES-1: an archive that is not to be relied on is refused with its reason, and nothing is there after", async () => {
  const home = newHome();
  const instance = await Instance.start({ home });
  const { archive, identity } = await backedUp(instance);
  const older = archive;
  await createChain(instance, "ecdsa-p256");
  const { archive: newer } = await backedUp(instance, identity);
  const { fingerprint } = await ledgerKey(instance);
  await instance.stop();
  const { fingerprint: otherKey } = await ledgerKey(plain);

  const second = newHome();
  writeConfig(second, {});
  const wrong = join(second, "wrong");
  await runCli(second, ["backup", "keygen", "--out", wrong]);
  const octets = readFileSync(newer);
  const altered = (name: string, change: (copy: Buffer) => Uint8Array): string => {
    const file = join(second, name);
    writeFileSync(file, change(Buffer.from(octets)));
    return file;
  };
  const flipped = altered("flipped.age", (copy) => {
    copy[copy.length >> 1] = (copy[copy.length >> 1] ?? 0) ^ 4;
    return copy;
  });
  const cases: readonly (readonly [string, readonly string[], string])[] = [
    [newer, ["--identity", wrong], "encrypted to others"],
    [flipped, ["--identity", identity], "not what was written"],
    [altered("cut.age", (copy) => copy.subarray(0, -1000)), ["--identity", identity], "cut off"],
    [altered("not.age", () => Buffer.from("x")), ["--identity", identity], "no archive of the age"],
    [older, ["--identity", identity], "is a later archive of this instance"],
    [newer, ["--identity", identity, "--ledger-key", otherKey], "is another instance's"],
    [join(second, "none.age"), ["--identity", identity], "cannot be read: ENOENT"],
  ];
  for (const [file, flags, reason] of cases) {
    const refused = await runCli(second, ["restore", file, ...flags]);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(reason)]);
    expect(refused.stdout).toBe("");
    expect(readdirSync(second).filter((name) => name.startsWith("data"))).toEqual([]);
  }
  const pinned = ["--identity", identity, "--ledger-key", fingerprint];
  expect((await runCli(second, ["restore", newer, ...pinned])).code).toBe(0);
  const third = newHome();
  writeConfig(third, {});
  expect(await runCli(third, ["restore", older, "--identity", identity, "--older"])).toMatchObject({
    code: 0,
  });
}, 120_000);

test("keys of CAs that are not on the token stop a restore, unless that is allowed", async () => {
  const token = await createHsmToken();
  const empty = await createHsmToken();
  const home = newHome();
  const kek = { key_provider: { ...Object(token.config.key_provider) } };
  const instance = await Instance.start({
    home,
    config: { ...token.config, ...kek },
    env: token.env,
  });
  await createChain(instance, "ecdsa-p256");
  const { archive, identity } = await backedUp(instance);
  const { serial } = await instance.admin<{ serial: string }>("GET", "/api/hsm/info");
  await instance.stop();
  const members = await membersOf(archive, identityIn(identity));
  const { hsm_keys, hsm_tokens } = JSON.parse(String(members.get("manifest.json")));
  const about = { label: "pkid", manufacturer: "SoftHSM project", model: "SoftHSM v2" };
  expect(hsm_tokens).toEqual([{ provider: "pkcs11", serial, ...about }]);
  const cas = hsm_keys.filter(({ role }: { role: string }) => role === "ca");
  expect(cas.map(({ label }: { label: string }) => label.slice(0, 12))).toEqual([
    "root-ecdsa-p",
    "issuing-ecds",
  ]);
  await drillWithToken({ home, token, open: [archive, "--identity", identity] });
  const second = newHome();
  writeConfig(second, token.config);
  const open = ["restore", archive, "--identity", identity];
  const same = await runCli(second, [...open, "--dry-run", "--json"], "", token.env);
  expect([same.code, same.stderr]).toEqual([0, ""]);
  const { hsm } = JSON.parse(same.stdout);
  expect(hsm).toEqual({ tokens: hsm_tokens, here: serial, expected: hsm_keys.length, missing: [] });

  const where = `The keys were on the token "pkid" (SoftHSM project SoftHSM v2, serial ${serial});`;
  const label = { ...Object(token.config.pkcs11), token_label: "none of that name" };
  writeConfig(second, { ...token.config, pkcs11: label });
  const none = await runCli(second, open, "", token.env);
  expect([none.code, none.stderr]).toEqual([1, expect.stringContaining(where)]);
  writeConfig(second, empty.config);
  const refused = await runCli(second, open, "", empty.env);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("Keys of CAs are")]);
  for (const { role, label: lacking } of cas)
    expect(refused.stderr).toContain(`${role} ${lacking}`);
  expect(refused.stderr).toContain(where);
  expect(existsSync(join(second, "data"))).toBe(false);
  const allowed = await runCli(second, [...open, "--allow-missing-keys"], "", empty.env);
  expect([allowed.code, allowed.stdout]).toEqual([1, expect.stringContaining("Restored into")]);
  expect(allowed.stderr).toContain("could not be signed: key_unavailable");
  expect(allowed.stderr).toMatch(/The token here \(serial \w+\) lacks ca root-ecdsa-p256-/);
  token.remove();
  empty.remove();
}, 120_000);

/** Checks that a drill uses the keys on the token, and does not change it. */
async function drillWithToken({
  home,
  token,
  open,
}: {
  readonly home: string;
  readonly token: SoftHsmToken;
  readonly open: readonly string[];
}): Promise<void> {
  const objects = () => readdirSync(join(token.folder, "tokens"), { recursive: true }).length;
  const before = objects();
  const verify = ["backup", "verify", ...open, "--json"];
  const drilled = await runCli(home, verify, "", token.env);
  expect([drilled.code, drilled.stderr]).toEqual([0, ""]);
  expect(JSON.parse(drilled.stdout).keys).toMatch(/^\d CA keys signed/);
  expect(objects()).toBe(before);
  const bare = newHome();
  writeConfig(bare, {});
  const untried = await runCli(bare, verify, "", token.env);
  expect([untried.code, untried.stderr]).toEqual([0, ""]);
  expect(JSON.parse(untried.stdout).keys).toMatch(/The key of \S+ was not tried: pkcs11 is not/);
}

test("a server makes its backup when it is asked to, and tries it without an identity as far as it can", async () => {
  const home = newHome();
  const dir = join(home, "archives");
  const identity = join(home, "identity");
  const recipient = (await runCli(home, ["backup", "keygen", "--out", identity])).stdout.trim();
  const backup = { enabled: true, dir, recipients: [recipient] };
  const instance = await Instance.start({ home, config: { backup } });
  const preflight = async () => {
    const only = ["--only", "backup.freshness,backup.restore_verified,backup.recipients", "--json"];
    const { checks } = JSON.parse((await instance.cli("preflight", ...only)).stdout);
    return checks.map(({ status }: { status: string }) => status);
  };
  expect(await preflight()).toEqual(["warn", "warn", "warn"]);
  const made = await instance.cli("backup", "run");
  expect([made.code, made.stderr]).toEqual([0, ""]);
  expect(readdirSync(dir).sort()[0]).toBe(made.stdout.trim());
  const drilled = await instance.cli("backup", "drill", "--json");
  expect(JSON.parse(drilled.stdout)).toMatchObject({ opened: false, openers: "1 recipient" });
  // One recipient is one person, who may be away.
  expect(await preflight()).toEqual(["pass", "pass", "warn"]);
  await instance.stop();
  const secret = { ...backup, recipients: [], passphrase: "sixteen characters or more" };
  const again = await Instance.start({ home, config: { backup: secret } });
  expect((await again.cli("backup", "run")).code).toBe(0);
  const tried = await again.cli("backup", "drill", "--json");
  expect(JSON.parse(tried.stdout)).toMatchObject({ revoked: true });
  await again.dispose();
}, 60_000);

test("an archive without the master key is drilled and restored with the file of the instance", async () => {
  const backup = { include_master_key: false };
  const instance = await Instance.start({ config: { backup } });
  try {
    const { archive, identity } = await backedUp(instance);
    const open = [archive, "--identity", identity];
    const drilled = await instance.cli("backup", "verify", ...open);
    expect([drilled.code, drilled.stderr]).toEqual([0, ""]);
    const second = newHome();
    writeConfig(second, { backup });
    const refused = await runCli(second, ["restore", ...open]);
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining("is missing while sealed"),
    ]);
    const dataDir = join(second, "data");
    expect(existsSync(dataDir)).toBe(false);
    mkdirSync(dataDir, { mode: 0o700 });
    const key = readFileSync(join(instance.dataDir, "master.key"));
    writeFileSync(join(dataDir, "master.key"), key, { mode: 0o600 });
    // A restore that was killed left its working directory.
    mkdirSync(join(dataDir, ".restoring-0a1b2c3d"));
    writeFileSync(join(dataDir, ".restoring-0a1b2c3d", "lock"), "1\n");
    const restored = await runCli(second, ["restore", ...open]);
    expect([restored.code, restored.stderr]).toEqual([0, expect.any(String)]);
    expect(readFileSync(join(dataDir, "master.key")).equals(key)).toBe(true);
    const back = await Instance.start({ home: second, config: { backup } });
    expect((await back.cli("preflight", "--only", "keys.ca,keys.kek")).code).toBe(0);
    await back.dispose();
    // Another master key than the one in the archive is not overwritten.
    const third = newHome();
    writeConfig(third, {});
    mkdirSync(join(third, "data"), { mode: 0o700 });
    writeFileSync(join(third, "data", "master.key"), Buffer.alloc(key.length, 1), { mode: 0o600 });
    const whole = await backedUp(plain);
    const other = await runCli(third, ["restore", whole.archive, "--identity", whole.identity]);
    expect([other.code, other.stderr]).toEqual([1, expect.stringContaining("is there already")]);
  } finally {
    await instance.dispose();
  }
}, 120_000);

test("what root restores belongs to whoever the data directory was made for", async () => {
  const { archive, identity } = await backedUp(plain);
  const second = newHome();
  writeConfig(second, {});
  const place = join(second, "data");
  mkdirSync(place, { mode: 0o700 });
  const asRoot = process.getuid?.() === 0;
  if (asRoot) chownSync(place, 65_534, 65_534);
  const owner = statSync(place).uid;
  expect((await runCli(second, ["restore", archive, "--identity", identity])).code).toBe(0);
  const names = readdirSync(place, { recursive: true, encoding: "utf8" });
  expect(names).toContain("pkid.db");
  expect(names.filter((name) => name.includes("restoring"))).toEqual([]);
  expect(names.filter((name) => statSync(join(place, name)).uid !== owner)).toEqual([]);
}, 60_000);

test("an archive goes through a pipe, and opens with shares of a key", async () => {
  const { home } = plain;
  const made = await plain.cli(
    "backup",
    "keygen",
    "--out",
    join(home, "s"),
    "--shares",
    "3",
    "--threshold",
    "2",
  );
  const recipient = made.stdout.trim();
  const out = join(home, "piped.age");
  const command = `${binary} backup create --out - --recipient ${recipient} --data-dir ${plain.dataDir} | cat > ${out}`;
  const piped = await ran(["sh", "-c", command]);
  expect([piped.code, piped.stderr]).toEqual([0, expect.stringContaining("SHA-256")]);
  const share = (n: number) => ["--identity", join(home, `s.${n}`)];
  const few = await plain.cli("backup", "verify", out, ...share(1));
  expect([few.code, few.stderr]).toEqual([
    1,
    expect.stringContaining("2 different shares are needed"),
  ]);
  expect((await plain.cli("backup", "verify", out, ...share(1), ...share(3))).code).toBe(0);
  const nobody = await plain.cli("backup", "create", "--out", join(home, "x.age"));
  expect([nobody.code, nobody.stderr]).toEqual([1, expect.stringContaining("Nobody could open")]);
  expect(existsSync(join(home, "x.age"))).toBe(false);
}, 60_000);

/** Every certificate, exactly these revocations, both chains, and the event of the restore. */
async function holds(
  back: Instance,
  ca: string,
  { issued, revoked }: { readonly issued: readonly string[]; readonly revoked: readonly string[] },
): Promise<void> {
  type Row = { readonly serial: string };
  for (const serial of issued) {
    const row = await back.admin<Row>("GET", `/api/ca/${ca}/certificates/${serial}`);
    expect(row.serial).toBe(serial);
  }
  type Rows = { readonly items: readonly Row[] };
  const { items } = await back.admin<Rows>("GET", `/api/ca/${ca}/revoked?limit=500`);
  expect(items.map(({ serial }) => serial).sort()).toEqual([...revoked].sort());
  const verified = await back.cli("audit", "verify", "--json");
  expect(JSON.parse(verified.stdout)).toMatchObject({ valid: true });
  expect((await back.cli("db", "check", "--deep")).code).toBe(0);
  const proven = await back.cli("verify");
  expect([proven.code, proven.stderr, proven.stdout]).toEqual([
    0,
    "",
    expect.stringContaining("Every proof holds"),
  ]);
  type Events = { readonly items: readonly { readonly detail: string }[] };
  const told = await back.admin<Events>("GET", "/api/events?action=system.restore");
  expect(told.items[0]?.detail).toMatch(/^archive=pkid-.*\.tar\.age seq=\d+ created_at=.* ledger/);
}

async function onServer(home: string, settings: object) {
  const database = await emptyDatabase();
  writeConfig(home, { ...settings, database });
  expect((await runCli(home, ["migrate"])).code).toBe(0);
  return { database };
}

const emptyDatabase = async () => ({ driver: "postgres", dsn: await server.createDatabase() });

async function issue(instance: Instance, ca: string, name: string): Promise<string> {
  const request = csr({ dns: [`${name}.example`], subject: [{ type: "CN", value: name }] });
  const body = { csr: request };
  return (await instance.admin<{ serial: string }>("POST", `/api/ca/${ca}/issue`, body)).serial;
}

async function ledgerKey(instance: Instance): Promise<{ fingerprint: string }> {
  const { items } = await instance.admin<{ items: { signer_fingerprint: string }[] }>(
    "GET",
    "/api/hsm/audit-log?kind=genesis",
  );
  return { fingerprint: items[0]?.signer_fingerprint ?? "" };
}

/** The base list once it has the serial, and its number. */
async function newestList(instance: Instance, ca: string, serial: string) {
  for (;;) {
    await instance.admin("POST", `/api/ca/${ca}/crl:publish`);
    const der = await (await fetch(`${instance.publicUrl}/api/ca/${ca}/crl`)).bytes();
    const file = join(instance.home, "newest.crl");
    writeFileSync(file, der);
    const crl = parseCrl(der);
    if (!crl.entries.some((entry) => entry.serial === serial)) continue;
    const { stdout } = await ran(["openssl", "crl", "-in", file, "-noout", "-crlnumber"]);
    return { published: BigInt(stdout.trim().replace("crlNumber=", "")), file };
  }
}

/** Runs 32 clients that issue without a pause. */
class Load {
  readonly issued: string[] = [];
  #stopped = false;
  readonly #clients: Promise<void>[];

  constructor(instance: Instance, ca: string) {
    this.#clients = Array.from({ length: 32 }, async (_, client) => {
      for (let n = 0; !this.#stopped; n++) {
        this.issued.push(await issue(instance, ca, `load-${client}-${n}`));
      }
    });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#clients);
  }
}
