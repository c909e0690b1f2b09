/** Authorities in the console: a root, a CA below it, its rollover, its lists, and the tree. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Locator, Page } from "playwright-core";

import { expectSoon, until } from "#test/support/until.ts";
import { chromiumPath } from "#test/support/instances/browser.ts";
import {
  ConsoleWorld,
  expectStateAccessible,
  expectTree,
  keepPicture,
} from "#test/support/instances/console-world.ts";
import { csr } from "#test/support/worlds/issuance.ts";

let world: ConsoleWorld;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  const base_url = "http://pki.example.test";
  world = await ConsoleWorld.start({ crl: { shards: 2, base_url } });
}, 60_000);

afterAll(() => world?.stop());

interface Made {
  readonly id: string;
  readonly label: string;
}

const dialog = (page: Page): Locator => page.getByRole("dialog");
const tab = (page: Page, name: string): Locator =>
  page.getByRole("navigation", { name: /^Parts of/ }).getByRole("link", { name });

/** By the shell; a root when nobody is above it. */
const make = (label: string, parent?: Made): Promise<Made> =>
  world.instance.admin(
    "POST",
    parent === undefined ? "/api/ca/init-root" : `/api/ca/${parent.id}/issue-intermediate`,
    { label, subject: { cn: `Example ${label}` }, key_type: "ecdsa-p256" },
  );

/** One certificate of it. */
const issue = ({ id }: Made): Promise<unknown> =>
  world.instance.admin("POST", `/api/ca/${id}/issue`, {
    csr: csr({ dns: ["a.example.test"], subject: [{ type: "CN", value: "a.example.test" }] }),
  });

