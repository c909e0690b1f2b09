/**
 * Passkeys of the running binary: registering, confirming, what is refused without, and every
 * answer that is not true.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { Instance } from "#test/support/instances/instance.ts";
import { type Lies, SoftAuthenticator } from "#test/support/instances/soft-authenticator.ts";

const password = "correct horse battery staple";
const home = { origin: "https://pki.example.com", rpId: "example.com" };
let instance: Instance;
/** The one passkey of root every test may confirm with. */
let passkey: SoftAuthenticator;

beforeAll(async () => {
  const webauthn = {
    enabled: true,
    rp_id: home.rpId,
    origins: [home.origin],
    step_up_operations: ["cert.revoke", "ca.init_root", "token.create"],
  };
  instance = await Instance.start({ config: { root_user: { password }, auth: { webauthn } } });
}, 30_000);

afterAll(() => instance.dispose());

type Person = Record<string, string>;

async function send(person: Person, method: string, path: string, body?: unknown) {
  const answer = await instance.fetch(path, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    headers: { "content-type": "application/json", ...person },
  });
  // Every answer here is a JSON object.
  const said = (await answer.json()) as Record<string, string>;
  return { status: answer.status, said };
}

async function logIn(): Promise<Person> {
  const answer = await instance.fetch("/auth/login/password", {
    method: "POST",
    body: JSON.stringify({ username: "root", password }),
    headers: { "content-type": "application/json" },
  });
  const cookie = answer.headers.getSetCookie().map((one) => one.split(";")[0]);
  const { csrf_token } = (await answer.json()) as { csrf_token: string };
  return { cookie: cookie.join("; "), "x-csrf-token": csrf_token };
}

const begin = async (person: Person, ceremony: "register" | "stepup") =>
  (await send(person, "POST", `/auth/webauthn/${ceremony}/begin`)).said.challenge ?? "";

async function register(person: Person, key: SoftAuthenticator, lies: Lies = {}) {
  const body = { name: "key", ...key.attest(await begin(person, "register"), lies) };
  return send(person, "POST", "/auth/webauthn/register/finish", body);
}

async function confirm(person: Person, key = passkey, lies: Lies = {}) {
  const body = key.assert(await begin(person, "stepup"), lies);
  return send(person, "POST", "/auth/webauthn/stepup/finish", body);
}

const token = { name: "t", roles: ["auditor"] };
const createHsmToken = (person: Person) => send(person, "POST", "/api/tokens", token);

async function latest(action: string): Promise<Record<string, string>> {
  const path = `/api/events?action=${action}`;
  const { items } = await instance.admin<{ items: Record<string, string>[] }>("GET", path);
  return items[0] ?? {};
}

