/**
 * Logging in and out of the running binary: cookies, CSRF, sessions of others, and what is written
 * down.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { Instance } from "#test/support/instances/instance.ts";

let instance: Instance;
const password = "correct horse battery staple";

beforeAll(async () => {
  instance = await Instance.start({ config: { root_user: { password } } });
}, 30_000);

afterAll(() => instance.dispose());

interface Login {
  readonly cookie: string;
  readonly csrf: string;
  readonly setCookies: readonly string[];
}

const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  instance.fetch(path, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json", ...headers },
  });

async function logIn(headers: Record<string, string> = {}): Promise<Login> {
  const answer = await post("/auth/login/password", { username: "root", password }, headers);
  expect(answer.status).toBe(200);
  const setCookies = answer.headers.getSetCookie();
  const cookie = setCookies.map((one) => one.split(";")[0]).join("; ");
  const { csrf_token } = (await answer.json()) as { csrf_token: string };
  return { cookie, csrf: csrf_token, setCookies };
}

const code = async (answer: Response) => [
  answer.status,
  ((await answer.json()) as { code?: string }).code,
];

describe("a password login", () => {
  test("answers who one is and sets both cookies with every attribute", async () => {
    const { setCookies, csrf } = await logIn();
    const value = "[A-Za-z0-9_-]{43}";
    expect(setCookies[0]).toMatch(
      new RegExp(
        `^pki_session=${value}; Max-Age=3(600|599); Path=/; HttpOnly; Secure; SameSite=Lax$`,
      ),
    );
    expect(setCookies[1]).toMatch(
      new RegExp(`^pki_session_csrf=${value}; Max-Age=3(600|599); Path=/; Secure; SameSite=Lax$`),
    );
    expect(setCookies[1]).toContain(csrf);
  });

  test("gives a session that says who one is, as /api/me does", async () => {
    const { cookie, csrf } = await logIn();
    const session = (await (
      await instance.fetch("/auth/session", { headers: { cookie } })
    ).json()) as Record<string, unknown>;
    expect(session).toEqual({
      user: {
        sub: "root",
        name: "root",
        is_root: true,
        roles: ["admin"],
        tenant_roles: {},
        groups: [],
      },
      csrf_token: csrf,
      method: "password",
      step_up: false,
      webauthn: false,
      expires_at: expect.stringMatching(/^\d{4}-.*\.\d{6}Z$/),
    });
    const me = await (await instance.fetch("/api/me", { headers: { cookie } })).json();
    expect(me).toEqual(session.user);
  });

  test("ignores an id somebody planted before it", async () => {
    const planted = `pki_session=${"A".repeat(43)}`;
    const { cookie } = await logIn({ cookie: planted });
    expect(cookie).not.toContain("A".repeat(43));
    expect((await instance.fetch("/api/me", { headers: { cookie: planted } })).status).toBe(401);
  });

  test("with a wrong name or password is one refusal, and an event", async () => {
    const wrong = [
      { username: "root", password: "wrong" },
      { username: "nobody", password },
      { username: "root", password: "" },
    ];
    for (const credentials of wrong) {
      const answer = await post("/auth/login/password", credentials);
      expect(answer.headers.getSetCookie()).toEqual([]);
      expect(await code(answer)).toEqual([401, "invalid_credentials"]);
    }
    const { items } = await instance.admin<{ items: Record<string, string>[] }>(
      "GET",
      "/api/events?action=auth.login_failed",
    );
    expect(items[0]).toMatchObject({
      actor: "anonymous",
      result: "denied",
      ip: "127.0.0.1",
      detail: "method=password reason=invalid_credentials",
    });
  });

  test("sent by another site's page is refused", async () => {
    const credentials = { username: "root", password };
    for (const origin of ["https://evil.test", "null"]) {
      const answer = await post("/auth/login/password", credentials, { origin });
      expect(await code(answer)).toEqual([403, "csrf_failed"]);
    }
    expect((await logIn({ origin: instance.url })).setCookies).toHaveLength(2);
  });

  test("takes its members strictly", async () => {
    expect(await code(await post("/auth/login/password", { username: "root" }))).toEqual([
      400,
      "missing_field",
    ]);
    const more = { username: "root", password, remember: true };
    expect(await code(await post("/auth/login/password", more))).toEqual([400, "unknown_field"]);
    expect((await instance.fetch("/auth/login/password")).status).toBe(405);
  });
});

describe("a cookie", () => {
  test("changes nothing without the CSRF token, over REST, RPC and logout", async () => {
    const { cookie, csrf } = await logIn();
    const other = await logIn();
    const body = { name: "t", roles: ["auditor"] };
    const rpc = "/pki.v1.PKIService/ListCertificates";
    for (const token of [undefined, "", "x", other.csrf]) {
      const headers = { cookie, ...(token === undefined ? {} : { "x-csrf-token": token }) };
      expect(await code(await post("/api/tokens", body, headers))).toEqual([403, "csrf_failed"]);
      expect(await code(await post("/auth/logout", {}, headers))).toEqual([403, "csrf_failed"]);
      expect((await post(rpc, {}, headers)).status).toBe(403);
      const gone = await instance.fetch("/api/tokens/x", { method: "DELETE", headers });
      expect(gone.status).toBe(403);
    }
    const headers = { cookie, "x-csrf-token": csrf };
    expect((await instance.fetch("/api/me", { headers: { cookie } })).status).toBe(200);
    expect((await post("/api/tokens", body, headers)).status).toBe(201);
    expect((await post(rpc, { ca_id: "x" }, headers)).status).toBe(404);
  });

  test("is worth nothing beside a wrong Authorization, and a token needs no CSRF token", async () => {
    const { cookie } = await logIn();
    for (const authorization of [`Basic ${btoa("root:wrong")}`, "Token pki_pat_x", "Bearer x"]) {
      const answer = await instance.fetch("/api/me", { headers: { cookie, authorization } });
      expect(answer.status).toBe(401);
    }
    const secret = await instance.token(["admin"], { scope: "platform" });
    const headers = { cookie, authorization: `Token ${secret}` };
    expect((await post("/api/tokens", { name: "x", roles: ["auditor"] }, headers)).status).toBe(
      201,
    );
  });

  test("sent twice, or holding a digest, is none", async () => {
    const { cookie } = await logIn();
    const [own = ""] = cookie.split("; ");
    const second = (await logIn()).cookie.split("; ")[0];
    const list = await instance.admin<{ items: { id: string }[] }>("GET", "/api/sessions");
    const digest = list.items[0]?.id ?? "";
    expect(digest).toMatch(/^[0-9a-f]{32}$/);
    for (const bad of [
      `${own}; ${second}`,
      `pki_session=${digest}`,
      `pki_session=${digest.padEnd(43, "0")}`,
    ]) {
      expect((await instance.fetch("/api/me", { headers: { cookie: bad } })).status).toBe(401);
    }
  });
});

describe("logging out", () => {
  test("ends the session and clears both cookies; without a session it clears them too", async () => {
    const { cookie, csrf } = await logIn();
    const out = await post("/auth/logout", {}, { cookie, "x-csrf-token": csrf });
    expect([out.status, await out.json()]).toEqual([200, { status: "logged_out" }]);
    for (const one of out.headers.getSetCookie()) expect(one).toContain("=; Max-Age=0; Path=/;");
    expect((await instance.fetch("/api/me", { headers: { cookie } })).status).toBe(401);
    const again = await post("/auth/logout", {}, { cookie });
    expect([again.status, again.headers.getSetCookie().length]).toEqual([200, 2]);
    expect(await code(await instance.fetch("/auth/session", { headers: { cookie } }))).toEqual([
      401,
      "no_session",
    ]);
  });
});

describe("sessions of others", () => {
  test("are listed and ended by an admin, over HTTP and from the shell", async () => {
    const victim = await logIn({ "user-agent": "Victim/1" });
    const boss = await logIn();
    const headers = { cookie: boss.cookie, "x-csrf-token": boss.csrf };
    const listed = (await (await instance.fetch("/api/sessions?limit=2", { headers })).json()) as {
      items: Record<string, unknown>[];
      has_more: boolean;
    };
    expect(listed.items.map(({ current }) => current)).toEqual([true, false]);
    const [, of] = listed.items;
    expect(of).toMatchObject({
      user_sub: "root",
      method: "password",
      user_agent: "Victim/1",
      ip: "127.0.0.1",
    });
    expect(listed.has_more).toBe(true);
    const ended = await instance.fetch(`/api/sessions/${of?.id}`, { method: "DELETE", headers });
    expect(await ended.json()).toEqual({ status: "ended" });
    const { status } = await instance.fetch("/api/me", { headers: { cookie: victim.cookie } });
    expect(status).toBe(401);
    const own = String(listed.items[0]?.id);
    const list = await instance.cli("sessions", "list");
    expect(list.stdout).toContain(own);
    expect((await instance.cli("sessions", "end", own)).stdout).toBe("ended\n");
    expect((await instance.fetch("/api/me", { headers })).status).toBe(401);
    expect((await instance.cli("sessions", "end", own)).code).toBe(1);
  });

  test("are nobody's business without the capability, and trying to end one is an event", async () => {
    const auditor = await instance.token(["auditor"], { scope: "platform" });
    const tenantAdmin = await instance.token(["admin"]);
    for (const secret of [auditor, tenantAdmin]) {
      const headers = { authorization: `Token ${secret}` };
      expect((await instance.fetch("/api/sessions", { headers })).status).toBe(403);
      const ended = await instance.fetch("/api/sessions/x", { method: "DELETE", headers });
      expect(ended.status).toBe(403);
    }
    const { items } = await instance.admin<{ items: { result: string }[] }>(
      "GET",
      "/api/events?action=auth.logout&result=denied",
    );
    expect(items).toHaveLength(2);
  });
});

describe("what is left behind", () => {
  test("no log line, event or metric holds a session id or CSRF token", async () => {
    const { cookie, csrf } = await logIn();
    await instance.fetch(`/api/me?${cookie}`, { headers: { cookie } });
    const [, id = ""] = /pki_session=([^;]+)/.exec(cookie) ?? [];
    const headers = { cookie };
    const events = await (await instance.fetch("/api/events?limit=500", { headers })).text();
    const metrics = await instance.metrics();
    const sessions = await (await instance.fetch("/api/sessions", { headers })).text();
    for (const text of [events, metrics, sessions, instance.logs.join("\n")]) {
      expect(text).not.toContain(id);
      expect(text).not.toContain(csrf);
    }
    expect(events).toContain('"action":"auth.login"');
    expect(metrics).toMatch(/pki_auth_logins_total\{method="password",result="success"\} [1-9]/);
    expect(metrics).toMatch(/pki_auth_logins_total\{method="password",result="denied"\} [1-9]/);
    expect(metrics).toMatch(/pki_auth_sessions_active [1-9]/);
    expect(metrics).toMatch(/pki_auth_logouts_total [1-9]/);
  });

  test("/api/auth/config says what is switched on", async () => {
    expect(await (await instance.fetch("/api/auth/config")).json()).toEqual({
      oidc_enabled: false,
      oidc_login_enabled: false,
      password_login: true,
      ldap_login: false,
      webauthn_enabled: false,
    });
  });
});
