/**
 * Four eyes through the compiled binary: shell, root, a second person, tokens, and SIGKILL
 * around an execution.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { Instance, newHome, runCli, writeConfig } from "#test/support/instances/instance.ts";
import { shareSecondPerson } from "#test/support/instances/second-person.ts";
import { selectByRun } from "#test/support/run-length.ts";
import { csr } from "#test/support/worlds/issuance.ts";
import { startPostgres } from "#test/support/servers/postgres.ts";

let instance: Instance;
const password = "correct horse battery";
const second = shareSecondPerson();
const config = {
  approvals: { enabled: true },
  root_user: { password },
  auth: second.auth,
};
beforeAll(async () => {
  instance = await Instance.start({ config });
}, 30_000);
afterAll(() => instance.dispose());

/** Replaces the instance by a new one with another configuration. */
async function replaceInstance(next: Readonly<Record<string, unknown>>): Promise<void> {
  await instance.dispose();
  instance = await Instance.start({ config: next });
}

/** Answers are read member by member, as a client reads them. */
// biome-ignore lint/suspicious/noExplicitAny: see above.
type Json = any;

const basic = { authorization: `Basic ${Buffer.from(`root:${password}`).toString("base64")}` };
const asRoot = async (method: string, path: string, body?: object): Promise<Json> => {
  const content = body === undefined ? {} : { body: JSON.stringify(body) };
  const headers = { ...basic, "content-type": "application/json" };
  const response = await instance.fetch(path, { method, headers, ...content });
  return { code: response.status, ...(await response.json()) };
};
/** Sends a request as a person other than the operator of the host. */
const sendAsSecond = async (method: string, path: string, body?: object): Promise<Json> => {
  const response = await second.send(instance, method, path, body);
  return { code: response.status, ...response.body };
};
const local = (method: string, path: string, body?: object): Promise<Json> =>
  instance.admin(method, path, body);
const rootCa = (label: string) => ({ label, subject: { cn: label }, key_type: "ecdsa-p256" });
const park = async (label = "root"): Promise<string> =>
  (await local("POST", "/api/ca/init-root", rootCa(label))).approval_id;
const roots = async (): Promise<string[]> =>
  (await local("GET", "/api/ca")).items.map(({ label }: Json) => label);
const created = async (): Promise<Json[]> =>
  (await local("GET", "/api/events?action=ca.init_root")).items.filter(({ detail }: Json) =>
    detail.includes("approval="),
  );

test("a root waits for a second person, who reads what will be executed, and is made once", async () => {
  const refused = await instance.cli(
    "ca",
    "init-root",
    "--label",
    "root",
    "--cn",
    "Root",
    "--key-type",
    "ecdsa-p256",
  );
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain("approval");
  const [{ id }] = (await sendAsSecond("GET", "/api/approvals?status=pending")).items;
  const shown = await instance.cli("approvals", "show", id);
  expect(shown.stdout).toContain('"label": "root"');
  expect(await sendAsSecond("GET", "/api/approvals?decidable=true&limit=1")).toMatchObject({
    items: [{ id }],
    total: 1,
  });
  const waiting = await instance.cli("approvals", "list", "--decidable", "--json");
  expect(JSON.parse(waiting.stdout)).toMatchObject({ items: [], total: 0 });
  const own = await instance.cli("approvals", "approve", id);
  expect(own).toMatchObject({ code: 1, stderr: expect.stringContaining("self_approval") });
  const approved = await sendAsSecond("POST", `/api/approvals/${id}/approve`, {});
  expect(approved).toMatchObject({ code: 200, status: "executed", result: { label: "root" } });
  expect(await roots()).toEqual(["root"]);
  expect((await created())[0]).toMatchObject({
    actor: expect.stringMatching(/^local:/),
    detail: expect.stringContaining(id),
  });
  expect((await instance.cli("audit", "verify")).code).toBe(0);
  const looked = await instance.cli("preflight", "--only", "approvals.quorum", "--json");
  expect(JSON.parse(looked.stdout).checks).toMatchObject([
    { name: "approvals.quorum", status: "warn" },
  ]);
  const written = await instance.cli("approvals", "transcript", id);
  expect(written.code).toBe(0);
  const { approval, events, signature } = JSON.parse(written.stdout);
  expect(approval).toMatchObject({
    id,
    decisions: [{ approver: second.subject, decision: "approve" }],
  });
  expect(events.map(({ action }: Json) => action)).toEqual([
    "ca.create.pending",
    "ca.create.approved",
    "ca.create.approved",
    "ca.init_root",
  ]);
  expect(Buffer.from(signature, "base64")).toHaveLength(64);
}, 60_000);

