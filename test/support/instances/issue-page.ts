/** What tests of the page for issuing share: a hierarchy, its choices, and files it saves. */

import { expect } from "bun:test";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";

import { until } from "#test/support/until.ts";
import type { ConsoleWorld, Visit } from "./console-world.ts";
import { openssl } from "./relying-party.ts";

/** A root and an issuing CA, of which the second signs. */
export async function makeCas(world: ConsoleWorld): Promise<string> {
  const { instance } = world;
  const keyType = { key_type: "ecdsa-p256" };
  const root = await instance.admin<{ id: string }>("POST", "/api/ca/init-root", {
    label: "example-root",
    subject: { cn: "Example Root" },
    ...keyType,
  });
  const path = `/api/ca/${root.id}/issue-intermediate`;
  const issuing = await instance.admin<{ id: string }>("POST", path, {
    label: "example-issuing",
    subject: { cn: "Example Issuing" },
    ...keyType,
  });
  return issuing.id;
}

/** Does something that saves a file, and gives where it lies. */
export async function savedBy(
  { page }: Pick<Visit, "page">,
  folder: string,
  act: () => Promise<void>,
): Promise<string> {
  const [download] = await Promise.all([
    page.waitForEvent("download", { timeout: 100_000 }),
    act(),
  ]);
  const file = join(folder, download.suggestedFilename());
  await download.saveAs(file);
  return file;
}

/** Presses a button that copies, and returns the text once it is in the clipboard. */
export async function copyText(button: Locator): Promise<string> {
  const page = button.page();
  await page.evaluate("navigator.clipboard.writeText('')");
  await button.click();
  let text = "";
  await until(async () => {
    text = await page.evaluate("navigator.clipboard.readText()");
    return text !== "";
  });
  return text;
}

/** Takes the passphrase that the page draws. */
export async function drawnPassphrase(page: Page): Promise<string> {
  await page.getByRole("button", { name: "Suggest one" }).click();
  const field = page.getByLabel("Passphrase for the file");
  await until(async () => (await field.inputValue()) !== "");
  return field.inputValue();
}

/** Everything that leaves the page from now on. */
export function sentBy(page: Page): string[] {
  const sent: string[] = [];
  page.on("request", (request) => sent.push(`${request.url()}\n${request.postData() ?? ""}`));
  return sent;
}

/** The private key of a PKCS#12 belongs to its certificate, and is in nothing that was sent. */
export async function expectKeyStayed(
  file: string,
  passphrase: string,
  sent: readonly string[],
): Promise<void> {
  const from = ["pkcs12", "-in", file, "-passin", `pass:${passphrase}`];
  const { text: key } = await openssl([...from, "-nocerts", "-nodes"]);
  const { text: leaf } = await openssl([...from, "-clcerts", "-nokeys"]);
  const ofKey = await openssl(["pkey", "-pubout"], { stdin: key });
  const ofLeaf = await openssl(["x509", "-noout", "-pubkey"], { stdin: leaf });
  expect(ofKey.text).toBe(ofLeaf.text);
  const secret = privateOctets(key);
  expect(sent.join("\n").length).toBeGreaterThan(0);
  for (const one of sent) {
    expect(one).not.toContain("PRIVATE KEY");
    expect(one).not.toContain(passphrase);
    for (const written of [secret.toBase64(), secret.toHex(), key.split("\n")[3] ?? "PRIVATE"]) {
      expect(one).not.toContain(written);
    }
  }
}

/** The 32 octets of the private number of a key on P-256, out of PKCS#8 in PEM. */
function privateOctets(pem: string): Uint8Array {
  const body = /-----BEGIN PRIVATE KEY-----([\s\S]+?)-----END/.exec(pem)?.[1] ?? "";
  const der = Uint8Array.fromBase64(body);
  // RFC 5915 §3: the OCTET STRING of 32 octets behind version 1.
  const at = Buffer.from(der).indexOf(Buffer.from("0201010420", "hex"));
  expect(at).toBeGreaterThan(0);
  return der.slice(at + 5, at + 37);
}
