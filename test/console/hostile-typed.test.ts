/** What strangers get into an address, a field or a file: the console shows it as text. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { chromiumPath } from "#test/support/instances/browser.ts";
import type { ConsoleWorld, Visit } from "#test/support/instances/console-world.ts";
import { hostile } from "#test/support/instances/hostile.ts";
import {
  csrOf,
  expectInert,
  hostileWorld,
  image,
  link,
  reversed,
  script,
} from "#test/support/instances/hostile-world.ts";
import { pages } from "#web/routes.tsx";

let world: ConsoleWorld;
let ca: string;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  ({ world, ca } = await hostileWorld());
}, 60_000);
afterAll(() => world?.stop());

describe.skipIf(chromiumPath === undefined)("hostile texts in the console", () => {
  test("are text where the address carries them", async () => {
    const waiting = [
      ...pages.map(({ segment }, at) => reflectedIn(segment, at)),
      `/console/${encodeURIComponent(image)}`,
      "/console/%E0%A4%A",
      "/console//x",
    ];
    const visits = [await world.root("/console/")];
    while (visits.length < 4) visits.push(await world.root("/console/"));
    await Promise.all(
      visits.map(async (visit) => {
        for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
          await visit.page.goto(world.origin + path);
          await expectInert(visit);
        }
        expect(visit.complaints).toEqual([]);
        await visit.close();
      }),
    );
  }, 120_000);

  test("are text in what is typed, and in what refuses it", async () => {
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
    await expectEnded(visit);
  }, 60_000);

  test("are text in a request that is refused: of a key that is blocked, or for its name", async () => {
    const csr = await csrOf(link);
    await world.instance.admin("POST", "/api/blocked-keys", { csr, reason: image });
    const visit = await world.root(`/console/issue?ca=${ca}&profile=plain&from=csr`);
    const { page } = visit;
    const request = page.getByLabel("Certification request");
    const issue = page.getByRole("button", { name: "Issue", exact: true });
    await request.fill(csr);
    await page.getByText("It would be refused.").waitFor();
    await issue.click();
    const gates = page.getByRole("heading", { name: "What the gates said" });
    await gates.waitFor();
    expect(await expectInert(visit)).toContain("blocked");
    // Marks of direction are refused, and the refusal turns nothing around either: the server
    // writes the name as RFC 4514 does.
    await page.reload();
    await request.fill(await csrOf(reversed));
    await page.getByText("It would be refused.").waitFor();
    const preview = await expectInert(visit);
    expect(preview).toContain("attribute 2.5.4.3 has control characters");
    expect(preview).toContain(String.raw`CN=\E2\80\AEgnp.exe`);
    await issue.click();
    await gates.waitFor();
    expect(await expectInert(visit)).toContain("attribute 2.5.4.3 has control characters");
    await expectEnded(visit);
  }, 60_000);

  test("are text in names of files, and in files, that are chosen or dropped", async () => {
    const visit = await world.root("/console/certificates");
    const { page } = visit;
    const name = `${image}.pem`;
    await page
      .getByLabel("Look for the certificate of a file", { exact: false })
      .setInputFiles({ name, mimeType: "text/plain", buffer: Buffer.from(script) });
    const alert = page.getByRole("alert");
    await alert.getByText("The file is").waitFor();
    await expectInert(visit);
    for (const [contents, answer] of [
      [script, "The file is neither PEM nor DER."],
      [`-----BEGIN CERTIFICATE-----\n${image}\n-----END CERTIFICATE-----\n`, "The file is not PEM"],
      [`${reversed}\n-----BEGIN ${link.slice(0, 10)} KEY-----\nAAAA\n`, "The file is neither"],
    ] as const) {
      await alert.getByRole("button", { name: "Close" }).click();
      await drop(visit, name, contents);
      await alert.getByText(answer).waitFor();
      await expectInert(visit);
    }
    // One that can be read leads to the certificates with its key, of which there are none.
    await drop(visit, `${reversed}.csr`, await csrOf(image));
    await page.waitForURL((url) => url.searchParams.has("public_key_sha256"));
    await expectInert(visit);
    await page.goto(`${world.origin}/console/issue/many?ca=${ca}`);
    const row = `www.example.com,${image}\n"${script.replaceAll('"', '""')}",x\n`;
    await page.getByLabel("Or its file").setInputFiles({
      name: `${image}.csv`,
      mimeType: "text/csv",
      buffer: Buffer.from(`name,ref\n${row}`),
    });
    await expectInert(visit);
    await expectEnded(visit);
  }, 60_000);

  test("are text on the page of somebody who is out", async () => {
    const value = encodeURIComponent(script);
    const visit = await world.stranger(`/console/events/7?error=${value}&return=${value}#${value}`);
    const { page } = visit;
    await page.getByLabel("User name").fill(script);
    await page.getByLabel("Password", { exact: true }).fill(image);
    await page.getByRole("button", { name: "Log in" }).first().click();
    await page.getByRole("alert").waitFor();
    await expectInert(visit);
    await expectEnded(visit);
  }, 60_000);
});

async function expectEnded({ complaints, close }: Visit): Promise<void> {
  expect(complaints).toEqual([]);
  await close();
}

/** Lets a file fall on the search field, as a person does who drags it over the window first. */
async function drop({ page }: Visit, name: string, contents: string): Promise<void> {
  const dataTransfer = await page.evaluateHandle(`(() => {
    const carried = new DataTransfer();
    carried.items.add(new File([${JSON.stringify(contents)}], ${JSON.stringify(name)}));
    return carried;
  })()`);
  const field = page.locator("#search");
  await field.dispatchEvent("dragover", { dataTransfer });
  await page.getByText("Drop a certificate, request or key.").waitFor();
  await field.dispatchEvent("drop", { dataTransfer });
  await page.getByText("Drop a certificate, request or key.").waitFor({ state: "detached" });
}

/** The address of a page with a text wherever one may stand in it. */
function reflectedIn(segment: string, at: number): string {
  const texts = hostile(200);
  const text = texts[at % texts.length] ?? "";
  const value = encodeURIComponent(text);
  const query = reflected.map((name) => `${name}=${value}`).join("&");
  const step = encodeURIComponent(text.replaceAll("/", "|"));
  const path = segment === "" ? "" : `${segment}/${step}/${step}`;
  return `/console/${path}?${query}#${value}`;
}

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