test("root and the admin socket are one person, who approves no request of the other one", async () => {
  const bySocket = await park("by-socket");
  const parked = await asRoot("POST", "/api/ca/init-root", rootCa("by-root"));
  expect(parked).toMatchObject({ code: 202, status: "pending_approval" });
  const { approval_id: byRoot } = parked;
  expect(byRoot).not.toBe(bySocket);
  const refused = await asRoot("POST", `/api/approvals/${bySocket}/approve`, {});
  expect(refused).toMatchObject({
    code: "self_approval",
    error: expect.stringContaining("root and all local shells are one person"),
  });
  const refusedShell = await instance.cli("approvals", "approve", byRoot);
  expect(refusedShell).toMatchObject({ code: 1, stderr: expect.stringContaining("self_approval") });
  const decidable = "/api/approvals?decidable=true";
  for (const list of [await asRoot("GET", decidable), await local("GET", decidable)]) {
    expect(list).toMatchObject({ items: [], total: 0 });
  }
  const acquired = "/api/approvals?status=pending&mine=true";
  for (const list of [await asRoot("GET", acquired), await local("GET", acquired)]) {
    expect(list.items.map(({ id }: Json) => id).sort()).toEqual([bySocket, byRoot].sort());
  }
  expect((await sendAsSecond("GET", decidable)).total).toBe(2);
  for (const id of [bySocket, byRoot]) {
    expect(await sendAsSecond("POST", `/api/approvals/${id}/approve`, {})).toMatchObject({
      code: 200,
      status: "executed",
    });
  }
  expect(await roots()).toEqual(expect.arrayContaining(["by-root", "by-socket"]));
}, 60_000);

test("a shell that waits ends as the operation does", async () => {
  const waiting = (name: string, ...more: string[]) =>
    instance.cli(
      "token",
      "create",
      "--name",
      name,
      "--roles",
      "issuer",
      "--json",
      "--wait",
      ...more,
    );
  const pendingOf = async (name: string): Promise<string> => {
    for (;;) {
      const { items } = await sendAsSecond("GET", "/api/approvals?status=pending");
      const found = items.find((one: Json) => one.resource_name === name);
      if (found !== undefined) return found.id;
      await Bun.sleep(20);
    }
  };
  const [minted, refused, tired] = [waiting("good"), waiting("bad", "10m"), waiting("late", "1s")];
  await sendAsSecond("POST", `/api/approvals/${await pendingOf("good")}/approve`);
  await sendAsSecond("POST", `/api/approvals/${await pendingOf("bad")}/reject`, { comment: "no" });
  const { code, stdout } = await minted;
  expect(code).toBe(0);
  const { secret } = JSON.parse(stdout);
  const headers = { authorization: `Token ${secret}` };
  expect((await instance.fetch("/api/me", { headers })).status).toBe(200);
  expect(await refused).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("approval_rejected"),
  });
  expect(await tired).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("approval_pending"),
  });
}, 60_000);

