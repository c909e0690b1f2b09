/** Blocked keys in the console: the list, what blocks a key and takes it off, and who may not. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { generateKeyPairSync } from "node:crypto";

import { chromiumPath } from "#test/support/instances/browser.ts";
import {
  ConsoleWorld,
  expectStateAccessible,
  expectTree,
  keepPicture,
} from "#test/support/instances/console-world.ts";
import { makeCas, sentBy } from "#test/support/instances/issue-page.ts";
import { newCsr } from "#test/support/instances/relying-party.ts";
import { expectSoon, until } from "#test/support/until.ts";

let world: ConsoleWorld;
let ca: string;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  world = await ConsoleWorld.start();
  ca = await makeCas(world);
}, 60_000);
afterAll(() => world?.stop());

interface Blocked {
  readonly items: readonly { readonly public_key_fingerprint: string; readonly reason: string }[];
}

const blocked = () => world.instance.admin<Blocked>("GET", "/api/blocked-keys");
const path = "/console/operations/blocked";

describe.skipIf(chromiumPath === undefined)("blocked keys in the console", () => {
  test("are none at first; a request blocks its key, and the page says what still has it", async () => {
    const csr = await newCsr(world.instance.home, "leaked.example.com");
    await world.instance.admin("POST", `/api/ca/${ca}/issue`, { csr, profile: "server" });
    const { page, complaints, close } = await world.root(path);
    await page.getByText("No key is blocked.").waitFor();
    await expectTree(page, "operations-blocked-none");
    await expectStateAccessible(page);
    await page.getByRole("link", { name: "Block a key" }).first().click();
    const dialog = page.getByRole("dialog", { name: "Block a key" });
    const button = dialog.getByRole("button", { name: "Block the key" });
    await expectSoon(() => button.isDisabled(), true);
    await expectTree(page, "operations-blocked-dialog", "dialog");
    await dialog.getByLabel("Key", { exact: true }).fill(csr);
    await dialog.getByLabel("Why").fill("Found in a repository");
    await expectStateAccessible(page);
    await button.click();
    const done = page.getByRole("dialog", { name: "The key is blocked" });
    await done.getByText("One certificate with it is not revoked.").waitFor();
    await expectStateAccessible(page);
    await done.getByRole("button", { name: "Close" }).last().click();
    const row = page.getByRole("link", { name: /^SHA256:/ });
    await row.waitFor();
    await row.click();
    const panel = page.getByRole("complementary");
    await panel.getByText("Found in a repository").waitFor();
    // A copied link shows the same.
    await page.reload();
    await panel.getByText("Found in a repository").waitFor();
    await row.waitFor();
    await expectTree(page, "operations-blocked");
    await expectStateAccessible(page);
    await keepPicture(page, "operations-blocked");
    await panel.getByRole("link", { name: "Certificates with this key" }).click();
    await page.getByRole("link", { name: "leaked.example.com" }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("are blocked by a private key without sending it, and certified again when unblocked", async () => {
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
    const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    const spki = publicKey.export({ type: "spki", format: "der" });
    const { page, complaints, close } = await world.root(`${path}?dialog=block`);
    const sent = sentBy(page);
    const dialog = page.getByRole("dialog", { name: "Block a key" });
    await dialog.getByLabel("Or its file").setInputFiles({
      name: "leaked.key",
      mimeType: "text/plain",
      buffer: Buffer.from(pem),
    });
    const digest = new Bun.CryptoHasher("sha256").update(spki).digest("base64");
    const fingerprint = `SHA256:${digest.replace("=", "")}`;
    const key = dialog.getByLabel("Key", { exact: true });
    await until(async () => (await key.inputValue()) === fingerprint);
    // Typed in full it stays in the page too.
    await key.fill(pem);
    await dialog.getByLabel("Why").fill("On a lost disk");
    await dialog.getByRole("button", { name: "Block the key" }).click();
    const done = page.getByRole("dialog", { name: "The key is blocked" });
    await done.getByText("No certificate that is not revoked has it.").waitFor();
    await page.keyboard.press("Escape");
    expect(sent.join("\n")).toContain(fingerprint);
    expect(sent.join("\n")).not.toContain("PRIVATE");
    const row = page.getByRole("row", { name: /On a lost disk/ });
    await row.getByRole("link").click();
    await page.getByRole("link", { name: "Unblock" }).click();
    const confirm = page.getByRole("dialog", { name: "Unblock this key" });
    await expectStateAccessible(page);
    await expectTree(page, "operations-blocked-unblock", "dialog");
    await confirm.getByRole("button", { name: "Unblock the key" }).click();
    await page.getByText("no longer, on the list").waitFor();
    await row.waitFor({ state: "detached" });
    expect((await blocked()).items.map(({ reason }) => reason)).not.toContain("On a lost disk");
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("keep what was typed where the key or the request is refused", async () => {
    const { page, complaints, close } = await world.root(`${path}?dialog=block`);
    const key = page.getByLabel("Key", { exact: true });
    await key.fill("no key at all");
    await page.getByLabel("Why").fill("Because");
    const button = page.getByRole("button", { name: "Block the key" });
    await button.click();
    await page.getByText("The file is neither PEM nor DER.").waitFor();
    await expectSoon(() => key.getAttribute("aria-invalid"), "true");
    await expectSoon(() => key.inputValue(), "no key at all");
    // It reads as a certificate here, under a name that the server does not take.
    const { certificate } = await world.instance.admin<{ certificate: string }>(
      "GET",
      `/api/ca/${ca}`,
    );
    await key.fill(certificate.replaceAll("CERTIFICATE", "X509 CERTIFICATE"));
    await button.click();
    await page.getByRole("alert").getByText("bad_certificate").waitFor();
    await expectSoon(() => page.getByLabel("Why").inputValue(), "Because");
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("are seen by auditors, who are told what blocking needs", async () => {
    const secret = await world.instance.token(["auditor"], { scope: "platform" });
    const { page, complaints, close } = await world.bearer(secret, path);
    const row = page.getByRole("row", { name: /Found in a repository/ });
    await row.getByRole("link").click();
    const reason = page.getByText("Needs ca:manage on the whole platform.");
    await reason.first().waitFor();
    await expectSoon(() => page.getByRole("button", { name: "Block a key" }).isDisabled(), true);
    await expectSoon(() => page.getByRole("button", { name: "Unblock" }).isDisabled(), true);
    const [{ public_key_fingerprint: key } = { public_key_fingerprint: "" }] = (await blocked())
      .items;
    const answer = await world.instance.fetch("/api/blocked-keys", {
      method: "POST",
      headers: { authorization: `Token ${secret}`, "content-type": "application/json" },
      body: JSON.stringify({ public_key_sha256: key, reason: "again" }),
    });
    expect(answer.status).toBe(403);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("of a narrow window still open one key", async () => {
    const { page, complaints, close } = await world.root(path, { width: 360, theme: "dark" });
    await page
      .getByRole("link", { name: /^SHA256:/ })
      .first()
      .click();
    await page.getByRole("complementary").getByText("Found in a repository").waitFor();
    await keepPicture(page, "operations-blocked-360-dark");
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);
});
