/**
 * Sessions of the running binary under attack: confirmed or not over every surface, outlived by
 * roles, tenants and time, led astray.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { type Chain, createChain } from "#test/support/instances/first-certificate.ts";
import { canFakeTime, type FalseTime, falseTime } from "#test/support/instances/false-time.ts";
import {
  answerOf,
  clientSecret,
  type IdentityProvider,
  startIdentityProvider,
} from "#test/support/servers/identity-provider.ts";
import { Instance, newHome, writeConfig } from "#test/support/instances/instance.ts";
import { csr } from "#test/support/worlds/issuance.ts";
import {
  basic,
  cookiesOf,
  logIn,
  type Person,
  register,
  type Said,
  send,
  stepUp,
} from "#test/support/instances/person.ts";
import { SoftAuthenticator } from "#test/support/instances/soft-authenticator.ts";

const password = "correct horse battery staple";
const redirectUrl = "https://pkid.test/auth/callback";
const webauthn = { enabled: true, rp_id: "example.com", origins: ["https://pki.example.com"] };
const home = { origin: "https://pki.example.com", rpId: "example.com" };
const groups = { ops: ["issuer"], web: ["auditor"] };

let idp: IdentityProvider;
let instance: Instance;
let chain: Chain;

const config = (folder: string, rbac: object = { groups }) => ({
  root_user: { password },
  outbound: { ca_file: join(folder, "idp.pem") },
  oidc: { issuer_url: idp.issuer, client_id: "pkid", redirect_url: redirectUrl },
  auth: {
    oidc: { enabled: true, client_secret: clientSecret },
    webauthn,
    api_tokens: { max_lifetime_days: 1 },
  },
  rbac,
});

async function started(env: Record<string, string> = {}): Promise<Instance> {
  const folder = newHome();
  writeFileSync(join(folder, "idp.pem"), idp.ca);
  return Instance.start({ home: folder, config: config(folder), env });
}

beforeAll(async () => {
  const alice = { groups: ["ops"], email: "alice@x.test", email_verified: true };
  idp = await startIdentityProvider(redirectUrl, { alice, bob: { groups: ["web"] } });
  instance = await started();
  chain = await createChain(instance, "ecdsa-p256");
}, 60_000);

afterAll(async () => {
  await instance.dispose();
  idp.stop();
});

/**
 * A login begun at the provider: where it sends the browser, and the transaction the browser
 * carries.
 */
async function begun(at = instance) {
  const answer = await at.fetch("/auth/login", { redirect: "manual" });
  return { location: answer.headers.get("location") ?? "", cookie: cookiesOf(answer) };
}

const back = (query: string, cookie: string, at = instance) =>
  at.fetch(`/auth/callback?${query}`, { redirect: "manual", headers: { cookie } });

/** Somebody the provider vouches for, in a session. */
async function throughProvider(login: string, at = instance): Promise<Person> {
  const { location, cookie } = await begun(at);
  const query = new URL(await answerOf(idp, location, login)).search.slice(1);
  const answer = await back(query, cookie, at);
  expect(answer.status).toBe(302);
  const session = cookiesOf(answer);
  const { body } = await send(at, { cookie: session }, "GET", "/auth/session");
  return { cookie: session, "x-csrf-token": body.csrf_token };
}

const ask = (person: Person, method: string, path: string, body?: unknown): Promise<Said> =>
  send(instance, person, method, path, body);

const issued = async (): Promise<string> => {
  const path = `/api/ca/${chain.intermediateId}/issue`;
  return (await instance.admin<{ serial: string }>("POST", path, { csr: csr() })).serial;
};

const newest = async (action: string) => {
  const path = `/api/events?action=${action}`;
  return (await instance.admin<{ items: Record<string, string>[] }>("GET", path)).items[0] ?? {};
};

