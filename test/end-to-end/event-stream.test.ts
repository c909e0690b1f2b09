/** The live feed of the binary: across crashes, the ends of those who read, and every way in. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { hear, type Heard } from "#test/support/instances/feed-client.ts";
import { Instance, newHome } from "#test/support/instances/instance.ts";
import { basic, logIn, type Person, send } from "#test/support/instances/person.ts";
import { OutsideCa } from "#test/support/tls/client-certificates.ts";
import { until } from "#test/support/until.ts";

const password = "correct horse battery staple";
const home = newHome();
const config = {
  root_user: { password },
  server: { unix_socket: { path: join(home, "pkid.sock") }, idle_timeout_seconds: 8 },
};
let instance: Instance;
let rootCa: string;

beforeAll(async () => {
  instance = await Instance.start({ home, config });
  const request = { label: "root", subject: { cn: "Root" }, key_type: "ecdsa-p256" };
  const made = await instance.admin<{ id: string }>("POST", "/api/ca/init-root", request);
  rootCa = made.id;
}, 60_000);
afterAll(() => instance.dispose());

const root = basic("root", password);
const bearer = (secret: string): Person => ({ authorization: `Token ${secret}` });
const follow = (headers: Person, query = ""): Promise<Heard> =>
  hear((path, init) => instance.fetch(path, init), headers, query);
const mint = (request: object) =>
  instance.admin<{ id: string; secret: string }>("POST", "/api/tokens", { name: "t", ...request });
const metric = async (name: string): Promise<number> => {
  const text = await instance.metrics();
  return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1]);
};

test("44: a reader that goes on where it left off is told each event once, over crashes and restarts", async () => {
  const seen: number[] = [];
  let heard = await follow(root);
  await until(() => heard.lastId !== undefined);
  const first = Number(heard.lastId);
  for (const end of ["kill", "stop", "kill"] as const) {
    const work = Promise.allSettled(Array.from({ length: 30 }, () => instance.token(["auditor"])));
    await until(() => heard.seqs.length > 5);
    await instance[end]();
    await work;
    await until(() => heard.over);
    seen.push(...heard.seqs);
    if (end === "stop") expect(heard.ends).toEqual(["shutting_down"]);
    instance = await Instance.start({ home, config });
    await instance.token(["auditor"]);
    heard = await follow({ ...root, "last-event-id": String(seen.at(-1) ?? first) });
    await until(() => heard.seqs.length > 0);
  }
  const { head_seq } = await instance.admin<{ head_seq: number }>("GET", "/api/events/verify");
  await until(() => (heard.seqs.at(-1) ?? 0) >= head_seq);
  seen.push(...heard.seqs);
  const last = seen.at(-1) ?? 0;
  expect(seen).toEqual(Array.from({ length: last - first }, (_, n) => first + 1 + n));
}, 60_000);

describe("ends at once", () => {
  test("with the token that asked", async () => {
    const { id, secret } = await mint({ roles: ["auditor"] });
    const [heard, other] = [await follow(bearer(secret)), await follow(root)];
    expect(await metric("pki_event_stream_subscribers")).toBeGreaterThanOrEqual(2);
    await instance.admin("DELETE", `/api/tokens/${id}`);
    await until(() => heard.over && other.actions.includes("token.revoke"));
    expect([heard.ends, heard.actions]).toEqual([["forbidden"], []]);
    expect(other.over).toBe(false);
  });

  test("with the time of the token", async () => {
    let heard: Heard | undefined;
    // On a busy machine a token may expire before the stream is open.
    for (let validMs = 2500; heard?.status !== 200; validMs *= 2) {
      const expires_at = new Date(Date.now() + validMs).toISOString();
      const { secret } = await mint({ roles: ["auditor"], expires_at });
      heard = await follow(bearer(secret));
    }
    await until(() => heard.text !== "");
    await until(() => heard.over);
    expect([heard.ends, heard.actions]).toEqual([["forbidden"], []]);
  });

  test("with the session, whoever ends it", async () => {
    const [own, ended] = [await logIn(instance, password), await logIn(instance, password)];
    const heard = [await follow(own), await follow(ended)];
    expect((await send(instance, own, "POST", "/auth/logout")).status).toBe(200);
    await until(() => heard[0]?.over === true);
    const { body } = await send(instance, ended, "GET", "/api/sessions");
    const { id } = body.items.find(({ current }: { current: boolean }) => current);
    expect((await send(instance, root, "DELETE", `/api/sessions/${id}`)).status).toBe(200);
    await until(() => heard[1]?.over === true);
    expect(heard.map(({ ends }) => ends)).toEqual([["forbidden"], ["forbidden"]]);
  });

  test("with the grant that let it read", async () => {
    await instance.admin("POST", "/api/tenants", { slug: "web" });
    const { id, secret } = await mint({ roles: ["approver"], tenant_id: "web" });
    expect((await follow(bearer(secret))).status).toBe(403);
    const grant = {
      resource: `ca/${rootCa}`,
      entity_type: "user",
      entity_id: `token:${id}`,
      role: "ca-auditor",
      scope: "subtree",
    };
    await instance.admin("POST", "/api/grants", grant);
    const heard = await follow(bearer(secret));
    await until(() => heard.text !== "");
    // One below it, made after the grant and while it reads, is covered from its first event on.
    const made = await instance.admin<{ id: string }>(
      "POST",
      `/api/ca/${rootCa}/issue-intermediate`,
      { label: "below", subject: { cn: "Below" }, key_type: "ecdsa-p256" },
    );
    await instance.admin("POST", `/api/ca/${made.id}/crl:publish`);
    await instance.token(["auditor"]);
    await until(() => heard.actions.includes("crl.publish"));
    expect(heard.actions).toContain("ca.issue_intermediate");
    expect(heard.actions).not.toContain("token.create");
    await instance.admin("DELETE", "/api/grants", grant);
    await until(() => heard.over);
    expect(heard.ends).toEqual(["forbidden"]);
  });
});

test("11: a tenant's auditor is told what the list of events shows it, and nothing else", async () => {
  const slug = `t${crypto.randomUUID().slice(0, 8)}`;
  await instance.admin("POST", "/api/tenants", { slug });
  const { secret } = await mint({ roles: ["auditor"], tenant_id: slug });
  const heard = await follow({ ...bearer(secret), "last-event-id": "0" });
  await instance.token(["auditor"]);
  await mint({ roles: ["issuer"], tenant_id: slug });
  const listed = await send(instance, bearer(secret), "GET", "/api/events");
  const wanted = listed.body.items.map(({ seq }: { seq: number }) => seq).toReversed();
  await until(() => heard.seqs.length >= wanted.length);
  expect(heard.seqs).toEqual(wanted);
  expect(heard.of("audit").map(({ text }) => JSON.parse(text))).toEqual(
    listed.body.items.toReversed(),
  );
});

test("is served on every socket for as long as it is read, however short idle connections live", async () => {
  const unix = async (path: string, socket: string, init: RequestInit) =>
    await fetch(`http://localhost${path}`, { ...init, unix: socket });
  const clients = join(newHome(), "clients.pem");
  writeFileSync(clients, OutsideCa.root("Clients").pem);
  const selector = { san_dns: "fleet.example.test" };
  const binding = { name: "fleet", subject: "fleet", roles: ["auditor"], ...selector };
  const asking = await Instance.start({
    config: {
      ...config,
      server: { idle_timeout_seconds: 8 },
      auth: { mtls: { enabled: true, ca_file: clients, bindings: [binding] } },
    },
  });
  try {
    const all = [
      await follow(root),
      await hear((path, init) => unix(path, join(home, "pkid.sock"), init), root),
      await hear((path, init) => unix(path, join(instance.dataDir, "admin.sock"), init), {}),
      await hear((path, init) => asking.fetch(path, init), root),
    ];
    await until(() => all.every(({ over, text }) => over || text.includes(": heartbeat\n\n")));
    expect(all.map(({ over }) => over)).toEqual(all.map(() => false));
  } finally {
    await asking.dispose();
  }
}, 60_000);
