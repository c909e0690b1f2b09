/**
 * Guessing names and passwords: who is made to wait, by which address, and what a refusal tells.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { Instance, newHome, writeConfig } from "#test/support/instances/instance.ts";
import { basic, type Person, send } from "#test/support/instances/person.ts";
import { selectByRun } from "#test/support/run-length.ts";
import { rawOverTls } from "#test/support/tls/raw-tls.ts";
import {
  type DirectoryServer,
  passwordOf,
  serviceDn,
  servicePassword,
  slapdPath,
  startSlapd,
  suffix,
} from "#test/support/servers/slapd.ts";

const password = "correct horse battery staple";
/** Cheap to check, for tests that count guesses and do not depend on their cost. */
const password_hash = Bun.password.hashSync(password, {
  algorithm: "argon2id",
  memoryCost: 64,
  timeCost: 1,
});
/** So slow that no bucket fills while a test runs. */
const tier = (burst: number) => ({ rate: 0.001, burst });

describe("behind a proxy that is trusted", () => {
  let instance: Instance;
  const settings = (rate_limit: object, trusted = ["127.0.0.1/32", "10.0.0.0/8"]) => ({
    root_user: { password },
    rate_limit: { enabled: true, ...rate_limit },
    server: { trusted_proxies: trusted },
  });
  const generous = { global: tier(100_000), per_account: tier(100_000) };

  beforeAll(async () => {
    const config = settings({ ...generous, per_ip: tier(3) });
    instance = await Instance.start({ config });
  }, 30_000);

  afterAll(() => instance.dispose());

  const from = (address: string): Person => ({ "x-forwarded-for": address });
  const me = async (address: string, guess: string): Promise<number> =>
    (await send(instance, { ...from(address), ...basic("root", guess) }, "GET", "/api/me")).status;
  const form = async (address: string, guess: string): Promise<number> => {
    const credentials = { username: "root", password: guess };
    return (await send(instance, from(address), "POST", "/auth/login/password", credentials))
      .status;
  };

  test("an address is the rightmost one that no proxy of ours has, whatever a client wrote before it", async () => {
    // Three guesses as different as a client can make them come from one address.
    for (const forged of ["1.1.1.1, ", "198.51.100.7, 10.0.0.1, ", "x, <script>, ::1, "]) {
      expect(await me(`${forged}203.0.113.1`, "wrong")).toBe(401);
    }
    expect(await me("2.2.2.2, 203.0.113.1, 10.1.2.3", password)).toBe(429);
    expect(await me("203.0.113.1", password)).toBe(429);
    // Another address is another one, and blaming it would not help.
    expect(await me("203.0.113.1, 203.0.113.2", password)).toBe(200);
    const { items } = await instance.admin<{ items: { ip: string }[] }>(
      "GET",
      "/api/events?action=auth.login_failed",
    );
    expect(items.map(({ ip }) => ip)).toEqual(["203.0.113.1"]);
  });

  test("an address that is none, or too many of them, is the proxy's own and shared with nobody else's", async () => {
    const line = Array.from({ length: 40 }, () => "10.0.0.1").join(", ");
    for (const forwarded of ["localhost", "203.0.113.9:x", "203.0.113.300", line, "", "unknown"]) {
      const headers = { ...from(forwarded), "x-request-id": `from-${forwarded.length}` };
      await send(instance, headers, "GET", "/api/me");
    }
    await instance.logged("http_request", (entry) => entry.includes('"from-7"'));
    const lines = instance.logs.filter((entry) => entry.includes('"request_id":"from-'));
    expect(lines.map((entry) => JSON.parse(entry).ip)).toEqual(lines.map(() => "127.0.0.1"));
    const other = { ...from("203.0.113.3"), "x-real-ip": "6.6.6.6", forwarded: "for=6.6.6.6" };
    await send(instance, { ...other, "x-request-id": "other-1" }, "GET", "/api/me");
    await instance.logged("http_request", (entry) => entry.includes('"other-1"'));
    const logged = instance.logs.find((entry) => entry.includes('"other-1"')) ?? "{}";
    expect(JSON.parse(logged).ip).toBe("203.0.113.3");
  });

  test("in several lines of the header is read as in one", async () => {
    const lines = ["203.0.113.50, 10.0.0.9", "203.0.113.51", "10.0.0.1"];
    const head = lines.map((line) => `X-Forwarded-For: ${line}\r\n`).join("");
    await rawOverTls(instance, `GET /lines HTTP/1.1\r\nHost: x\r\n${head}\r\n`);
    await instance.logged("http_request", (entry) => entry.includes('"/lines"'));
    const logged = instance.logs.find((entry) => entry.includes('"/lines"')) ?? "{}";
    expect(JSON.parse(logged).ip).toBe("203.0.113.51");
  });

  test("whoever has one IPv6 address has its /64, and no more", async () => {
    const near = ["2001:db8:1:2::1", "2001:0DB8:1:2:ffff::", "[2001:db8:1:2::3]:443"];
    for (const address of near) expect(await me(address, "wrong")).toBe(401);
    expect(await me("2001:db8:1:2:9:9:9:9", password)).toBe(429);
    expect(await me("2001:db8:1:3::1", password)).toBe(200);
    // IPv4 written into IPv6 is the IPv4 address.
    for (const address of ["::ffff:203.0.113.20", "203.0.113.20", "::FFFF:203.0.113.20"]) {
      expect(await me(address, "wrong")).toBe(401);
    }
    expect(await me("203.0.113.20", password)).toBe(429);
  });

  test("Basic and the form of the console are one bucket, and a session that lives goes on", async () => {
    const address = "203.0.113.30";
    expect([await form(address, "a"), await me(address, "b"), await form(address, "c")]).toEqual([
      401, 401, 401,
    ]);
    expect([await form(address, password), await me(address, password)]).toEqual([429, 429]);
    const token = { authorization: `Token ${await instance.token(["auditor"])}` };
    expect((await send(instance, { ...from(address), ...token }, "GET", "/api/me")).status).toBe(
      200,
    );
  });

  test("many guesses at once are many, and those that are right cost nothing", async () => {
    const right = await Promise.all(Array.from({ length: 3 }, () => me("203.0.113.40", password)));
    expect(right).toEqual([200, 200, 200]);
    const guesses = Array.from({ length: 20 }, (_, n) => me("203.0.113.40", `guess ${n}`));
    const statuses = await Promise.all(guesses);
    expect(statuses.filter((status) => status === 401)).toHaveLength(3);
    expect(statuses.filter((status) => status === 429)).toHaveLength(17);
  });

  test("one credential is one account, from however many addresses it comes", async () => {
    const home = instance.home;
    await instance.stop();
    const config = settings({ ...generous, per_ip: tier(1000), per_account: tier(3) });
    instance = await Instance.start({ home, config });
    const chain = (n: number, guess: string) =>
      send(
        instance,
        { ...from(`203.0.113.${n}`), ...basic("root", guess) },
        "GET",
        "/api/ca/x/chain",
      );
    const statuses: number[] = [];
    for (let n = 1; n <= 4; n += 1) statuses.push((await chain(n, "one")).status);
    expect(statuses).toEqual([404, 404, 404, 429]);
    expect((await chain(5, "one")).body.tier).toBe("per_account");
    expect((await chain(5, "another")).status).toBe(404);
  }, 30_000);

  test("and from one that is not trusted nothing of this is believed", async () => {
    const home = instance.home;
    await instance.stop();
    const config = settings({ ...generous, per_ip: tier(3) }, ["10.0.0.0/8", "::1/128"]);
    instance = await Instance.start({ home, config });
    for (let n = 1; n <= 3; n += 1) expect(await me(`203.0.113.${n}`, "wrong")).toBe(401);
    expect(await me("203.0.113.4", password)).toBe(429);
    writeConfig(home, settings({ enabled: false }));
  }, 30_000);
});

