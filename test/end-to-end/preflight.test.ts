/** Preflight of the binary against real breakage of configuration, files and database. */

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

import { canFakeTime, falseTime } from "#test/support/instances/false-time.ts";
import { Instance, newHome, runCli, writeConfig } from "#test/support/instances/instance.ts";
import { command } from "#test/support/instances/first-certificate.ts";
import { type PostgresServer, startPostgres } from "#test/support/servers/postgres.ts";
import { preflight, said, stoppedHome } from "#test/support/instances/preflight.ts";
import { noVolume, SmallVolume } from "#test/support/servers/small-volume.ts";
import { until } from "#test/support/until.ts";

let pristine: string;
let home: string;

beforeAll(async () => {
  pristine = await stoppedHome({}, async (instance) => {
    await command(instance, ["ca", "init-root", "--label", "root", "--cn", "Root"]);
  });
}, 30_000);
beforeEach(() => {
  home = newHome();
  cpSync(pristine, home, { recursive: true });
  writeConfig(home, {});
});
afterAll(() => rmSync(pristine, { recursive: true, force: true }));

const database = () => join(home, "data", "pkid.db");
const sql = (text: string) => {
  const opened = new Database(database());
  try {
    return opened.query(text).all();
  } finally {
    opened.close();
  }
};
const statusOf = async (name: string, more: Parameters<typeof said>[2] = {}) =>
  (await said(home, name, more)).status;

describe("the run", () => {
  test("of a sound instance fails nowhere, with and without a server, and says the same", async () => {
    const alone = await preflight(home, [], { flags: ["--deep", "--no-network"] });
    expect(alone.summary.fail).toBe(0);
    // Nobody has asked about a certificate yet.
    expect(alone.checks["keys.ocsp_delegate"]).toMatchObject({ status: "pass" });
    expect(alone.checks["certs.responder_expiry"]).toMatchObject({ status: "pass" });
    const instance = await Instance.start({ home });
    try {
      const served = await preflight(home, [], { flags: ["--deep", "--no-network"] });
      const statuses = (run: typeof served) =>
        Object.fromEntries(Object.entries(run.checks).map(([name, { status }]) => [name, status]));
      expect(served.summary.fail).toBe(0);
      expect(statuses(served)).toMatchObject({
        ...statuses(alone),
        ...Object.fromEntries(onlyServed.map((name) => [name, expect.anything()])),
      });
    } finally {
      await instance.stop();
    }
  }, 30_000);

  test("changes nothing but the ledger, where every self-test is named", async () => {
    const tables = sql(
      "select name from sqlite_master where type = 'table' and name not in ('ledger', 'heads')",
    );
    const content = () =>
      tables.map((row) => JSON.stringify(sql(`select * from "${(row as { name: string }).name}"`)));
    const before = content();
    const entries = () => sql("select kind, purpose, artifact from ledger order by number");
    const ledgerBefore = entries().length;
    expect((await said(home, "keys.ca")).status).toBe("pass");
    expect(content()).toEqual(before);
    const made = entries().slice(ledgerBefore) as { purpose: string }[];
    // The root and the serving CA, an intent and an outcome each.
    expect(made.map(({ purpose }) => purpose)).toEqual([
      "self_test",
      "self_test",
      "self_test",
      "self_test",
    ]);
    expect(made[1]).toMatchObject({ kind: "outcome", artifact: expect.stringMatching(/^MI/) });
  });

  test("before the first start makes nothing, and passes over what is not there yet", async () => {
    const fresh = newHome();
    writeConfig(fresh, {});
    const { checks, summary } = await preflight(fresh, [], { flags: ["--no-network"] });
    expect([summary.fail, existsSync(join(fresh, "data"))]).toEqual([0, false]);
    for (const name of ["db.connectivity", "db.schema", "keyprovider.ca", "keys.ca"]) {
      expect(checks[name]).toMatchObject({
        status: "skip",
        detail: expect.stringContaining("first start"),
      });
    }
  });

  test("checks what it can of a directory another process holds without answering, and opens no key of it", async () => {
    const instance = await Instance.start({
      home,
      config: { server: { admin_socket: { enabled: false } } },
    });
    try {
      const names = ["config.parse", "listener.sockets", "db.schema", "keys.ca"];
      const { code, checks } = await preflight(home, names);
      // 1 would mean warnings: what cannot be looked at now fails, and says who is in the way.
      expect(code).toBe(2);
      expect(checks["keys.ca"]).toMatchObject({
        status: "fail",
        detail: expect.stringContaining(`process ${instance.pid}`),
      });
      expect(checks["config.parse"]?.status).not.toBe("fail");
      expect(checks["db.schema"]?.status).toBe("pass");
      expect(checks["listener.sockets"]?.status).toBe("skip");
    } finally {
      await instance.stop();
    }
  });
});

