/**
 * What applies to machines with a client certificate on the running binary: no passkey is asked of
 * them, other people are.
 */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "bun:test";

import { type ClientCertificate, OutsideCa } from "#test/support/tls/client-certificates.ts";
import { Instance, newHome } from "#test/support/instances/instance.ts";
import { csr } from "#test/support/worlds/issuance.ts";
import { said } from "#test/support/instances/preflight.ts";
import { material } from "#test/support/tls/tls-client.ts";

/** Answers are read member by member, as a client reads them. */
// biome-ignore lint/suspicious/noExplicitAny: see above.
type Json = any;

const outside = OutsideCa.root("Outside");
const named = (value: string) => outside.client({ subject: [{ type: "CN", value }] });
/** Two certificates of one principal, and one of another. */
const [boss, bossToo, other] = [named("boss-1"), named("boss-2"), named("other")];
const home = newHome();
const caFile = join(home, "client-cas.pem");
let instance: Instance;
let ca: string;

beforeAll(async () => {
  writeFileSync(caFile, outside.pem);
  const bindings = [
    { subject_cn: "boss-1", subject: "boss", roles: ["admin"] },
    { subject_cn: "boss-2", subject: "boss", roles: ["admin"] },
    { subject_cn: "other", subject: "other", roles: ["approver"] },
  ];
  const config = {
    approvals: { enabled: true, thresholds: { "token.create": 1 } },
    auth: {
      mtls: { enabled: true, ca_file: caFile, bindings },
      webauthn: { enabled: true, rp_id: "localhost", origins: ["https://localhost"] },
    },
  };
  instance = await Instance.start({ home, config });
  const made = await ask(boss, "POST", "/api/ca/init-root", {
    label: "root",
    subject: { cn: "Root" },
    key_type: "ecdsa-p256",
  });
  expect(made.http).toBe(201);
  ca = made.id;
}, 30_000);

afterAll(() => instance.dispose());

async function ask(
  who: ClientCertificate,
  method: string,
  path: string,
  body?: object,
): Promise<Json> {
  const answer = await fetch(instance.url.replace("127.0.0.1", "localhost") + path, {
    method,
    tls: { ...material(who), ca: instance.servingCa() },
    ...(body && { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
  });
  return { http: answer.status, ...((await answer.json()) as object) };
}

test("no passkey is asked for what people confirm with one", async () => {
  const issued = await ask(boss, "POST", `/api/ca/${ca}/issue`, { csr: csr(), profile: "server" });
  expect(issued.http).toBe(201);
  const request = { serial: issued.serial, reason: "superseded" };
  const revoked = await ask(boss, "POST", `/api/ca/${ca}/revoke`, request);
  expect([revoked.http, revoked.status]).toEqual([200, "revoked"]);
});

test("what takes two takes two people, however many certificates one of them has", async () => {
  const request = { name: "robot", roles: ["admin"] };
  const parked = await ask(boss, "POST", "/api/tokens", request);
  expect([parked.http, parked.secret]).toEqual([202, undefined]);
  const path = `/api/approvals/${parked.approval_id}`;
  const own = await ask(bossToo, "POST", `${path}/approve`, {});
  expect([own.http, own.code]).toEqual([403, "self_approval"]);
  expect(await ask(other, "POST", `${path}/approve`, {})).toMatchObject({
    http: 200,
    status: "executed",
  });
  const shown = await ask(boss, "GET", path);
  expect(shown).toMatchObject({ requested_by: "boss", decisions: [{ approver: "other" }] });
});

test("preflight counts those who may approve among the people there are", async () => {
  expect(await said(home, "approvals.quorum")).toMatchObject({ status: "pass" });
  expect(await said(home, "auth.root_basic")).toMatchObject({ status: "warn" });
});
