/** What strangers choose, on every page that may show it: it is text there, and nothing else. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";

import { x509 } from "#test/support/encodings/peculiar.ts";
import { chromiumPath } from "#test/support/instances/browser.ts";
import { ConsoleWorld, type Visit } from "#test/support/instances/console-world.ts";
import { hostile } from "#test/support/instances/hostile.ts";
import { freePort } from "#test/support/servers/free-port.ts";
import { pages } from "#web/routes.tsx";

let world: ConsoleWorld;
let ca: string;

const [image = "", script = "", link = ""] = hostile(64);

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  const port = await freePort();
  world = await ConsoleWorld.start({
    server: { port, public_url: `https://localhost:${port}` },
    acme: { enabled: true, ca_label: "issuing" },
    approvals: { enabled: true, thresholds: { "cert.issue": 1 } },
    profiles: [
      {
        name: "vouched",
        description: script,
        ext_key_usages: ["clientAuth"],
        require_approval: true,
      },
      { name: "plain", description: link, ext_key_usages: ["clientAuth"] },
    ],
  });
  ca = await makeCas();
  await plant();
}, 60_000);
afterAll(() => world?.stop());

describe.skipIf(chromiumPath === undefined)("hostile texts in the console", () => {
  test("are text wherever a page leads to them", async () => {
    const visit = await world.root("/console/");
    const seen = await crawled(visit, [
      ...pages.map(({ segment }) => `/console/${segment}`),
      `/console/issue?ca=${ca}&profile=plain`,
      `/console/people/grants?ca=${ca}`,
      `/console/certificates?ca=*&q=${encodeURIComponent("<")}`,
    ]);
    const beginnings = hostile(40).map((text) => text.trim());
    expect([...beginnings, ...planted].filter((text) => !seen.includes(text))).toEqual([]);
    expect(visit.complaints).toEqual([]);
    await visit.close();
  }, 180_000);

  test("are text where the address carries them", async () => {
    const visit = await world.root("/console/");
    for (const [at, { segment }] of pages.entries()) {
      const texts = hostile(200);
      const text = texts[at % texts.length] ?? "";
      const value = encodeURIComponent(text);
      const query = reflected.map((name) => `${name}=${value}`).join("&");
      const step = encodeURIComponent(text.replaceAll("/", "|"));
      const path = segment === "" ? "" : `${segment}/${step}/${step}`;
      await visit.page.goto(`${world.origin}/console/${path}?${query}#${value}`);
      await expectInert(visit);
    }
    for (const path of [
      `/console/${encodeURIComponent(image)}`,
      "/console/%E0%A4%A",
      "/console//x",
    ]) {
      await visit.page.goto(world.origin + path);
      await expectInert(visit);
    }
    expect(visit.complaints).toEqual([]);
    await visit.close();
  }, 180_000);

  test("are text in what is typed, in names of files, and in what refuses them", async () => {
    const visit = await world.root("/console/people/tenants?dialog=new");
    const { page } = visit;
    await page.getByLabel("Slug").fill(image);
    await page.getByRole("button", { name: "Make the tenant" }).click();
    await page.getByRole("alert").getByText("invalid_field").waitFor();
    await expectInert(visit);
    await page.goto(`${world.origin}/console/certificates`);
    for (const text of hostile(2_000)) {
      await page.locator("#search").fill(text);
      await page.keyboard.press("Enter");
      await expectInert(visit);
    }
    const name = `${image}.pem`;
    await page
      .getByLabel("Look for the certificate of a file", { exact: false })
      .setInputFiles({ name, mimeType: "text/plain", buffer: Buffer.from(script) });
    await page.getByRole("alert").getByText("The file is").waitFor();
    await expectInert(visit);
    const csr = await csrOf(link);
    await world.instance.admin("POST", "/api/blocked-keys", { csr, reason: image });
    await page.goto(`${world.origin}/console/issue?ca=${ca}&profile=plain&from=csr`);
    await page.getByLabel("Certification request").fill(csr);
    await page.getByText("It would be refused.").waitFor();
    await page.getByRole("button", { name: "Issue", exact: true }).click();
    await page.getByRole("heading", { name: "What the gates said" }).waitFor();
    expect(await expectInert(visit)).toContain("blocked");
    await page.goto(`${world.origin}/console/issue/many?ca=${ca}`);
    const row = `www.example.com,${image}\n"${script.replaceAll('"', '""')}",x\n`;
    await page.getByLabel("Or its file").setInputFiles({
      name: `${image}.csv`,
      mimeType: "text/csv",
      buffer: Buffer.from(`name,ref\n${row}`),
    });
    await expectInert(visit);
    expect(visit.complaints).toEqual([]);
    await visit.close();
  }, 120_000);

  test("are text on the page of somebody who is out", async () => {
    const value = encodeURIComponent(script);
    const visit = await world.stranger(`/console/events/7?error=${value}&return=${value}#${value}`);
    const { page } = visit;
    await page.getByLabel("User name").fill(script);
    await page.getByLabel("Password", { exact: true }).fill(image);
    await page.getByRole("button", { name: "Log in" }).first().click();
    await page.getByRole("alert").waitFor();
    await expectInert(visit);
    expect(visit.complaints).toEqual([]);
    await visit.close();
  }, 60_000);
});

/** What is planted beside the texts themselves, so that they are known to be reached. */
const planted = ["Hostile tenant", "hostile comment", "hostile credential"];