describe.skipIf(chromiumPath === undefined)("the authorities in a browser", () => {
  test("a root is created and a CA below it, each with a preview of its certificate", async () => {
    const { page, complaints, close } = await world.root("/console/authorities");
    await page.getByText("There is no authority yet").waitFor();
    await expectTree(page, "authorities-empty");
    await expectStateAccessible(page);
    await page.getByRole("link", { name: "Create a root" }).first().click();
    await dialog(page).waitFor();
    await page.reload();
    await dialog(page).getByLabel("Label").fill("example-root");
    await dialog(page).getByLabel("Common name").fill("Example Root");
    await dialog(page).getByLabel("Organisation").fill("Example");
    await dialog(page).getByLabel("CAs below it at most").fill("2");
    await dialog(page).getByText("Policies", { exact: true }).first().click();
    await dialog(page).getByLabel("Policies", { exact: true }).fill("2.23.140.1.2.1");
    const preview = dialog(page).getByRole("region", { name: "Preview of the certificate" });
    await expectSoon(
      () => preview.textContent(),
      expect.stringContaining("CN=Example Root,O=Example"),
    );
    await expectSoon(() => preview.textContent(), expect.stringContaining("2.23.140.1.2.1"));
    await expectTree(page, "authorities-root", "dialog");
    await expectStateAccessible(page);
    await keepPicture(page, "authorities-root");
    await dialog(page).getByRole("button", { name: "Create the root" }).click();
    await dialog(page).getByRole("link", { name: "Open example-root" }).click();
    await page.getByRole("heading", { name: "example-root" }).waitFor();
    await page.getByRole("link", { name: "Issue a CA below it" }).click();
    await dialog(page).getByLabel("Label").fill("example-issuing");
    await dialog(page).getByLabel("Common name").fill("Example Issuing");
    await dialog(page).getByText("Name constraints: which names").click();
    await dialog(page).getByLabel("Permitted: DNS domains").fill("example.test");
    await dialog(page).getByText("only dns example.test").waitFor();
    await dialog(page).getByText("a CA, 1 below it at most").waitFor();
    await expectStateAccessible(page);
    await dialog(page).getByRole("button", { name: "Issue the CA" }).click();
    await dialog(page).getByRole("link", { name: "Open example-issuing" }).click();
    await page.getByRole("heading", { name: "example-issuing" }).waitFor();
    await page.getByText("below example-root").waitFor();
    await page.getByText("There is none yet.").waitFor();
    const issued = page.getByRole("region", { name: "Issued" });
    await issued.getByRole("link", { name: "0", exact: true }).nth(3).waitFor();
    await expectTree(page, "authorities-facts");
    await expectStateAccessible(page);
    await tab(page, "Certificate").click();
    await page.getByText("example.test", { exact: true }).waitFor();
    await page.getByText("Certificate, SHA-256", { exact: true }).waitFor();
    await page.getByRole("list").getByRole("link", { name: "example-root" }).waitFor();
    await expectTree(page, "authorities-certificate");
    await expectStateAccessible(page);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("in a narrow window the keys of a rollover are drawn full size, one below the other", async () => {
    const issuing = await make("narrowing", await make("narrowing-root"));
    await world.instance.admin("POST", `/api/ca/${issuing.id}/rotate`, {});
    const path = `/console/authorities/${issuing.id}?tab=rollover`;
    for (const theme of ["light", "dark"] as const) {
      const { page, complaints, close } = await world.root(path, { theme, width: 360 });
      const picture = page.getByRole("img", { name: /^The keys below narrowing-root/ });
      const names = ["narrowing-root", "narrowing", "narrowing-r2"];
      const boxes = await Promise.all(
        names.map((name) => picture.getByText(name, { exact: true }).boundingBox()),
      );
      const tops = boxes.map((box) => box?.y ?? 0);
      expect(tops).toEqual(tops.toSorted((one, other) => one - other));
      expect(new Set(tops).size).toBe(names.length);
      const drawn = await picture.evaluate((svg) => [
        svg.getBoundingClientRect().width / Number(svg.getAttribute("width")),
        document.documentElement.scrollWidth,
      ]);
      expect(drawn).toEqual([1, 360]);
      await expectStateAccessible(page);
      await keepPicture(page, `authorities-rollover-narrow-${theme}`);
      await page.setViewportSize({ width: 1280, height: 800 });
      // The picture is rendered again for the new width.
      await until(async () => {
        const keys = ["narrowing", "narrowing-r2"].map((name) =>
          picture.getByText(name, { exact: true }).boundingBox(),
        );
        const [first, second] = await Promise.all(keys);
        return first != null && first.y === second?.y;
      });
      expect(complaints).toEqual([]);
      await close();
    }
  }, 60_000);

  test("a key is rotated and the old one retired, with the consequences in numbers first", async () => {
    const issuing = await make("rolling", await make("rolling-root"));
    await issue(issuing);
    const path = `/console/authorities/${issuing.id}`;
    const { page, complaints, close } = await world.root(path);
    await page.getByText("It has signed 1 certificate.").waitFor();
    await expectSoon(() => page.getByRole("button", { name: "Delete rolling" }).isDisabled(), true);
    await tab(page, "Rollover").click();
    await page.getByRole("button", { name: "Retire the old key" }).waitFor();
    await page.getByText("No key of it is superseded.").waitFor();
    await page.getByRole("link", { name: "Rotate the key" }).click();
    await dialog(page).getByText("1 certificate", { exact: true }).first().waitFor();
    await dialog(page).getByRole("cell", { name: "1 certificate", exact: true }).waitFor();
    await dialog(page).getByText("rolling-root", { exact: true }).waitFor();
    await expectTree(page, "authorities-rotate", "dialog");
    await expectStateAccessible(page);
    await keepPicture(page, "authorities-rotate");
    // What cannot be undone is not sent by a key.
    await dialog(page).getByLabel("Label of the new one").press("Enter");
    await expectSoon(
      () => dialog(page).locator("button.danger").textContent(),
      "Give rolling a new key",
    );
    await dialog(page).getByRole("button", { name: "Give rolling a new key" }).click();
    await dialog(page).getByText("rolling is superseded.").waitFor();
    await expectStateAccessible(page);
    await dialog(page).getByRole("button", { name: "Close" }).click();
    await page.getByRole("cell", { name: "rolling-r2" }).waitFor();
    await page.getByText("once they have expired").waitFor();
    await page.getByRole("cell", { name: "0 certificates" }).waitFor();
    await page.getByText("rolling-root", { exact: true }).waitFor();
    await expectTree(page, "authorities-rollover");
    await expectStateAccessible(page);
    await page.getByRole("link", { name: "Retire rolling" }).click();
    await dialog(page).getByText("would lose the path").waitFor();
    const retire = dialog(page).getByRole("button", { name: "Retire rolling" });
    await expectSoon(() => retire.isDisabled(), true);
    await dialog(page).getByLabel("Retire it although 1 certificate would fail").check();
    await dialog(page).getByLabel("Type rolling to confirm").fill("rollin");
    await expectSoon(() => retire.isDisabled(), true);
    await dialog(page).getByLabel("Type rolling to confirm").fill("rolling");
    await expectTree(page, "authorities-retire", "dialog");
    await expectStateAccessible(page);
    await dialog(page).getByLabel("Type rolling to confirm").press("Enter");
    await retire.click();
    await dialog(page).getByText("Its certificate is revoked").waitFor();
    await dialog(page).getByRole("link", { name: "Open rolling" }).click();
    await page.getByRole("cell", { name: "retired" }).waitFor();
    const retired = await world.instance.admin<{ status: string }>("GET", `/api/ca/${issuing.id}`);
    expect(retired.status).toBe("retired");
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("the lists of a CA are published at once and saved, partitions too", async () => {
    const { id } = await make("listed");
    const { page, complaints, close } = await world.root(`/console/authorities/${id}?tab=crl`);
    await page.getByRole("button", { name: "Publish now" }).click();
    await page.getByText(/3 lists are published/).waitFor();
    const shard = page.getByRole("row").filter({ hasText: "partition 1" });
    await shard.getByText("current").waitFor();
    // The list itself begins earlier, for clients whose clocks are behind.
    await shard.getByText(/^(?:now|[1-5]?\d seconds? ago)$/).waitFor();
    await page.getByRole("columnheader", { name: "Valid from" }).waitFor();
    const names = ["CRL of everything", "Delta of everything", "CRL of partition 1"];
    const files: string[] = [];
    for (const name of names) {
      const saved = page.waitForEvent("download");
      await page.getByRole("button", { name }).click();
      files.push((await saved).suggestedFilename());
    }
    expect(files).toEqual(["listed.crl", "listed-delta.crl", "listed-1.crl"]);
    await expectStateAccessible(page);
    await tab(page, "Certificate").click();
    for (const [name, file] of Object.entries(documents)) {
      const saved = page.waitForEvent("download");
      await page.getByRole("button", { name }).click();
      expect((await saved).suggestedFilename()).toBe(file);
    }
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("a CA that has signed nothing is deleted, its key only when its name is typed", async () => {
    const { id } = await make("mistaken");
    const { page, complaints, close } = await world.root(`/console/authorities/${id}`);
    await page.getByRole("link", { name: "Delete mistaken" }).click();
    await dialog(page)
      .getByLabel(/^Destroy its key too/)
      .check();
    const both = dialog(page).getByRole("button", { name: "Delete mistaken and its key" });
    await expectSoon(() => both.isDisabled(), true);
    await dialog(page).getByLabel("Type mistaken to confirm").fill("mistaken");
    await expectTree(page, "authorities-delete", "dialog");
    await expectStateAccessible(page);
    await both.click();
    // The page of the CA has this heading too.
    await page.waitForURL((url) => url.pathname === "/console/authorities");
    expect((await world.instance.fetch(`/api/ca/${id}/certificate`)).status).toBe(404);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("the tree shows who stands below whom, and is filtered by the address", async () => {
    const top = await make("tall-oak");
    const branch = await make("tall-branch", top);
    await issue(branch);
    for (const { id } of [top, branch]) {
      await world.instance.admin("POST", `/api/ca/${id}/crl:publish`);
    }
    const { page, complaints, close } = await world.root("/console/authorities?q=tall-");
    await page.getByText("2 authorities").waitFor();
    const rowOf = (label: string) => page.getByRole("row").filter({ hasText: label });
    await rowOf("tall-oak")
      .getByText(/ago|now/)
      .waitFor();
    await rowOf("tall-branch")
      .getByText(/ago|now/)
      .waitFor();
    await rowOf("tall-branch").getByRole("cell", { name: "1", exact: true }).waitFor();
    await expectTree(page, "authorities-tree");
    await expectStateAccessible(page);
    await keepPicture(page, "authorities-tree");
    await page.getByLabel("Add a filter").selectOption("status");
    await page.getByLabel("State", { exact: true }).selectOption("retired");
    await page.getByText("No authority is as the filters say.").waitFor();
    await expectSoon(() => page.url(), expect.stringContaining("q=tall-&status=retired"));
    await page.goBack();
    await rowOf("tall-branch").waitFor();
    await page.goto(`${world.origin}/console/authorities?q=nobody`);
    await page.getByText("No authority is as the filters say.").waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("a narrow window is enough to look one up", async () => {
    const look = { width: 360, theme: "dark" } as const;
    await make("narrow-issuing", await make("narrow-root"));
    const { page, complaints, close } = await world.root("/console/authorities", look);
    await page.getByRole("link", { name: "narrow-issuing" }).click();
    await page.getByRole("heading", { name: "narrow-issuing" }).waitFor();
    await page.getByText("below narrow-root").waitFor();
    const overflow = "document.documentElement.scrollWidth > document.documentElement.clientWidth";
    for (const name of ["Certificate", "Revocation lists", "Cross-signatures", "Rollover"]) {
      await tab(page, name).click();
      await page.waitForURL(/tab=/);
      expect([name, await page.evaluate(overflow)]).toEqual([name, false]);
    }
    await keepPicture(page, "authorities-narrow");
    await expectStateAccessible(page);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);
});

/** What the certificate's tab gives, and the name of each file. */
const documents = {
  "Certificate, DER": "listed.der",
  "Certificate, PEM": "listed.pem",
  "Bundle, PEM": "listed-bundle.pem",
  "Public key, PEM": "listed.pub.pem",
  "Public key, OpenSSH": "listed.pub",
};