describe("a remote call of a session", () => {
  const call = (person: Person, method: string, message: object) =>
    ask(person, "POST", `/pki.v1.PKIService/${method}`, message);
  const request = (serial: string) => ({
    ca_id: chain.intermediateId,
    serial,
    reason: "superseded",
  });
  const statusOf = async (serial: string) => {
    const path = `/api/ca/${chain.intermediateId}/certificates/${serial}`;
    return (await instance.admin<{ status: string }>("GET", path)).status;
  };

  /** The code and facts of a refusal, as its detail carries them. */
  const detailOf = ({ body }: Said) => Buffer.from(body.details[0].value, "base64").toString();

  test("that is to be confirmed is refused until it is, with an event, and changes nothing", async () => {
    const [person, key] = [await logIn(instance, password), new SoftAuthenticator(home)];
    expect((await register(instance, person, key)).status).toBe(201);
    const serial = await issued();
    for (const method of ["RevokeCertificate", "SuspendCertificate", "ReleaseCertificate"]) {
      const { reason, ...rest } = request(serial);
      const message = method === "RevokeCertificate" ? { ...rest, reason } : rest;
      const refused = await call(person, method, message);
      expect([method, refused.status, refused.body.code]).toEqual([
        method,
        403,
        "permission_denied",
      ]);
      expect(detailOf(refused)).toContain("step_up_required");
      expect(detailOf(refused)).toContain('{"operation":"cert.revoke"}');
      expect(await newest("auth.step_up_denied")).toMatchObject({
        actor: "root",
        result: "denied",
        detail: "operation=cert.revoke",
      });
    }
    expect(await statusOf(serial)).toBe("good");
    expect((await stepUp(instance, person, key)).status).toBe(200);
    expect((await call(person, "RevokeCertificate", request(serial))).body.status).toBe("revoked");
    expect(await statusOf(serial)).toBe("revoked");
  }, 30_000);

  test("needs the CSRF token as well, confirmed or not, and is asked nothing of a token", async () => {
    const serial = await issued();
    const { cookie = "" } = await logIn(instance, password);
    const refused = await call({ cookie }, "RevokeCertificate", request(serial));
    expect([refused.status, detailOf(refused).includes("csrf_failed")]).toEqual([403, true]);
    expect(await statusOf(serial)).toBe("good");
    const authorization = `Token ${await instance.token(["issuer"])}`;
    const done = await call({ authorization }, "RevokeCertificate", request(serial));
    expect(done.body.status).toBe("revoked");
  });
});

describe("a session that was stolen", () => {
  test("enrols no passkey and confirms nothing without the one there is, also as another login of its person", async () => {
    const [owner, key] = [await throughProvider("alice"), new SoftAuthenticator(home)];
    expect((await register(instance, owner, key)).status).toBe(201);
    const [thief, own] = [await throughProvider("alice"), new SoftAuthenticator(home)];
    for (const session of [owner, thief]) {
      expect((await register(instance, session, own)).body.code).toBe("step_up_required");
      expect((await stepUp(instance, session, own)).body.code).toBe("step_up_failed");
    }
    // A passkey confirms for its own person only.
    const root = await logIn(instance, password);
    expect((await stepUp(instance, root, key)).body.code).toBe("step_up_failed");
  });
});

describe("a live session", () => {
  const issue = (person: Person, ca: string) =>
    ask(person, "POST", `/api/ca/${ca}/issue`, { csr: csr() });

  test("of a tenant that is suspended issues nothing from the next request on, and reads as ever", async () => {
    await instance.admin("POST", "/api/tenants", { slug: "lab" });
    const wanted = {
      label: "lab",
      subject: { cn: "lab" },
      key_type: "ecdsa-p256",
      tenant_id: "lab",
    };
    const ca = await instance.admin<{ id: string }>("POST", "/api/ca/init-root", wanted);
    const person = await throughProvider("alice");
    const set = (status: string) => instance.admin("PUT", "/api/tenants/lab/status", { status });
    expect((await issue(person, ca.id)).status).toBe(201);
    await set("suspended");
    const refused = await issue(person, ca.id);
    expect([refused.status, refused.body.code]).toEqual([403, "tenant_suspended"]);
    expect((await ask(person, "GET", `/api/ca/${ca.id}/certificates`)).body.total).toBe(1);
    await set("active");
    expect((await issue(person, ca.id)).status).toBe(201);
  });

  test("of somebody who loses all roles ends at once, for REST, remote calls and passkeys", async () => {
    const [bob, alice] = [await throughProvider("bob"), await throughProvider("alice")];
    expect((await ask(bob, "GET", "/api/me")).body.roles).toEqual(["auditor"]);
    writeConfig(instance.home, config(instance.home, { groups: { ops: ["issuer"] } }));
    instance.signal("SIGHUP");
    await instance.logged("config_reloaded");
    for (const [method, path] of [
      ["GET", "/api/me"],
      ["GET", "/auth/session"],
      ["GET", "/auth/webauthn/credentials"],
      ["POST", "/pki.v1.PKIService/ListCertificates"],
      ["POST", "/auth/webauthn/register/begin"],
    ] as const) {
      expect([
        path,
        (await ask(bob, method, path, method === "POST" ? {} : undefined)).status,
      ]).toEqual([path, 401]);
    }
    expect((await ask(alice, "GET", "/api/me")).body.roles).toEqual(["issuer"]);
    const { location, cookie } = await begun();
    const query = new URL(await answerOf(idp, location, "bob")).search.slice(1);
    expect((await back(query, cookie)).status).toBe(403);
  }, 30_000);
});

