/** A maker who tries to be a second person: by another session, mechanism, token, name or reach. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { OutsideCa, savedClient } from "#test/support/tls/client-certificates.ts";
import {
  type IdentityProvider,
  startIdentityProvider,
} from "#test/support/servers/identity-provider.ts";
import { Instance, newHome } from "#test/support/instances/instance.ts";
import { basic, logIn, type Person, send } from "#test/support/instances/person.ts";
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
const redirectUrl = "https://pkid.test/auth/callback";
let idp: IdentityProvider;
let slapd: DirectoryServer | undefined;
let instance: Instance;
/** A machine whose certificate stands for somebody. */
let robot: { readonly cert: string; readonly key: string };

beforeAll(async () => {
  idp = await startIdentityProvider(redirectUrl, {});
  slapd = slapdPath === undefined ? undefined : await startSlapd();
  const home = newHome();
  const outside = OutsideCa.root("Outside");
  robot = savedClient(home, "robot", outside.client());
  writeFileSync(join(home, "client-cas.pem"), outside.pem);
  const bindings = [{ subject_cn: "robot", subject: "alice", roles: ["admin"] }];
  writeFileSync(join(home, "idp.pem"), idp.ca);
  writeFileSync(join(home, "bind"), servicePassword, { mode: 0o600 });
  const ldap = slapd && {
    enabled: true,
    url: `ldaps://localhost:${slapd.ldapsPort}`,
    bind_dn: serviceDn,
    user_base_dn: `ou=people,${suffix}`,
    user_filter: "(uid=%s)",
    bind_password_source: { type: "file", file: { path: join(home, "bind") } },
    tls: { ca_file: slapd.caFile },
  };
  instance = await Instance.start({
    home,
    config: {
      root_user: { password },
      approvals: { enabled: true },
      outbound: { ca_file: join(home, "idp.pem") },
      oidc: { issuer_url: idp.issuer, client_id: "pkid", redirect_url: redirectUrl },
      auth: {
        oidc: { enabled: true },
        ...(ldap && { ldap }),
        mtls: { enabled: true, ca_file: join(home, "client-cas.pem"), bindings },
      },
      rbac: { subjects: { "alice@x.test": ["admin"], alice: ["admin"], "sub-9": ["admin"] } },
    },
  });
}, 60_000);

afterAll(async () => {
  await instance?.dispose();
  await slapd?.stop();
  idp?.stop();
});

const ask = (person: Person, method: string, path: string, body?: unknown) =>
  send(instance, person, method, path, body);
const park = async (person: Person, label: string): Promise<string> => {
  const request = { label, subject: { cn: label }, key_type: "ecdsa-p256" };
  const parked = await ask(person, "POST", "/api/ca/init-root", request);
  expect(parked.status).toBe(202);
  return parked.body.approval_id;
};
const approve = (person: Person, id: string) =>
  ask(person, "POST", `/api/approvals/${id}/approve`, {});
const labels = async (): Promise<string[]> =>
  (await instance.admin<{ items: { label: string }[] }>("GET", "/api/ca")).items.map(
    ({ label }) => label,
  );

/** A token of the provider, for one of its people. */
const bearer = (sub: string, more: object = {}): Person => {
  const at = Math.floor(Date.now() / 1000);
  const claims = { iss: idp.issuer, aud: "pkid", sub, iat: at, exp: at + 300, ...more };
  return { authorization: `Bearer ${idp.token(claims)}` };
};

/** A platform admin's token minted by this person; it takes another one to let it be. */
async function mintedBy(person: Person, approver: Person): Promise<Person> {
  const request = { name: `by-${crypto.randomUUID()}`, roles: ["admin"], scope: "platform" };
  const parked = await ask(person, "POST", "/api/tokens", request);
  expect(parked.status).toBe(202);
  expect((await approve(approver, parked.body.approval_id)).status).toBe(200);
  const named = { ...person, "x-pki-approval-id": parked.body.approval_id };
  const { secret } = (await ask(named, "POST", "/api/tokens", request)).body;
  return { authorization: `Token ${secret}` };
}

/** One request of the machine. */
async function byCertificate(method: string, path: string, body: object) {
  const answer = await fetch(`${instance.url}${path}`, {
    method,
    body: JSON.stringify(body),
    headers: { "content-type": "application/json" },
    tls: {
      ca: instance.servingCa(),
      cert: readFileSync(robot.cert, "utf8"),
      key: readFileSync(robot.key, "utf8"),
    },
  });
  // biome-ignore lint/suspicious/noExplicitAny: answers are read member by member, as a client reads them.
  return { status: answer.status, body: (await answer.json()) as any };
}

/**
 * Everything of the maker's is refused, and the attempts are on record; then somebody else's
 * approval is done.
 */