describe("registering", () => {
  test("is for a fresh login, and without a passkey there is nothing to confirm with", async () => {
    const person = await logIn();
    expect(await createHsmToken(person)).toMatchObject({
      status: 403,
      said: { code: "step_up_required", operation: "token.create" },
    });
    expect(await latest("auth.step_up_denied")).toMatchObject({
      actor: "root",
      result: "denied",
      detail: "operation=token.create",
      target: expect.stringMatching(/^[0-9a-f]{32}$/),
      target_name: "root",
    });
    expect((await send(person, "POST", "/auth/webauthn/stepup/begin")).status).toBe(428);
    const begun = await send(person, "POST", "/auth/webauthn/register/begin");
    expect(begun.said as unknown).toEqual({
      challenge: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
      rp: { id: "example.com", name: "pkid" },
      user: {
        id: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
        name: "root",
        displayName: "root",
      },
      pubKeyCredParams: [-7, -8, -257].map((alg) => ({ type: "public-key", alg })),
      excludeCredentials: [],
      authenticatorSelection: { userVerification: "required", residentKey: "preferred" },
      timeout: 120_000,
      attestation: "none",
    });
  });

  test("refuses every answer that is not true, and takes its challenge all the same", async () => {
    const person = await logIn();
    const key = new SoftAuthenticator(home);
    const lies: readonly (readonly [Lies, string])[] = [
      [{ challenge: "A".repeat(43) }, "challenge"],
      [{ type: "webauthn.get" }, "challenge"],
      [{ origin: "https://evil.example.com" }, "origin"],
      [{ origin: "https://pki.example.com:8443" }, "origin"],
      [{ crossOrigin: true }, "origin"],
      [{ rpId: "pki.example.com" }, "rp_id"],
      [{ flags: 0x41 }, "user_verification"],
      [{ flags: 0x44 }, "user_verification"],
      [{ flags: 0x05 }, "credential"],
    ];
    for (const [lie, reason] of lies) {
      const refused = await register(person, key, lie);
      expect([lie, refused.status, refused.said.code, refused.said.reason]).toEqual([
        lie,
        400,
        "webauthn_failed",
        reason,
      ]);
    }
    const challenge = await begin(person, "register");
    const path = "/auth/webauthn/register/finish";
    await send(person, "POST", path, { name: "k", ...key.attest(challenge, { flags: 0x41 }) });
    const again = await send(person, "POST", path, { name: "k", ...key.attest(challenge) });
    expect([again.status, again.said.reason]).toEqual([400, "challenge"]);
    const broken = { name: "k", ...key.attest(challenge), attestationObject: "AAAA" };
    await begin(person, "register");
    expect((await send(person, "POST", path, broken)).said.code).toBe("webauthn_failed");
    for (const bad of ["", "A", "====", "a+b/", "x".repeat(2000)]) {
      const refused = await send(person, "POST", path, { ...broken, id: bad });
      expect([refused.status, refused.said.code]).toEqual([400, "invalid_field"]);
    }
    expect((await send(person, "GET", "/auth/webauthn/credentials")).said.items).toEqual(
      [] as never,
    );
  });

  test("keeps a passkey, whatever its maker says of it, and a second one needs the first", async () => {
    const person = await logIn();
    passkey = new SoftAuthenticator(home);
    const stolen = await logIn();
    const begunBefore = await begin(stolen, "register");
    const registered = await register(person, passkey, { format: "packed" });
    expect(registered).toEqual({ status: 201, said: { status: "registered", id: passkey.id } });
    expect(await latest("webauthn.register")).toMatchObject({
      actor: "root",
      target: passkey.id,
      target_name: "key",
      detail: "subject=root",
    });
    // A stolen session enrols none, also not with a challenge from before.
    const other = new SoftAuthenticator(home);
    const body = { name: "other", ...other.attest(begunBefore) };
    for (const refused of [
      await send(stolen, "POST", "/auth/webauthn/register/finish", body),
      await send(stolen, "POST", "/auth/webauthn/register/begin"),
      await send(stolen, "DELETE", `/auth/webauthn/credentials/${passkey.id}`),
    ]) {
      expect([refused.status, refused.said.code]).toEqual([403, "step_up_required"]);
    }
    expect((await confirm(stolen, other)).said.reason).toBe("unknown_credential");
    const { said } = await send(stolen, "GET", "/auth/webauthn/credentials");
    expect(said as unknown).toEqual({
      items: [{ id: passkey.id, name: "key", sign_count: 1, created_at: expect.any(String) }],
      next_cursor: "",
      has_more: false,
      total: 1,
    });
  });
});

