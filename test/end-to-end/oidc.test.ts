/**
 * Logging in to the running binary through a real provider, and every way somebody could tamper
 * with that.
 */

import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { createHmac, generateKeyPairSync } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import {
  answerOf,
  clientSecret,
  type IdentityProvider,
  startIdentityProvider,
} from "#test/support/servers/identity-provider.ts";
import { Instance, newHome, writeConfig } from "#test/support/instances/instance.ts";
import { hear } from "#test/support/instances/feed-client.ts";
import { until } from "#test/support/until.ts";
import { signedToken } from "#test/support/encodings/jwt.ts";

const redirectUrl = "https://pkid.test/auth/callback";
const people = {
  alice: {
    name: "Alice <b>",
    preferred_username: "alice",
    email: "alice@x.test",
    email_verified: true,
    groups: ["ops", "web-team"],
  },
  mallory: { email: "alice@x.test", email_verified: false, groups: "none" },
  root: { email: "alice@x.test", email_verified: true },
};

let idp: IdentityProvider;
let instance: Instance;
let home: string;

const config = (rbac: object) => ({
  outbound: { ca_file: join(home, "idp.pem") },
  oidc: { issuer_url: idp.issuer, client_id: "pkid", redirect_url: redirectUrl },
  auth: {
    oidc: {
      enabled: true,
      client_secret: clientSecret,
      role_mappings: [
        { value: "ops", roles: ["approver"] },
        { claim: "groups", value: "web-team", tenant: "default", roles: ["issuer"] },
      ],
    },
  },
  rbac,
});

beforeAll(async () => {
  home = newHome();
  idp = await startIdentityProvider(redirectUrl, people);
  writeFileSync(join(home, "idp.pem"), idp.ca);
  const rbac = { subjects: { "alice@x.test": ["auditor"] } };
  instance = await Instance.start({ home, config: config(rbac) });
}, 30_000);

afterEach(() => idp.tampers.clear());
afterAll(async () => {
  await instance.dispose();
  idp.stop();
});

interface Begun {
  readonly location: string;
  readonly cookie: string;
  readonly setCookie: string;
}

async function begin(): Promise<Begun> {
  const answer = await instance.fetch("/auth/login", { redirect: "manual" });
  expect(answer.status).toBe(302);
  const [setCookie = ""] = answer.headers.getSetCookie();
  const location = answer.headers.get("location") ?? "";
  return { location, setCookie, cookie: setCookie.split(";")[0] ?? "" };
}

/** The query with which the provider sends the browser back. */
async function queryFor(begun: Begun, login = "alice"): Promise<URLSearchParams> {
  const back = await answerOf(idp, begun.location, login);
  expect(back).toStartWith(redirectUrl);
  return new URL(back).searchParams;
}

const callback = (query: URLSearchParams | string, cookie?: string, accept = "*/*") =>
  instance.fetch(`/auth/callback?${query}`, {
    redirect: "manual",
    headers: { accept, ...(cookie === undefined ? {} : { cookie }) },
  });

const sessionOf = (answer: Response): string =>
  answer.headers
    .getSetCookie()
    .map((one) => one.split(";")[0])
    .join("; ");

async function refusal(answer: Response): Promise<unknown[]> {
  const { code } = (await answer.json()) as { code?: string };
  expect(answer.headers.getSetCookie().filter((one) => /pki_session=[^;]/.test(one))).toEqual([]);
  return [answer.status, code];
}

async function loggedIn(login = "alice"): Promise<string> {
  const begun = await begin();
  const answer = await callback(await queryFor(begun, login), begun.cookie);
  expect(answer.status).toBe(302);
  return sessionOf(answer);
}

