/** Logging in to the console in a real browser: by password, at a provider, and out again. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";

import {
  chromiumPath,
  closeProfiles,
  freshPage,
  shareBrowser,
} from "#test/support/instances/browser.ts";
import { freePort } from "#test/support/servers/free-port.ts";
import {
  clientSecret,
  type IdentityProvider,
  startIdentityProvider,
} from "#test/support/servers/identity-provider.ts";
import { Instance, newHome } from "#test/support/instances/instance.ts";
import { expectSoon } from "#test/support/until.ts";

const password = "correct horse battery staple";
let idp: IdentityProvider;
let instance: Instance;
let browser: Browser;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  const home = newHome();
  const port = await freePort();
  const base = `https://localhost:${port}`;
  idp = await startIdentityProvider(`${base}/auth/callback`, {
    alice: { name: "Alice Example", groups: ["ops"] },
  });
  writeFileSync(join(home, "idp.pem"), idp.ca);
  const roles = { role_mappings: [{ value: "ops", roles: ["admin"] }] };
  instance = await Instance.start({
    home,
    config: {
      server: { port, public_url: base },
      root_user: { password },
      outbound: { ca_file: join(home, "idp.pem") },
      oidc: { issuer_url: idp.issuer, client_id: "pkid" },
      auth: {
        oidc: { enabled: true, client_secret: clientSecret, ...roles },
        // The browser itself refuses a cookie of this prefix that is not what it should be.
        session: { cookie_name: "__Host-pki" },
      },
    },
  });
  browser = await shareBrowser();
}, 60_000);

afterAll(async () => {
  if (browser !== undefined) await closeProfiles(browser);
  await instance?.dispose();
  idp?.stop();
});

async function visit(): Promise<{ page: Page; complaints: string[] }> {
  const visited = await freshPage(browser);
  await visited.page.goto(`https://localhost:${new URL(instance.url).port}/console/people/tokens`);
  return visited;
}

async function logIn(page: Page, secret = password): Promise<void> {
  await page.getByLabel("User name").fill("root");
  await page.getByLabel("Password", { exact: true }).fill(secret);
  await page.getByRole("button", { name: "Log in" }).first().click();
}

const inside = (page: Page) => page.getByRole("heading", { name: "API tokens" }).waitFor();
const loginForm = (page: Page) => page.getByRole("heading", { name: "Log in" }).waitFor();

const refused = { error: "Too much to do.", code: "overloaded", request_id: "r-1" };

describe.skipIf(chromiumPath === undefined)("the console in a browser", () => {
  test("lets nobody in with a wrong password, and says so", async () => {
    const { page, complaints } = await visit();
    await logIn(page, "wrong");
    const alert = page.getByRole("alert");
    await alert.waitFor();
    await expectSoon(() => alert.textContent(), expect.stringContaining("invalid_credentials"));
    expect(await page.context().cookies()).toEqual([]);
    expect(complaints).toEqual([]);
    await page.context().close();
  }, 60_000);

  test("keeps the session out of reach of scripts, over a reload, until one logs out", async () => {
    const { page, complaints } = await visit();
    await logIn(page);
    await inside(page);
    const cookies = await page.context().cookies();
    expect(
      cookies.map(({ name, httpOnly, secure, sameSite }) => [name, httpOnly, secure, sameSite]),
    ).toEqual([
      ["__Host-pki", true, true, "Lax"],
      ["__Host-pki_csrf", false, true, "Lax"],
    ]);
    const seen = await page.evaluate("document.cookie");
    expect(seen).not.toContain("__Host-pki=");
    await page.reload();
    await inside(page);
    await page.getByRole("button", { name: "Log out" }).click();
    await loginForm(page);
    expect(await page.context().cookies()).toEqual([]);
    const [session] = cookies;
    const old = await instance.fetch("/api/me", {
      headers: { cookie: `${session?.name}=${session?.value}` },
    });
    expect(old.status).toBe(401);
    expect(complaints).toEqual([]);
    await page.context().close();
  }, 60_000);

  test("says that a session lives on when it could not be ended, and ends it when it can", async () => {
    const { page } = await visit();
    await logIn(page);
    await inside(page);
    await page.route("**/auth/logout", (route) => route.abort());
    await page.getByRole("button", { name: "Log out" }).click();
    const dialog = page.getByRole("dialog", { name: "You are still logged in" });
    await dialog.getByText("The server does not answer.").waitFor();
    await dialog.getByRole("button", { name: "Stay" }).click();
    await inside(page);
    await page.unroute("**/auth/logout");
    await page.route("**/auth/logout", (route) => route.fulfill({ status: 503, json: refused }));
    await page.getByRole("button", { name: "Log out" }).click();
    await dialog.getByText(refused.error).waitFor();
    await dialog.getByText(refused.request_id).waitFor();
    await page.unroute("**/auth/logout");
    await dialog.getByRole("button", { name: "Log out" }).click();
    await loginForm(page);
    expect(await page.context().cookies()).toEqual([]);
    await page.context().close();
  }, 60_000);

  test("goes to the provider and comes back logged in", async () => {
    const { page, complaints } = await visit();
    await page.getByRole("link", { name: `Log in with ${new URL(idp.issuer).host}` }).click();
    await page.locator('input[name="login"]').fill("alice");
    await page.locator('input[name="password"]').fill("any");
    await page.locator('button[type="submit"]').click();
    await page.locator('button[type="submit"]').click();
    await page.getByText("Alice Example").waitFor();
    // Back where one was before the provider asked.
    await inside(page);
    await expectSoon(() => new URL(page.url()).pathname, "/console/people/tokens");
    const names = (await page.context().cookies()).map(({ name }) => name);
    expect(names).not.toContain("__Host-pki_oidc_tx");
    expect(complaints).toEqual([]);
    await page.context().close();
  }, 60_000);

  test("ends another session with the CSRF token, and that one notices", async () => {
    const victim = await visit();
    await logIn(victim.page);
    await inside(victim.page);
    const { page, complaints } = await visit();
    await logIn(page);
    await inside(page);
    const writes: (string | undefined)[] = [];
    page.on("request", (request) => {
      if (request.method() === "DELETE") writes.push(request.headers()["x-csrf-token"]);
    });
    await page.getByRole("link", { name: "Sessions" }).click();
    // One's own is ended by logging out.
    const own = page.getByRole("button", { name: "Log out here" });
    await own.waitFor();
    await expectSoon(() => own.count(), 1);
    await page.getByRole("link", { name: "End", exact: true }).first().click();
    const ended = page.waitForResponse((answer) => answer.request().method() === "DELETE");
    await page.getByRole("button", { name: "End the session" }).click();
    expect((await ended).status()).toBe(200);
    expect(writes).toEqual([expect.stringMatching(/^[A-Za-z0-9_-]{43}$/)]);
    await victim.page.getByRole("link", { name: "Events" }).click();
    await victim.page.getByText("Your session has ended.").waitFor();
    await loginForm(victim.page);
    await own.click();
    await loginForm(page);
    expect([...complaints, ...victim.complaints]).toEqual([]);
    await victim.page.context().close();
    await page.context().close();
  }, 60_000);

  test("asks to log in again when the time of the session is over", async () => {
    const { page } = await visit();
    await page.clock.install();
    await page.reload();
    await logIn(page);
    await inside(page);
    await page.clock.fastForward("59:00");
    await inside(page);
    await page.clock.fastForward("01:01");
    await page.getByText("Your session has ended.").waitFor();
    await loginForm(page);
    await page.context().close();
  }, 60_000);

  test("lets somebody in whose clock is hours wrong, and ends the session in its own time", async () => {
    const { page } = await visit();
    await page.clock.install({ time: Date.now() + 5 * 3_600_000 });
    await page.reload();
    await logIn(page);
    await inside(page);
    await page.clock.runFor(5_000);
    await inside(page);
    await expectSoon(() => page.getByText("Your session has ended.").count(), 0);
    await page.clock.fastForward("01:00:01");
    await page.getByText("Your session has ended.").waitFor();
    await page.context().close();
  }, 60_000);

  test("asks again where the server is too busy to know the session, and takes nobody for out", async () => {
    const { page } = await visit();
    await logIn(page);
    await inside(page);
    await page.clock.install();
    let answer: "busy" | "gone" = "busy";
    await page.route("**/auth/session", (route) =>
      answer === "busy" ? route.fulfill({ status: 503, json: refused }) : route.abort(),
    );
    await page.reload();
    await page.getByText(refused.error).waitFor();
    await expectSoon(() => page.getByLabel("User name").count(), 0);
    answer = "gone";
    await page.getByRole("button", { name: "Ask again" }).click();
    await page.getByText("The server does not answer.").waitFor();
    await page.unroute("**/auth/session");
    await page.clock.fastForward(6_000);
    await inside(page);
    await page.context().close();
  }, 60_000);

  test("keeps what was typed when the session is over, for the same person to go on with", async () => {
    const { page, complaints } = await visit();
    await logIn(page);
    await inside(page);
    await page.getByRole("link", { name: "New API token" }).first().click();
    await page.getByLabel("Name", { exact: true }).fill("kept over a login");
    await page.context().clearCookies();
    await page.getByRole("button", { name: "Make the token" }).click();
    await page.getByText("Your session has ended.").waitFor();
    await logIn(page);
    await page.getByRole("heading", { name: "Log in again" }).waitFor({ state: "hidden" });
    await expectSoon(
      () => page.getByLabel("Name", { exact: true }).inputValue(),
      "kept over a login",
    );
    await page.getByRole("button", { name: "Make the token" }).click();
    await page.getByText("Nobody can show it again").waitFor();
    expect(complaints).toEqual([]);
    await page.context().close();
  }, 60_000);

  test("the console stays logged in when a refusal of the old session arrives late", async () => {
    const { page } = await visit();
    await logIn(page);
    await inside(page);
    const late = Promise.withResolvers<void>();
    await page.route(/\/api\/tokens$/, async (route) => {
      if (route.request().method() !== "POST") return await route.continue();
      await late.promise;
      await route.fulfill({ status: 401, json: { ...refused, code: "unauthenticated" } });
    });
    await page.getByRole("link", { name: "New API token" }).first().click();
    await page.getByLabel("Name", { exact: true }).fill("refused late");
    await page.getByRole("button", { name: "Make the token" }).click();
    await page.getByRole("button", { name: "Working…" }).waitFor();
    await page.context().clearCookies();
    await page.evaluate(`dispatchEvent(new Event("pkid-changed"))`);
    await page.getByText("Your session has ended.").waitFor();
    await logIn(page);
    const again = page.getByRole("heading", { name: "Log in again" });
    await again.waitFor({ state: "detached" });
    late.resolve();
    await page.getByText(refused.error).waitFor();
    expect(await again.count()).toBe(0);
    await page.context().close();
  }, 60_000);

  test("takes an API token as well, and forgets it", async () => {
    const { page } = await visit();
    await useToken(page, await instance.token(["auditor"], { scope: "platform" }));
    await inside(page);
    expect(await page.context().cookies()).toEqual([]);
    await page.reload();
    await loginForm(page);
    await page.context().close();
  }, 60_000);

  test("asks for another API token when that one is revoked", async () => {
    const { page } = await visit();
    const made = await newToken();
    await useToken(page, made.secret);
    await inside(page);
    await instance.admin("DELETE", `/api/tokens/${made.id}`);
    await page.getByText("The API token is not accepted any more.").waitFor();
    await useToken(page, (await newToken()).secret);
    await page.getByRole("heading", { name: "Log in again" }).waitFor({ state: "hidden" });
    await inside(page);
    await page.context().close();
  }, 60_000);
});

const newToken = () =>
  instance.admin<{ id: string; secret: string }>("POST", "/api/tokens", {
    name: "for the console",
    roles: ["admin"],
    scope: "platform",
  });

async function useToken(page: Page, secret: string): Promise<void> {
  await page.getByText("Use an API token").click();
  await page.getByLabel("API token", { exact: true }).fill(secret);
  await page.getByRole("button", { name: "Log in" }).last().click();
}
