/**
 * Logging in to the running binary with passwords of a real directory, over ldaps and StartTLS, and
 * while it is away.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { Instance, newHome, writeConfig } from "#test/support/instances/instance.ts";
import { said } from "#test/support/instances/preflight.ts";
import {
  type DirectoryServer,
  passwordOf,
  serviceDn,
  servicePassword,
  slapdPath,
  startSlapd,
  suffix,
} from "#test/support/servers/slapd.ts";

let slapd: DirectoryServer;
let instance: Instance;
let home: string;

const ldap = (more: object = {}) => ({
  enabled: true,
  url: `ldaps://127.0.0.1:1 ldaps://localhost:${slapd.ldapsPort}`,
  bind_dn: serviceDn,
  user_base_dn: `ou=people,${suffix}`,
  user_filter: "(uid=%s)",
  bind_password_source: { type: "file", file: { path: join(home, "bind-password") } },
  tls: { ca_file: slapd.caFile },
  role_mappings: [{ value: `cn=ops,ou=groups,${suffix}`, roles: ["issuer"] }],
  ...more,
});
const config = (more: object = {}) => ({
  auth: { ldap: ldap(more) },
  rbac: { subjects: { "alice@x.test": ["auditor"] } },
});

beforeAll(async () => {
  if (slapdPath === undefined) return;
  home = newHome();
  slapd = await startSlapd(10);
  writeFileSync(join(home, "bind-password"), `${servicePassword}\n`, { mode: 0o600 });
  instance = await Instance.start({ home, config: config() });
}, 30_000);

afterAll(async () => {
  await instance?.dispose();
  await slapd?.stop();
});

const logIn = (username: string, password: string, headers: Record<string, string> = {}) =>
  instance.fetch("/auth/login/ldap", {
    method: "POST",
    body: JSON.stringify({ username, password }),
    headers: { "content-type": "application/json", ...headers },
  });

const basic = (name: string, password: string) =>
  instance.fetch("/api/me", {
    headers: { authorization: `Basic ${Buffer.from(`${name}:${password}`).toString("base64")}` },
  });

async function refusal(answer: Response): Promise<unknown[]> {
  expect(answer.headers.getSetCookie()).toEqual([]);
  return [answer.status, ((await answer.json()) as { code?: string }).code];
}

const failures = async () =>
  (
    await instance.admin<{ items: Record<string, string>[] }>(
      "GET",
      "/api/events?action=auth.login_failed",
    )
  ).items.map(({ detail, target_name }) => `${target_name}: ${detail}`);

describe.skipIf(slapdPath === undefined)("a directory", () => {
  test("lets people log in, with the roles of groups, mappings and verified address", async () => {
    const answer = await logIn("Alice", passwordOf("alice"));
    expect(answer.status).toBe(200);
    const cookie = answer.headers
      .getSetCookie()
      .map((one) => one.split(";")[0])
      .join("; ");
    const session = await (await instance.fetch("/auth/session", { headers: { cookie } })).json();
    expect(session).toMatchObject({
      method: "ldap",
      user: {
        sub: "alice",
        name: "Alice Example",
        email: "alice@x.test",
        email_verified: true,
        is_root: false,
        roles: ["auditor", "issuer"],
        groups: [`cn=ops,ou=groups,${suffix}`],
      },
    });
    const ways = await (await instance.fetch("/api/auth/config")).json();
    expect(ways).toMatchObject({ ldap_login: true, password_login: true });
  });

  test("vouches for Basic credentials under any name but root's", async () => {
    const me = await basic("alice", passwordOf("alice"));
    expect([me.status, ((await me.json()) as { sub: string }).sub]).toEqual([200, "alice"]);
    expect(await refusal(await basic("alice", "wrong"))).toEqual([401, "invalid_credentials"]);
    expect(await refusal(await basic("root", passwordOf("root")))).toEqual([
      401,
      "invalid_credentials",
    ]);
  });

  test("is refused alike whatever is wrong, except for somebody without a role", async () => {
    for (const [name, password] of [
      ["alice", "wrong"],
      ["nobody", "wrong"],
      ["alice", ""],
      ["*", passwordOf("alice")],
      ["root", passwordOf("root")],
    ] as const) {
      expect(await refusal(await logIn(name, password))).toEqual([401, "invalid_credentials"]);
    }
    expect(await refusal(await logIn("bob", passwordOf("bob")))).toEqual([403, "no_access"]);
    const told = await failures();
    expect(told).toContain("bob: method=ldap reason=no_access");
    expect(told).toContain("alice: method=ldap reason=invalid_credentials");
    const logs = instance.logs.join("\n");
    expect(logs).not.toContain(servicePassword);
    expect(logs).not.toContain("'s password");
  });

  test("is not asked for a page of another site", async () => {
    const answer = await logIn("alice", passwordOf("alice"), { origin: "https://evil.test" });
    expect(await refusal(answer)).toEqual([403, "csrf_failed"]);
  });

  test("is looked at by preflight, every server of the list", async () => {
    const both = await said(home, "auth.ldap");
    expect(both.status).toBe("fail");
    expect(both.detail).toContain("127.0.0.1:1: the server cannot be reached");
    const quiet = newHome();
    const url = `ldap://localhost:${slapd.ldapPort}`;
    const preflight = (more: object) =>
      writeConfig(quiet, { auth: { ldap: ldap({ url, start_tls: true, ...more }) } });
    preflight({});
    expect(await said(quiet, "auth.ldap")).toMatchObject({
      status: "warn",
      detail: expect.stringContaining("ends in 9 days"),
    });
    preflight({ bind_password_source: { type: "env", env: { var: "NO_SUCH" } } });
    expect((await said(quiet, "auth.ldap")).detail).toContain("bind_dn cannot be had");
    writeConfig(quiet, {});
    expect((await said(quiet, "auth.ldap")).status).toBe("skip");
  });

  test("that is away is a wrong password to strangers, and an event of its own", async () => {
    await slapd.stop();
    expect(await refusal(await logIn("alice", passwordOf("alice")))).toEqual([
      401,
      "invalid_credentials",
    ]);
    expect(await failures()).toContain("alice: method=ldap reason=directory_unavailable");
  });
});