describe("a login at the provider", () => {
  test("begins with PKCE, state and nonce, and a signed cookie of ten minutes", async () => {
    const { location, setCookie } = await begin();
    const { origin, searchParams } = new URL(location);
    expect(origin).toBe(idp.issuer);
    expect(Object.fromEntries(searchParams)).toMatchObject({
      response_type: "code",
      client_id: "pkid",
      redirect_uri: redirectUrl,
      scope: "openid profile email groups",
      code_challenge_method: "S256",
      state: expect.stringMatching(/^.{43}$/),
      nonce: expect.stringMatching(/^.{43}$/),
      code_challenge: expect.stringMatching(/^.{43}$/),
    });
    expect(setCookie).toMatch(
      /^pki_session_oidc_tx=[\w.-]+; Max-Age=600; Path=\/auth; HttpOnly; Secure; SameSite=Lax$/,
    );
  });

  test("ends with a session whose roles are the union of rbac and mappings", async () => {
    const begun = await begin();
    const answer = await callback(await queryFor(begun), begun.cookie);
    expect([answer.status, answer.headers.get("location")]).toEqual([302, "/console/"]);
    expect(answer.headers.getSetCookie().at(-1)).toStartWith("pki_session_oidc_tx=; Max-Age=0;");
    const cookie = sessionOf(answer);
    const session = await instance.fetch("/auth/session", { headers: { cookie } });
    expect(await session.json()).toMatchObject({
      method: "oidc",
      user: {
        sub: "alice",
        name: "Alice <b>",
        email: "alice@x.test",
        email_verified: true,
        is_root: false,
        roles: ["auditor", "approver"],
        groups: ["ops", "web-team"],
        tenant_roles: { default: ["issuer"] },
      },
    });
    const { items } = await instance.admin<{ items: Record<string, string>[] }>(
      "GET",
      "/api/events?action=auth.login",
    );
    expect(items[0]).toMatchObject({
      actor: "alice",
      target_name: "alice",
      detail: "method=oidc",
      result: "success",
      actor_roles: "auditor,approver",
    });
    const metrics = await instance.metrics();
    expect(metrics).toMatch(/pki_auth_logins_total\{method="oidc",result="success"\} [1-9]/);
  });

  test("gives nobody a role by an address that is not verified", async () => {
    const begun = await begin();
    const answer = await callback(await queryFor(begun, "mallory"), begun.cookie);
    expect(await refusal(answer)).toEqual([403, "no_access"]);
  });

  test("makes nobody root who is called so elsewhere", async () => {
    const begun = await begin();
    const answer = await callback(await queryFor(begun, "root"), begun.cookie);
    expect(await refusal(answer)).toEqual([401, "claims_failed"]);
  });
});

describe("a tampered answer", () => {
  test("without the transaction, with a forged one, or after it is over, is bad_tx", async () => {
    const begun = await begin();
    const query = await queryFor(begun);
    const forged = [undefined, "", "pki_session_oidc_tx=x", `${begun.cookie}A`];
    const flipped = begun.cookie.replace(/=(.)/, (_, first) => `=${first === "A" ? "B" : "A"}`);
    for (const cookie of [...forged, flipped, `${begun.cookie}; ${begun.cookie}`]) {
      expect(await refusal(await callback(query, cookie))).toEqual([400, "bad_tx"]);
    }
    expect((await callback(query, begun.cookie)).status).toBe(302);
    expect(await refusal(await callback(query, begun.cookie))).toEqual([400, "bad_tx"]);
  });

  test("in another browser, or with another state, is state_mismatch and uses nothing up", async () => {
    const mine = await begin();
    const victim = await begin();
    const query = await queryFor(mine);
    expect(await refusal(await callback(query, victim.cookie))).toEqual([400, "state_mismatch"]);
    for (const state of ["", "x", `${query.get("state")}A`]) {
      const altered = new URLSearchParams({ ...Object.fromEntries(query), state });
      expect(await refusal(await callback(altered, mine.cookie))).toEqual([400, "state_mismatch"]);
    }
    expect(await refusal(await callback(`${query}&state=x`, mine.cookie))).toEqual([
      400,
      "state_mismatch",
    ]);
    expect((await callback(query, mine.cookie)).status).toBe(302);
  });

  test("of another provider, or of none, is idp_error (RFC 9207)", async () => {
    for (const iss of ["https://evil.test", `${idp.issuer}/`, undefined]) {
      const begun = await begin();
      const query = await queryFor(begun);
      if (iss === undefined) query.delete("iss");
      else query.set("iss", iss);
      expect(await refusal(await callback(query, begun.cookie))).toEqual([400, "idp_error"]);
    }
  });

  test("with a code already redeemed, or invented, is exchange_failed", async () => {
    const first = await begin();
    const used = await queryFor(first);
    expect((await callback(used, first.cookie)).status).toBe(302);
    for (const code of [used.get("code") ?? "", "invented"]) {
      const begun = await begin();
      const state = new URL(begun.location).searchParams.get("state") ?? "";
      const query = new URLSearchParams({ code, state, iss: idp.issuer });
      expect(await refusal(await callback(query, begun.cookie))).toEqual([502, "exchange_failed"]);
    }
  });

  test("with the code of another login is refused by PKCE", async () => {
    const [mine, theirs] = [await begin(), await begin()];
    const query = await queryFor(mine);
    const { searchParams } = new URL(theirs.location);
    query.set("state", searchParams.get("state") ?? "");
    expect(await refusal(await callback(query, theirs.cookie))).toEqual([502, "exchange_failed"]);
  });

  test("with an error is idp_error, and without a code no_code", async () => {
    for (const [more, code] of [
      ["error=access_denied&error_description=%3Cscript%3E", "idp_error"],
      ["", "no_code"],
      ["code=a&code=b", "no_code"],
    ] as const) {
      const begun = await begin();
      const state = new URL(begun.location).searchParams.get("state") ?? "";
      const query = `${new URLSearchParams({ state, iss: idp.issuer })}&${more}`;
      expect(await refusal(await callback(query, begun.cookie))).toEqual([400, code]);
    }
  });
});

