/**
 * A database that fails, lies or fills up: no acknowledgement without an event, and the truth
 * before availability.
 */

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { closeSync, existsSync, mkdirSync, openSync, rmSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";

import { type Chain, createChain } from "#test/support/instances/first-certificate.ts";
import {
  failedStart,
  Instance,
  newHome,
  runCli,
  writeConfig,
} from "#test/support/instances/instance.ts";
import { newCsr } from "#test/support/instances/relying-party.ts";
import { fillVolume } from "#test/support/servers/small-volume.ts";

/** One home for all: each test starts it, breaks it, and mends it again. */
const home = newHome();
let chain: Chain;
let csr: string;

beforeAll(async () => {
  const instance = await Instance.start({ home });
  chain = await createChain(instance, "ecdsa-p256");
  csr = await newCsr(home, "storage.example.test");
  await instance.stop();
}, 30_000);

afterAll(() => rmSync(home, { recursive: true, force: true }));

describe("when the audit insert fails", () => {
  test("the revocation fails too, and nothing has changed", async () => {
    altered(`create trigger refuse before insert on events when new.action = 'cert.revoke'
      begin select raise(abort, 'the disk says no'); end`);
    const instance = await Instance.start({ home });
    const client = await Client.of(instance);
    const serial = await client.issued();
    const refused = await client.post("revoke", { serial, reason: "keyCompromise" });
    expect(refused.status).toBeGreaterThanOrEqual(500);
    expect(await refused.text()).not.toContain("the disk says no");
    expect(await client.status(serial)).toBe("good");
    // Others are not taken along, and what was refused can be asked for again.
    expect(await client.status(await client.issued())).toBe("good");
    await instance.stop();
    altered("drop trigger refuse");
    const mended = await Instance.start({ home });
    const again = await Client.of(mended);
    expect(await again.status(serial)).toBe("good");
    expect((await again.post("revoke", { serial, reason: "superseded" })).status).toBe(200);
    expect(await again.status(serial)).toBe("revoked");
    expect((await mended.cli("audit", "verify")).code).toBe(0);
    await mended.stop();
  }, 30_000);
});

describe("when somebody has edited the database", () => {
  test("`pkid audit verify` names the first event that is not what it was, and exits 1", async () => {
    const [before] = rows("select seq, actor from events where seq = 4");
    altered("update events set actor = 'nobody' where seq = 4");
    const verdict = await runCli(home, ["audit", "verify", "--json"]);
    expect(verdict.code).toBe(1);
    expect(`${verdict.stdout}${verdict.stderr}`).toContain('"broken_at_seq":4');
    const human = await runCli(home, ["audit", "verify"]);
    expect([human.code, `${human.stdout}${human.stderr}`.includes("4")]).toEqual([1, true]);
    altered(`update events set actor = '${String(before?.actor)}' where seq = 4`);
    expect((await runCli(home, ["audit", "verify"])).code).toBe(0);
  }, 30_000);

  for (const [what, edit] of [
    [
      "the last event is another",
      "update events set detail = detail || ' ' where seq = (select max(seq) from events)",
    ],
    ["the last event is gone", "delete from events where seq = (select max(seq) from events)"],
    ["the head points elsewhere", "update heads set event_seq = event_seq - 1"],
    [
      "the ledger's last entry is another",
      "update ledger set digest = 'x' where number = (select max(number) from ledger)",
    ],
  ] as const) {
    test(`no start: ${what} (V-29)`, async () => {
      const copy = `${home}.copy`;
      Bun.spawnSync(["cp", "-a", home, copy]);
      try {
        altered(edit, copy);
        for (const refused of [
          await failedStart({ home: copy }),
          await runCli(copy, ["ca", "list"]),
        ]) {
          expect([refused.code, refused.stdout]).toEqual([1, ""]);
          expect(refused.stderr).toMatch(/head of the (audit chain|ledger)/);
        }
      } finally {
        rmSync(copy, { recursive: true });
      }
    }, 30_000);
  }
});

describe("when a page of the database is damaged", () => {
  test("`pkid audit verify` names the event, `pkid db check` the damage, and neither speaks of writes", async () => {
    const busy = await Instance.start({ home });
    const client = await Client.of(busy);
    for (let n = 0; n < 60; n++) await client.issued();
    await busy.stop();
    const copy = newHome();
    Bun.spawnSync(["cp", "-a", `${home}/.`, copy]);
    writeConfig(copy, {});
    try {
      damageEvents(join(copy, "data", "pkid.db"));
      const verified = await runCli(copy, ["audit", "verify"]);
      expect(verified.code).toBe(1);
      expect(verified.stderr).toMatch(/Event \d+ cannot be read.*The database is damaged/s);
      expect(verified.stderr).not.toContain("does not accept writes");
      const checked = await runCli(copy, ["db", "check"]);
      expect([checked.code, checked.stdout.includes("SQLite finds the file damaged")]).toEqual([
        1,
        true,
      ]);
    } finally {
      rmSync(copy, { recursive: true });
    }
  }, 30_000);

  test("`pkid db check` finds nothing where nothing is wrong, also beside a running server", async () => {
    const stopped = await runCli(home, ["db", "check", "--deep", "--json"]);
    expect(stopped.code).toBe(0);
    const names = [
      "db.connectivity",
      "db.schema",
      "db.integrity",
      "ledger.head",
      "audit.chain_head",
    ];
    const { checks } = JSON.parse(stopped.stdout) as { checks: { name: string; status: string }[] };
    expect(checks.map(({ name, status }) => [name, status])).toEqual(
      names.map((name) => [name, "pass"]),
    );
    const instance = await Instance.start({ home });
    expect((await instance.cli("db", "check", "--deep")).code).toBe(0);
    await instance.stop();
    altered("update certificates set status = 'odd' where rowid = 1");
    const broken = await runCli(home, ["db", "check"]);
    altered("update certificates set status = 'good' where rowid = 1");
    const named =
      "Rows of certificates that are not what they should be (its state is none there is): 1.";
    expect([broken.code, broken.stdout.replaceAll(/\s+/g, " ")]).toEqual([
      1,
      expect.stringContaining(named),
    ]);
  }, 30_000);
});

describe("when space runs out", () => {
  test("below database.min_free_mb nothing is issued, and revocation goes on", async () => {
    const roomy = await Instance.start({ home });
    const serial = await (await Client.of(roomy)).issued();
    const token = await roomy.token(["issuer"]);
    await roomy.stop();
    const instance = await Instance.start({ home, config: { database: { min_free_mb: 1e9 } } });
    const client = new Client(instance, token);
    const refused = await client.post("issue", { csr });
    expect(refused.status).toBe(503);
    expect(refused.headers.has("retry-after")).toBe(true);
    expect(await refused.json()).toMatchObject({ code: "storage_unavailable" });
    const made = await instance.cli("ca", "init-root", "--label", "more", "--cn", "More");
    expect([made.code, made.stderr.includes("storage_unavailable")]).toEqual([1, true]);
    const revoked = await client.post("revoke", { serial, reason: "superseded" });
    expect(revoked.status).toBe(200);
    expect(await client.status(serial)).toBe("revoked");
    const readiness = await instance.fetch("/readyz");
    expect([readiness.status, await readiness.text()]).toEqual([
      200,
      expect.stringContaining("issuance is refused"),
    ]);
    await instance.stop();
  }, 30_000);

  test.if(canMount())(
    "what is set aside lets revocations through on a disk that is full, and readiness says when it is used up",
    async () => {
      const small = newHome();
      const folder = join(small, "data");
      mkdirSync(folder, { mode: 0o700 });
      run("mount", "-t", "tmpfs", "-o", "size=64m,mode=0700", "tmpfs", folder);
      try {
        const config = { database: { min_free_mb: 16 } };
        const instance = await Instance.start({ home: small, config });
        chain = await createChain(instance, "ecdsa-p256");
        const client = await Client.of(instance);
        const serials = [await client.issued(), await client.issued(), await client.issued()];
        const reserve = join(folder, "pkid.db-reserve");
        while (!existsSync(reserve) || statSync(reserve).size < 4 * 1_048_576) await Bun.sleep(50);
        fillVolume(join(folder, "filler"));
        await Bun.sleep(20); // Free space is read once in 10 ms.
        expect((await client.post("issue", { csr })).status).toBe(503);
        for (const serial of serials) {
          const revoked = await client.post("revoke", { serial, reason: "superseded" });
          expect(revoked.status).toBe(200);
          expect(await client.status(serial)).toBe("revoked");
        }
        expect(existsSync(reserve)).toBe(false);
        const nearly = await ready(instance, 200);
        expect(await nearly.text()).toContain("issuance is refused");
        // Used up by somebody else: now revocation is refused, and readiness says so though nobody
        // has tried.
        fillVolume(join(folder, "more"));
        const full = await ready(instance, 503);
        expect(await full.json()).toMatchObject({
          components: {
            database: { status: "down", error: "The database does not accept writes." },
          },
        });
        for (const name of ["filler", "more"]) rmSync(join(folder, name));
        await ready(instance, 200);
        while (!existsSync(reserve)) await Bun.sleep(50);
        for (const serial of serials) expect(await client.status(serial)).toBe("revoked");
        expect((await instance.cli("audit", "verify")).code).toBe(0);
        expect(await instance.stop()).toBe(0);
      } finally {
        run("umount", "-l", folder);
        rmSync(small, { recursive: true });
      }
    },
    60_000,
  );

  test.if(canMount())(
    "a server that starts on a full disk lets revocations through, too",
    async () => {
      const small = newHome();
      const folder = join(small, "data");
      mkdirSync(folder, { mode: 0o700 });
      run("mount", "-t", "tmpfs", "-o", "size=64m,mode=0700", "tmpfs", folder);
      try {
        const config = { database: { min_free_mb: 16 } };
        const before = await Instance.start({ home: small, config });
        chain = await createChain(before, "ecdsa-p256");
        const serial = await (await Client.of(before)).issued();
        const token = await before.token(["issuer"]);
        const reserve = join(folder, "pkid.db-reserve");
        while (!existsSync(reserve) || statSync(reserve).size < 4 * 1_048_576) await Bun.sleep(50);
        await before.stop();
        fillVolume(join(folder, "filler"));
        const instance = await Instance.start({ home: small, config });
        const client = new Client(instance, token);
        expect((await client.post("issue", { csr })).status).toBe(503);
        const revoked = await client.post("revoke", { serial, reason: "superseded" });
        expect(revoked.status).toBe(200);
        expect(await client.status(serial)).toBe("revoked");
        await instance.stop();
      } finally {
        run("umount", "-l", folder);
        rmSync(small, { recursive: true });
      }
    },
    60_000,
  );

  test.if(canMount())(
    "a full disk is 503 and not ready, loses nothing, and heals by itself",
    async () => {
      const small = newHome();
      const folder = join(small, "data");
      mkdirSync(folder, { mode: 0o700 });
      run("mount", "-t", "tmpfs", "-o", "size=24m,mode=0700", "tmpfs", folder);
      try {
        const instance = await Instance.start({
          home: small,
          config: { database: { min_free_mb: 0 } },
        });
        chain = await createChain(instance, "ecdsa-p256");
        const client = await Client.of(instance);
        const before = await client.issued();
        fillVolume(join(folder, "filler"));
        let refused = await client.post("issue", { csr });
        // What was set aside for the log of the database may still take a few.
        const acknowledged = [before];
        while (refused.status === 201) {
          acknowledged.push(String(((await refused.json()) as { serial: string }).serial));
          refused = await client.post("issue", { csr });
        }
        expect(refused.status).toBe(503);
        expect(await refused.json()).toMatchObject({ code: "storage_unavailable" });
        const readiness = await instance.fetch("/readyz");
        expect(readiness.status).toBe(503);
        expect(await readiness.json()).toMatchObject({
          components: { database: { status: "down" } },
        });
        expect(await client.status(before)).toBe("good");
        rmSync(join(folder, "filler"));
        acknowledged.push(await client.issued());
        while ((await instance.fetch("/readyz")).status !== 200) await Bun.sleep(50);
        for (const serial of acknowledged) expect(await client.status(serial)).toBe("good");
        expect((await instance.cli("audit", "verify")).code).toBe(0);
        expect(await instance.stop()).toBe(0);
      } finally {
        run("umount", "-l", folder);
        rmSync(small, { recursive: true });
      }
    },
    60_000,
  );
});

/** What a subscriber asks of the issuing CA. */
class Client {
  constructor(
    private readonly instance: Instance,
    private readonly secret: string,
  ) {}

  static async of(instance: Instance): Promise<Client> {
    return new Client(instance, await instance.token(["issuer"]));
  }

  post(verb: string, body: object): Promise<Response> {
    return this.instance.fetch(`/api/ca/${chain.intermediateId}/${verb}`, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { authorization: `Token ${this.secret}`, "content-type": "application/json" },
    });
  }

  async issued(): Promise<string> {
    const answer = await this.post("issue", { csr });
    const { serial } = (await answer.json()) as { serial: string };
    expect(answer.status).toBe(201);
    return serial;
  }

  async status(serial: string): Promise<string> {
    const { status } = await this.instance.admin<{ status: string }>(
      "GET",
      `/api/ca/${chain.intermediateId}/certificates/${serial}`,
    );
    return status;
  }
}