describe("without any limit configured", () => {
  test("root gets in while sixty others of the same address guess, also when nobody has been in before", async () => {
    const instance = await Instance.start({ config: { root_user: { password } } });
    const asRoot = async (guess: string) =>
      (await instance.fetch("/api/me", { headers: basic("root", guess) })).status;
    const statuses = new Set<number>();
    let over = false;
    const guessers = Array.from({ length: 60 }, async (_, one) => {
      for (let n = 0; !over; n += 1) statuses.add(await asRoot(`guess ${one} ${n}`));
    });
    while (statuses.size === 0) await Bun.sleep(5);
    try {
      // Each login takes as long as the guesses before it, which have expensive hashes.
      const logins = selectByRun(4, 10);
      for (let n = 0; n < logins; n += 1) expect(await asRoot(password)).toBe(200);
      const health = await instance.fetch("/healthz");
      expect(health.status).toBe(200);
    } finally {
      over = true;
      // What still waits is answered when its turn comes, or not at all.
      await instance.dispose();
      await Promise.allSettled(guessers);
    }
    expect([...statuses]).toEqual([401]);
  }, 60_000);
});

describe("strangers who guess at root from everywhere", () => {
  let instance: Instance;

  beforeAll(async () => {
    const server = { trusted_proxies: ["127.0.0.1/32"] };
    instance = await Instance.start({ config: { root_user: { password_hash }, server } });
  }, 30_000);

  afterAll(() => instance.dispose());

  const asRoot = async (address: string, guess: string, path = "/api/me", method = "GET") => {
    const headers = { "x-forwarded-for": address, ...basic("root", guess) };
    return (await send(instance, headers, method, path, method === "GET" ? undefined : {})).status;
  };

  test("share their guesses, keep nobody out who is known, and nobody else for good", async () => {
    expect(await asRoot("192.0.2.1", password)).toBe(200);
    let answered = 0;
    const guesses = Array.from({ length: 250 }, async (_, n) => {
      expect(await asRoot(`203.0.113.${n}`, `guess ${n}`)).toBe(401);
      answered += 1;
    });
    while (answered < 240) await Bun.sleep(10);
    // What they may guess at once is used up, and a stranger with the right password stands in the
    // same line.
    const fresh = asRoot("198.51.100.1", password);
    for (let n = 0; n < 5; n += 1) expect(await asRoot("192.0.2.1", password)).toBe(200);
    // To revoke, nobody stands behind those who only guessed.
    expect(await asRoot("198.51.100.2", password, "/api/ca/x/revoke", "POST")).toBe(404);
    expect(await fresh).toBe(200);
    await Promise.all(guesses);
  }, 60_000);

  test("with one stale password are answered at once, however many they are", async () => {
    const stale = Array.from({ length: 200 }, (_, n) => asRoot(`10.0.0.${n}`, "stale"));
    expect(new Set(await Promise.all(stale))).toEqual(new Set([401]));
    const { items } = await instance.admin<{ items: { ip: string }[] }>(
      "GET",
      "/api/events?action=auth.login_failed&limit=200",
    );
    // Each leaves its trace, as ever.
    expect(new Set(items.map(({ ip }) => ip)).size).toBeGreaterThanOrEqual(200);
  }, 60_000);
});

