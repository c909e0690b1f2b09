/**
 * Who has lost the only passkey: an administrator resets it from a shell, and another person agrees
 * where four eyes are on.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";

import { Instance } from "#test/support/instances/instance.ts";
import { basic, logIn, type Person, send } from "#test/support/instances/person.ts";
import { SoftAuthenticator } from "#test/support/instances/soft-authenticator.ts";
import { shareSecondPerson } from "#test/support/instances/second-person.ts";

const password = "correct horse battery staple";
const home = { origin: "https://pki.example.com", rpId: "example.com" };
const second = shareSecondPerson();
let instance: Instance;

beforeAll(async () => {
  const webauthn = { enabled: true, rp_id: home.rpId, origins: [home.origin] };
  instance = await Instance.start({
    config: {
      root_user: { password },
      auth: { ...second.auth, webauthn },
      approvals: { enabled: true, thresholds: { "token.create": 1 } },
    },
  });
}, 30_000);
afterAll(() => instance?.dispose());

const ask = (person: Person, path: string, body: object = {}) =>
  send(instance, person, "POST", path, body);

async function register(person: Person) {
  const begun = await ask(person, "/auth/webauthn/register/begin");
  if (begun.status !== 200) return begun;
  const key = new SoftAuthenticator(home);
  const body = { name: "key", ...key.attest(begun.body.challenge) };
  return await ask(person, "/auth/webauthn/register/finish", body);
}

test("a lost passkey is reset by two people, from a shell and over HTTP, and never by a session that has lost its own", async () => {
  const root = await logIn(instance, password);
  expect((await register(root)).status).toBe(201);
  const again = await logIn(instance, password);
  expect((await register(again)).body.code).toBe("step_up_required");
  const own = await ask(again, "/api/passkeys:reset", { subject: "root" });
  expect([own.status, own.body.code]).toEqual([403, "step_up_required"]);

  const refused = instance.cli("passkeys", "reset", "root");
  expect([(await refused).code, (await refused).stderr]).toEqual([
    2,
    expect.stringContaining("--yes"),
  ]);
  const parked = await instance.cli("passkeys", "reset", "root", "--yes", "--json");
  expect(parked.code).toBe(1);
  const { items } = (await send(instance, basic("root", password), "GET", "/api/approvals")).body;
  expect(items[0]).toMatchObject({
    operation_class: "token.create",
    resource_key: "passkeys:root",
    status: "pending",
    details: { subject: "root" },
  });
  expect((await register(again)).body.code).toBe("step_up_required");
  const path = `/api/approvals/${items[0].id}/approve`;
  const byRoot = await ask(basic("root", password), path);
  expect([byRoot.status, byRoot.body.code]).toEqual([403, "self_approval"]);
  expect((await register(again)).body.code).toBe("step_up_required");
  const approved = await second.approve(instance, items[0].id);
  expect(approved).toMatchObject({ status: "executed", result: { removed: 1 } });
  expect((await register(again)).status).toBe(201);
  const events = await instance.admin<{ items: { actor: string; detail: string }[] }>(
    "GET",
    "/api/events?action=webauthn.remove",
  );
  const done = events.items.find(({ detail }) => detail.startsWith("subject=root"));
  expect(done?.actor).toMatch(/^local:/);
  expect(done?.detail).toBe(`subject=root approval=${items[0].id}`);
  expect((await instance.cli("passkeys", "reset", "nobody", "--yes")).code).toBe(1);
}, 60_000);
