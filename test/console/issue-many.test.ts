/** Many certificates from a list, in a real browser: keys, rows that fail alone, pause, reload. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";

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
import { newCsr } from "#test/support/instances/relying-party.ts";
import { parseCsv } from "#web/pages/issue/csv.ts";
import { expectSoon } from "#test/support/until.ts";

let world: ConsoleWorld;
let ca: string;
let csr: string;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  world = await ConsoleWorld.start();
  ca = await makeCas(world);
  csr = await newCsr(world.instance.home, "bulk.example");
}, 60_000);

afterAll(() => world?.stop());

const give = (page: Page, text: string) =>
  page.getByLabel("Or its file").setInputFiles({
    name: "list.csv",
    mimeType: "text/csv",
    buffer: Buffer.from(text),
  });

const issued = async (q: string): Promise<number> => {
  const path = `/api/ca/${ca}/certificates?limit=1&q=${q}`;
  return (await world.instance.admin<{ total: number }>("GET", path)).total;
};

describe.skipIf(chromiumPath === undefined)("issuing many in the console", () => {
  test("makes keys for rows with names, leaves out what cannot be read, and lets rows fail alone", async () => {
    const { instance } = world;
    const visit = await world.root(`/console/issue/many?ca=${ca}`);
    const { page } = visit;
    const sent = sentBy(page);
    const hostile = `<img src=x onerror=alert(1)>`;
    await page
      .getByLabel("List, CSV with a header")
      .fill(
        `ref,csr,names,validity_days\r\n${hostile},"${csr}",,\nlong,"${csr}",,4000\n` +
          `keyed,,keyed.example 192.0.2.1,\nbad,,<script>.example,\n`,
      );
    await page.getByText(/Line \d+, bad: <script>.example: The label <script>/).waitFor();
    const passphrase = await drawnPassphrase(page);
    await expectStateAccessible(page);
    const list = await savedBy(visit, instance.home, () =>
      page.getByRole("button", { name: "Make the keys and save the list" }).click(),
    );
    const saved = parseCsv(readFileSync(list, "utf8")).rows.map(({ cells }) => cells);
    expect(saved.map(({ ref }) => ref)).toEqual([hostile, "long", "keyed"]);
    expect(saved[2]?.encrypted_key).toStartWith("-----BEGIN ENCRYPTED PRIVATE KEY-----");
    await page.getByRole("button", { name: "Check 3 rows" }).click();
    await page.getByText("2 of 3 would be issued, 1 would be refused.").waitFor();
    expect(await issued("bulk.example")).toBe(0);
    await expectTree(page, "issue-many-checked", "section.card");
    await page.getByRole("button", { name: "Issue 3 certificates" }).click();
    await page.getByText("2 issued, 0 waiting for approval, 1 failed").waitFor();
    await expectStateAccessible(page);
    await expectTree(page, "issue-many-done", "section.card");
    await keepPicture(page, "issue-many-done");
    const report = await savedBy(visit, instance.home, () =>
      page.getByRole("button", { name: "Report, CSV" }).click(),
    );
    const lines = parseCsv(readFileSync(report, "utf8")).rows.map(({ cells }) => cells);
    expect(lines.map(({ status, error_code }) => [status, error_code])).toEqual([
      ["issued", undefined],
      ["failed", "validity_exceeds_limit"],
      ["issued", undefined],
    ]);
    await page.getByLabel("Passphrase of the keys in the list").fill("not the passphrase");
    await page.getByRole("button", { name: "Certificates, ZIP" }).click();
    await page.getByText("The passphrase does not open the keys of this list.").waitFor();
    await page.getByLabel("Passphrase of the keys in the list").fill(passphrase);
    const archive = await savedBy(visit, instance.home, () =>
      page.getByRole("button", { name: "Certificates, ZIP" }).click(),
    );
    const entries = await unzipped(archive);
    expect([...entries.keys()]).toEqual([
      "img_src_x_onerror_alert_1.pem",
      "keyed.pem",
      "keyed.p12",
    ]);
    const bundle = join(instance.home, "keyed.p12");
    await Bun.write(bundle, entries.get("keyed.p12") ?? "");
    await expectKeyStayed(bundle, passphrase, sent);
    await expectSoon(() => page.locator("main img, main script").count(), 0);
    expect(visit.complaints).toEqual([]);
    await visit.close();
  }, 90_000);

  test("keeps a list over a look at the other way to issue, and goes on with its run", async () => {
    const { page, complaints, close } = await world.root(`/console/issue/many?ca=${ca}`);
    const list = page.getByLabel("List, CSV with a header");
    const text = `ref,csr\none,"${csr}"\ntwo,"${csr}"\n`;
    const there = async () => {
      await page.getByRole("link", { name: "One certificate" }).click();
      await page.getByLabel("Common name").waitFor();
      await page.getByRole("link", { name: "Many at once" }).click();
    };
    await list.fill(text);
    await there();
    await expectSoon(() => list.inputValue(), text);
    await page.getByRole("button", { name: "Check 2 rows" }).click();
    const before = await issued("bulk.example");
    await page.getByRole("button", { name: "Issue 2 certificates" }).click();
    await page.getByText("2 issued").waitFor();
    const { search } = new URL(page.url());
    await there();
    await expectSoon(() => new URL(page.url()).search, search);
    await page.getByRole("button", { name: "Check 2 rows" }).click();
    await page.getByRole("button", { name: /^(Issue|Go on)/ }).click();
    await page.getByText("2 issued").waitFor();
    expect(await issued("bulk.example")).toBe(before + 2);
    await page.getByRole("button", { name: "Begin another run" }).click();
    await expectSoon(() => list.inputValue(), "");
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("issues nothing twice over a pause, a reload and a lost answer", async () => {
    const count = 230;
    const rows = Array.from({ length: count }, (_, at) => `r${at},"${csr}"\n`).join("");
    const list = `ref,csr\n${rows}`;
    const before = await issued("bulk.example");
    const visit = await world.root(`/console/issue/many?ca=${ca}`, { width: 360 });
    const { page } = visit;
    await give(page, list);
    await page.getByRole("button", { name: `Check ${count} rows` }).click();
    await page.getByRole("button", { name: `Issue ${count} certificates` }).click();
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByRole("button", { name: "Go on" }).waitFor();
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(360);
    const operation = new URL(page.url()).searchParams.get("operation");
    expect(operation).toMatch(/^[0-9a-f-]{36}$/);
    expect(await issued("bulk.example")).toBeLessThan(before + count);
    // The next slice is issued, and its answer never comes.
    await page.route("**/certificates:bulk", async (route) => {
      await route.fetch();
      await route.abort();
    });
    await page.getByRole("button", { name: "Go on" }).click();
    await page.getByText("The server does not answer.").waitFor();
    await page.unrouteAll();
    await page.reload();
    await page.getByText("Give the same list again").waitFor();
    await expectSoon(() => page.url(), expect.stringContaining(`operation=${operation}`));
    await give(page, list);
    await page.getByRole("button", { name: `Check ${count} rows` }).click();
    await page.getByRole("button", { name: "Go on with the run" }).click();
    await page.getByText(`${count} issued, 0 waiting for approval, 0 failed`).waitFor();
    expect(await issued("bulk.example")).toBe(before + count);
    await page.getByRole("button", { name: "Begin another run" }).click();
    await page.getByText("Give a list, and what would be issued").waitFor();
    expect(visit.complaints).toEqual([]);
    await visit.close();
  }, 90_000);

  test("says of another list under the same run that it is another", async () => {
    const visit = await world.root(`/console/issue/many?ca=${ca}&operation=mine`);
    const { page } = visit;
    await give(page, `ref,csr\none,"${csr}"\n`);
    await page.getByRole("button", { name: "Check one row" }).click();
    await page.getByRole("button", { name: "Go on with the run" }).click();
    await page.getByText("1 issued, 0 waiting for approval, 0 failed").waitFor();
    await page.reload();
    await give(page, `ref,csr\ntwo,"${csr}"\n`);
    await page.getByRole("button", { name: "Check one row" }).click();
    await page.getByRole("button", { name: "Go on with the run" }).click();
    await page.getByText("operation_mismatch").waitFor();
    await page.getByRole("button", { name: "Go on" }).waitFor();
    expect(visit.complaints).toEqual([]);
    await visit.close();
  }, 90_000);
});

/** The files of an archive, by another reader than the one that wrote it. */
async function unzipped(file: string): Promise<ReadonlyMap<string, Uint8Array>> {
  const folder = join(world.instance.home, "unzipped");
  const listed = Bun.spawnSync(["python3", "-m", "zipfile", "-l", file]);
  Bun.spawnSync(["python3", "-m", "zipfile", "-e", file, folder]);
  const names = listed.stdout
    .toString()
    .split("\n")
    .slice(1)
    .flatMap((line) => line.match(/^\S+/) ?? []);
  const entries = await Promise.all(
    names.map(async (name) => [name, await Bun.file(join(folder, name)).bytes()] as const),
  );
  return new Map(entries);
}