describe("a tampered token", () => {
  const stranger = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const mac = (header: object, claims: object, key: string) => {
    const text = `${part(header)}.${part(claims)}`;
    return `${text}.${createHmac("sha256", key).update(text).digest("base64url")}`;
  };
  type Claims = Record<string, unknown>;
  const past = Math.floor(Date.now() / 1000) - 3600;
  // biome-ignore format: the table is read by column.
  const forgeries: readonly (readonly [string, (claims: Claims, token: string) => unknown, number, string])[] = [
    ["absent",                     () => undefined,                                                          502, "no_id_token"],
    ["empty",                      () => "",                                                                 502, "no_id_token"],
    ["no text",                    () => ({}),                                                               502, "no_id_token"],
    ["nonsense",                   () => "a.b.c",                                                            401, "verify_failed"],
    ["unsigned",                   (claims) => `${part({ alg: "none" })}.${part(claims)}.`,                  401, "verify_failed"],
    ["signed by nobody",           (_, token) => token.replace(/[^.]+$/, "AAAA"),                            401, "verify_failed"],
    ["with another payload",       (claims, token) => token.replace(/\.[^.]+\./, `.${part({ ...claims, sub: "x" })}.`), 401, "verify_failed"],
    ["with an HMAC of our secret", (claims) => mac({ alg: "HS256" }, claims, clientSecret),                  401, "verify_failed"],
    ["of a stranger's key",        (claims) => signedToken({ alg: "RS256", kid: "own" }, claims, stranger.privateKey), 401, "verify_failed"],
    ["of a key nobody knows",      (claims) => signedToken({ alg: "RS256", kid: "x" }, claims, stranger.privateKey), 401, "verify_failed"],
    ["bringing its own key",       (claims) => signedToken({ alg: "RS256", jwk: stranger.publicKey.export({ format: "jwk" }) }, claims, stranger.privateKey), 401, "verify_failed"],
    ["for another client",         (claims) => idp.token({ ...claims, aud: "other" }),                       401, "claims_failed"],
    ["for several clients",        (claims) => idp.token({ ...claims, aud: ["pkid", "other"] }),             401, "claims_failed"],
    ["made for another client",    (claims) => idp.token({ ...claims, azp: "other" }),                       401, "claims_failed"],
    ["of another issuer",          (claims) => idp.token({ ...claims, iss: "https://evil.test" }),           401, "claims_failed"],
    ["expired",                    (claims) => idp.token({ ...claims, iat: past - 60, exp: past }),          401, "claims_failed"],
    ["not yet valid",              (claims) => idp.token({ ...claims, nbf: past + 7200 }),                   401, "claims_failed"],
    ["without an end",             (claims) => idp.token({ ...claims, exp: undefined }),                     401, "claims_failed"],
    ["without a subject",          (claims) => idp.token({ ...claims, sub: undefined }),                     401, "claims_failed"],
    ["that is an access token",    (claims) => idp.token(claims, { typ: "at+jwt" }),                         401, "claims_failed"],
    ["of another login",           (claims) => idp.token({ ...claims, nonce: "x".repeat(43) }),              401, "nonce_mismatch"],
    ["without a nonce",            (claims) => idp.token({ ...claims, nonce: undefined }),                   401, "nonce_mismatch"],
    ["called a token of pkid",     (claims) => idp.token({ ...claims, sub: "token:1" }),                     401, "claims_failed"],
  ];

  test.each(forgeries)("%s opens no session", async (_what, forge, status, code) => {
    const begun = await begin();
    const query = await queryFor(begun);
    idp.tampers.set("/token", (answer) => {
      const token = String(answer.id_token);
      const claims = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
      return { ...answer, id_token: forge(claims, token) };
    });
    expect(await refusal(await callback(query, begun.cookie))).toEqual([status, code]);
  });

  test("in an answer that is an error, or elsewhere, is never asked for twice", async () => {
    for (const tamper of [() => undefined, "redirect"] as const) {
      const begun = await begin();
      const query = await queryFor(begun);
      idp.tampers.set("/token", tamper);
      expect(await refusal(await callback(query, begun.cookie))).toEqual([502, "exchange_failed"]);
      idp.tampers.clear();
    }
    expect(idp.asked.get("/elsewhere")).toBeUndefined();
  });
});

