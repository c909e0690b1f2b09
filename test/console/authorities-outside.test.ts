/** Authorities and the world outside in the console: external roots and cross-signatures. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";

import { chromiumPath } from "#test/support/instances/browser.ts";
import {
  ConsoleWorld,
  expectStateAccessible,
  expectTree,
  keepPicture,
} from "#test/support/instances/console-world.ts";
import { OpensslCa } from "#test/support/instances/openssl-ca.ts";
import { expectSoon } from "#test/support/until.ts";

let world: ConsoleWorld;
let outside: OpensslCa;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  [world, outside] = await Promise.all([
    ConsoleWorld.start(),
    OpensslCa.make({ cn: "External Root" }),
  ]);
}, 60_000);

afterAll(() => world?.stop());

interface Made {
  readonly id: string;
  readonly label: string;
}

const dialog = (page: Page): Locator => page.getByRole("dialog");

const makeRoot = (label: string): Promise<Made> =>
  world.instance.admin("POST", "/api/ca/init-root", {
    label,
    subject: { cn: `Example ${label}` },
    key_type: "ecdsa-p256",
  });

/** What the other side makes of a request. */
async function certified(csr: string, extensions: string): Promise<string> {
  outside.write("sub.csr", csr);
  outside.write("sub.cnf", extensions);
  const files = ["-in", "sub.csr", "-extfile", "sub.cnf", "-out", "sub.pem"];
  await outside.openssl(["ca", "-batch", "-notext", "-config", "openssl.cnf"].concat(files));
  return outside.read("sub.pem");
}

/** A request of somebody else, with a key of its own. */
async function foreignRequest(cn: string): Promise<string> {
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-keyout", "other.key"];
  const what = ["-nodes", "-subj", `/CN=${cn}`, "-out", "other.csr"];
  await outside.openssl(["req", "-new", "-config", "openssl.cnf"].concat(key, what));
  return outside.read("other.csr");
}

/** Asks for a CA below the external root, and gives the request as the page shows it. */
async function requested(page: Page, label: string): Promise<string> {
  await page.getByRole("link", { name: "Below an external root" }).click();
  await dialog(page).getByLabel("Label").fill(label);
  await dialog(page).getByLabel("Common name").fill(`Example ${label}`);
  await dialog(page).getByRole("button", { name: "Make the key and the request" }).click();
  return await dialog(page).getByLabel("Request in PEM").inputValue();
}