describe("configuration", () => {
  test("config.parse tells every fault, and what needs a configuration is passed over", async () => {
    writeConfig(home, { severs: {}, crl: { base_validity_hours: 1 } });
    const { code, checks } = await preflight(home, ["config.parse", "disk.space"]);
    expect(code).toBe(2);
    expect(checks["config.parse"]).toMatchObject({ status: "fail" });
    for (const words of ["severs", "crl.base_validity_hours"]) {
      expect(checks["config.parse"]?.detail).toContain(words);
    }
    expect(checks["disk.space"]?.status).toBe("skip");
  });

  test("config.unknown_env warns of a variable that names no key", async () => {
    expect(await statusOf("config.unknown_env")).toBe("pass");
    const found = await said(home, "config.unknown_env", { env: { PKID_SERVER_PROT: "1" } });
    expect(found).toMatchObject({
      status: "warn",
      detail: expect.stringContaining("PKID_SERVER_PORT"),
    });
  });

  test("config.file_mode warns of readable secrets and fails for a file others can write", async () => {
    writeConfig(home, { root_user: { password: "Zk7q-Wv2x-Hp9m" } });
    expect(await statusOf("config.file_mode")).toBe("pass");
    chmodSync(join(home, "pkid.yaml"), 0o644);
    expect(await said(home, "config.file_mode")).toMatchObject({
      status: "warn",
      detail: expect.stringContaining("root_user.password"),
    });
    chmodSync(join(home, "pkid.yaml"), 0o664);
    expect(await statusOf("config.file_mode")).toBe("fail");
  });

  test("config.default_secrets fails for a known default, warns of a weak one, and tells neither", async () => {
    for (const [password, status] of [
      ["changeme", "fail"],
      ["tulip", "warn"],
      ["Zk7q-Wv2x-Hp9m", "pass"],
    ] as const) {
      writeConfig(home, { root_user: { password } });
      const found = await said(home, "config.default_secrets");
      expect(found.status).toBe(status);
      expect(JSON.stringify(found)).not.toContain(password);
    }
  });

  test("secret.sources fails for a source that cannot be had or that others can read", async () => {
    const file = join(home, "secret");
    const from = (allow_insecure_perms: boolean) =>
      writeConfig(home, {
        root_user: {
          password_source: { type: "file", file: { path: file, allow_insecure_perms } },
        },
      });
    from(false);
    expect(await said(home, "secret.sources")).toMatchObject({
      status: "fail",
      detail: expect.stringContaining("does not exist"),
    });
    writeFileSync(file, "Zk7q-Wv2x-Hp9m\n", { mode: 0o600 });
    expect(await statusOf("secret.sources")).toBe("pass");
    chmodSync(file, 0o644);
    expect(await statusOf("secret.sources")).toBe("fail");
    from(true);
    expect(await statusOf("secret.sources")).toBe("warn");
    const source = { type: "env", env: { var: "ROOT" } };
    writeConfig(home, { root_user: { password: "shadowed", password_source: source } });
    expect(await statusOf("secret.sources", { env: { ROOT: "Zk7q-Wv2x-Hp9m" } })).toBe("warn");
    expect(await statusOf("secret.sources")).toBe("fail");
  });
});

