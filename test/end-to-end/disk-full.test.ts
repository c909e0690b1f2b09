/** A volume that runs full under load, and one too full to migrate on. */

import { Database } from "bun:sqlite";
import { afterAll, expect, test } from "bun:test";
import { cpSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

import { createChain } from "#test/support/instances/first-certificate.ts";
import { failedStart, Instance, newHome, runCli } from "#test/support/instances/instance.ts";
import { newCsr, openssl, saved } from "#test/support/instances/relying-party.ts";
import { noVolume, SmallVolume } from "#test/support/servers/small-volume.ts";
import { firstRelease, firstReleaseConfig } from "#test/support/stores/first-release.ts";

const closing: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
});

const named = (sentence: string) =>
  noVolume === undefined ? sentence : `${sentence} (not tried: ${noVolume})`;
const open = { public_http: { enabled: true, address: "127.0.0.1:0" } };
const onVolume = test.if(noVolume === undefined);

onVolume(
  named(
    "on a volume that runs full under load certificates are refused, revocations and all reads go on, and what was acknowledged is there when there is room again, without a restart",
  ),
  async () => {
    const volume = new SmallVolume(64);
    closing.push(() => volume.close());
    const config = { server: open, database: { min_free_mb: 16 } };
    const instance = await Instance.start({ home: volume.home, config });
    closing.push(() => instance.stop());
    const chain = await createChain(instance, "ecdsa-p256");
    const csr = await newCsr(volume.home, "full.example.test");
    const authorization = `Token ${await instance.token(["issuer"])}`;
    const path = `/api/ca/${chain.intermediateId}`;
    const post = (verb: string, body: object) =>
      instance.fetch(`${path}/${verb}`, {
        method: "POST",
        body: JSON.stringify(body),
        headers: { authorization, "content-type": "application/json" },
      });
    await volume.reserved();

    const [issued, refused] = [new Map<string, string>(), new Set<string>()];
    const client = async () => {
      for (let refusals = 0; refusals < 5; ) {
        const answer = await post("issue", { csr });
        const { serial, certificate, code } = await answer.json();
        if (answer.status === 201) issued.set(serial, certificate);
        else refused.add(`${answer.status} ${code}`);
        if (answer.status !== 201) refusals += 1;
      }
    };
    const clients = [client(), client(), client(), client()];
    while (issued.size < 20) await Bun.sleep(5);
    volume.fill();
    await Promise.all(clients);
    expect([...refused]).toEqual(["503 storage_unavailable"]);
    expect(volume.revocationBytes).toBeGreaterThan(2 * 1_048_576);

    // Neither has been asked for before: both have to be signed, or read, on the full volume.
    const [first = "", second = ""] = issued.keys();
    const status = async (serial: string) => {
      const leaf = saved(volume.home, `${serial}.pem`, issued.get(serial) ?? "");
      const about = ["-issuer", chain.intermediate, "-cert", leaf, "-CAfile", chain.root];
      const url = ["-url", `${instance.publicUrl}${path}/ocsp`, "-no_nonce"];
      const { text } = await openssl(["ocsp", ...about, ...url]);
      return new RegExp(`${leaf}: (\\w+)`).exec(text)?.[1];
    };
    expect([await status(first), await status(second)]).toEqual(["good", "good"]);
    expect((await post("revoke", { serial: first, reason: "superseded" })).status).toBe(200);
    expect([await status(first), await status(second)]).toEqual(["revoked", "good"]);
    for (const list of ["crl", "crl/delta", "certificate"]) {
      expect((await fetch(`${instance.publicUrl}${path}/${list}`)).status).toBe(200);
    }

    volume.free();
    while ((await post("issue", { csr })).status !== 201) await Bun.sleep(50);
    for (const serial of issued.keys()) {
      const kept = await instance.admin<object>("GET", `${path}/certificates/${serial}`);
      expect(kept).toMatchObject({ status: serial === first ? "revoked" : "good" });
    }
    expect((await instance.cli("audit", "verify")).code).toBe(0);
    expect((await instance.cli("db", "check", "--deep")).code).toBe(0);
  },
  120_000,
);

onVolume(
  named("the access log shrinks before requests of unknown clients fill the volume"),
  async () => {
    const volume = new SmallVolume(64);
    closing.push(() => volume.close());
    const config = { server: open, database: { min_free_mb: 16 } };
    const instance = await Instance.start({ home: volume.home, config });
    closing.push(() => instance.stop());
    const chain = await createChain(instance, "ecdsa-p256");
    const csr = await newCsr(volume.home, "full.example.test");
    await volume.reserved();
    const issue = () => instance.admin("POST", `/api/ca/${chain.intermediateId}/issue`, { csr });
    let left = 60_000;
    const flood = async () => {
      for (; left > 0; left--) {
        const path = crypto.getRandomValues(Buffer.alloc(740)).toString("base64url");
        await (await fetch(`${instance.publicUrl}/${path}`)).arrayBuffer();
        if (left % 5000 === 0) await issue();
      }
    };
    await Promise.all(Array.from({ length: 16 }, flood));
    await issue();
    const log = join(instance.dataDir, "access-log.db");
    expect(statSync(log).size).toBeLessThan(17 * 1_048_576);
    const newest = await instance.admin<{ items: readonly { path: string }[] }>(
      "GET",
      `/api/access-log?path_prefix=/api/ca/${chain.intermediateId}/issue&limit=1`,
    );
    expect(newest.items).toHaveLength(1);
  },
  120_000,
);

onVolume(
  named(
    "an older database is not migrated where its copy has no room: the start says what is wanted, nothing changes, and with room it goes on",
  ),
  async () => {
    const home = newHome();
    closing.push(() => rmSync(home, { recursive: true, force: true }));
    await firstRelease(home);
    const volume = new SmallVolume(24);
    closing.push(() => volume.close());
    const file = join(volume.folder, "pkid.db");
    for (const name of ["identity", "keys", "master.key", "pkid.db"]) {
      cpSync(join(home, "data", name), join(volume.folder, name), { recursive: true });
    }
    mkdirSync(join(volume.folder, "private"), { mode: 0o700 });
    volume.fill(128 * 1024);
    const config = { ...firstReleaseConfig, database: { min_free_mb: 0 } };
    const refused = await failedStart({ home: volume.home, config });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("There is no room for the copy that is made before migrating");
    expect(refused.stderr).toContain("Nothing has changed.");
    const leftovers = readdirSync(volume.folder).filter((name) => name.includes(".before-"));
    expect(leftovers).toEqual([]);
    const versions = () => {
      const database = new Database(file, { readonly: true });
      const rows = database.query("select version from schema_migrations").all();
      database.close();
      return rows.length;
    };
    expect(versions()).toBe(1);
    // Somewhere between is room for the copy, and none for the migration after it.
    const refusals = new Set<string>();
    for (let left = 128 * 1024; ; left += 64 * 1024) {
      volume.free();
      volume.fill(left);
      const { code, stderr } = await runCli(volume.home, ["migrate"]);
      if (code === 0) break;
      expect([stderr.includes("Nothing has changed."), versions()]).toEqual([true, 1]);
      refusals.add(/error: ([^:]*)/.exec(stderr)?.[1] ?? stderr);
    }
    expect([...refusals]).toEqual([
      "There is no room for the copy that is made before migrating",
      "The migration found no room",
    ]);
    expect(versions()).toBeGreaterThan(1);
    volume.free();
    const instance = await Instance.start({ home: volume.home, config });
    expect((await instance.cli("audit", "verify")).code).toBe(0);
    await instance.stop();
  },
  60_000,
);