async function alone(maker: readonly Person[], label: string, another: Person): Promise<void> {
  const [first] = maker;
  const id = await park(first ?? {}, label);
  for (const [at, person] of maker.entries()) {
    const refused = await approve(person, id);
    expect([at, refused.status, refused.body.code]).toEqual([at, 403, "self_approval"]);
  }
  expect(await labels()).not.toContain(label);
  const { items } = await instance.admin<{ items: { detail: string; target: string }[] }>(
    "GET",
    "/api/events?action=ca.create.approved&result=denied",
  );
  expect(items.filter(({ target }) => target === id)).toHaveLength(maker.length);
  expect((await approve(another, id)).body.status).toBe("executed");
  expect(await labels()).toContain(label);
}

const asRoot = (): Person => basic("root", password);

describe("a request of root's", () => {
  test("is approved by none of root's sessions, credentials or tokens", async () => {
    const [one, two] = [await logIn(instance, password), await logIn(instance, password)];
    const alice = bearer("sub-9", { email: "other@x.test", email_verified: true });
    const token = await mintedBy(one, alice);
    const tokenOfToken = await mintedBy(token, alice);
    await alone([one, two, asRoot(), token, tokenOfToken], "by-root", alice);
  }, 30_000);
});

describe("a request of a person's", () => {
  const verified = { email: "alice@x.test", email_verified: true };

  test("is approved by nobody with the same verified address, whatever they are called", async () => {
    const mine = bearer("alice-of-the-provider", verified);
    const again = bearer("sub-9", { ...verified, email: "Alice@X.test" });
    const token = await mintedBy(mine, asRoot());
    await alone([mine, again, token], "by-alice", asRoot());
  }, 30_000);

  test.skipIf(slapdPath === undefined)(
    "is the directory's and the provider's alike, in a session, by Basic and by bearer",
    async () => {
      const session = await logIn(instance, passwordOf("alice"), "alice");
      const other = await logIn(instance, passwordOf("alice"), "alice");
      const byBasic = basic("alice", passwordOf("alice"));
      const token = await mintedBy(session, asRoot());
      await alone([session, other, byBasic, bearer("x", verified), token], "by-ldap", asRoot());
    },
    30_000,
  );

  test("is not approved by the machine whose certificate stands for that person, and the other way round", async () => {
    const alice = bearer("alice", { email: "somebody@x.test", email_verified: true });
    const id = await park(alice, "by-a-bearer");
    const refused = await byCertificate("POST", `/api/approvals/${id}/approve`, {});
    expect([refused.status, refused.body.code]).toEqual([403, "self_approval"]);
    const request = { label: "by-a-robot", subject: { cn: "r" }, key_type: "ecdsa-p256" };
    const parked = await byCertificate("POST", "/api/ca/init-root", request);
    expect(parked.status).toBe(202);
    const again = await approve(alice, parked.body.approval_id);
    expect([again.status, again.body.code]).toEqual([403, "self_approval"]);
    expect((await approve(asRoot(), parked.body.approval_id)).body.status).toBe("executed");
    const { items } = await instance.admin<{ items: { actor: string }[] }>(
      "GET",
      "/api/events?action=ca.init_root",
    );
    expect(items[0]?.actor).toBe("alice");
  }, 30_000);

  test("is another's where the provider does not vouch for the address", async () => {
    const mine = bearer("alice", verified);
    const id = await park(mine, "unvouched");
    const claimed = bearer("sub-9", { email: "alice@x.test", email_verified: false });
    expect((await approve(claimed, id)).body.status).toBe("executed");
  }, 30_000);
});

describe("a secret that was waited for", () => {
  test("is the maker's, once, and nobody's who names the request", async () => {
    const [maker, approver] = [bearer("sub-9"), asRoot()];
    const request = { name: "waiting", roles: ["issuer"], scope: "platform" };
    const parked = await ask(maker, "POST", "/api/tokens", request);
    const id = parked.body.approval_id;
    const naming = (person: Person) =>
      ask({ ...person, "x-pki-approval-id": id }, "POST", "/api/tokens", request);
    const told: string[] = [];
    for (const person of [
      approver,
      bearer("alice", { email: "alice@x.test", email_verified: true }),
    ]) {
      told.push(JSON.stringify(await naming(person)));
    }
    told.push(JSON.stringify(await approve(approver, id)));
    told.push(JSON.stringify(await naming(approver)));
    told.push(JSON.stringify(await ask(approver, "GET", `/api/approvals/${id}`)));
    const { secret } = (await naming(maker)).body;
    expect(secret).toMatch(/^pki_pat_/);
    told.push(JSON.stringify(await naming(maker)), JSON.stringify(await naming(approver)));
    for (const one of told) expect(one).not.toContain(secret);
  }, 30_000);
});