function altered(sql: string, where = home): void {
  const database = new Database(join(where, "data", "pkid.db"));
  database.run(sql);
  database.close();
}

/**
 * Overwrites the second page of events, which is neither the first nor the last that a start reads.
 */
function damageEvents(path: string): void {
  const database = new Database(path);
  const pages = database
    .query<{ pageno: number }, []>(
      "select pageno from dbstat where name = 'events' and pagetype = 'leaf' order by path",
    )
    .all();
  const sizes = database.query<{ page_size: number }, []>("pragma page_size").get();
  database.close();
  const size = sizes?.page_size ?? 0;
  expect(pages.length).toBeGreaterThan(2);
  const file = openSync(path, "r+");
  writeSync(file, Buffer.alloc(size, 0xff), 0, size, ((pages[1]?.pageno ?? 0) - 1) * size);
  closeSync(file);
}

function rows(sql: string): Record<string, unknown>[] {
  const database = new Database(join(home, "data", "pkid.db"), { readonly: true });
  const found = database.query<Record<string, unknown>, []>(sql).all();
  database.close();
  return found;
}

/** Asks until readiness has this status; an answer is given again for a second. */
async function ready(instance: Instance, status: number): Promise<Response> {
  for (;;) {
    const answer = await instance.fetch("/readyz");
    if (answer.status === status) return answer;
    await Bun.sleep(100);
  }
}

function run(...command: string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(command);
  if (exitCode !== 0) throw new Error(`${command.join(" ")}: ${stderr}`);
}

/** Mounting takes root and leave to do so, which a container may not have. */
function canMount(): boolean {
  const probe = newHome();
  try {
    run("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", probe);
    run("umount", probe);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(probe, { recursive: true });
  }
}