describe("a refused login", () => {
  test("is an event with its reason, folded by kind", async () => {
    const { items } = await instance.admin<{ items: { detail: string; actor: string }[] }>(
      "GET",
      "/api/events?action=auth.login_failed&limit=500",
    );
    const reasons = items.map(({ detail }) => /reason=(\w+)/.exec(detail)?.[1]);
    for (const code of [
      "bad_tx",
      "state_mismatch",
      "idp_error",
      "no_code",
      "exchange_failed",
      "no_id_token",
      "verify_failed",
      "claims_failed",
      "nonce_mismatch",
      "no_access",
    ]) {
      expect(reasons).toContain(code);
    }
    expect(items.every(({ actor }) => actor === "anonymous")).toBe(true);
    expect(items.length).toBeLessThan(30);
  });

  test("is a page to a person and JSON to everybody else, and shows nothing of the address", async () => {
    const evil = "error=%3Cscript%3Ealert(1)%3C/script%3E&next=https://evil.test";
    const page = await callback(evil, undefined, "text/html,application/xhtml+xml,*/*;q=0.8");
    const text = await page.text();
    expect([page.status, page.headers.get("content-type")]).toEqual([
      400,
      "text/html; charset=utf-8",
    ]);
    expect(text).toContain("bad_tx");
    expect(text).toContain(page.headers.get("x-request-id") ?? "missing");
    expect(text).not.toMatch(/evil|script/);
    expect(page.headers.get("content-security-policy")).not.toContain("unsafe");
    expect(page.headers.get("location")).toBeNull();
    for (const accept of ["*/*", "application/json", "text/html;q=0.5, application/json"]) {
      const answer = await callback(evil, undefined, accept);
      expect(answer.headers.get("content-type")).toBe("application/json");
    }
  });

  test("never leads anywhere but to the console, and leaves no token in the log", async () => {
    const begun = await begin();
    const query = await queryFor(begun);
    const more = "next=https://evil.test&redirect_uri=https://evil.test&return_to=//evil.test";
    const answer = await callback(`${query}&${more}`, begun.cookie);
    expect(answer.headers.get("location")).toBe("/console/");
    const log = instance.logs.join("\n");
    for (const secret of [query.get("code"), query.get("state"), begun.cookie, clientSecret]) {
      expect(log).not.toContain(secret ?? "missing");
    }
  });
});

