/**
 * A whole working day of secrets, rightly and wrongly used at debug level, and then looked for in
 * everything written or shown.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import {
  answerOf,
  clientSecret,
  type IdentityProvider,
  startIdentityProvider,
} from "#test/support/servers/identity-provider.ts";
import { Instance, newHome, runCli } from "#test/support/instances/instance.ts";
import {
  basic,
  cookieIn,
  cookiesOf,
  logIn,
  type Person,
  register,
  send,
  stepUp,
} from "#test/support/instances/person.ts";
import {
  type DirectoryServer,
  passwordOf,
  serviceDn,
  servicePassword,
  slapdPath,
  startSlapd,
  suffix,
} from "#test/support/servers/slapd.ts";
import { SoftAuthenticator } from "#test/support/instances/soft-authenticator.ts";

const password = "SecretOfRoot-60f1c2";
const passphrase = "SecretOfTheKeys-18ab77";
const redirectUrl = "https://pkid.test/auth/callback";
const passkeys = { origin: "https://pki.example.com", rpId: "example.com" };

let idp: IdentityProvider;
let slapd: DirectoryServer | undefined;
let instance: Instance;
/** Each with the name it is missed under. */
const secrets = new Map<string, string>([
  ["the password of root", password],
  ["the passphrase of the keys", passphrase],
  ["the client's secret", clientSecret],
  ["the password of the service account", servicePassword],
  ["the password of a person", passwordOf("alice")],
]);
/** What was answered to requests that are not to be told a secret. */
const answers: string[] = [];

beforeAll(async () => {
  idp = await startIdentityProvider(redirectUrl, { carol: { groups: ["ops"] } });
  slapd = slapdPath === undefined ? undefined : await startSlapd();
  const home = newHome();
  const file = (name: string, content: string) => {
    writeFileSync(join(home, name), content, { mode: 0o600 });
    return { type: "file", file: { path: join(home, name) } };
  };
  file("idp.pem", idp.ca);
  const ldap = slapd && {
    enabled: true,
    url: `ldaps://localhost:${slapd.ldapsPort}`,
    bind_dn: serviceDn,
    user_base_dn: `ou=people,${suffix}`,
    user_filter: "(uid=%s)",
    allow_zero_role: true,
    bind_password_source: file("bind", servicePassword),
    tls: { ca_file: slapd.caFile },
  };
  instance = await Instance.start({
    home,
    config: {
      log: { level: "debug" },
      outbound: { ca_file: join(home, "idp.pem") },
      root_user: { password_source: file("root", password) },
      key_provider: { software: { passphrase_source: file("phrase", passphrase) } },
      oidc: { issuer_url: idp.issuer, client_id: "pkid", redirect_url: redirectUrl },
      auth: {
        oidc: { enabled: true, client_secret_source: file("client", clientSecret) },
        webauthn: { enabled: true, rp_id: passkeys.rpId, origins: [passkeys.origin] },
        ...(ldap && { ldap }),
      },
      rbac: { groups: { ops: ["admin"] } },
    },
  });
  await aDay();
  await instance.fetch("/the-day-is-over");
  await instance.logged("http_request", (line) => line.includes("/the-day-is-over"));
}, 60_000);

afterAll(async () => {
  await instance?.dispose();
  await slapd?.stop();
  idp?.stop();
});

/** Remembers the answer to be searched. */
async function tried(
  person: Person,
  method: string,
  path: string,
  body?: unknown,
): Promise<number> {
  const answer = await send(instance, person, method, path, body);
  answers.push(JSON.stringify(answer.body));
  return answer.status;
}

async function aDay(): Promise<void> {
  const root = await byPassword();
  const provider = await byProvider();
  const directory = slapd && (await logIn(instance, passwordOf("alice"), "alice"));
  for (const [name, person] of Object.entries({
    root,
    provider,
    ...(directory && { directory }),
  })) {
    secrets.set(`the session of ${name}`, cookieIn(person.cookie, "pki_session"));
    secrets.set(`the CSRF token of ${name}`, person["x-csrf-token"] ?? "");
  }
  await withPasskey(root);
  await withTokens(root);
  await wrongly(root);
  await tried(root, "POST", "/auth/logout");
}