describe("an API token", () => {
  const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();

  test("outlives the cap for nobody, and nothing is minted that would", async () => {
    const before = (await instance.admin<{ total: number }>("GET", "/api/tokens")).total;
    const request = { name: "long", roles: ["auditor"] };
    const root = basic("root", password);
    for (const more of [
      { expires_at: inHours(25) },
      { expires_in_days: 2 },
      { expiry: inHours(24 * 365 * 50) },
      { expires_at: "9999-12-31T23:59:59Z" },
      { scope: "platform", expires_in_days: 2 },
    ]) {
      const refused = await ask(root, "POST", "/api/tokens", { ...request, ...more });
      expect([more, refused.status, refused.body.code, refused.body.max_lifetime_days]).toEqual([
        more,
        400,
        "lifetime_exceeded",
        1,
      ]);
    }
    const shell = await instance.cli(
      "token",
      "create",
      "--name",
      "x",
      "--roles",
      "auditor",
      "--expires-in-days",
      "2",
    );
    expect([shell.code, shell.stdout, shell.stderr.includes("lifetime_exceeded")]).toEqual([
      1,
      "",
      true,
    ]);
    expect((await instance.admin<{ total: number }>("GET", "/api/tokens")).total).toBe(before);
    const capped = await ask(root, "POST", "/api/tokens", request);
    const life = Date.parse(capped.body.expires_at) - Date.now();
    expect(life).toBeGreaterThan(86_000_000);
    expect(life).toBeLessThanOrEqual(86_400_000);
  });
});

describe("a way back", () => {
  // biome-ignore format: the table is read by column.
  const astray = [
    "https://evil.test", "//evil.test", "/\\evil.test", "\\\\evil.test", "https:evil.test", "https:/evil.test", "///evil.test",
    "/%2F%2Fevil.test", "%2f%2fevil.test", "/\tevil.test", "\u0001//evil.test", "https://pkid.test@evil.test", "javascript:alert(1)",
    "data:text/html,x", "/console/\r\nLocation: https://evil.test", "//evil%E3%80%82test", ".evil.test", "@evil.test",
  ];
  const parameters = [
    "next",
    "return_to",
    "redirect",
    "redirect_uri",
    "url",
    "RelayState",
    "target",
  ];
  const hosts = {
    "x-forwarded-host": "evil.test",
    "x-forwarded-proto": "http",
    forwarded: "host=evil.test",
  };

  test("from the provider leads to the console, and to it only the configured one, whatever is asked", async () => {
    const query = (value: string) =>
      new URLSearchParams(parameters.map((name): [string, string] => [name, value])).toString();
    for (const value of astray) {
      const init = { redirect: "manual", headers: hosts } as const;
      const away = await instance.fetch(`/auth/login?${query(value)}`, init);
      const { origin, searchParams } = new URL(away.headers.get("location") ?? "");
      expect([value, origin, searchParams.get("redirect_uri")]).toEqual([
        value,
        idp.issuer,
        redirectUrl,
      ]);
      expect(away.headers.get("location")).not.toContain("evil");
      const root = await instance.fetch(`/?${query(value)}`, init);
      expect([value, root.status, root.headers.get("location")]).toEqual([value, 302, "/console/"]);
    }
    const { location, cookie } = await begun();
    const good = new URL(await answerOf(idp, location, "alice")).searchParams;
    const more = parameters.map((name) => `${name}=${encodeURIComponent(astray[1] ?? "")}`);
    const answer = await back(`${good}&${more.join("&")}`, cookie);
    expect([answer.status, answer.headers.get("location")]).toEqual([302, "/console/"]);
  }, 30_000);

  test("with the transaction of another server, or of one that has been started again, is bad_tx", async () => {
    const other = await started();
    try {
      const { location, cookie } = await begun(other);
      const query = new URL(await answerOf(idp, location, "alice")).search.slice(1);
      const code = async (at: Instance) => (await (await back(query, cookie, at)).json()).code;
      expect(await code(instance)).toBe("bad_tx");
      await other.stop();
      const again = await Instance.start({ home: other.home, config: config(other.home) });
      expect(await code(again)).toBe("bad_tx");
      await again.stop();
    } finally {
      await other.dispose();
    }
  }, 30_000);
});

