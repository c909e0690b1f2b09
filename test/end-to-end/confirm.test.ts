/** The compiled binary asks a person at a real terminal before something is lost for good. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";

import { binary, Instance } from "#test/support/instances/instance.ts";

let instance: Instance;

beforeAll(async () => {
  instance = await Instance.start();
}, 30_000);

afterAll(() => instance.dispose());

const tenantsLeft = async (): Promise<string[]> => {
  const { items } = await instance.admin<{ items: { slug: string }[] }>("GET", "/api/tenants");
  return items.map(({ slug }) => slug).filter((slug) => slug !== "default");
};

/** Runs a command at a pseudo-terminal, types once it is asked, and gives how it ended. */
async function atTerminal(args: readonly string[], typed: string) {
  let shown = "";
  const child = Bun.spawn([binary, ...args, "--config", join(instance.home, "pkid.yaml")], {
    cwd: instance.home,
    env: { HOME: instance.home, TERM: "dumb" },
    terminal: {
      data: (terminal, octets) => {
        const asked = shown.includes("Type yes");
        shown += Buffer.from(octets).toString();
        if (!asked && shown.includes("Type yes to go on: ")) terminal.write(typed);
      },
    },
  });
  const code = await child.exited;
  child.terminal?.close();
  return { code, shown };
}

test("and goes on after yes alone; no answer, another one and Ctrl-C leave everything as it was", async () => {
  await instance.admin("POST", "/api/tenants", { slug: "web" });
  const remove = ["tenant", "delete", "web"];
  for (const [typed, code] of [
    ["no\r", 1],
    ["\u0004", 1],
    ["\u0003", 130],
  ] as const) {
    const refused = await atTerminal(remove, typed);
    expect([typed, refused.code]).toEqual([typed, code]);
    expect(refused.shown).toContain("pkid tenant delete web: ");
    expect(await tenantsLeft()).toEqual(["web"]);
  }
  expect((await atTerminal(remove, "yes\r")).code).toBe(0);
  expect(await tenantsLeft()).toEqual([]);
}, 30_000);

test("and where there is no terminal it wants --yes", async () => {
  await instance.admin("POST", "/api/tenants", { slug: "lab" });
  const refused = await instance.cli("tenant", "delete", "lab");
  expect([refused.code, refused.stdout]).toEqual([2, ""]);
  expect(refused.stderr).toContain("--yes");
  expect(await tenantsLeft()).toEqual(["lab"]);
  expect((await instance.cli("tenant", "delete", "lab", "--yes")).code).toBe(0);
  expect(await tenantsLeft()).toEqual([]);
}, 30_000);
