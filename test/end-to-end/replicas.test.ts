/**
 * Two replicas of the binary on one PostgreSQL: the same truth at once, one chain, and a database
 * that goes and comes.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";

import {
  type Chain,
  createChain,
  walkCertificate,
} from "#test/support/instances/first-certificate.ts";
import { hear } from "#test/support/instances/feed-client.ts";
import { failedStart, Instance, newHome, runCli } from "#test/support/instances/instance.ts";
import { type PostgresServer, startPostgres } from "#test/support/servers/postgres.ts";
import { newCsr, openssl, saved } from "#test/support/instances/relying-party.ts";
import { until } from "#test/support/until.ts";

let server: PostgresServer;
let config: Record<string, unknown>;
let one: Instance;
let two: Instance;
let chain: Chain;
let csr: string;
let secret: string;

beforeAll(async () => {
  server = await startPostgres();
  config = {
    database: { driver: "postgres", dsn: await server.createDatabase() },
    server: { public_http: { enabled: true, address: "127.0.0.1:0" } },
    presign: { enabled: true },
  };
  const home = newHome();
  const refused = await failedStart({ home, config });
  expect([refused.code, refused.stderr.includes("pkid migrate")]).toEqual([1, true]);
  expect((await runCli(home, ["migrate"])).code).toBe(0);
  one = await Instance.start({ home, config });
  chain = await createChain(one, "ecdsa-p256");
  csr = await newCsr(home, "replica.example.test");
  secret = await one.token(["issuer"]);
  // Software keys lie in the data directory of the first; the second uses them there.
  const software = {
    keystore_dir: join(one.dataDir, "keys"),
    master_key_file: join(one.dataDir, "master.key"),
  };
  config = { ...config, key_provider: { software } };
  two = await Instance.start({ config });
}, 90_000);

afterAll(async () => {
  await two?.dispose();
  await one?.dispose();
  await server.stop();
});

test("a replica on PostgreSQL issues and revokes what openssl accepts and refuses", async () => {
  await walkCertificate(one, chain, "ecdsa-p256");
  expect(JSON.parse((await two.cli("ca", "list", "--json")).stdout)).toEqual(
    JSON.parse((await one.cli("ca", "list", "--json")).stdout),
  );
}, 60_000);

test("the first answer after an acknowledged revocation says revoked, on the other replica too", async () => {
  for (const [a, b] of [
    [one, two],
    [two, one],
    [one, two],
  ] as const) {
    const { serial, leaf } = await issued(a);
    // Both have an answer in their cache before.
    for (const replica of [a, b]) expect(await ocsp(replica, leaf)).toContain(": good");
    const revoked = await post(a, "revoke", { serial, reason: "superseded" });
    expect(revoked.status).toBe(200);
    for (const replica of [b, a]) expect(await ocsp(replica, leaf)).toContain(": revoked");
    const again = await post(b, "revoke", { serial, reason: "keyCompromise" });
    expect(await again.json()).toMatchObject({ status: "already-revoked", reason: "superseded" });
  }
}, 60_000);

test("the sum of both replicas' metrics counts what was done once", async () => {
  const counted = async () => {
    const counts = [one, two].map(async (replica) => {
      const text = await replica.metrics();
      const line = /^pki_certificates_total\{operation="issue",result="success"\} (\d+)$/m;
      return Number(line.exec(text)?.[1]);
    });
    return Promise.all(counts);
  };
  const [before1 = 0, before2 = 0] = await counted();
  for (const replica of [one, two, one]) await issued(replica);
  const [after1 = 0, after2 = 0] = await counted();
  expect([after1 - before1, after2 - before2]).toEqual([2, 1]);
}, 60_000);

test("what one replica signs ahead every replica serves, octet for octet, until it is revoked", async () => {
  const { serial, leaf } = await issued(one);
  await one.admin("POST", "/api/ocsp:presign", {});
  const answers = await Promise.all([one, two].map((replica) => cachedAnswer(replica, leaf)));
  expect(new Set(answers.map(({ etag }) => etag)).size).toBe(1);
  for (const { text } of answers) expect(text).toContain(": good");
  const revoked = await post(two, "revoke", { serial, reason: "superseded" });
  expect(revoked.status).toBe(200);
  for (const replica of [one, two]) {
    expect((await cachedAnswer(replica, leaf)).text).toContain(": revoked");
  }
}, 60_000);

test("a token revoked on one replica is none on the other", async () => {
  const made = await one.admin<{ id: string; secret: string }>("POST", "/api/tokens", {
    name: "brief",
    roles: ["issuer"],
  });
  const me = () => two.fetch("/api/me", { headers: { authorization: `Token ${made.secret}` } });
  expect((await me()).status).toBe(200);
  await one.admin("DELETE", `/api/tokens/${made.id}`);
  expect((await me()).status).toBe(401);
});

test("44: a reader of either is told what both do, in order, and goes on at the other one without gap or repeat", async () => {
  // A reader of one tenant does not get the events of jobs on the whole instance.
  const auditor = await one.token(["auditor"], { scope: "platform" });
  const headers = { authorization: `Token ${auditor}` };
  const follow = (replica: Instance, after?: string) =>
    hear((path, init) => replica.fetch(path, init), {
      ...headers,
      ...(after !== undefined && { "last-event-id": after }),
    });
  const heard = [await follow(one), await follow(two)];
  await until(() => heard.every(({ lastId }) => lastId !== undefined));
  const first = Math.max(...heard.map(({ lastId }) => Number(lastId)));
  const work = Promise.all(
    Array.from({ length: 20 }, async (_, n) => await issued(n % 2 === 0 ? one : two)),
  );
  await until(() => heard.every(({ seqs }) => seqs.length > 3));
  const leftOff = heard[0]?.lastId ?? "";
  const moved = await follow(two, leftOff);
  await work;
  await one.token(["auditor"]);
  const { head_seq } = await two.admin<{ head_seq: number }>("GET", "/api/events/verify");
  await until(() => [...heard, moved].every(({ seqs }) => (seqs.at(-1) ?? 0) >= head_seq));
  const range = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n);
  for (const { seqs } of heard) {
    const since = seqs.filter((seq) => seq > first && seq <= head_seq);
    expect(since).toEqual(range(first + 1, head_seq + 1));
  }
  const behind = moved.seqs.filter((seq) => seq <= head_seq);
  expect(behind).toEqual(range(Number(leftOff) + 1, head_seq + 1));
}, 60_000);

test("a token revoked on one replica ends what it reads on the other", async () => {
  const made = await one.admin<{ id: string; secret: string }>("POST", "/api/tokens", {
    name: "brief",
    roles: ["auditor"],
  });
  const authorization = `Token ${made.secret}`;
  const heard = await hear((path, init) => two.fetch(path, init), { authorization });
  await one.admin("DELETE", `/api/tokens/${made.id}`);
  await until(() => heard.over);
  expect(heard.ends).toEqual(["forbidden"]);
});

describe("a tenant", () => {
  let ca: string;
  const issue = (replica: Instance) =>
    replica.fetch(`/api/ca/${ca}/issue`, {
      method: "POST",
      body: JSON.stringify({ csr }),
      headers: { authorization: `Token ${platform}`, "content-type": "application/json" },
    });
  let platform: string;
  beforeAll(async () => {
    await one.admin("POST", "/api/tenants", { slug: "web" });
    const request = { label: "web-root", subject: { cn: "Web" }, key_type: "ecdsa-p256" };
    const made = await one.admin<{ id: string }>("POST", "/api/ca/init-root", {
      ...request,
      tenant_id: "web",
    });
    ca = made.id;
    platform = await one.token(["issuer"], { scope: "platform" });
  });

  test("TEN-1: has its quota counted to the certificate, whoever of the replicas is asked", async () => {
    const quotas = { max_certs_per_day: 20 };
    await two.admin("PUT", "/api/tenants/web", { quotas });
    const asked = Array.from({ length: 50 }, (_, n) => issue(n % 2 === 0 ? one : two));
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(20);
    expect(statuses.filter((status) => status === 429)).toHaveLength(30);
    for (const replica of [one, two]) {
      const usage = await replica.admin("GET", "/api/tenants/web/usage");
      expect(usage).toMatchObject({ active_certs: 20, total_issued: 20 });
    }
    await two.admin("PUT", "/api/tenants/web", { quotas: {} });
    expect((await issue(one)).status).toBe(201);
  }, 60_000);

  test("TEN-2: suspended through one replica issues nothing through the other from the next request on", async () => {
    for (const [a, b] of [
      [one, two],
      [two, one],
    ] as const) {
      expect((await issue(b)).status).toBe(201);
      await a.admin("PUT", "/api/tenants/web/status", { status: "suspended" });
      const refused = await issue(b);
      expect([refused.status, (await refused.json()).code]).toEqual([403, "tenant_suspended"]);
      await a.admin("PUT", "/api/tenants/web/status", { status: "active" });
      expect((await issue(b)).status).toBe(201);
    }
  }, 60_000);
});

test("a CA key one replica is making while the other rotates the KEK signs on both, at once and under the new version", async () => {
  const subject = { cn: "Slow" };
  const request = { label: "slow-root", subject, key_type: "rsa-4096" };
  const making = two.admin<{ id: string }>("POST", "/api/ca/init-root", request);
  const rotated = await one.admin("POST", "/api/kek/rotate");
  expect(rotated).toMatchObject({ old_version: 1, new_version: 2 });
  const kek = await two.admin<{ versions: { status: string }[] }>("GET", "/api/kek");
  expect(kek.versions.map(({ status }) => status)).toEqual(["active", "retired"]);
  const { id } = await making;
  for (const replica of [one, two]) {
    const published = await replica.cli("crl", "publish", "--ca", id);
    expect([published.stderr, published.code]).toEqual(["", 0]);
  }
  expect((await issued(two)).serial).not.toBe("");
}, 60_000);

describe("under load from both", () => {
  test("the chain has no fork, every certificate is in the inventory once, and holds are linear", async () => {
    const told: string[] = [];
    const { serial } = await issued(one);
    const flips: string[] = [];
    await Promise.all(
      [one, two].flatMap((replica) => [
        ...Array.from({ length: 3 }, async () => {
          for (let n = 0; n < 12; n++) told.push((await issued(replica)).serial);
        }),
        (async () => {
          for (let n = 0; n < 6; n++) {
            for (const verb of [":suspend", ":release"]) {
              const answer = await post(replica, `certificates/${serial}${verb}`, {});
              flips.push(
                `${verb} ${((await answer.json()) as { status?: string }).status ?? answer.status}`,
              );
            }
          }
        })(),
      ]),
    );
    expect(new Set(told).size).toBe(72);
    const suspended = flips.filter((flip) => flip === ":suspend held").length;
    const released = flips.filter((flip) => flip === ":release released").length;
    expect(Math.abs(suspended - released)).toBeLessThanOrEqual(1);
    for (const replica of [one, two]) {
      const verdict = await replica.admin<{ valid: boolean }>("GET", "/api/events/verify");
      expect(verdict.valid).toBe(true);
    }
    const count = async (action: string) => {
      const { total } = await one.admin<{ total: number }>(
        "GET",
        `/api/events?serial=${serial}&action=${action}`,
      );
      return total;
    };
    expect([await count("cert.suspend"), await count("cert.release")]).toEqual([
      suspended,
      released,
    ]);
  }, 60_000);

  test("SIGKILL to one replica leaves the other at work and the chain whole", async () => {
    const load = Promise.all(Array.from({ length: 10 }, () => issued(one)));
    const doomed = Array.from({ length: 10 }, () => issued(two).catch(() => undefined));
    await two.kill();
    const serials = (await load).map(({ serial }) => serial);
    await Promise.all(doomed);
    two = await Instance.start({ home: two.home, config });
    for (const serial of serials) {
      const path = `/api/ca/${chain.intermediateId}/certificates/${serial}`;
      expect(await two.admin<{ status: string }>("GET", path)).toMatchObject({ status: "good" });
    }
    expect((await two.cli("audit", "verify")).code).toBe(0);
  }, 60_000);
});

test("a database that crashes is a 503 until it is back, without a restart of a replica", async () => {
  const { serial } = await issued(one);
  const crashing = server.crash();
  const seen = new Set<number>();
  let back = false;
  void crashing.then(() => {
    back = true;
  });
  while (!back || !seen.has(201)) {
    const answer = await post(one, "issue", { csr });
    seen.add(answer.status);
    if (answer.status === 503) expect(answer.headers.has("retry-after")).toBe(true);
    await answer.text();
  }
  expect([...seen].filter((status) => status !== 201 && status !== 503)).toEqual([]);
  for (const replica of [one, two]) {
    while ((await replica.fetch("/readyz")).status !== 200) await Bun.sleep(50);
    const path = `/api/ca/${chain.intermediateId}/certificates/${serial}`;
    expect(await replica.admin<{ status: string }>("GET", path)).toMatchObject({ status: "good" });
    expect((await replica.cli("audit", "verify")).code).toBe(0);
  }
}, 60_000);

function post(replica: Instance, what: string, body: object): Promise<Response> {
  return replica.fetch(`/api/ca/${chain.intermediateId}/${what}`, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { authorization: `Token ${secret}`, "content-type": "application/json" },
  });
}

async function issued(replica: Instance): Promise<{ serial: string; leaf: string }> {
  const answer = await post(replica, "issue", { csr });
  const text = await answer.text();
  expect([text, answer.status]).toEqual([text, 201]);
  const { serial, certificate } = JSON.parse(text);
  return { serial, leaf: saved(chain.folder, `${serial}.pem`, certificate) };
}

/** Asks by GET, as caches do, and has openssl read the answer. */
async function cachedAnswer(replica: Instance, leaf: string) {
  const [asked, got] = [`${leaf}.request`, `${leaf}.response`];
  const about = ["-issuer", chain.intermediate, "-cert", leaf, "-no_nonce"];
  await openssl(["ocsp", ...about, "-reqout", asked]);
  const request = Buffer.from(await Bun.file(asked).bytes()).toString("base64url");
  const url = `${replica.publicUrl}/api/ca/${chain.intermediateId}/ocsp/${request}`;
  const response = await fetch(url);
  await Bun.write(got, await response.bytes());
  const trust = ["-CAfile", chain.root, "-verify_other", chain.intermediate];
  const { text } = await openssl(["ocsp", ...about, "-respin", got, ...trust]);
  return { text, etag: response.headers.get("etag") };
}

async function ocsp(replica: Instance, leaf: string): Promise<string> {
  const { text } = await openssl([
    "ocsp",
    "-issuer",
    chain.intermediate,
    "-cert",
    leaf,
    "-CAfile",
    chain.root,
    "-no_nonce",
    "-verify_other",
    chain.intermediate,
    "-url",
    `${replica.publicUrl}/api/ca/${chain.intermediateId}/ocsp`,
  ]);
  expect(text).toContain("Response verify OK");
  return text;
}