async function makeCas(): Promise<string> {
  const { instance } = world;
  const subject = { cn: image, o: script, ou: link };
  const kind = { key_type: "ecdsa-p256" };
  const root = await instance.admin<{ id: string }>("POST", "/api/ca/init-root", {
    label: "root",
    subject,
    ...kind,
  });
  const path = `/api/ca/${root.id}/issue-intermediate`;
  const request = { label: "issuing", subject: { cn: script, o: image }, ...kind };
  return (await instance.admin<{ id: string }>("POST", path, request)).id;
}

/** Puts the texts wherever the interface takes words. */
async function plant(): Promise<void> {
  const { instance } = world;
  for (const text of hostile(64).filter(isLawful)) {
    await instance.admin("POST", `/api/ca/${ca}/issue`, {
      csr: await csrOf(text),
      profile: "plain",
    });
  }
  for (const [at, text] of hostile(90).entries()) {
    await instance.admin("POST", "/api/tokens", { name: text, roles: ["auditor"] });
    const name = `Hostile tenant ${text}`.slice(0, 90);
    await instance.admin("POST", "/api/tenants", { slug: `t${at}`, name });
    await instance.admin("POST", "/api/acme/eab", {
      name: `hostile credential ${text}`.slice(0, 90),
      description: text,
      any_identifier: true,
    });
    const request = {
      csr: await csrOf(isLawful(text) ? text.slice(0, 64) : image),
      profile: "vouched",
    };
    const path = `/api/ca/${ca}/issue`;
    const { approval_id } = await instance.admin<{ approval_id: string }>("POST", path, request);
    const comment = `hostile comment ${text}`;
    await instance.admin("POST", `/api/approvals/${approval_id}/reject`, { comment });
  }
}

/** X.520: marks of direction are control characters, and no certificate is issued with them. */
const isLawful = (text: string): boolean => !text.includes("\u202E");

/** A request whose subject and URI are the text. */
async function csrOf(text: string): Promise<string> {
  const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const value = `https://e.example/?q=${encodeURIComponent(text)}`;
  const made = await x509.Pkcs10CertificateRequestGenerator.create({
    name: [{ CN: [text] }],
    keys,
    signingAlgorithm: algorithm,
    extensions: [new x509.SubjectAlternativeNameExtension([{ type: "url", value }])],
  });
  return made.toString("pem");
}

/** Opens these and what they lead to, one of each kind; gives all the text that was seen. */
async function crawled(visit: Visit, begin: readonly string[]): Promise<string> {
  const waiting = [...begin];
  const known = new Set(begin.map(kindOf));
  let seen = "";
  for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
    await visit.page.goto(world.origin + path);
    seen += await expectInert(visit);
    for (const href of await links(visit.page)) {
      if (known.has(kindOf(href))) continue;
      known.add(kindOf(href));
      waiting.push(href);
    }
  }
  expect(known.size).toBeGreaterThan(30);
  return seen;
}

/** Nothing was executed, and nothing stands there that could be; gives the page's text. */
async function expectInert({ page, quiet }: Visit): Promise<string> {
  await page.locator("h1, h2, p, pre").first().waitFor();
  await quiet();
  const found = await page.evaluate(lookForHarm);
  expect({ at: page.url().slice(0, 200), found }).toEqual({
    at: page.url().slice(0, 200),
    found: [],
  });
  expect(await page.evaluate("window.hacked")).toBeUndefined();
  return page.evaluate("document.body.textContent");
}

const links = (page: Page): Promise<readonly string[]> =>
  page.evaluate(`[...document.querySelectorAll("main a[href^='/console/']")]
    .map((one) => one.getAttribute("href"))`);

/** Addresses that differ by what they name, or by what they select, show the same kind of thing. */
function kindOf(path: string): string {
  const { pathname, searchParams } = new URL(path, "https://localhost");
  const segments = pathname
    .split("/")
    .map((one, at) => (at < 4 && /^[a-z-]*$/.test(one) ? one : "*"));
  return [segments.join("/"), searchParams.get("dialog"), searchParams.get("tab")].join(" ");
}

const lookForHarm = `[
  ...document.querySelectorAll("img, iframe, object, embed, base, body script, a[href^='javascript:' i]"),
  ...[...document.querySelectorAll("*")].filter((one) =>
    one.getAttributeNames().some((name) => name.startsWith("on") || name === "srcdoc")),
].filter((one) => one.tagName !== "SCRIPT" || !one.src.startsWith(location.origin + "/console/assets/"))
  .map((one) => one.outerHTML.slice(0, 200))`;

/** Members of the query that some page reads. */
const reflected = [
  "q",
  "status",
  "ca",
  "tab",
  "dialog",
  "tenant",
  "profile",
  "cursor",
  "page",
  "key",
];
