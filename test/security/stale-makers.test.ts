/**
 * Makers who have lost their roles, tokens or bindings by the time their request is approved:
 * nothing is done in their name.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { OutsideCa, savedClient } from "#test/support/tls/client-certificates.ts";
import {
  type IdentityProvider,
  startIdentityProvider,
} from "#test/support/servers/identity-provider.ts";
import { Instance, newHome, writeConfig } from "#test/support/instances/instance.ts";
import { type Person, send } from "#test/support/instances/person.ts";

const password = "correct horse battery staple";
const redirectUrl = "https://pkid.test/auth/callback";
let idp: IdentityProvider;
let instance: Instance;
let robot: { readonly cert: string; readonly key: string };

beforeAll(async () => {
  idp = await startIdentityProvider(redirectUrl, {});
  const home = newHome();
  const outside = OutsideCa.root("Outside");
  robot = savedClient(home, "robot", outside.client());
  writeFileSync(join(home, "client-cas.pem"), outside.pem);
  writeFileSync(join(home, "idp.pem"), idp.ca);
  instance = await Instance.start({ home, config: configured(home, ["admin"]) });
}, 60_000);

afterAll(async () => {
  await instance?.dispose();
  idp?.stop();
});

const configured = (home: string, roles: readonly string[]) => ({
  root_user: { password },
  approvals: { enabled: true },
  outbound: { ca_file: join(home, "idp.pem") },
  oidc: { issuer_url: idp.issuer, client_id: "pkid", redirect_url: redirectUrl },
  auth: {
    mtls: {
      enabled: true,
      ca_file: join(home, "client-cas.pem"),
      bindings: [{ subject_cn: "robot", subject: "robot", roles }],
    },
  },
  rbac: { subjects: { alice: roles, carol: ["admin"] } },
});

const reloaded = async (roles: readonly string[]) => {
  const before = instance.logs.filter((line) => line.includes("config_reloaded")).length;
  writeConfig(instance.home, configured(instance.home, roles));
  instance.signal("SIGHUP");
  while (instance.logs.filter((line) => line.includes("config_reloaded")).length <= before) {
    await Bun.sleep(10);
  }
};

const request = (label: string) => ({ label, subject: { cn: label }, key_type: "ecdsa-p256" });
const byPerson = (person: Person, label: string) =>
  send(instance, person, "POST", "/api/ca/init-root", request(label));

/** One request of the machine. */
async function byRobot(label: string) {
  const answer = await fetch(`${instance.url}/api/ca/init-root`, {
    method: "POST",
    body: JSON.stringify(request(label)),
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

const bearer = (sub: string): Person => {
  const at = Math.floor(Date.now() / 1000);
  const claims = { iss: idp.issuer, aud: "pkid", sub, iat: at, exp: at + 300 };
  return { authorization: `Bearer ${idp.token(claims)}` };
};
const alice = () => bearer("alice");
const approved = async (id: string) =>
  (await send(instance, bearer("carol"), "POST", `/api/approvals/${id}/approve`, {})).body;

test("APR-2: what was approved is done with the authority its maker has now, however it came", async () => {
  const waiting = await instance.admin<{ approval_id: string }>(
    "POST",
    "/api/tokens",
    apiTokenRequest,
  );
  await approved(waiting.approval_id);
  const secret = await instance.admin<{ id: string; secret: string }>(
    "POST",
    "/api/tokens",
    apiTokenRequest,
  );
  const token = { authorization: `Token ${secret.secret}` };
  const makers = {
    bearer: (label: string) => byPerson(alice(), label),
    mtls: byRobot,
    token: (label: string) => byPerson(token, label),
  };
  const parked: Record<string, string> = {};
  for (const [name, ask] of Object.entries(makers)) {
    for (const what of ["kept", "lost"]) {
      const answer = await ask(`${name}-${what}`);
      expect([name, answer.status]).toEqual([name, 202]);
      parked[`${name}-${what}`] = answer.body.approval_id;
    }
  }
  for (const name of Object.keys(makers)) {
    expect([name, (await approved(parked[`${name}-kept`] ?? "")).status]).toEqual([
      name,
      "executed",
    ]);
  }
  await reloaded(["auditor"]);
  await instance.admin("DELETE", `/api/tokens/${secret.id}`);
  const codes: string[] = [];
  for (const name of Object.keys(makers)) {
    const { status, failure } = await approved(parked[`${name}-lost`] ?? "");
    codes.push(`${name} ${status} ${failure.code} ${failure.retryable}`);
  }
  expect(codes).toEqual([
    "bearer failed forbidden false",
    "mtls failed forbidden false",
    "token failed invalid_token false",
  ]);
  const { items } = await instance.admin<{ items: { label: string }[] }>("GET", "/api/ca");
  expect(items.map(({ label }) => label).sort()).toEqual([
    "bearer-kept",
    "mtls-kept",
    "token-kept",
  ]);
}, 60_000);

const apiTokenRequest = { name: "ci", roles: ["admin"], scope: "platform" };
