/** Certificates in the console: found, read, revoked and renewed by who may, and refused others. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Locator, Page } from "playwright-core";

import { encodePem } from "#core/asn1/pem.ts";
import { certify, makeKey, rootFields } from "#test/support/encodings/x509.ts";
import { chromiumPath } from "#test/support/instances/browser.ts";
import {
  ConsoleWorld,
  expectStateAccessible,
  expectTree,
  keepPicture,
} from "#test/support/instances/console-world.ts";
import { reasonOf } from "#test/support/instances/reasons.ts";
import { csr } from "#test/support/worlds/issuance.ts";
import { expectSoon } from "#test/support/until.ts";
import { copyText } from "#test/support/instances/issue-page.ts";
import { shareSecondPerson } from "#test/support/instances/second-person.ts";

interface Issued {
  readonly serial: string;
  readonly certificate: string;
}

const second = shareSecondPerson();
let world: ConsoleWorld;
let root: string;
let ca: string;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  const usages = { ext_key_usages: ["clientAuth"], key_usages: ["digitalSignature"] };
  world = await ConsoleWorld.start({
    auth: second.auth,
    approvals: { enabled: true, thresholds: { "cert.issue": 1 } },
    profiles: [{ name: "strict", require_approval: true, ...usages }],
  });
  const made = (path: string, label: string) =>
    world.instance.admin<{ id: string }>("POST", path, {
      label,
      subject: { cn: `Example ${label}` },
      key_type: "ecdsa-p256",
    });
  root = (await made("/api/ca/init-root", "root")).id;
  ca = (await made(`/api/ca/${root}/issue-intermediate`, "issuing")).id;
}, 60_000);

afterAll(() => world?.stop());

/** Issued by the shell; the first name is the common name. */
const issue = (dns: readonly string[], more: Readonly<Record<string, unknown>> = {}) =>
  world.instance.admin<Issued>("POST", `/api/ca/${ca}/issue`, { csr: requestFor(dns), ...more });

const requestFor = (dns: readonly string[]): string =>
  csr({ dns, subject: [{ type: "CN", value: dns[0] ?? "" }] });

const panel = (page: Page): Locator => page.getByRole("complementary");
const dialog = (page: Page): Locator => page.getByRole("dialog");
const row = (page: Page, name: string): Locator => page.getByRole("row").filter({ hasText: name });

/** Somebody with an API token of these roles. */
async function lesser(path: string, roles: readonly string[]) {
  const secret = await world.instance.token(roles, { scope: "platform" });
  const visit = await world.stranger(path);
  const { page } = visit;
  await page.getByText("Use an API token").click();
  await page.getByLabel("API token", { exact: true }).fill(secret);
  await page.getByRole("button", { name: "Log in" }).last().click();
  await page.getByRole("navigation", { name: "Pages", exact: true }).waitFor();
  return visit;
}

/** Lets a file fall onto the window. */
const drop = (page: Page, content: string) =>
  page.evaluate((text) => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([text], "any.bin"));
    for (const type of ["dragover", "drop"]) {
      const init = { dataTransfer, bubbles: true, cancelable: true };
      document.querySelector("main")?.dispatchEvent(new DragEvent(type, init));
    }
  }, content);