describe("to revoke", () => {
  const slow = { enabled: true, global: tier(100_000), per_account: tier(100_000) };

  test("a right password is enough, however often others of the address have failed", async () => {
    const rate_limit = { ...slow, per_ip: tier(2) };
    const instance = await Instance.start({ config: { root_user: { password }, rate_limit } });
    try {
      const ask = (method: string, path: string, guess: string) =>
        send(instance, basic("root", guess), method, path, method === "GET" ? undefined : {});
      for (let n = 0; n < 2; n += 1) expect((await ask("GET", "/api/me", "x")).status).toBe(401);
      expect((await ask("GET", "/api/me", password)).status).toBe(429);
      for (const path of ["revoke", "certificates/1:suspend", "certificates/1:release"]) {
        const { body } = await ask("POST", `/api/ca/x/${path}`, password);
        expect([path, body.code]).toEqual([path, "not_found"]);
      }
      expect((await ask("POST", "/api/ca/x/revoke", "wrong")).status).toBe(401);
      const rpc = await instance.fetch("/pki.v1.PKIService/RevokeCertificate", {
        method: "POST",
        headers: { "content-type": "application/json", ...basic("root", password) },
        body: JSON.stringify({ ca_id: "x", serial: "1" }),
      });
      expect(rpc.status).toBe(404);
    } finally {
      await instance.dispose();
    }
  }, 30_000);
});

