/** Four eyes through the compiled binary: shell, root and tokens, and SIGKILL around an execution. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";

import { Instance } from "#test/support/instance.ts";

let instance: Instance;
const password = "correct horse battery";
const config = {
  ...{ approvals: { enabled: true }, root_user: { password } },
};
beforeEach(async () => {
  instance = await Instance.start({ config });
}, 30_000);
afterEach(async () => {
  await instance.dispose();
});

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

test("a root waits for root, who reads what will be executed, and is made once", async () => {
  const refused = await instance.cli(
    ...["ca", "init-root", "--label", "root", "--cn", "Root", "--key-type", "ecdsa-p256"],
  );
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain("approval");
  const [{ id }] = (await asRoot("GET", "/api/approvals?status=pending")).items;
  const shown = await instance.cli("approvals", "show", id);
  expect(shown.stdout).toContain('"label": "root"');
  const own = await instance.cli("approvals", "approve", id);
  expect(own).toMatchObject({ code: 1, stderr: expect.stringContaining("self_approval") });
  const approved = await asRoot("POST", `/api/approvals/${id}/approve`);
  expect(approved).toMatchObject({ code: 200, status: "executed", result: { label: "root" } });
  expect(await roots()).toEqual(["root"]);
  expect((await created())[0]).toMatchObject({
    ...{ actor: expect.stringMatching(/^local:/), detail: expect.stringContaining(id) },
  });
  expect((await instance.cli("audit", "verify")).code).toBe(0);
}, 60_000);

describe("SIGKILL", () => {
  test("between approval and execution and inside it leaves exactly one effect", async () => {
    for (let round = 0; round < 6; round++) {
      const id = await park(`root-${round}`);
      const approving = asRoot("POST", `/api/approvals/${id}/approve`).catch(() => undefined);
      await Bun.sleep(round * 4);
      await instance.kill();
      await approving;
      instance = await Instance.start({ home: instance.home, config });
      let now = await local("GET", `/api/approvals/${id}`);
      if (now.status === "pending") await asRoot("POST", `/api/approvals/${id}/approve`);
      while (now.status !== "executed") {
        await Bun.sleep(50);
        now = await local("GET", `/api/approvals/${id}`);
        expect(["pending", "executing", "executed"]).toContain(now.status);
      }
    }
    expect((await roots()).sort()).toEqual([0, 1, 2, 3, 4, 5].map((round) => `root-${round}`));
    const events = await created();
    expect(events.length).toBe(6);
    const keys = await instance.cli("keys", "inventory", "--json");
    const labels: string[] = JSON.parse(keys.stdout).items.map(({ label }: Json) => label);
    for (let round = 0; round < 6; round++) {
      expect(labels.filter((label) => label.startsWith(`root-${round}-`))).toHaveLength(1);
    }
    expect((await instance.cli("audit", "verify")).code).toBe(0);
  }, 120_000);
});