describe("a bearer token of the provider", () => {
  const claims = (change: object = {}) => {
    const at = Math.floor(Date.now() / 1000);
    return {
      iss: idp.issuer,
      aud: "pkid",
      sub: "alice",
      iat: at,
      exp: at + 300,
      groups: ["ops"],
      ...change,
    };
  };
  const me = (token: string, more: Record<string, string> = {}) =>
    instance.fetch("/api/me", { headers: { authorization: `Bearer ${token}`, ...more } });

  test("says who is calling, with the roles of rbac and mappings, and needs no CSRF token", async () => {
    for (const header of [{}, { typ: "at+jwt" }]) {
      const answer = await me(idp.token(claims(), header));
      expect(await answer.json()).toMatchObject({ sub: "alice", roles: ["approver"] });
    }
    const token = idp.token(claims({ email: "alice@x.test", email_verified: true }));
    expect(await (await me(token)).json()).toMatchObject({ roles: ["auditor", "approver"] });
    const out = await instance.fetch("/api/sessions/x", {
      method: "DELETE",
      headers: { authorization: `Bearer ${token}` },
    });
    expect(out.status).toBe(403);
    expect(await out.json()).toMatchObject({ code: "forbidden" });
  });

  test("is heard no longer than it is good, also by whom it has begun to follow the events", async () => {
    const mail = { email: "alice@x.test", email_verified: true };
    // Clocks may differ by a minute.
    const exp = Math.floor(Date.now() / 1000) - 56;
    const headers = { authorization: `Bearer ${idp.token(claims({ ...mail, exp }))}` };
    const heard = await hear((path, init) => instance.fetch(path, init), headers);
    await until(() => heard.text !== "");
    expect(heard.status).toBe(200);
    await until(() => heard.over);
    expect(heard.ends).toEqual(["forbidden"]);
  });

  test("with anything wrong is invalid_token, and never falls through to a session", async () => {
    const cookie = await loggedIn();
    const other = generateKeyPairSync("rsa", { modulusLength: 2048 });
    for (const token of [
      "x",
      "a.b.c",
      idp.token(claims({ aud: "other" })),
      idp.token(claims({ exp: 1 })),
      idp.token(claims({ iss: "https://evil.test" })),
      idp.token(claims({ sub: "root" })),
      signedToken({ alg: "RS256", kid: "own" }, claims(), other.privateKey),
      mac256(claims()),
      idp.token(claims(), { typ: "logout+jwt" }),
    ]) {
      const answer = await me(token, { cookie });
      expect([token, await refusal(answer)]).toEqual([token, [401, "invalid_token"]]);
    }
  });

  test("is oidc_unavailable while the provider's keys cannot be had, beside a session too", async () => {
    const alone = newHome();
    writeFileSync(join(alone, "idp.pem"), idp.ca);
    const away = await Instance.start({
      home: alone,
      config: { ...config({}), outbound: { ca_file: join(alone, "idp.pem") } },
    });
    idp.tampers.set("/jwks", () => undefined);
    const headers = { authorization: `Bearer ${idp.token(claims())}` };
    const answer = await away.fetch("/api/me", { headers });
    expect(answer.headers.get("retry-after")).toBe("5");
    expect(await refusal(answer)).toEqual([503, "oidc_unavailable"]);
    await away.dispose();
  });

  test("is not asked about where the provider's certificate is not trusted, and nobody logs in there", async () => {
    const distrusting = await Instance.start({ config: { ...config({}), outbound: {} } });
    const headers = { authorization: `Bearer ${idp.token(claims())}` };
    const before = new Map(idp.asked);
    expect((await distrusting.fetch("/api/me", { headers })).status).toBe(503);
    const login = await distrusting.fetch("/auth/login", { redirect: "manual" });
    expect(await refusal(login)).toEqual([503, "oidc_unavailable"]);
    expect(idp.asked).toEqual(before);
    await distrusting.dispose();
  });

  function mac256(given: object): string {
    const text = [{ alg: "HS256" }, given]
      .map((value) => Buffer.from(JSON.stringify(value)).toString("base64url"))
      .join(".");
    const pem = readFileSync(join(home, "idp.pem"), "utf8");
    return `${text}.${createHmac("sha256", pem).update(text).digest("base64url")}`;
  }
});

describe("rbac and configuration", () => {
  test("preflight asks the provider, and says what is wrong with it", async () => {
    const check = async (more: readonly string[] = []) => {
      const args = ["preflight", "--only", "auth.oidc", "--json", ...more];
      const { stdout } = await instance.cli(...args);
      return JSON.parse(stdout).checks[0] as { status: string; detail: string };
    };
    expect(await check()).toMatchObject({ status: "pass" });
    expect(await check(["--no-network"])).toMatchObject({ status: "skip" });
    idp.tampers.set("/.well-known/openid-configuration", (answer) => ({
      ...answer,
      issuer: "https://evil.test",
    }));
    expect(await check()).toMatchObject({
      status: "fail",
      detail: expect.stringContaining("another issuer"),
    });
    idp.tampers.clear();
    idp.tampers.set("/jwks", () => ({ keys: [] }));
    expect(await check()).toMatchObject({ status: "fail" });
  });

  test("/api/auth/config names the provider", async () => {
    expect(await (await instance.fetch("/api/auth/config")).json()).toEqual({
      oidc_enabled: true,
      oidc_login_enabled: true,
      password_login: true,
      ldap_login: false,
      webauthn_enabled: false,
      issuer_url: idp.issuer,
      client_id: "pkid",
    });
  });

  test("a reload changes the roles of live sessions at once", async () => {
    const cookie = await loggedIn();
    const rolesNow = async () => {
      const answer = await instance.fetch("/api/me", { headers: { cookie } });
      return answer.status === 200 ? ((await answer.json()) as { roles: string[] }).roles : [];
    };
    expect(await rolesNow()).toEqual(["auditor", "approver"]);
    writeConfig(home, config({ groups: { ops: ["issuer"] } }));
    instance.signal("SIGHUP");
    await instance.logged("config_reloaded", (line) => line.includes("rbac.groups"));
    expect(await rolesNow()).toEqual(["issuer", "approver"]);
  });
});
