/**
 * Machines that come to the running binary with a client certificate: by curl and openssl, and past
 * its back door.
 */

import { readdirSync, readFileSync, readlinkSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { instant } from "#core/time.ts";
import { ran } from "#test/support/child.ts";
import { OutsideCa, savedClient } from "#test/support/tls/client-certificates.ts";
import { type Chain, command, createChain } from "#test/support/instances/first-certificate.ts";
import { Instance, newHome, writeConfig } from "#test/support/instances/instance.ts";
import { said } from "#test/support/instances/preflight.ts";
import { hear } from "#test/support/instances/feed-client.ts";
import { until } from "#test/support/until.ts";
import { newCsr, openssl, saved } from "#test/support/instances/relying-party.ts";

const day = 86_400_000;
const outside = OutsideCa.root("Outside");
const issuing = outside.below("Outside Issuing");
const home = newHome();
const caFile = join(home, "client-cas.pem");
/** Files of clients, by what is wrong with them. */
const clients = {
  good: savedClient(home, "good", issuing.client()),
  rogue: savedClient(home, "rogue", OutsideCa.root("Outside").below("Outside Issuing").client()),
  expired: savedClient(
    home,
    "expired",
    issuing.client({
      notBefore: instant(Date.now() - 2 * day),
      notAfter: instant(Date.now() - day),
    }),
  ),
  early: savedClient(home, "early", issuing.client({ notBefore: instant(Date.now() + day) })),
  server: savedClient(home, "server", issuing.client({ usages: ["serverAuth"] })),
  stranger: savedClient(
    home,
    "stranger",
    issuing.client({ subject: [{ type: "CN", value: "x" }] }),
  ),
  auditor: savedClient(
    home,
    "auditor",
    issuing.client({
      subject: [{ type: "O", value: "Example" }],
      sans: [{ kind: "dns", value: "Audit.Example.com" }],
    }),
  ),
};

/** A good client that shows certificates of its renewed issuer, the ended one first or last. */
function renewed(name: string, ended: "first" | "last") {
  const { chain, key } = issuing.client();
  const [notBefore, notAfter] = [-9, -2].map((days) => instant(Date.now() + days * day));
  const old = outside.again(issuing, {
    notBefore: notBefore ?? instant(0),
    notAfter: notAfter ?? instant(0),
  });
  const [leaf = old, ...issuers] = chain;
  const shown = ended === "first" ? [leaf, old, ...issuers] : [leaf, ...issuers, old];
  return savedClient(home, name, { key, chain: shown });
}

/** A good client that shows a namesake of its issuer from elsewhere first. */
function besideNamesake() {
  const { chain, key } = issuing.client();
  const [leaf = outside.der, ...issuers] = chain;
  const elsewhere = OutsideCa.root("Elsewhere").below("Outside Issuing");
  return savedClient(home, "namesake", { key, chain: [leaf, elsewhere.der, ...issuers] });
}

const bindings = [
  { name: "nobody", subject: "everybody", roles: ["admin"] },
  { name: "robots", subject_cn: "robot", subject: "robot", roles: ["issuer"] },
  { name: "first wins", subject_cn: "robot", subject: "never", roles: ["admin"] },
  {
    subject_dn: "O=Example",
    san_dns: "audit.example.com",
    subject: "auditor",
    tenant_roles: { default: ["auditor"], nowhere: ["admin"] },
  },
  { name: "fleet", san_dns: "fleet.example.test", subject: "fleet", roles: ["auditor"] },
];
const configured = (more: object = {}) => ({
  auth: { mtls: { enabled: true, ca_file: caFile, bindings, ...more } },
});

let instance: Instance;
let chain: Chain;

beforeAll(async () => {
  writeFileSync(caFile, outside.pem);
  instance = await Instance.start({ home, config: configured() });
  chain = await createChain(instance, "ecdsa-p256");
  // The CAs of this instance are believed too, once there are any.
  writeFileSync(caFile, outside.pem + readFileSync(chain.root, "utf8"));
  await reloaded();
}, 30_000);

afterAll(() => instance.dispose());

interface Files {
  readonly cert: string;
  readonly key: string;
}
interface Told {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

/** One request of curl; `who` undefined shows no certificate. */
async function curl(
  who: Files | undefined,
  path: string,
  ...more: readonly string[]
): Promise<Told> {
  const shown = who === undefined ? [] : ["--cert", who.cert, "--key", who.key];
  const trust = ["--cacert", join(instance.dataDir, "serving-ca.pem")];
  const url = `${instance.url.replace("127.0.0.1", "localhost")}${path}`;
  const { stdout, stderr, code } = await ran([
    "curl",
    "-sS",
    ...trust,
    ...shown,
    "-w",
    "\n%{http_code}",
    ...more,
    url,
  ]);
  if (code !== 0) throw new Error(`curl: ${stderr}`);
  const at = stdout.lastIndexOf("\n");
  return { status: Number(stdout.slice(at + 1)), body: JSON.parse(stdout.slice(0, at) || "{}") };
}

const whoIs = async (who: Files | undefined, ...more: readonly string[]) => {
  const { status, body } = await curl(who, "/api/me", ...more);
  return status === 200 ? body.sub : status;
};

async function reloaded(config: object = configured()): Promise<void> {
  const count = () => instance.logs.filter((line) => line.includes('"config_reloaded"')).length;
  const before = count();
  writeConfig(instance.home, { ...config });
  instance.signal("SIGHUP");
  while (count() === before) await Bun.sleep(10);
}

/** A client certificate of this instance for a name, as files, with its serial. */
async function issued(name: string): Promise<Files & { readonly serial: string }> {
  await newCsr(chain.folder, name);
  const made = await command(instance, [
    "cert",
    "issue",
    "--ca",
    "issuing-ecdsa-p256",
    "--profile",
    "client",
    "--csr",
    join(chain.folder, `${name}.csr`),
  ]);
  const pem = String(made.certificate) + readFileSync(chain.intermediate, "utf8");
  const cert = saved(chain.folder, `${name}.client.pem`, pem);
  return { cert, key: join(chain.folder, `${name}.key`), serial: String(made.serial) };
}

describe("a client certificate", () => {
  test("stands for the principal of the first binding it meets, with the roles of that one", async () => {
    const { body } = await curl(clients.good, "/api/me");
    expect(body).toMatchObject({
      sub: "robot",
      name: "robots",
      is_root: false,
      roles: ["issuer"],
      tenant_roles: {},
    });
    const { body: audit } = await curl(clients.auditor, "/api/me");
    expect(audit).toMatchObject({
      sub: "auditor",
      roles: [],
      tenant_roles: { default: ["auditor"] },
    });
    expect((await curl(clients.auditor, "/api/events")).status).toBe(200);
    expect((await curl(clients.auditor, "/api/tokens")).status).toBe(403);
    expect((await curl(clients.good, "/api/sessions")).status).toBe(403);
  });

  test("is let in over the issuer's valid certificate, wherever it shows one that has ended", async () => {
    for (const ended of ["first", "last"] as const) {
      const who = renewed(`renewed-${ended}`, ended);
      for (const version of ["1.2", "1.3"]) {
        expect(await whoIs(who, `--tlsv${version}`, "--tls-max", version)).toBe("robot");
      }
    }
  });

  test("is let in beside a namesake of its issuer below a root nobody here knows", async () => {
    const who = besideNamesake();
    for (const version of ["1.2", "1.3"]) {
      expect(await whoIs(who, `--tlsv${version}`, "--tls-max", version)).toBe("robot");
    }
  });

  test("is asked for and never required, and one that is not believed is as good as none", async () => {
    for (const name of ["rogue", "expired", "early", "server", "stranger"] as const) {
      const who = clients[name];
      expect([name, await whoIs(who)]).toEqual([name, 401]);
      expect([name, (await curl(who, "/healthz")).status]).toEqual([name, 200]);
    }
    expect(await whoIs(undefined)).toBe(401);
    expect((await curl(undefined, "/healthz")).status).toBe(200);
    for (const version of ["--tlsv1.2", "--tlsv1.3"]) {
      const only = [version, "--tls-max", version.slice("--tlsv".length)];
      expect(await whoIs(clients.good, ...only)).toBe("robot");
      expect(await whoIs(clients.rogue, ...only)).toBe(401);
    }
  });

  test("changes things without a CSRF token, and its subject is in the event", async () => {
    const csr = await newCsr(chain.folder, "made-by-robot.example.test");
    const body = JSON.stringify({ csr, profile: "server" });
    const path = `/api/ca/${chain.intermediateId}/issue`;
    const json = ["-H", "content-type: application/json", "--data", body];
    expect((await curl(clients.good, path, ...json)).status).toBe(201);
    const { items } = await instance.admin<{ items: Record<string, unknown>[] }>(
      "GET",
      "/api/events?action=cert.issue",
    );
    expect(items[0]).toMatchObject({ actor: "robot", actor_name: "robots", ip: "127.0.0.1" });
  });

  test("gives way to a better credential, and a wrong one beside it is final", async () => {
    const token = await instance.token(["auditor"]);
    expect(await whoIs(clients.good, "-H", `authorization: Token ${token}`)).toStartWith("token:");
    expect(await whoIs(clients.good, "-H", "authorization: Token pki_pat_wrong")).toBe(401);
    expect(await whoIs(clients.good, "-u", "root:wrong")).toBe(401);
    expect(await whoIs(clients.good, "-H", "cookie: pki_session=stale")).toBe("robot");
  });

  test("counts as a login at every request, with its result", async () => {
    const before = await logins();
    await whoIs(clients.good);
    await whoIs(clients.stranger);
    await whoIs(clients.rogue);
    const after = await logins();
    expect([after.success - before.success, after.denied - before.denied]).toEqual([1, 1]);
  });

  async function logins() {
    const text = await instance.metrics();
    const of = (result: string) =>
      Number(
        new RegExp(`pki_auth_logins_total\\{method="mtls",result="${result}"\\} (\\d+)`).exec(
          text,
        )?.[1],
      );
    return { success: of("success"), denied: of("denied") };
  }
});

describe("a certificate of this instance", () => {
  test("binds nobody from the request on that follows its revocation, on a connection that stays open", async () => {
    const fleet = await issued("fleet.example.test");
    const tls = {
      cert: readFileSync(fleet.cert, "utf8"),
      key: readFileSync(fleet.key, "utf8"),
      ca: instance.servingCa(),
    };
    const ask = async () => {
      const answer = await fetch(`${instance.url.replace("127.0.0.1", "localhost")}/api/me`, {
        tls,
      });
      const body = (await answer.json()) as { sub?: string };
      return body.sub ?? answer.status;
    };
    const path = `/api/ca/${chain.intermediateId}/certificates/${fleet.serial}`;
    expect([await ask(), await whoIs(fleet)]).toEqual(["fleet", "fleet"]);
    await instance.admin("POST", `${path}:suspend`, {});
    expect([await ask(), await whoIs(fleet)]).toEqual([401, 401]);
    await instance.admin("POST", `${path}:release`, {});
    expect([await ask(), await whoIs(fleet)]).toEqual(["fleet", "fleet"]);
    const base = instance.url.replace("127.0.0.1", "localhost");
    const heard = await hear((at, init) => fetch(`${base}${at}`, { ...init, tls }), {});
    await until(() => heard.text !== "");
    await command(instance, [
      "revoke",
      "cert",
      "--ca",
      "issuing-ecdsa-p256",
      fleet.serial,
      "--reason",
      "keyCompromise",
    ]);
    expect([await ask(), await whoIs(fleet)]).toEqual([401, 401]);
    await until(() => heard.over);
    const { items } = await instance.admin<{ items: { seq: number }[] }>(
      "GET",
      "/api/events?action=cert.revoke",
    );
    const revoked = items[0]?.seq ?? 0;
    expect([heard.ends, revoked > 0]).toEqual([["forbidden"], true]);
    // The list that the release has published may still have been told of before.
    expect(heard.seqs.filter((seq) => seq >= revoked)).toEqual([]);
  }, 30_000);
});

describe("SIGHUP", () => {
  test("puts other CAs and bindings into force, also on open connections", async () => {
    const other = OutsideCa.root("Other");
    const newcomer = savedClient(
      home,
      "newcomer",
      other.client({ subject: [{ type: "CN", value: "n" }] }),
    );
    const held = keptOpen(clients.good);
    expect(await held.ask()).toContain('"sub":"robot"');
    const before = readFileSync(caFile, "utf8");
    writeFileSync(caFile, other.pem);
    await reloaded(configured({ bindings: [{ subject_cn: "n", subject: "n" }, ...bindings] }));
    expect([await whoIs(newcomer), await whoIs(clients.good)]).toEqual(["n", 401]);
    expect(await held.ask()).toContain("401");
    writeFileSync(caFile, before);
    await reloaded();
    expect([await whoIs(newcomer), await whoIs(clients.good)]).toEqual([401, "robot"]);
    expect(await held.ask()).toContain('"sub":"robot"');
    held.end();
    expect(instance.logs.join("\n")).toContain(
      "auth.mtls.bindings[0]: The entry has no selector and is dropped.",
    );
  }, 30_000);

  test("that would switch client certificates off lets nobody in by one until the restart that does", async () => {
    await reloaded({});
    expect([await whoIs(clients.good), await whoIs(undefined)]).toEqual([401, 401]);
    const told = instance.logs.filter((line) => line.includes('"config_reloaded"')).at(-1);
    expect(told).toContain('"restart_required":"auth.mtls.enabled"');
    await reloaded();
    expect(await whoIs(clients.good)).toBe("robot");
  }, 30_000);

  test("with a broken file changes nothing", async () => {
    const before = readFileSync(caFile, "utf8");
    writeFileSync(caFile, "broken");
    instance.signal("SIGHUP");
    await instance.logged("config_reload_failed");
    expect(await whoIs(clients.good)).toBe("robot");
    writeFileSync(caFile, before);
    await reloaded();
  }, 30_000);

  test("keeps the serving certificate's rotation and asks on for certificates", async () => {
    for (let round = 0; round < 3; round++) await reloaded();
    expect(await whoIs(clients.good)).toBe("robot");
  }, 30_000);

  /** openssl on one connection, asked again and again. */
  function keptOpen({ cert, key }: Files) {
    const to = new URL(instance.url).host;
    const child = Bun.spawn(
      [
        "openssl",
        "s_client",
        "-quiet",
        "-connect",
        to,
        "-cert",
        cert,
        "-key",
        key,
        "-cert_chain",
        cert,
      ],
      { stdin: "pipe", stdout: "pipe", stderr: "ignore" },
    );
    const reader = child.stdout.getReader();
    const ask = async () => {
      child.stdin.write("GET /api/me HTTP/1.1\r\nHost: localhost\r\n\r\n");
      child.stdin.flush();
      let text = "";
      while (!/\r\n\r\n.*\}/s.test(text)) {
        const { value, done } = await reader.read();
        if (done) break;
        text += new TextDecoder().decode(value);
      }
      return text;
    };
    return { ask, end: () => child.kill() };
  }
});

describe("the listener", () => {
  test("asks for certificates of the configured CAs by name", async () => {
    const to = new URL(instance.url).host;
    const { text } = await openssl(["s_client", "-connect", to], { mustPass: false });
    expect(text).toContain("Acceptable client certificate CA names\nCN = Outside\n");
  });

  test("has no back door that anybody else could reach", async () => {
    expect(listening(instance.pid)).toEqual([Number(new URL(instance.url).port)]);
    const pipes = statSync(join(instance.dataDir, "pipes"));
    expect([pipes.isDirectory(), pipes.mode & 0o777]).toEqual([true, 0o700]);
  });

  test("without auth.mtls has no back door and asks for nothing", async () => {
    const plain = await Instance.start();
    const main = Number(new URL(plain.url).port);
    expect(listening(plain.pid)).toEqual([main]);
    const to = new URL(plain.url).host;
    const { text } = await openssl(["s_client", "-connect", to], { mustPass: false });
    expect(text).toContain("No client certificate CA names sent");
    await plain.dispose();
  }, 30_000);

  test("stops while connections are open, and starts again on its data", async () => {
    const shown = ["-cert", clients.good.cert, "-key", clients.good.key];
    const idle = Bun.spawn(
      ["openssl", "s_client", "-connect", new URL(instance.url).host, ...shown],
      {
        stdin: "pipe",
        stdout: "ignore",
        stderr: "ignore",
      },
    );
    await whoIs(clients.good);
    expect(await instance.stop()).toBe(0);
    idle.kill();
    instance = await Instance.start({ home, config: configured() });
    expect(await whoIs(clients.good)).toBe("robot");
  }, 60_000);
});

describe("the command line", () => {
  test("acts as the principal of the certificate it shows", async () => {
    const shown = ["--client-cert", clients.good.cert, "--client-key", clients.good.key];
    const trust = ["--ca-file", join(instance.dataDir, "serving-ca.pem")];
    const remote = ["--url", instance.url.replace("127.0.0.1", "localhost"), ...trust];
    const listed = await instance.remoteCli("ca", "list", ...remote, ...shown, "--json");
    expect([listed.code, JSON.parse(listed.stdout).items.length]).toEqual([0, 2]);
    const refused = await instance.remoteCli("token", "list", ...remote, ...shown);
    expect([refused.code, refused.stderr]).toMatchObject([1, expect.stringContaining("forbidden")]);
    const without = await instance.remoteCli("ca", "list", ...remote);
    expect([without.code, without.stderr]).toMatchObject([
      1,
      expect.stringContaining("unauthenticated"),
    ]);
  }, 30_000);
});

describe("preflight", () => {
  test("looks at the client CAs, and says which is missing, expired or about to be", async () => {
    expect(await said(home, "auth.mtls")).toMatchObject({ status: "pass" });
    const before = readFileSync(caFile, "utf8");
    const ending = (days: number) =>
      OutsideCa.root("Ending", {
        notBefore: instant(Date.now() - 9 * day),
        notAfter: instant(Date.now() + days * day),
      }).pem;
    for (const [content, status, words] of [
      [before + ending(5), "warn", "CN=Ending expires"],
      [before + ending(-1), "fail", "CN=Ending expired"],
      ["nothing", "fail", "holds no PEM certificates"],
    ] as const) {
      writeFileSync(caFile, content);
      const found = await said(home, "auth.mtls");
      expect([found.status, found.detail]).toMatchObject([status, expect.stringContaining(words)]);
    }
    rmSync(caFile);
    const gone = await said(home, "auth.mtls");
    expect([gone.status, gone.detail]).toMatchObject([
      "fail",
      expect.stringContaining("not exist"),
    ]);
    writeFileSync(caFile, before);
  }, 30_000);

  test("has nothing to look at without auth.mtls", async () => {
    const bare = newHome();
    writeConfig(bare, {});
    expect((await said(bare, "auth.mtls")).status).toBe("skip");
    rmSync(bare, { recursive: true });
  });
});

/** Ports of TCP on which a process listens, by what the kernel says of its open files. */
function listening(pid: number): readonly number[] {
  const sockets = new Set(
    readdirSync(`/proc/${pid}/fd`).map((fd) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1];
      } catch {
        return undefined; // Closed since it was listed.
      }
    }),
  );
  const rows = readFileSync(`/proc/${pid}/net/tcp`, "utf8").split("\n").slice(1);
  return rows.flatMap((row) => {
    const [, local = "", , state, , , , , , inode] = row.trim().split(/\s+/);
    const open = state === "0A" && sockets.has(inode);
    return open ? [Number.parseInt(local.split(":")[1] ?? "0", 16)] : [];
  });
}