async function byPassword(): Promise<Person> {
  secrets.set("root's Basic", basic("root", password).authorization?.slice(6) ?? "");
  await tried(basic("root", password), "GET", "/api/me");
  return logIn(instance, password);
}

async function byProvider(): Promise<Person> {
  const begun = await instance.fetch("/auth/login", { redirect: "manual" });
  const transaction = cookieIn(cookiesOf(begun), "pki_session_oidc_tx");
  secrets.set("the transaction", transaction);
  for (const [at, part] of transaction.split(".").entries()) {
    if (part.length > 20) secrets.set(`part ${at} of the transaction`, part);
  }
  const answer = await answerOf(idp, begun.headers.get("location") ?? "", "carol");
  const query = new URL(answer).searchParams;
  secrets.set("the code", query.get("code") ?? "");
  const headers = { cookie: cookiesOf(begun) };
  const path = `/auth/callback?${query}`;
  const back = await instance.fetch(path, { redirect: "manual", headers });
  await tried(headers, "GET", path);
  await tried({ ...headers, accept: "text/html" }, "GET", path);
  const at = Math.floor(Date.now() / 1000);
  const claims = {
    iss: idp.issuer,
    aud: "pkid",
    sub: "carol",
    iat: at,
    exp: at + 300,
    groups: ["ops"],
  };
  const bearer = idp.token(claims);
  secrets.set("a bearer token", bearer);
  await tried({ authorization: `Bearer ${bearer}` }, "GET", "/api/me");
  await tried({ authorization: `Bearer ${bearer}x` }, "GET", "/api/me");
  const session = cookiesOf(back);
  const { body } = await send(instance, { cookie: session }, "GET", "/auth/session");
  return { cookie: session, "x-csrf-token": body.csrf_token };
}

async function withPasskey(person: Person): Promise<void> {
  const key = new SoftAuthenticator(passkeys);
  await register(instance, person, key);
  const begun = await send(instance, person, "POST", "/auth/webauthn/stepup/begin");
  secrets.set("a challenge", begun.body.challenge);
  const lie = key.assert(begun.body.challenge, { counter: 0 });
  await tried(person, "POST", "/auth/webauthn/stepup/finish", lie);
  expect((await stepUp(instance, person, key)).status).toBe(200);
}

async function withTokens(person: Person): Promise<void> {
  const request = { name: "deploy", roles: ["admin"], scope: "platform" };
  const made = await send(instance, person, "POST", "/api/tokens", request);
  const { id, secret } = made.body;
  secrets.set("a token", secret).set("most of a token", secret.slice(0, -1));
  const token = { authorization: `Token ${secret}` };
  for (const path of ["/api/me", "/api/tokens", "/api/sessions", `/api/me?token=${secret}`]) {
    await tried(token, "GET", path);
  }
  // Its secret where its id belongs, by somebody who may, by somebody who may not, and from the
  // shell.
  const tenant = await instance.token(["admin"]);
  secrets.set("another token", tenant);
  for (const who of [token, { authorization: `Bearer ${tenant}` }]) {
    await tried(who, "DELETE", `/api/tokens/${secret}`);
    await tried(who, "GET", `/api/ca/${secret}/certificates/${secret}`);
    await tried(who, "POST", `/api/ca/${secret}/revoke`, { serial: secret });
  }
  const pasted = await instance.cli("token", "revoke", secret);
  answers.push(pasted.stdout);
  expect([pasted.code, pasted.stderr.includes("not_found")]).toEqual([1, true]);
  expect((await send(instance, token, "DELETE", `/api/tokens/${id}`)).status).toBe(200);
  await tried(token, "GET", "/api/me");
}