test("a parked issue is approved by another person, over RPC too, and fetched from the shell", async () => {
  const profiles = [{ name: "strict", require_approval: true, ext_key_usages: ["serverAuth"] }];
  const guarded = {
    approvals: { enabled: true, thresholds: { "cert.issue": 1 } },
    rpc: { enabled: true },
    root_user: { password },
    auth: second.auth,
    profiles,
  };
  await replaceInstance(guarded);
  const { id: ca } = await local("POST", "/api/ca/init-root", rootCa("root"));
  const body = { csr: csr(), profile: "strict" };
  const parked = await local("POST", `/api/ca/${ca}/issue`, body);
  expect(parked.status).toBe("pending_approval");
  const early = await instance.cli("approvals", "certificate", parked.approval_id);
  expect(early).toMatchObject({ code: 1, stderr: expect.stringContaining("waits for approval") });
  const rpc = await second.fetch(instance, "/pki.v1.PKIService/IssueCertificate", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ca_id: ca, csr_pem: csr(), profile: "strict" }),
  });
  const refused = await rpc.json();
  expect(refused.code).toBe("failed_precondition");
  const told = Buffer.from(refused.details[0].value, "base64").toString("utf8");
  expect(told).toContain("approval_pending");
  const asked = (await local("GET", "/api/approvals")).items.find(
    ({ requested_by }: Json) => requested_by === second.subject,
  );
  expect(told).toContain(asked.id);
  const approved = await instance.cli("approvals", "approve", asked.id, "--comment", "fine");
  expect(approved).toMatchObject({ code: 0, stdout: expect.stringContaining("executed") });
  expect(await sendAsSecond("POST", `/api/approvals/${parked.approval_id}/approve`)).toMatchObject({
    status: "executed",
    result: { profile: "strict" },
  });
  const fetched = await instance.cli("approvals", "certificate", parked.approval_id);
  expect(fetched.stdout).toContain("BEGIN CERTIFICATE");
}, 60_000);

test("two replicas and many approvers execute an operation once", async () => {
  const server = await startPostgres();
  const home = newHome();
  const pg = {
    ...config,
    database: { driver: "postgres", dsn: await server.createMigratedDatabase() },
  };
  let one: Instance | undefined;
  let two: Instance | undefined;
  try {
    writeConfig(home, pg);
    expect((await runCli(home, ["migrate"])).code).toBe(0);
    one = await Instance.start({ home, config: pg });
    const { dataDir } = one;
    const software = {
      keystore_dir: `${dataDir}/keys`,
      master_key_file: `${dataDir}/master.key`,
    };
    two = await Instance.start({ config: { ...pg, key_provider: { software } } });
    for (let round = 0; round < 3; round++) {
      const label = `root-${round}`;
      const calls = [one, two, one, two].map((replica) =>
        replica.admin<Json>("POST", "/api/ca/init-root", rootCa(label)),
      );
      const ids = new Set((await Promise.all(calls)).map(({ approval_id }) => approval_id));
      expect(ids.size).toBe(1);
      const [id] = ids;
      const answers = await Promise.all(
        [one, two, one, two].map(async (replica) => {
          const path = `/api/approvals/${id}/approve`;
          const response = await second.fetch(replica, path, { method: "POST" });
          return [response.status, ((await response.json()) as Json).code];
        }),
      );
      expect(answers.filter(([status]) => status === 200)).toHaveLength(1);
    }
    const events = await two.admin<Json>("GET", "/api/events?action=ca.init_root");
    const told = events.items.filter(({ detail }: Json) => detail.includes("approval="));
    expect(told).toHaveLength(3);
    expect((await one.cli("audit", "verify")).code).toBe(0);
  } finally {
    await two?.dispose();
    await one?.dispose();
    await server.stop();
  }
}, 120_000);