describe.skipIf(chromiumPath === undefined)("the certificates in a browser", () => {
  test("a certificate is found, read and revoked, and the address says all of it", async () => {
    const { serial } = await issue(["shop.example.test", "www.shop.example.test"]);
    const { page, complaints, close } = await world.root("/console/certificates");
    await row(page, "shop.example.test").waitFor();
    await expectSoon(() => new URL(page.url()).searchParams.get("ca"), ca);
    await expectTree(page, "certificates");
    await page.getByRole("link", { name: "shop.example.test" }).click();
    await panel(page).getByText("www.shop.example.test").waitFor();
    await panel(page).getByRole("button", { name: "copy certificate fingerprint" }).waitFor();
    await expectSoon(
      () => page.url(),
      expect.stringContaining(`/console/certificates/${ca}/${serial}?ca=${ca}`),
    );
    await expectTree(page, "certificates-panel", "aside");
    await keepPicture(page, "certificates");
    await panel(page).getByRole("link", { name: "Fields" }).click();
    await panel(page).getByText("Certificate, SHA-256", { exact: true }).waitFor();
    await expectTree(page, "certificates-fields", "aside");
    await expectStateAccessible(page);
    await panel(page).getByRole("link", { name: "Revoke" }).click();
    await dialog(page).waitFor();
    await page.reload();
    await dialog(page).getByText("This cannot be undone.").waitFor();
    await expectTree(page, "certificates-revoke", "dialog");
    await expectStateAccessible(page);
    await keepPicture(page, "certificates-revoke");
    await dialog(page).getByLabel("Reason").selectOption("keyCompromise");
    // A key alone revokes nothing.
    await dialog(page).getByLabel("Reason").press("Enter");
    const revoke = dialog(page).getByRole("button", { name: "Revoke shop.example.test" });
    await revoke.click();
    await dialog(page).waitFor({ state: "detached" });
    await panel(page).getByText("(keyCompromise)").waitFor();
    await row(page, "shop.example.test").getByText("revoked").waitFor();
    const again = panel(page).getByRole("button", { name: "Revoke" });
    await expectSoon(() => again.isDisabled(), true);
    await panel(page).getByText("It is revoked already.").waitFor();
    await page.keyboard.press("Escape");
    await panel(page).waitFor({ state: "detached" });
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("one is suspended, released and renewed with its own key", async () => {
    const { serial } = await issue(["mail.example.test"]);
    const at = `/console/certificates/${ca}/${serial}`;
    const { page, complaints, quiet, close } = await world.root(at);
    await panel(page).getByRole("link", { name: "Suspend" }).click();
    await expectStateAccessible(page);
    await dialog(page).getByRole("button", { name: "Suspend mail.example.test" }).click();
    await panel(page).getByText("It is suspended.").waitFor();
    await panel(page).getByRole("link", { name: "Release" }).click();
    await expectStateAccessible(page);
    await dialog(page).getByRole("button", { name: "Release mail.example.test" }).click();
    await panel(page).getByRole("link", { name: "Renew" }).click();
    // The class is guarded, but nothing of this profile waits for anybody.
    await dialog(page).getByLabel("Days it is valid").waitFor();
    await quiet();
    await expectSoon(() => dialog(page).getByText("This takes two").count(), 0);
    await dialog(page).getByRole("button", { name: "Renew" }).click();
    await dialog(page).waitFor({ state: "detached" });
    await page.waitForURL((url) => !url.pathname.endsWith(serial));
    await panel(page).getByRole("link", { name: "Events" }).click();
    await panel(page).getByText("cert.renew").waitFor();
    await expectSoon(() => row(page, "mail.example.test").count(), 2);
    await row(page, "replaced").waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("a renewal that is refused keeps what was typed, one that takes two leads on", async () => {
    const asked = await world.instance.admin<{ approval_id: string }>(
      "POST",
      `/api/ca/${ca}/issue`,
      { csr: requestFor(["vpn.example.test"]), profile: "strict" },
    );
    const { result } = await second.approve(world.instance, asked.approval_id);
    const at = `/console/certificates/${ca}/${result.serial}?dialog=renew`;
    const { page, complaints, close } = await world.root(at);
    await dialog(page).getByText("This takes two").waitFor();
    const other = requestFor(["other.example.test"]);
    await dialog(page).getByLabel("Request with a new key").fill(other);
    await dialog(page).getByRole("button", { name: "Renew" }).click();
    await dialog(page).getByText("identity_mismatch").waitFor();
    await expectStateAccessible(page);
    await expectSoon(() => dialog(page).getByLabel("Request with a new key").inputValue(), other);
    await dialog(page).getByLabel("Request with a new key").fill("no request");
    const withheld = dialog(page).getByRole("button", { name: "Renew" });
    await expectSoon(() => reasonOf(withheld), "Mend first what is marked.");
    await expectSoon(() => withheld.isDisabled(), true);
    await dialog(page).getByLabel("Request with a new key").fill("");
    await dialog(page).getByLabel("Days it is valid").fill("many");
    await dialog(page).getByRole("button", { name: "Renew" }).click();
    const days = dialog(page).getByLabel("Days it is valid");
    await dialog(page).locator('[aria-invalid="true"]').waitFor();
    await expectSoon(() => days.getAttribute("aria-invalid"), "true");
    await expectSoon(() => days.inputValue(), "many");
    await days.fill("30");
    await dialog(page).getByRole("button", { name: "Renew" }).click();
    await dialog(page).getByRole("link", { name: "Open the request" }).waitFor();
    const renew = dialog(page).getByRole("button", { name: "Renew" });
    await expectSoon(() => renew.isDisabled(), true);
    await expectSoon(
      () => reasonOf(renew),
      expect.stringContaining("One other person must approve it."),
    );
    await keepPicture(page, "certificates-renew");
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("who may only read sees why, and what the server refuses of a search", async () => {
    const { serial } = await issue(["read.example.test"]);
    const at = `/console/certificates/${ca}/${serial}`;
    const { page, complaints, close } = await lesser(at, ["approver"]);
    for (const name of ["Renew", "Suspend", "Revoke"]) {
      const button = panel(page).getByRole("button", { name });
      await expectSoon(() => button.isDisabled(), true);
    }
    await expectSoon(() => panel(page).getByText("Needs issue on this CA.").count(), 3);
    await panel(page).getByRole("link", { name: "Events" }).click();
    await panel(page).getByText("Needs audit:read on this CA.").waitFor();
    await expectStateAccessible(page);
    await keepPicture(page, "certificates-lesser");
    await panel(page).getByRole("link", { name: "Overview" }).click();
    await panel(page).getByRole("link", { name: "certificates of this key" }).click();
    await page.getByText("2 CAs were not searched").waitFor();
    await page.getByText("forbidden").waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("names, serials and files lead to the certificate, and no file is sent", async () => {
    const request = requestFor(["drop.example.test"]);
    const { serial, certificate } = await issue([], { csr: request });
    const { page, complaints, close } = await world.root("/console/");
    const sent: string[] = [];
    page.on("request", (one) => sent.push(one.postData() ?? "", one.url()));
    const box = page.getByRole("searchbox");
    const found = page.getByRole("link", { name: "drop.example.test" });
    await page.keyboard.press("/");
    await box.fill("drop.exa");
    await box.press("Enter");
    await found.waitFor();
    await page.getByText("1 found in 2 CAs.").waitFor();
    await expectTree(page, "certificates-everywhere");
    await expectStateAccessible(page);
    await keepPicture(page, "certificates-everywhere");
    await found.click();
    const shown = await panel(page).getByTitle("Copy serial").textContent();
    await box.fill((shown ?? "").replace(/, copy.*/, "").trim());
    await box.press("Enter");
    await page.waitForURL(/q=0x[0-9a-f]+/);
    await found.waitFor();
    const saving = page.waitForEvent("download");
    await page.getByRole("link", { name: "Export CSV" }).click();
    await dialog(page).getByRole("button", { name: "Save as CSV" }).click();
    expect(readFileSync(await (await saving).path(), "utf8")).toContain("drop.example.test");
    await dialog(page).getByText("1 of 1 rows read").waitFor();
    await expectStateAccessible(page);
    await dialog(page).getByRole("button", { name: "Close" }).first().click();
    await box.fill(`0x${BigInt(serial).toString(16).padStart(32, "0").slice(0, 8)}`);
    await box.press("Enter");
    await page.waitForURL(/serial_prefix=0x[0-9a-f]{8}/);
    await found.waitFor();
    await page.goto(`${world.origin}/console/`);
    await box.waitFor();
    await drop(page, certificate);
    await page.waitForURL(new RegExp(`q=${serial}`));
    await found.waitFor();
    await drop(page, request);
    await page.waitForURL(/public_key_sha256=SHA256/);
    await found.waitFor();
    await drop(page, "-----BEGIN PKCS7-----\nMAA=\n-----END PKCS7-----");
    await page.getByRole("alert").getByText("A file of PKCS7 is not looked for").waitFor();
    // Not issued here: its key may have been certified here all the same.
    await drop(page, foreignCertificate);
    await page.getByRole("link", { name: "Look for its key" }).click();
    await page.waitForURL(/public_key_sha256=SHA256/);
    await page.getByText("No certificate here fits.").waitFor();
    const bodies = sent.join("\n");
    expect(bodies).not.toContain("BEGIN");
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("what somebody asked for is listed from a certificate of theirs", async () => {
    const { serial } = await issue(["asked.example.test"]);
    const { page, complaints, close } = await world.root(`/console/certificates/${ca}/${serial}`);
    await panel(page).getByRole("link", { name: "local:root", exact: true }).click();
    await page.waitForURL((url) => url.searchParams.get("requested_by") === "local:root");
    await expectSoon(() => new URL(page.url()).searchParams.get("ca"), ca);
    await row(page, "asked.example.test").waitFor();
    await page.getByText("--requested-by local:root").waitFor();
    await page.goto(`${world.origin}/console/certificates?ca=${ca}&requested_by=nobody`);
    await page.getByText("fits these filters").waitFor();
    await expectStateAccessible(page);
    expect(complaints).toEqual([]);
    await close();
  });

  test("a certificate is found by its SHA-256, and a key by its own, from the one search box", async () => {
    const { serial, certificate } = await issue(["digest.example.test"]);
    const x509 = new X509Certificate(certificate);
    const digest = x509.fingerprint256;
    const { page, complaints, close } = await world.root(`/console/certificates/${ca}/${serial}`);
    const grouped = digest
      .replaceAll(":", "")
      .toLowerCase()
      .replace(/.{4}(?=.)/g, "$& ");
    await panel(page).getByRole("button", { name: "copy certificate fingerprint" }).waitFor();
    await expectSoon(() => panel(page).textContent(), expect.stringContaining(grouped));
    const box = page.getByRole("searchbox");
    await box.fill(digest);
    await box.press("Enter");
    await page.waitForURL((url) => url.searchParams.get("certificate_sha256") === digest);
    await row(page, "digest.example.test").waitFor();
    await page.getByText("1 found in 2 CAs.").waitFor();
    await page.getByText("pkid cert list --help").waitFor();
    await expectStateAccessible(page);
    // Of a key that digest is of no certificate.
    const spki = x509.publicKey.export({ type: "spki", format: "der" });
    await box.fill(createHash("sha256").update(spki).digest("hex"));
    await box.press("Enter");
    await page.waitForURL((url) => url.searchParams.has("public_key_sha256"));
    await row(page, "digest.example.test").waitFor();
    await expectSoon(() => new URL(page.url()).searchParams.has("certificate_sha256"), false);
    // Of a CA the certificate is in no inventory.
    const { certificate: its } = await world.instance.admin<Issued>("GET", `/api/ca/${root}`);
    await box.fill(new X509Certificate(its).fingerprint256);
    await box.press("Enter");
    await page.getByRole("heading", { name: "Certificate authorities" }).waitFor();
    await page.getByText("0 found in 2 CAs.").waitFor();
    await expectSoon(() => new URL(page.url()).searchParams.has("certificate_sha256"), true);
    await box.fill("ab".repeat(32));
    await box.press("Enter");
    await page.waitForURL((url) => url.searchParams.has("public_key_sha256"));
    await page.getByText("No key here has this fingerprint.").waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("the fingerprint of its key is drawn in groups, and is one text to whoever takes it", async () => {
    const { serial } = await issue(["grouped.example.test"]);
    const { page, complaints, close } = await world.root(`/console/certificates/${ca}/${serial}`);
    const key = panel(page).getByRole("button", { name: "copy key fingerprint" });
    await key.waitFor();
    const groups = await key.locator(".groups span").allTextContents();
    const whole = groups.join("");
    expect(whole).toMatch(/^SHA256:[\w+/]{43}$/);
    expect(groups.map(({ length }) => length)).toEqual([7, ...Array(10).fill(4), 3]);
    await panel(page).getByRole("button", { name: whole }).waitFor();
    const gap = await key.evaluate((shown) => {
      const [first, second] = [...shown.querySelectorAll(".groups span")];
      const left = second?.getBoundingClientRect().left ?? 0;
      return left - (first?.getBoundingClientRect().right ?? 0);
    });
    expect(gap).toBeGreaterThan(2);
    const selected = await key.locator(".groups").evaluate((shown) => {
      getSelection()?.selectAllChildren(shown);
      return String(getSelection());
    });
    expect(selected).toBe(whole);
    expect(await copyText(key)).toBe(whole);
    await keepPicture(page, "certificates-groups");
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("its chain, its records for DNS and its files are given", async () => {
    const { serial, certificate } = await issue(["tls.example.test"]);
    const at = `/console/certificates/${ca}/${serial}?tab=chain`;
    const { page, complaints, close } = await world.root(at);
    await panel(page).getByText("CN=Example issuing").waitFor();
    await panel(page).getByText("CN=Example root").waitFor();
    await panel(page).getByRole("link", { name: "DNS" }).click();
    await panel(page)
      .getByText(/^_443\._tcp\.tls\.example\.test\. IN TLSA 3 1 1/)
      .waitFor();
    await expectSoon(() => panel(page).getByRole("listitem").count(), 12);
    await panel(page).getByLabel("Port").fill("25");
    await panel(page).getByLabel("Port").press("Enter");
    await panel(page)
      .getByText(/^_25\._tcp/)
      .first()
      .waitFor();
    await expectStateAccessible(page);
    await keepPicture(page, "certificates-dns");
    await panel(page).getByRole("link", { name: "Transparency" }).click();
    await panel(page).getByText("No log was asked").waitFor();
    const saving = page.waitForEvent("download");
    await panel(page).getByRole("button", { name: "Chain" }).click();
    const chain = readFileSync(await (await saving).path(), "utf8");
    expect(chain).toStartWith(certificate);
    expect(chain.match(/BEGIN/g)).toHaveLength(2);
    expect(await copyText(panel(page).getByTitle("Copy PEM"))).toBe(certificate);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("a long list is paged both ways with few rows drawn, filtered, and saved as CSV", async () => {
    await Promise.all(Array.from({ length: 60 }, (_, at) => issue([`n${at}.many.example.test`])));
    const { page, complaints, close } = await world.root(
      `/console/certificates?ca=${ca}&q=many.example`,
    );
    await page.getByText("1–50 of 60").waitFor();
    await expectSoon(() => page.getByRole("row").count(), 51);
    expect(await page.evaluate("document.querySelectorAll('*').length")).toBeLessThan(1_500);
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByText("51–60 of 60").waitFor();
    await page.reload();
    await page.getByText("51–60 of 60").waitFor();
    await page.getByRole("button", { name: "Back" }).click();
    await page.getByText("1–50 of 60").waitFor();
    await page.getByLabel("Add a filter").selectOption("status");
    await page.getByLabel("Status").selectOption("revoked");
    await page.getByText("No certificate of issuing fits these filters.").waitFor();
    await page.getByRole("link", { name: "Remove Status" }).click();
    await page.getByText("1–50 of 60").waitFor();
    await page.getByRole("link", { name: "Export CSV" }).click();
    await expectStateAccessible(page);
    const saving = page.waitForEvent("download");
    await dialog(page).getByRole("button", { name: "Save as CSV" }).click();
    const lines = readFileSync(await (await saving).path(), "utf8")
      .trimEnd()
      .split("\r\n");
    expect(lines).toHaveLength(61);
    expect(lines[0]).toStartWith("serial,serial_hex,common_name,sans,");
    await dialog(page).getByText("60 of 60 rows read; the file has been saved.").waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("what strangers have chosen is text, whatever it says", async () => {
    const image = "<img src=x onerror=alert(1)>";
    const subject = [
      { type: "O", value: '"><script>alert(1)</script>' },
      { type: "CN", value: image },
    ];
    const request = csr({ subject, dns: ["hostile.example.test"] });
    const { serial } = await issue([], { csr: request, profile: "client" });
    const { page, complaints, close } = await world.root(
      `/console/certificates/${ca}/${serial}?ca=${ca}&tab=fields`,
    );
    await panel(page).getByRole("heading", { name: image }).waitFor();
    await panel(page).getByText('"><script>alert(1)</script>').first().waitFor();
    await row(page, image).waitFor();
    const turned = `a\u202e${image}"><script>`;
    const path = (q: string) => `/console/certificates?ca=*&q=${encodeURIComponent(q)}`;
    await page.goto(world.origin + path(turned));
    await page.getByText(`Name or serial: a[U+202E]${image}"><script>`).waitFor();
    await page.getByText("0 found in 2 CAs.").waitFor();
    await page.goto(world.origin + path("x".repeat(10_000)));
    await page.getByText("bad_query").or(page.getByText("invalid_field")).first().waitFor();
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(1280);
    await expectSoon(() => page.locator("main img, main script").count(), 0);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("on 360 pixels a certificate is looked up and revoked", async () => {
    await issue(["phone.example.test"]);
    const { page, complaints, close } = await world.root("/console/", { width: 360 });
    await page.getByRole("searchbox").fill("phone");
    await page.getByRole("searchbox").press("Enter");
    await page.getByRole("link", { name: "phone.example.test" }).click();
    await panel(page).getByRole("link", { name: "Revoke" }).click();
    await keepPicture(page, "certificates-revoke-360");
    await dialog(page).getByRole("button", { name: "Revoke phone.example.test" }).click();
    await dialog(page).waitFor({ state: "detached" });
    await panel(page).getByText("revoked").first().waitFor();
    await keepPicture(page, "certificates-panel-360");
    await page.getByRole("link", { name: "Close the panel" }).click();
    await row(page, "phone.example.test").waitFor();
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(360);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("one that is issued elsewhere appears by itself", async () => {
    const issued = Promise.withResolvers<void>();
    const { page, complaints, close } = await world.root("/console/");
    await page.route("**/api/events/stream", async (route) => {
      await issued.promise;
      const event = JSON.stringify({ seq: 1, action: "cert.issue", ca_id: ca });
      const body = `id: 1\nevent: audit\ndata: ${event}\n\n`;
      await route.fulfill({ contentType: "text/event-stream", body });
    });
    await page.goto(`${world.origin}/console/certificates?ca=${ca}`);
    await page.getByRole("navigation", { name: "Pages of the list" }).waitFor();
    await issue(["late.example.test"]);
    issued.resolve();
    await row(page, "late.example.test").waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);
});

const key = makeKey("ecdsa-p256");
const foreignCertificate = encodePem("CERTIFICATE", certify(key, rootFields(key, "ecdsa-sha256")));