describe.skipIf(!canFakeTime)("time ends", () => {
  let time: FalseTime;
  let dated: Instance;

  beforeAll(async () => {
    time = falseTime();
    dated = await started(time.env);
  }, 30_000);

  afterAll(async () => {
    await dated.dispose();
    time.remove();
  });

  const minutes = (count: number) => time.set(count * 60);
  const at = (person: Person, method: string, path: string, body?: unknown) =>
    send(dated, person, method, path, body);

  test("a transaction, the welcome of a first passkey, a confirmation and a session, each at its minute", async () => {
    const { location, cookie } = await begun(dated);
    const query = new URL(await answerOf(idp, location, "alice")).search.slice(1);
    const [person, late] = [await logIn(dated, password), await throughProvider("alice", dated)];
    const key = new SoftAuthenticator(home);
    await register(dated, person, key);
    await stepUp(dated, person, key);
    const tenant = { slug: "t", name: "T" };
    const revoke = () =>
      at(person, "POST", "/api/ca/init-root", { label: "r", subject: { cn: "r" }, key_type: "x" });
    expect((await revoke()).body.code).not.toBe("step_up_required");
    minutes(6);
    expect((await revoke()).body.code).toBe("step_up_required");
    expect((await register(dated, late, new SoftAuthenticator(home))).body.code).toBe(
      "fresh_login_required",
    );
    expect((await at(person, "POST", "/api/tenants", tenant)).status).toBe(201);
    minutes(11);
    const over = await back(query, cookie, dated);
    expect([over.status, (await over.json()).code]).toEqual([400, "bad_tx"]);
    minutes(59);
    expect((await at(person, "GET", "/api/me")).status).toBe(200);
    minutes(61);
    for (const path of ["/api/me", "/auth/session"]) {
      expect([path, (await at(person, "GET", path)).status]).toEqual([path, 401]);
    }
    expect((await at(person, "POST", "/api/tenants", tenant)).body.code).toBe("unauthenticated");
  }, 30_000);
});

describe("cookies", () => {
  const setBy = async (at: Instance): Promise<readonly string[]> => {
    const answer = await at.fetch("/auth/login/password", {
      method: "POST",
      body: JSON.stringify({ username: "root", password }),
      headers: { "content-type": "application/json" },
    });
    const begins = await at.fetch("/auth/login", { redirect: "manual" });
    return [...answer.headers.getSetCookie(), ...begins.headers.getSetCookie()];
  };
  const attributes = (cookie: string) => cookie.replace(/=[^;]*; Max-Age=\d+/, "");

  test("lose Secure for tests without TLS, and nothing else", async () => {
    const strict = (await setBy(instance)).map(attributes);
    expect(strict).toEqual([
      "pki_session; Path=/; HttpOnly; Secure; SameSite=Lax",
      "pki_session_csrf; Path=/; Secure; SameSite=Lax",
      "pki_session_oidc_tx; Path=/auth; HttpOnly; Secure; SameSite=Lax",
    ]);
    const folder = newHome();
    writeFileSync(join(folder, "idp.pem"), idp.ca);
    const { auth, ...rest } = config(folder);
    const env = { PKID_ALLOW_INSECURE_HTTP: "1" };
    const session = { insecure: true };
    const clear = await Instance.start({
      home: folder,
      env,
      config: { ...rest, auth: { ...auth, session } },
    });
    try {
      expect(clear.url).toStartWith("http://");
      const lax = (await setBy(clear)).map(attributes);
      expect(lax).toEqual(strict.map((one) => one.replace(" Secure;", "")));
    } finally {
      await clear.dispose();
    }
  }, 30_000);
});
