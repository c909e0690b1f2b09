/** The page for issuing in a real browser: keys made in it, requests pasted into it, refusals. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { chromiumPath } from "#test/support/instances/browser.ts";
import {
  ConsoleWorld,
  expectStateAccessible,
  expectTree,
  keepPicture,
} from "#test/support/instances/console-world.ts";
import {
  drawnPassphrase,
  expectKeyStayed,
  makeCas,
  savedBy,
  sentBy,
} from "#test/support/instances/issue-page.ts";
import { newCsr, openssl } from "#test/support/instances/relying-party.ts";
import { shareSecondPerson } from "#test/support/instances/second-person.ts";
import { expectSoon } from "#test/support/until.ts";

const second = shareSecondPerson();
let world: ConsoleWorld;
let ca: string;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  world = await ConsoleWorld.start({
    auth: second.auth,
    approvals: { enabled: true, thresholds: { "cert.issue": 1 } },
    profiles: [
      {
        name: "strict",
        description: "Servers that somebody vouches for.",
        ext_key_usages: ["serverAuth"],
        require_approval: true,
      },
    ],
  });
  ca = await makeCas(world);
}, 60_000);

afterAll(() => world?.stop());

describe.skipIf(chromiumPath === undefined)("issuing in the console", () => {
  test("makes a key in the page, and hands it out in a PKCS#12 alone", async () => {
    const { instance } = world;
    const visit = await world.root(`/console/issue?ca=${ca}`);
    const { page } = visit;
    const sent = sentBy(page);
    await page.getByLabel("Names").fill("www.example.com,192.0.2.7 ");
    await page.getByText("It would be issued.").waitFor();
    await page.getByRole("row", { name: "Quota" }).getByText("no limit is set").waitFor();
    expect(
      await page.getByRole("row", { name: "Key", exact: false }).last().textContent(),
    ).toContain("pass");
    await expectStateAccessible(page);
    await expectTree(page, "issue-form");
    await keepPicture(page, "issue-form");
    await page.getByRole("button", { name: "Issue", exact: true }).click();
    await page.getByRole("heading", { name: "Private key" }).waitFor();
    await expectSoon(() => page.url(), expect.stringContaining(`/console/issue/result/${ca}/`));
    const passphrase = await drawnPassphrase(page);
    const file = await savedBy(visit, instance.home, () =>
      page.getByRole("button", { name: "Save www.example.com.p12" }).click(),
    );
    await page.getByText("The key is in a file of yours.").waitFor();
    const read = ["pkcs12", "-in", file, "-passin", `pass:${passphrase}`];
    const lines = page.getByRole("region", { name: "Install it" }).locator("pre");
    const cut = await lines.evaluateAll((all) =>
      all.map((pre) => pre.scrollWidth - pre.clientWidth),
    );
    expect(cut.length).toBeGreaterThan(0);
    expect(Math.max(...cut)).toBe(0);
    const { text } = await openssl([...read, "-info", "-noout"]);
    expect(text).toContain("MAC: sha256, Iteration 300000");
    expect(text).toContain("PBES2, PBKDF2, AES-256-CBC, Iteration 300000, PRF hmacWithSHA256");
    await expectKeyStayed(file, passphrase, sent);
    const keytool = Bun.which("keytool");
    if (keytool !== null) {
      const list = ["-list", "-storetype", "PKCS12", "-keystore", file, "-storepass", passphrase];
      expect(Bun.spawnSync([keytool, ...list]).stdout.toString()).toContain("PrivateKeyEntry");
    }
    await page.getByRole("button", { name: "Forget the key in this tab" }).click();
    await page.getByText("This tab does not have the key.").waitFor();
    expect(visit.complaints).toEqual([]);
    await visit.close();
  }, 90_000);

  test("signs a pasted request, and keeps its result at an address", async () => {
    const { instance } = world;
    const visit = await world.root(`/console/issue?ca=${ca}`);
    const { page } = visit;
    await page.getByLabel("It is made, and I have a request").check();
    await page.getByLabel("Certification request").fill("-----BEGIN PRIVATE KEY-----");
    await page.getByText("This is a private key: it stays here").waitFor();
    await expectSoon(
      () => page.getByRole("button", { name: "Issue", exact: true }).isDisabled(),
      true,
    );
    await page.getByLabel("Certification request").fill(await newCsr(instance.home, "a.example"));
    await page.getByText("It would be issued.").waitFor();
    await page.getByRole("button", { name: "Issue", exact: true }).click();
    await page.getByRole("heading", { name: "a.example" }).waitFor();
    await page.reload();
    await page.getByRole("link", { name: "Apache" }).click();
    await page.getByText("SSLCertificateFile").waitFor();
    await expectStateAccessible(page);
    await expectTree(page, "issue-result");
    await keepPicture(page, "issue-result");
    const chain = await savedBy(visit, instance.home, () =>
      page.getByRole("button", { name: "Certificate and chain, PEM" }).click(),
    );
    const pem = readFileSync(chain, "utf8");
    expect(pem.match(/BEGIN CERTIFICATE/g)?.length).toBe(2);
    const { text } = await openssl(["x509", "-noout", "-subject"], { stdin: pem });
    expect(text).toContain("a.example");
    expect(visit.complaints).toEqual([]);
    await visit.close();
  }, 90_000);

  test("says what the gates say, marks the field, and keeps what is typed", async () => {
    const { instance } = world;
    const visit = await world.root(`/console/issue?ca=${ca}&from=csr`);
    const { page } = visit;
    const weak = ["req", "-new", "-nodes", "-newkey", "rsa:1024", "-subj", "/CN=weak.example"];
    const file = join(instance.home, "weak.csr");
    await openssl([...weak, "-keyout", "/dev/null", "-out", file]);
    await page.getByLabel("Certification request").fill(readFileSync(file, "utf8"));
    await page.getByText("It would be refused.").waitFor();
    await page.getByRole("button", { name: "Issue", exact: true }).click();
    const said = page.getByRole("heading", { name: "What the gates said" }).locator("..");
    await said.waitFor();
    await expectSoon(() => said.textContent(), expect.stringMatching(/Key○ fail .*(1024|2048)/));
    await expectStateAccessible(page);
    await page.getByLabel("Valid for days").fill("4000");
    await page.getByLabel("Certification request").fill(await newCsr(instance.home, "b.example"));
    await page.getByRole("button", { name: "Issue", exact: true }).click();
    await page.getByLabel("Valid for days").and(page.locator("[aria-invalid=true]")).waitFor();
    await page.getByText("validity_exceeds_limit").waitFor();
    await expectSoon(() => page.getByLabel("Valid for days").inputValue(), "4000");
    await expectSoon(
      () => page.getByLabel("Certification request").inputValue(),
      expect.stringContaining("BEGIN"),
    );
    expect(visit.complaints).toEqual([]);
    await visit.close();
  }, 90_000);

  test("goes on with a parked certificate, in the tab with the key and with its file", async () => {
    const { instance } = world;
    const visit = await world.root(`/console/issue?ca=${ca}&profile=strict`);
    const { page } = visit;
    const sent = sentBy(page);
    await page.getByLabel("Names").fill("two.example.com,");
    await page.getByLabel("Common name").fill("two.example.com");
    await page.getByRole("link", { name: "Many at once" }).click();
    await page.getByLabel("List, CSV with a header").waitFor();
    await page.getByRole("link", { name: "One certificate" }).click();
    await expectSoon(() => page.getByLabel("Common name").inputValue(), "two.example.com");
    await page.getByText("It would wait until somebody else approves it.").waitFor();
    await page.getByText("This profile takes two").waitFor();
    await page.getByRole("link", { name: "Save the key first" }).click();
    const dialog = page.getByRole("dialog", { name: "Save the key" });
    await dialog.waitFor();
    await expectStateAccessible(page);
    await expectTree(page, "issue-key", "dialog");
    const passphrase = await drawnPassphrase(page);
    const keyFile = await savedBy(visit, instance.home, () =>
      dialog.getByRole("button", { name: "Save two.example.com.key" }).click(),
    );
    await openssl(["req", "-verify", "-noout", "-in", keyFile]);
    await openssl(["pkey", "-noout", "-in", keyFile, "-passin", `pass:${passphrase}`]);
    await page.getByRole("button", { name: "Ask for approval" }).click();
    await page.getByRole("heading", { name: "Waits for approval" }).waitFor();
    await page.getByText("0 of 1").waitFor();
    await page.getByText("You may close this tab.").waitFor();
    await expectStateAccessible(page);
    await expectTree(page, "issue-parked");
    await keepPicture(page, "issue-parked");
    const id = new URL(page.url()).pathname.split("/").at(-1);
    await second.approve(instance, String(id));
    await page.getByRole("heading", { name: "two.example.com" }).waitFor();
    await page.getByText("The key is in a file of yours.").waitFor();
    await page.reload();
    await page.getByText("Open a key file saved here").click();
    await page.getByLabel("Key file").setInputFiles(keyFile);
    await page.getByLabel("Its passphrase").fill("not the passphrase");
    await page.getByRole("button", { name: "Open the key" }).click();
    await page.getByText("The passphrase does not open this file.").waitFor();
    await page.getByLabel("Its passphrase").fill(passphrase);
    await page.getByRole("button", { name: "Open the key" }).click();
    await page.getByText("The key is in a file of yours.").waitFor();
    const again = await drawnPassphrase(page);
    const file = await savedBy(visit, instance.home, () =>
      page.getByRole("button", { name: "Save two.example.com.p12" }).click(),
    );
    await expectKeyStayed(file, again, sent);
    expect(visit.complaints).toEqual([]);
    await visit.close();
  }, 90_000);

  test("asks before the tab takes an unsaved key with it, and elsewhere in it keeps it", async () => {
    const visit = await world.root(`/console/issue?ca=${ca}`);
    const { page } = visit;
    await page.getByLabel("Names").fill("kept.example.com");
    await page.getByText("It would be issued.").waitFor();
    await page.getByRole("button", { name: "Issue", exact: true }).click();
    await page.getByText("The key is in this tab alone").waitFor();
    await page.getByRole("link", { name: "Events" }).click();
    await page.getByRole("heading", { name: "Events" }).waitFor();
    await page.goBack();
    await page.getByText("The key is in this tab alone").waitFor();
    const asked = page.waitForEvent("dialog");
    await page.close({ runBeforeUnload: true });
    const dialog = await asked;
    expect(dialog.type()).toBe("beforeunload");
    await dialog.accept();
    expect(visit.complaints).toEqual([]);
    await visit.close();
  }, 90_000);

  test("says to whom may not issue what is missing", async () => {
    const visit = await world.stranger(`/console/issue?ca=${ca}`);
    const { page } = visit;
    await page.getByText("Use an API token").click();
    const token = await world.instance.token(["auditor"], { scope: "platform" });
    await page.getByLabel("API token", { exact: true }).fill(token);
    await page.getByRole("button", { name: "Log in" }).last().click();
    await page.getByText("Needs issue on this CA.").first().waitFor();
    await expectSoon(
      () => page.getByRole("button", { name: "Issue", exact: true }).isDisabled(),
      true,
    );
    await page.getByRole("link", { name: "Many at once" }).click();
    await page.getByText("Needs issue on this CA.").waitFor();
    expect(visit.complaints).toEqual([]);
    await visit.close();
  }, 90_000);

  test("shows hostile names as text, in what is typed, previewed and issued", async () => {
    const hostile = `<img src=x onerror=alert(1)> "><script>alert(1)</script> \u202egnp.exe`;
    const visit = await world.root(`/console/issue?ca=${ca}&profile=client`, { width: 360 });
    const { page } = visit;
    await page.getByLabel("Names").fill(`<script>x</script>.example,${"x".repeat(10_000)}`);
    await page.getByText("Mend the name that is being typed.").waitFor();
    await page.getByLabel("Names").fill("");
    await page.getByLabel("Common name").fill(hostile.slice(0, 64));
    await page.getByText("It would be").waitFor();
    await page.getByLabel("Common name").fill("<img src=x onerror=alert(1)>");
    // RFC 4514 §2.4 escapes some of it.
    await page.getByText(/^CN=.*img src.*onerror/).waitFor();
    await page.getByText("It would be issued.").waitFor();
    await page.getByRole("button", { name: "Issue", exact: true }).click();
    await page.getByRole("heading", { name: "<img src=x onerror=alert(1)>" }).waitFor();
    await page.getByText("ssl_certificate_key").waitFor();
    await expectSoon(() => page.locator("main img, main script").count(), 0);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(360);
    await expectStateAccessible(page);
    await keepPicture(page, "issue-narrow");
    expect(visit.complaints).toEqual([]);
    await visit.close();
  }, 90_000);
});