describe.skipIf(chromiumPath === undefined)("authorities and others in a browser", () => {
  test("an external root certifies a request, and every check of what comes back is shown", async () => {
    const { page, complaints, close } = await world.root("/console/authorities");
    await page.goto(`${world.origin}/console/authorities?dialog=request`);
    await dialog(page).getByText("The key is made here and stays here.").waitFor();
    await expectTree(page, "authorities-request", "dialog");
    await expectStateAccessible(page);
    await page.keyboard.press("Escape");
    await dialog(page).waitFor({ state: "detached" });
    const csr = await requested(page, "guest");
    await expectStateAccessible(page);
    await dialog(page).getByRole("link", { name: "Open guest" }).click();
    await page.getByRole("link", { name: "Bring in the certificate" }).click();
    await dialog(page).getByText("What will be checked").waitFor();
    await expectTree(page, "authorities-import", "dialog");
    await dialog(page).getByLabel("Certificate", { exact: true }).fill(outside.read("cacert.pem"));
    await expectStateAccessible(page);
    const take = dialog(page).getByRole("button", { name: "Take the certificate" });
    await take.click();
    const checks = dialog(page).getByRole("region", { name: "Checks" });
    await checks.getByText("What was checked").waitFor();
    const failed = checks.getByRole("listitem").filter({ hasText: "failed" });
    await expectSoon(
      () => failed.allTextContents(),
      [
        expect.stringContaining("Its key is the one that is held here."),
        expect.stringContaining("It is not signed by itself."),
      ],
    );
    await expectSoon(
      () => dialog(page).getByLabel("Certificate", { exact: true }).inputValue(),
      outside.read("cacert.pem"),
    );
    await expectStateAccessible(page);
    await keepPicture(page, "authorities-import");
    await certified(csr, subCa);
    await outside.openssl(["x509", "-in", "sub.pem", "-outform", "DER", "-out", "sub.der"]);
    await dialog(page)
      .getByLabel("Certificate: choose a file")
      .setInputFiles(join(outside.directory, "sub.der"));
    await dialog(page).getByLabel("Chain", { exact: true }).fill(outside.read("cacert.pem"));
    await take.click();
    await dialog(page).getByText("Every check is passed").waitFor();
    await dialog(page).getByText("Its path length is not the one").waitFor();
    await expectStateAccessible(page);
    await dialog(page).getByRole("link", { name: "Open guest" }).click();
    await page.getByText("below an external root").waitFor();
    await page.getByRole("link", { name: "Replace the certificate" }).click();
    await dialog(page).getByText("Name and key stay.").waitFor();
    await dialog(page).getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("link", { name: "Certificate", exact: true }).click();
    await expectSoon(
      () => page.getByLabel("External chain in PEM").inputValue(),
      expect.stringContaining("BEGIN CERT"),
    );
    await page.getByRole("link", { name: "Rollover" }).click();
    await page.getByText("Its certificate is made elsewhere").waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("others are cross-signed: a CA here, a certificate, a request; what is wrong is marked", async () => {
    const issuer = await makeRoot("voucher");
    await makeRoot("newcomer");
    const path = `/console/authorities/${issuer.id}?tab=cross&dialog=cross-sign`;
    const { page, complaints, close } = await world.root(path);
    const send = dialog(page).getByRole("button", { name: "Cross-sign it" });
    await send.click();
    await marked(page, dialog(page).getByLabel("Subject"));
    await expectStateAccessible(page);
    await dialog(page).getByLabel("Subject").selectOption({ label: localSubject });
    await send.click();
    await dialog(page).getByText("voucher vouches for CN=Example newcomer").waitFor();
    await expectStateAccessible(page);
    await dialog(page).getByRole("link", { name: "See the cross certificates" }).click();
    await page.getByRole("link", { name: "Cross-sign another CA" }).click();
    await dialog(page).getByRole("link", { name: "A certificate" }).click();
    const field = dialog(page).getByLabel("Certificate of the subject", { exact: true });
    await field.fill("nonsense");
    await marked(page, field);
    await expectSoon(() => send.isDisabled(), true);
    await field.fill(outside.read("cacert.pem"));
    await send.click();
    await dialog(page)
      .getByText(/vouches for CN=External Root/)
      .waitFor();
    await dialog(page).getByRole("link", { name: "See the cross certificates" }).click();
    await page.getByRole("link", { name: "Cross-sign another CA" }).click();
    await dialog(page).getByRole("link", { name: "A request" }).click();
    const request = dialog(page).getByLabel("Request of the subject", { exact: true });
    await expectTree(page, "authorities-cross-sign", "dialog");
    await request.fill(await foreignRequest("Other Issuing"));
    await send.click();
    const days = dialog(page).getByLabel("Valid for (days)");
    await marked(page, days);
    await expectSoon(
      () => request.inputValue(),
      expect.stringContaining("BEGIN CERTIFICATE REQUEST"),
    );
    await days.fill("365");
    await send.click();
    await dialog(page)
      .getByText(/vouches for CN=Other Issuing/)
      .waitFor();
    await dialog(page).getByRole("link", { name: "See the cross certificates" }).click();
    await page.getByText("1–3 of 3").waitFor();
    await expectTree(page, "authorities-cross");
    await expectStateAccessible(page);
    const saved = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download" }).first().click();
    expect((await saved).suggestedFilename()).toBe("voucher-cross-chain.pem");
    await page.getByRole("link", { name: "CN=Example newcomer" }).click();
    await page.getByRole("heading", { name: "newcomer" }).waitFor();
    await page.getByRole("link", { name: "Cross-signatures" }).click();
    await page.getByRole("cell", { name: "a cross certificate" }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("names and addresses that somebody else chose are shown as text", async () => {
    const { page, complaints, close } = await world.root("/console/authorities");
    const csr = await requested(page, "wild");
    const statement = `https://a.test/"><img src=x onerror=window.hit=1>${"A".repeat(10_000)}`;
    const policies = "certificatePolicies=@said\n[said]\npolicyIdentifier=1.2.3.4\n";
    await certified(csr, `${subCa}${policies}CPS.1="${statement.replaceAll('"', '\\"')}"\n`);
    await dialog(page).getByRole("link", { name: "Open wild" }).click();
    await page.getByRole("link", { name: "Bring in the certificate" }).click();
    await dialog(page).getByLabel("Certificate", { exact: true }).fill(outside.read("sub.pem"));
    await dialog(page).getByLabel("Chain", { exact: true }).fill(outside.read("cacert.pem"));
    await dialog(page).getByRole("button", { name: "Take the certificate" }).click();
    await dialog(page).getByRole("link", { name: "Open wild" }).click();
    await page.getByRole("link", { name: "Certificate", exact: true }).click();
    await page.getByText("https://a.test/").waitFor();
    await expectSoon(() => page.locator("main").textContent(), expect.stringContaining(statement));
    const issuer = await makeRoot("tamer");
    const name = '"><script>window.hit=1';
    const foreign = await OpensslCa.make({ cn: name });
    await world.instance.admin("POST", `/api/ca/${issuer.id}/cross-signs`, {
      certificate_pem: foreign.read("cacert.pem"),
    });
    await page.goto(`${world.origin}/console/authorities/${issuer.id}?tab=cross`);
    await page.getByRole("cell", { name: /script/ }).waitFor();
    await page.goto(`${world.origin}/console/authorities?dialog=root`);
    await dialog(page)
      .getByLabel("Common name")
      .fill(`\u202e${name}${"B".repeat(10_000)}`);
    await dialog(page).getByLabel("Label").fill("wilder");
    await dialog(page).getByRole("button", { name: "Create the root" }).click();
    const typed = dialog(page).getByLabel("Common name");
    await marked(page, typed);
    expect((await typed.inputValue()).length).toBeGreaterThan(10_000);
    expect(await page.evaluate("window.hit")).toBeUndefined();
    const wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth";
    expect(await page.evaluate(wide)).toBe(false);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);
});

/** Waits until the field is the one that was refused. */
const marked = (page: Page, field: Locator): Promise<void> =>
  field.and(page.locator('[aria-invalid="true"]')).waitFor();

const localSubject = "newcomer (active, ecdsa-p256)";

/** What the other side writes into the certificate of a CA. */
const subCa = `basicConstraints=critical,CA:TRUE,pathlen:0
keyUsage=critical,keyCertSign,cRLSign,digitalSignature
subjectKeyIdentifier=hash
`;