describe("SIGKILL", () => {
  test("between approval and execution and inside it leaves exactly one effect", async () => {
    await replaceInstance(config);
    const delays = selectByRun([0, 8, 16], [0, 4, 8, 12, 16, 20]);
    for (const [round, delayMs] of delays.entries()) {
      const id = await park(`root-${round}`);
      const approving = sendAsSecond("POST", `/api/approvals/${id}/approve`).catch(() => undefined);
      await Bun.sleep(delayMs);
      await instance.kill();
      await approving;
      instance = await Instance.start({ home: instance.home, config });
      let now = await local("GET", `/api/approvals/${id}`);
      if (now.status === "pending") await sendAsSecond("POST", `/api/approvals/${id}/approve`);
      while (now.status !== "executed") {
        await Bun.sleep(50);
        now = await local("GET", `/api/approvals/${id}`);
        expect(["pending", "executing", "executed"]).toContain(now.status);
      }
    }
    expect((await roots()).sort()).toEqual(delays.map((_, round) => `root-${round}`));
    const events = await created();
    expect(events.length).toBe(delays.length);
    const keys = await instance.cli("keys", "inventory", "--json");
    const labels: string[] = JSON.parse(keys.stdout).items.map(({ label }: Json) => label);
    for (const round of delays.keys()) {
      expect(labels.filter((label) => label.startsWith(`root-${round}-`))).toHaveLength(1);
    }
    expect((await instance.cli("audit", "verify")).code).toBe(0);
  }, 120_000);

  test("inside a parked issue or a bulk revocation leaves each certificate issued once and revoked once", async () => {
    const profiles = [{ name: "strict", require_approval: true, ext_key_usages: ["serverAuth"] }];
    const thresholds = { "cert.issue": 1, "revocation.bulk": 1 };
    const guarded = {
      approvals: { enabled: true, thresholds },
      root_user: { password },
      auth: second.auth,
      profiles,
    };
    const begin = () => Instance.start({ home: instance.home, config: guarded });
    await replaceInstance(guarded);
    const { id: ca } = await local("POST", "/api/ca/init-root", rootCa("root"));
    const crash = async (parked: Json, afterMs: number) => {
      const { approval_id: id } = parked;
      const approving = sendAsSecond("POST", `/api/approvals/${id}/approve`).catch(() => undefined);
      await Bun.sleep(afterMs);
      await instance.kill();
      await approving;
      instance = await begin();
      const show = () => local("GET", `/api/approvals/${id}`);
      if ((await show()).status === "pending")
        await sendAsSecond("POST", `/api/approvals/${id}/approve`);
      for (let now = await show(); now.status !== "executed"; now = await show()) {
        if (now.status === "failed") await sendAsSecond("POST", `/api/approvals/${id}/retry`);
        await Bun.sleep(50);
      }
      return id;
    };
    const delays = selectByRun([0, 6, 12], [0, 3, 6, 9, 12]);
    for (const [round, delayMs] of delays.entries()) {
      const body = { csr: csr({ dns: [`n${round}.example`] }), profile: "strict" };
      const id = await crash(await local("POST", `/api/ca/${ca}/issue`, body), delayMs);
      const { certificate } = await local("GET", `/api/approvals/${id}/certificate`);
      expect(certificate).toContain("BEGIN CERTIFICATE");
    }
    const { total } = await local("GET", `/api/ca/${ca}/certificates`);
    expect(total).toBe(delays.length);
    const order = { all: true, reason: "superseded", confirm_count: total, batch_size: 1 };
    const id = await crash(await local("POST", `/api/ca/${ca}/revocations:bulk`, order), 12);
    const told = async (action: string) =>
      (await local("GET", `/api/events?action=${action}&result=success&ca=${ca}`)).items;
    expect(await told("cert.revoke")).toHaveLength(delays.length);
    const runs = await told("cert.revoke_bulk");
    expect(runs).toHaveLength(1);
    expect(runs[0].detail).toContain(`approval=${id}`);
    expect((await told("cert.issue")).length).toBe(delays.length);
    expect((await instance.cli("audit", "verify")).code).toBe(0);
  }, 120_000);
});
