/** A private key put where a request or a certificate belongs never leaves the page. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { generateKeyPairSync } from "node:crypto";
import type { Page } from "playwright-core";

import { encodePem } from "#core/asn1/pem.ts";
import { chromiumPath } from "#test/support/instances/browser.ts";
import { ConsoleWorld } from "#test/support/instances/console-world.ts";
import { makeCas, sentBy } from "#test/support/instances/issue-page.ts";
import { newCsr } from "#test/support/instances/relying-party.ts";
import { expectSoon } from "#test/support/until.ts";

const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const der = new Uint8Array(privateKey.export({ type: "pkcs8", format: "der" }));
const base64 = der.toBase64();
const asFile = { name: "k.der", mimeType: "application/octet-stream", buffer: Buffer.from(der) };
const stays = "This is a private key: it stays here, and nothing was sent.";

let world: ConsoleWorld;
let ca: string;
let root: string;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  world = await ConsoleWorld.start();
  ca = await makeCas(world);
  const { items } = await world.instance.admin<{ items: { id: string }[] }>("GET", "/api/ca");
  root = items.find(({ id }) => id !== ca)?.id ?? "";
}, 60_000);

afterAll(() => world?.stop());

/** Nothing of the key was in anything the page sent, with or without its lines. */
function expectStayed(sent: readonly string[]): void {
  expect(sent.length).toBeGreaterThan(0);
  const flat = sent.map((one) => one.replace(/\\n|\s/g, ""));
  expect(flat.filter((one) => one.includes(base64.slice(40, 90)))).toEqual([]);
}

const dialog = (page: Page) => page.getByRole("dialog");

describe.skipIf(chromiumPath === undefined)("a private key", () => {
  test("stays where a request is wanted to issue, and a request is taken after it", async () => {
    const visit = await world.root(`/console/issue?ca=${ca}&profile=server&from=csr`);
    const { page } = visit;
    const sent = sentBy(page);
    const field = page.getByLabel("Certification request");
    const issue = page.getByRole("button", { name: "Issue", exact: true });
    await page.getByLabel("Or its file").setInputFiles(asFile);
    await page.getByText(stays).waitFor();
    expect([await field.inputValue(), await issue.isDisabled()]).toEqual(["", true]);
    for (const text of [base64, encodePem("CERTIFICATE REQUEST", der)]) {
      await field.fill(text);
      await page.getByText(stays).waitFor();
      await expectSoon(() => issue.isDisabled(), true);
    }
    await field.fill(await newCsr(world.instance.home, "kept.example"));
    await page.getByText("It would be issued.").waitFor();
    expectStayed(sent);
    await visit.close();
  }, 60_000);

  test("stays in a list of many, whose row is left out", async () => {
    const visit = await world.root(`/console/issue/many?ca=${ca}&profile=server`);
    const { page } = visit;
    const sent = sentBy(page);
    const request = await newCsr(world.instance.home, "many.example");
    const list = `ref,csr\nkey,${base64}\nother,"${request}"\n`;
    await page.getByLabel("List, CSV with a header").fill(list);
    await page.getByText("Line 2, key: csr has a private key in it").waitFor();
    await page.getByRole("button", { name: "Check one row" }).click();
    await page.getByText("1 of 1 would be issued").waitFor();
    expectStayed(sent);
    await visit.close();
  }, 60_000);

  test("stays where a CA elsewhere is cross-signed, by its certificate or by its request", async () => {
    const visit = await world.root(
      `/console/authorities/${root}/cross?dialog=cross-sign&source=certificate`,
    );
    const { page } = visit;
    const sent = sentBy(page);
    for (const [source, label] of [
      ["A certificate", "Certificate of the subject"],
      ["A request", "Request of the subject"],
    ] as const) {
      await dialog(page).getByRole("link", { name: source }).click();
      await dialog(page).getByLabel(label, { exact: true }).fill(base64);
      await dialog(page).getByText(stays).waitFor();
      await expectSoon(
        () => dialog(page).getByRole("button", { name: "Cross-sign it" }).isDisabled(),
        true,
      );
      await dialog(page).getByLabel(`${label}: choose a file`).setInputFiles(asFile);
      await dialog(page).getByText(stays).waitFor();
    }
    expectStayed(sent);
    await visit.close();
  }, 60_000);

  test("stays where serials are wanted, and a serial in groups is not taken for several", async () => {
    const visit = await world.root(`/console/revoke?ca=${ca}`);
    const { page } = visit;
    const sent = sentBy(page);
    const look = page.getByRole("button", { name: "Look what that is" });
    await page
      .getByLabel("Or a file of serials")
      .setInputFiles({ ...asFile, buffer: Buffer.from(base64) });
    await page.getByText("Entry 1 is no serial").waitFor();
    await expectSoon(() => look.isDisabled(), true);
    await page.getByLabel("Serials", { exact: true }).fill("17\n0c2c 3eb4 158a");
    await page.getByText("Entry 2 is no serial").waitFor();
    await page.getByLabel("Serials", { exact: true }).fill("17, 0x2a\n0c:2c");
    await expectSoon(() => look.isDisabled(), false);
    await page.getByLabel("Or a file of serials").setInputFiles({
      name: "many.txt",
      mimeType: "text/plain",
      buffer: Buffer.alloc(9_000_000, "1\n"),
    });
    await page.getByText("8,388,608 at most are taken").waitFor();
    await expectSoon(
      () => page.getByLabel("Serials", { exact: true }).inputValue(),
      expect.stringContaining("0x2a"),
    );
    expectStayed(sent);
    await visit.close();
  }, 60_000);

  test("stays where something is searched for, and is looked for by its public key", async () => {
    const visit = await world.root("/console/");
    const { page } = visit;
    const sent = sentBy(page);
    const box = page.locator("#search");
    const oneLine = encodePem("PRIVATE KEY", der).replaceAll("\n", " ");
    await box.fill(base64);
    await box.press("Enter");
    await page.waitForURL((url) => url.searchParams.has("public_key_sha256"));
    await expectSoon(() => box.inputValue(), "");
    await box.fill(oneLine);
    await box.press("Enter");
    await page.waitForFunction(() =>
      document.querySelector("#search")?.matches(":placeholder-shown"),
    );
    await page.goto(`${world.origin}/console/certificates?ca=${ca}`);
    await page.getByLabel("Add a filter").selectOption({ label: "Name or serial" });
    const filter = page.getByRole("textbox", { name: "Name or serial" });
    await filter.fill(base64);
    await filter.press("Enter");
    await page.getByText("A private key is no filter: it stays here.").waitFor();
    await page.goto(`${world.origin}/console/revoke?ca=${ca}`);
    const fingerprint = page.getByLabel("Key fingerprint");
    await fingerprint.fill(base64);
    await page.getByText("This is a private key: it stays here.").waitFor();
    await expectSoon(() => fingerprint.inputValue(), "");
    await fingerprint.fill("SHA256:x");
    await page.getByText("This is a private key").waitFor({ state: "hidden" });
    expectStayed(sent);
    expect(decodeURIComponent(page.url())).not.toContain(base64.slice(40, 90));
    await visit.close();
  }, 60_000);
});