describe("who is there", () => {
  test("is told by no answer of root's account", async () => {
    const instance = await Instance.start({ config: { root_user: { password } } });
    try {
      const seen = new Set<string>();
      for (const [name, guess] of [
        ["root", "wrong"],
        ["nobody", "wrong"],
        ["nobody", password],
        ["ROOT", password],
        ["", password],
      ] as const) {
        const answer = await instance.fetch("/api/me", { headers: basic(name, guess) });
        const { request_id: _, ...body } = (await answer.json()) as Record<string, unknown>;
        const told = [...answer.headers].filter(([one]) => !["date", "x-request-id"].includes(one));
        seen.add(JSON.stringify([answer.status, body, told]));
      }
      expect(seen.size).toBe(1);
    } finally {
      await instance.dispose();
    }
  }, 30_000);
});

describe.skipIf(slapdPath === undefined)("a directory", () => {
  let slapd: DirectoryServer;
  let instance: Instance;

  beforeAll(async () => {
    slapd = await startSlapd();
    const home = newHome();
    writeFileSync(join(home, "bind"), servicePassword, { mode: 0o600 });
    const ldap = {
      enabled: true,
      url: `ldaps://localhost:${slapd.ldapsPort}`,
      bind_dn: serviceDn,
      user_base_dn: `ou=people,${suffix}`,
      user_filter: "(uid=%s)",
      bind_password_source: { type: "file", file: { path: join(home, "bind") } },
      tls: { ca_file: slapd.caFile },
      role_mappings: [{ value: `cn=ops,ou=groups,${suffix}`, roles: ["issuer"] }],
    };
    const rate_limit = { enabled: true, global: tier(100_000), per_ip: tier(1000) };
    instance = await Instance.start({ home, config: { auth: { ldap }, rate_limit } });
  }, 30_000);

  afterAll(async () => {
    await instance?.dispose();
    await slapd?.stop();
  });

  const logIn = async (username: string, guess: string) => {
    const credentials = { username, password: guess };
    const { status, body } = await send(instance, {}, "POST", "/auth/login/ldap", credentials);
    const { request_id: _, ...rest } = body;
    return JSON.stringify([status, rest]);
  };
  const asBasic = async (username: string, guess: string) => {
    const { status, body } = await send(instance, basic(username, guess), "GET", "/api/me");
    const { request_id: _, ...rest } = body;
    return JSON.stringify([status, rest]);
  };

  test("tells nobody who is there: unknown, known, ambiguous and injected names are refused alike", async () => {
    const names = [
      "alice",
      "nobody",
      "twin",
      "carol",
      "*",
      "a*",
      "alice*",
      "alice)(uid=*",
      "*)(uid=*))(|(uid=*",
      "alice)(&",
      "alice))(|(objectClass=*",
      "(|(uid=*))",
      "\\2a",
      "\\61lice",
      `uid=alice,ou=people,${suffix}`,
      `alice,ou=people,${suffix}`,
      "alice\n",
      "alice;",
      '"alice"',
      "%s",
    ];
    for (const name of ["alice\u0000", "al\u0000ice"]) {
      expect(await asBasic(name, passwordOf("alice"))).toContain("invalid_credentials");
      expect(await logIn(name, passwordOf("alice"))).toContain("invalid_field");
    }
    for (const ask of [logIn, asBasic]) {
      const seen = new Set<string>();
      for (const name of names) seen.add(await ask(name, "wrong"));
      // With the right password of somebody else the name is still nobody's.
      for (const name of names.slice(1)) seen.add(await ask(name, passwordOf("alice")));
      expect([...seen].map((one) => JSON.parse(one)[1].code)).toEqual(["invalid_credentials"]);
    }
    const { items } = await instance.admin<{ items: { action: string }[] }>(
      "GET",
      "/api/events?action=auth.login",
    );
    expect(items).toEqual([]);
    expect(await logIn("alice", passwordOf("alice"))).toStartWith("[200,");
  }, 30_000);
});