describe("files and disk", () => {
  test("data_dir.modes fails for key material or a database open to others, and mends nothing", async () => {
    expect(await statusOf("data_dir.modes")).toBe("pass");
    const inside = ["master.key", "access-log.db"].map((name) => join(home, "data", name));
    for (const path of [database(), ...inside]) {
      chmodSync(path, 0o640);
      expect(await said(home, "data_dir.modes")).toMatchObject({
        status: "fail",
        detail: expect.stringContaining(`${path} has mode 640`),
      });
      chmodSync(path, 0o600);
    }
    chmodSync(join(home, "data"), 0o755);
    const { checks } = await preflight(home, ["data_dir.modes", "keys.ca"]);
    expect([checks["data_dir.modes"]?.status, checks["keys.ca"]?.status]).toEqual(["fail", "fail"]);
  });

  test("disk.space fails when what stops issuance is near", async () => {
    expect(["pass", "warn"]).toContain(await statusOf("disk.space"));
    writeConfig(home, { database: { min_free_mb: 999_999_999 } });
    expect(await statusOf("disk.space")).toBe("fail");
  });

  test("data_dir.modes warns of a backup directory that others can read", async () => {
    const dir = join(home, "archives");
    writeConfig(home, { backup: { dir } });
    expect(await statusOf("data_dir.modes")).toBe("pass");
    mkdirSync(dir, { mode: 0o700 });
    expect(await statusOf("data_dir.modes")).toBe("pass");
    chmodSync(dir, 0o755);
    expect(await said(home, "data_dir.modes")).toMatchObject({
      status: "warn",
      detail: expect.stringContaining(`${dir} has mode 755`),
    });
  });

  test.if(noVolume === undefined)(
    "disk.space looks at the volumes of archives and snapshots",
    async () => {
      const volume = new SmallVolume(64);
      try {
        for (const [config, holds] of [
          [{ backup: { dir: join(volume.folder, "archives") } }, "backups"],
          [{ publish: { enabled: true, dir: { path: join(volume.folder, "www") } } }, "snapshots"],
        ] as const) {
          writeConfig(home, { ...config, database: { min_free_mb: 100 } });
          expect(await said(home, "disk.space")).toMatchObject({
            status: "fail",
            detail: expect.stringContaining(`for ${holds}: less than twice the 100 MiB`),
          });
        }
      } finally {
        volume.close();
      }
    },
  );

  test("disk.fsync fails for a database whose commits may be lost", async () => {
    expect(["pass", "warn"]).toContain(await statusOf("disk.fsync"));
    sql("pragma journal_mode = delete");
    expect(await said(home, "disk.fsync")).toMatchObject({
      status: "fail",
      detail: expect.stringContaining("journal_mode is delete"),
    });
  });
});

describe("where a server refuses to start", () => {
  const heads = ["audit.chain_head", "ledger.head", "keys.ca"];
  const failing = async () => {
    const { checks, summary } = await preflight(home, heads, { flags: ["--deep"] });
    expect(summary).toMatchObject({ fail: heads.length, skip: 0 });
    return heads.map((name) => checks[name]?.detail);
  };

  for (const [what, text] of [
    ["another hash in the head row", `update heads set event_hash = '${"0".repeat(64)}'`],
    ["a ledger head that is behind", "update heads set ledger_number = ledger_number - 1"],
  ] as const) {
    test(`${what} fails both chains and the CA keys, which nothing signs with then`, async () => {
      sql(text);
      for (const detail of await failing()) expect(detail).toContain("is not where it ends");
    });
  }

  test("a master key that is gone fails the CA keys", async () => {
    rmSync(join(home, "data", "master.key"));
    expect(await statusOf("keys.ca")).toBe("fail");
    expect(await statusOf("audit.chain_head")).toBe("pass");
  });
});