describe("confirming", () => {
  test("opens this session for what is guarded, and no other one", async () => {
    const [person, other] = [await logIn(), await logIn()];
    const confirmed = await confirm(person);
    expect(confirmed).toMatchObject({ status: 200, said: { status: "stepped_up" } });
    expect(await latest("auth.step_up")).toMatchObject({
      actor: "root",
      result: "success",
      detail: `credential=${passkey.id}`,
    });
    expect((await createHsmToken(person)).status).toBe(201);
    expect((await createHsmToken(other)).said.code).toBe("step_up_required");
    const session = await send(person, "GET", "/auth/session");
    expect(session.said as unknown).toMatchObject({
      step_up: true,
      step_up_until: confirmed.said.step_up_until,
      webauthn: true,
    });
    expect((await send(other, "GET", "/auth/session")).said as unknown).toMatchObject({
      step_up: false,
      webauthn: true,
    });
  });

  test("refuses every answer that is not true, each an event", async () => {
    const person = await logIn();
    const lies: readonly (readonly [Lies, string])[] = [
      [{ challenge: "A".repeat(43) }, "challenge"],
      [{ type: "webauthn.create" }, "challenge"],
      [{ origin: "http://pki.example.com" }, "origin"],
      [{ crossOrigin: true }, "origin"],
      [{ rpId: "evil.example" }, "rp_id"],
      [{ flags: 0x01 }, "user_verification"],
      [{ flags: 0x04 }, "user_verification"],
      [{ counter: 1 }, "counter"],
      [{ counter: 0 }, "counter"],
    ];
    for (const [lie, reason] of lies) {
      const refused = await confirm(person, passkey, lie);
      expect([lie, refused.status, refused.said.code, refused.said.reason]).toEqual([
        lie,
        401,
        "step_up_failed",
        reason,
      ]);
      const detail = `reason=${reason} credential=${passkey.id}`;
      expect(await latest("auth.step_up_denied")).toMatchObject({ result: "denied", detail });
    }
    const [one, two] = [passkey.assert("x"), passkey.assert(await begin(person, "stepup"))];
    const forged = { ...two, signature: one.signature };
    const refused = await send(person, "POST", "/auth/webauthn/stepup/finish", forged);
    expect(refused.said.reason).toBe("signature");
    expect((await createHsmToken(person)).said.code).toBe("step_up_required");
  });

  test("is answered once, in the session and the ceremony it was asked in", async () => {
    const [person, other] = [await logIn(), await logIn()];
    const finish = "/auth/webauthn/stepup/finish";
    const body = passkey.assert(await begin(person, "stepup"));
    expect((await send(other, "POST", finish, body)).said.reason).toBe("challenge");
    expect((await send(person, "POST", finish, body)).status).toBe(200);
    expect((await send(person, "POST", finish, body)).said.reason).toBe("challenge");
    const registering = passkey.assert(await begin(person, "register"));
    expect((await send(person, "POST", finish, registering)).said.reason).toBe("challenge");
    const challenge = await begin(other, "stepup");
    const bodies = [passkey.assert(challenge), passkey.assert(challenge)];
    const raced = await Promise.all(bodies.map((each) => send(other, "POST", finish, each)));
    expect(raced.map(({ status }) => status).sort()).toEqual([200, 401]);
  });

  test("works with every algorithm offered, and with an authenticator that counts nothing", async () => {
    for (const algorithm of ["EdDSA", "RS256"] as const) {
      const person = await logIn();
      await confirm(person);
      const key = new SoftAuthenticator(home, algorithm, 0);
      expect((await register(person, key)).status).toBe(201);
      expect((await register(person, key)).said.reason).toBe("known_credential");
      const fresh = await logIn();
      for (const _ of [1, 2]) expect((await confirm(fresh, key)).status).toBe(200);
    }
  });

  test("is asked of nobody but sessions, and after the capability", async () => {
    const secret = await instance.token(["admin"], { scope: "platform" });
    const basic = { authorization: `Basic ${btoa(`root:${password}`)}` };
    const bearer = { authorization: `Token ${secret}` };
    for (const person of [basic, bearer]) {
      expect((await createHsmToken(person)).status).toBe(201);
      for (const path of ["register/begin", "stepup/begin"]) {
        const refused = await send(person, "POST", `/auth/webauthn/${path}`);
        expect([refused.status, refused.said.code]).toEqual([401, "no_session"]);
      }
    }
    const { cookie = "" } = await logIn();
    const without = await send({ cookie }, "POST", "/auth/webauthn/stepup/begin");
    expect([without.status, without.said.code]).toEqual([403, "csrf_failed"]);
    expect((await send({}, "GET", "/auth/webauthn/credentials")).status).toBe(401);
  });

  test("counts in the metrics", async () => {
    const text = await instance.metrics();
    for (const result of ["success", "denied"]) {
      expect(text).toMatch(new RegExp(`pki_auth_step_ups_total\\{result="${result}"\\} [1-9]`));
    }
  });
});

describe("removing", () => {
  test("is confirmed, and only of one's own", async () => {
    const person = await logIn();
    const path = `/auth/webauthn/credentials/${passkey.id}`;
    expect((await send(person, "DELETE", path)).said.operation).toBe("webauthn.remove");
    await confirm(person);
    expect((await send(person, "DELETE", "/auth/webauthn/credentials/none")).status).toBe(404);
    expect(await send(person, "DELETE", path)).toEqual({
      status: 200,
      said: { status: "removed" },
    });
    expect(await latest("webauthn.remove")).toMatchObject({
      target: passkey.id,
      target_name: "key",
      detail: "subject=root",
    });
    expect((await confirm(person)).said.reason).toBe("unknown_credential");
  });
});

test("without the feature its routes are not there, and nobody is asked", async () => {
  const plain = await Instance.start({ config: { root_user: { password } } });
  try {
    const answer = await plain.fetch("/auth/webauthn/credentials", {
      headers: { authorization: `Basic ${btoa(`root:${password}`)}` },
    });
    expect(await answer.json()).toMatchObject({ code: "feature_disabled" });
  } finally {
    await plain.dispose();
  }
}, 30_000);