/** The same secrets where they are wrong, misplaced or too many. */
async function wrongly(person: Person): Promise<void> {
  for (const secret of [...secrets.values()]) {
    const text = { authorization: `Basic ${Buffer.from(`root:${secret} `).toString("base64")}` };
    await tried(text, "GET", "/api/me");
    await tried({ authorization: `Bearer ${encodeURIComponent(secret)}` }, "GET", "/api/me");
    await tried({ cookie: `pki_session=${encodeURIComponent(secret)}` }, "GET", "/api/me");
    for (const way of ["password", "ldap"]) {
      await tried({}, "POST", `/auth/login/${way}`, { username: "root", password: `${secret} ` });
      await tried({}, "POST", `/auth/login/${way}`, { username: "alice", password: `${secret} ` });
      await tried({}, "POST", `/auth/login/${way}`, { username: "root", passwort: secret });
      await tried({}, "POST", `/auth/login/${way}`, [secret]);
    }
    await tried({ ...person, "x-csrf-token": secret }, "POST", "/api/tokens", { name: secret });
    await tried(person, "POST", "/api/tokens", { name: 1, roles: [secret], [secret]: secret });
    await tried(
      {},
      "GET",
      `/auth/callback?code=${encodeURIComponent(secret)}&state=${encodeURIComponent(secret)}`,
    );
  }
}

/** Every secret, and its spelling in an address. */
function absent(where: string, text: string, but: readonly string[] = []): void {
  for (const [name, secret] of secrets) {
    if (but.includes(name)) continue;
    for (const spelt of new Set([
      secret,
      encodeURIComponent(secret),
      JSON.stringify(secret).slice(1, -1),
    ])) {
      expect([where, name, text.includes(spelt)]).toEqual([where, name, false]);
    }
  }
}

describe("no secret of the day is found", () => {
  test("because none was used: all of them are known here", () => {
    for (const [name, secret] of secrets) expect([name, secret.length > 12]).toEqual([name, true]);
    expect(secrets.size).toBeGreaterThan(18);
    expect(answers.length).toBeGreaterThan(200);
  });

  test("in the log, in what the process printed, or in an answer that is not to tell it", () => {
    absent("log", instance.logs.join("\n"));
    expect(instance.logs.join("\n")).toContain('"/api/tokens/pki_pat_*"');
    absent("output", instance.output());
    // A refusal names the member it does not know, as it was written.
    absent("answers", answers.filter((one) => !one.includes("unknown_field")).join("\n"));
    expect(instance.logs.filter((line) => line.includes("request_failed"))).toEqual([]);
  });

  test("in events, access log, sessions, tokens, metrics and descriptions", async () => {
    const paths = [
      "/api/events",
      "/api/access-log",
      "/api/sessions",
      "/api/tokens",
      "/api/approvals",
    ];
    for (const path of [...paths, "/api/inventory/keys", "/metrics", "/readyz", "/openapi.json"]) {
      const limit = paths.includes(path) ? "?limit=500" : "";
      const answer = await fetch(`http://localhost${path}${limit}`, {
        unix: join(instance.dataDir, "admin.sock"),
      });
      expect([path, answer.status]).toEqual([path, 200]);
      absent(path, await answer.text());
    }
  });

  test("in any file of the data directory, the database and its log first", () => {
    const files = readdirSync(instance.dataDir, { recursive: true, encoding: "utf8" });
    for (const name of files) {
      const path = join(instance.dataDir, name);
      if (statSync(path).isFile()) absent(name, readFileSync(path, "latin1"));
    }
    expect(files).toContain("pkid.db");
  });

  test("in what commands print: configuration, preflight, lists and help", async () => {
    for (const args of [
      ["config", "show"],
      ["config", "show", "--json", "--origin"],
      ["config", "check"],
      ["preflight", "--json"],
      ["sessions", "list", "--json"],
      ["token", "list", "--json"],
      ["audit", "list", "--json", "--all"],
      ["token", "create", "--help"],
      ["--help"],
    ]) {
      const ran = args[0] === "--help" ? runCli(instance.home, ["help"]) : instance.cli(...args);
      const { stdout, stderr } = await ran;
      absent(args.join(" "), stdout + stderr);
    }
  }, 30_000);

  test("in the arguments and environment of its processes", () => {
    for (const pid of [instance.pid, ...instance.signers()]) {
      for (const file of ["cmdline", "environ"]) {
        absent(`${file} of ${pid}`, readFileSync(`/proc/${pid}/${file}`, "latin1"));
      }
    }
  });
});