describe("the database", () => {
  test("db.connectivity fails for a file that is none", async () => {
    expect(await statusOf("db.connectivity")).toBe("pass");
    expect(await statusOf("db.version")).toBe("pass");
    rmSync(`${database()}-wal`, { force: true });
    writeFileSync(
      database(),
      "this is no database, and long enough to be looked at as one".repeat(100),
    );
    const { checks } = await preflight(home, ["db.connectivity", "keys.ca"]);
    expect([checks["db.connectivity"]?.status, checks["keys.ca"]?.status]).toEqual([
      "fail",
      "fail",
    ]);
  });

  test("db.schema fails for a pending migration, which stays pending, and for a newer schema", async () => {
    expect(await statusOf("db.schema")).toBe("pass");
    const last = sql("select max(version) as v from schema_migrations") as { v: number }[];
    sql(`delete from schema_migrations where version = ${last[0]?.v}`);
    const { checks } = await preflight(home, ["db.schema", "keys.ca"]);
    expect(checks["db.schema"]).toMatchObject({
      status: "fail",
      detail: expect.stringContaining("pending"),
    });
    expect(checks["keys.ca"]?.status).toBe("fail");
    const left = [{ n: (last[0]?.v ?? 0) - 1 }];
    expect(sql("select count(*) as n from schema_migrations")).toEqual(left);
    rmSync(database());
    copyFileSync(join(pristine, "data", "pkid.db"), database());
    sql(`insert into schema_migrations values (${(last[0]?.v ?? 0) + 1}, 'x')`);
    expect(await statusOf("db.schema")).toBe("fail");
  });

  test("db.integrity runs with --deep only and finds states and references that may not be", async () => {
    expect(await statusOf("db.integrity")).toBe("skip");
    const deep = { flags: ["--deep"] };
    expect(await statusOf("db.integrity", deep)).toBe("pass");
    sql("update cas set parent = 'nobody', status = 'lost' where label = 'root'");
    sql("update certificates set status = 'revoked' where kind = 'ca'");
    const { status, detail } = await said(home, "db.integrity", deep);
    expect(status).toBe("fail");
    for (const words of [
      "Rows of cas that are not what they should be (its state is none there is): 1.",
      "Rows of cas that are not what they should be (its parent does not exist): 1.",
      "without an entry",
    ]) {
      expect(detail).toContain(words);
    }
  });

  describe("on PostgreSQL", () => {
    const statusOfConnectivity = async (home: string) =>
      (await preflight(home, ["db.connectivity"])).checks["db.connectivity"]?.status;
    let server: PostgresServer;
    beforeAll(async () => {
      server = await startPostgres();
    }, 60_000);
    afterAll(() => server.stop());

    test("looks at the server's own settings, and does not migrate", async () => {
      const fresh = newHome();
      const dsn = await server.createDatabase();
      writeConfig(fresh, { database: { driver: "postgres", dsn } });
      mkdirSync(join(fresh, "data"), { mode: 0o700 });
      const names = ["db.version", "db.schema", "disk.fsync"];
      const { checks } = await preflight(fresh, names);
      // On a busy host a round trip may take longer than the check expects.
      await until(async () => (await statusOfConnectivity(fresh)) === "pass");
      expect(names.map((name) => checks[name]?.status)).toEqual(["pass", "fail", "pass"]);
      expect(checks["disk.fsync"]?.detail).toContain(
        "fsync on, synchronous_commit on, full_page_writes on",
      );
      expect(
        await server.query(dsn, "select 1 from pg_tables where schemaname = 'public'"),
      ).toEqual([]);
      await server.query(dsn, "alter role pkid set synchronous_commit = off");
      expect(await said(fresh, "disk.fsync")).toMatchObject({
        status: "fail",
        detail: expect.stringContaining("synchronous_commit is off"),
      });
      await server.query(dsn, "alter role pkid reset synchronous_commit");
      writeConfig(fresh, {
        database: { driver: "postgres", dsn: "postgres://pkid:tulip@127.0.0.1:9/x" },
      });
      const away = await said(fresh, "db.connectivity");
      expect(away.status).toBe("fail");
      expect(JSON.stringify(away)).not.toContain("tulip");
    }, 30_000);

    test.skipIf(!canFakeTime)(
      "clock.skew warns of a host 10 s from the database's clock, and fails over a minute",
      async () => {
        const apart = newHome();
        const dsn = await server.createDatabase();
        writeConfig(apart, { database: { driver: "postgres", dsn } });
        expect((await runCli(apart, ["migrate"])).code).toBe(0);
        const time = falseTime();
        const statusAt = async (seconds: number): Promise<string> => {
          time.set(seconds);
          return (await said(apart, "clock.skew", { env: time.env })).status;
        };
        try {
          expect([await statusAt(0), await statusAt(30), await statusAt(-90)]).toEqual([
            "pass",
            "warn",
            "fail",
          ]);
        } finally {
          time.remove();
        }
      },
      30_000,
    );
  });
});

/** Checks that have more to look at while a server runs, or that its jobs change. */
const onlyServed: readonly string[] = ["leader.presence", "crl.freshness", "certs.serving_expiry"];

test("the sealed master key is not read aloud", async () => {
  const key = readFileSync(join(home, "data", "master.key"));
  const { checks } = await preflight(home, [], { flags: ["--no-network"] });
  for (const form of [key.toString("hex"), key.toString("base64")]) {
    expect(JSON.stringify(checks)).not.toContain(form);
  }
});
