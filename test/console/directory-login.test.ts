/**
 * The console's login page where a directory is asked: people of the directory first, and root
 * still.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser } from "playwright-core";

import {
  chromiumPath,
  closeProfiles,
  freshPage,
  shareBrowser,
} from "#test/support/instances/browser.ts";
import { Instance } from "#test/support/instances/instance.ts";
import {
  type DirectoryServer,
  passwordOf,
  slapdPath,
  startSlapd,
  suffix,
} from "#test/support/servers/slapd.ts";
import { expectSoon } from "#test/support/until.ts";

const password = "correct horse battery staple";
const possible = chromiumPath !== undefined && slapdPath !== undefined;
let slapd: DirectoryServer;
let instance: Instance;
let browser: Browser;

beforeAll(async () => {
  if (!possible) return;
  slapd = await startSlapd();
  const ldap = {
    enabled: true,
    url: `ldap://localhost:${slapd.ldapPort}`,
    start_tls: true,
    user_dn_template: `uid=%s,ou=people,${suffix}`,
    tls: { ca_file: slapd.caFile },
    role_mappings: [{ value: `cn=ops,ou=groups,${suffix}`, roles: ["admin"] }],
  };
  instance = await Instance.start({ config: { root_user: { password }, auth: { ldap } } });
  browser = await shareBrowser();
}, 60_000);

afterAll(async () => {
  if (browser !== undefined) await closeProfiles(browser);
  await instance?.dispose();
  await slapd?.stop();
});

async function logIn(name: string, secret: string, account?: string) {
  const { page, complaints } = await freshPage(browser);
  await page.goto(`https://localhost:${new URL(instance.url).port}/console/people/tokens`);
  if (account !== undefined) await page.getByLabel("Account").selectOption(account);
  await page.getByLabel("User name").fill(name);
  await page.getByLabel("Password", { exact: true }).fill(secret);
  await page.getByRole("button", { name: "Log in" }).first().click();
  return { page, complaints };
}

describe.skipIf(!possible)("the login page", () => {
  test("lets people of the directory in", async () => {
    const { page, complaints } = await logIn("alice", passwordOf("alice"));
    await page.getByText("Alice Example").waitFor();
    expect(complaints).toEqual([]);
    await page.context().close();
  }, 60_000);

  test("lets root in, when asked for that account", async () => {
    const { page } = await logIn("root", password, "Built-in administrator");
    await page.getByRole("heading", { name: "API tokens" }).waitFor();
    await page.context().close();
  }, 60_000);

  test("says that a password is wrong", async () => {
    const { page } = await logIn("alice", "wrong");
    const alert = page.getByRole("alert");
    await alert.waitFor();
    await expectSoon(() => alert.textContent(), expect.stringContaining("invalid_credentials"));
    await page.context().close();
  }, 60_000);
});
