/** The chain of a certificate in the console: whole in its file, whoever stands in it. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";

import { chromiumPath } from "#test/support/instances/browser.ts";
import { ConsoleWorld, expectStateAccessible } from "#test/support/instances/console-world.ts";
import { drawnPassphrase, savedBy } from "#test/support/instances/issue-page.ts";
import { OpensslCa } from "#test/support/instances/openssl-ca.ts";
import { openssl } from "#test/support/instances/relying-party.ts";
import { csr } from "#test/support/worlds/issuance.ts";
import { expectSoon } from "#test/support/until.ts";

interface Made {
  readonly id: string;
  readonly certificate: string;
}

let world: ConsoleWorld;
let outside: OpensslCa;
let root: Made;
let policy: Made;
let issuing: Made;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  [world, outside] = await Promise.all([
    ConsoleWorld.start(),
    OpensslCa.make({ cn: "External Root" }),
  ]);
  root = await make("/api/ca/init-root", "root");
  policy = await make(`/api/ca/${root.id}/issue-intermediate`, "policy");
  issuing = await make(`/api/ca/${policy.id}/issue-intermediate`, "issuing");
}, 60_000);

afterAll(() => world?.stop());

const make = (path: string, label: string): Promise<Made> =>
  world.instance.admin("POST", path, {
    label,
    subject: { cn: `Example ${label}` },
    key_type: "ecdsa-p256",
  });

const issue = (ca: string, name: string) =>
  world.instance.admin<{ readonly ca_id: string; readonly serial: string }>(
    "POST",
    `/api/ca/${ca}/issue`,
    {
      csr: csr({ dns: [name], subject: [{ type: "CN", value: name }] }),
    },
  );

const panel = (page: Page): Locator => page.getByRole("complementary");
const chainButton = (page: Page): Locator =>
  panel(page).getByRole("button", { name: "Chain", exact: true });

/** The certificates in the file that the panel saves, which a relying party of the root accepts. */
async function expectChain(page: Page, trusted: string, subjects: readonly string[]) {
  const file = await savedBy({ page }, outside.directory, () => chainButton(page).click());
  const anchor = join(outside.directory, "trusted.pem");
  await Bun.write(anchor, trusted);
  await openssl(["verify", "-CAfile", anchor, "-untrusted", file, file]);
  const { text } = await openssl(["storeutl", "-noout", "-text", "-certs", file]);
  const found = [...text.matchAll(/Subject: .*CN ?= ?(.+)$/gm)].map(([, name]) => name);
  expect(found).toEqual([...subjects]);
}

describe.skipIf(chromiumPath === undefined)("the chain of a certificate in a browser", () => {
  test("has every CA below the root, also when a newer key has taken the place of its issuer", async () => {
    const { serial } = await issue(issuing.id, "turned.example.test");
    await world.instance.admin("POST", `/api/ca/${issuing.id}/rotate`, {});
    const at = `/console/certificates/${issuing.id}/${serial}?tab=chain`;
    const { page, complaints, close } = await world.root(at);
    const own = panel(page).getByRole("listitem").nth(1);
    await own.getByText("superseded").waitFor();
    await panel(page).getByText("CN=Example root").waitFor();
    const names = ["turned.example.test", "Example issuing", "Example policy"];
    await expectChain(page, root.certificate, names);
    await world.instance.admin("POST", `/api/ca/${issuing.id}/retire`, { force: true });
    await own.getByText("retired").waitFor();
    await expectChain(page, root.certificate, names);
    const result = `/console/issue/result/${issuing.id}/${serial}`;
    await page.goto(world.origin + result);
    const file = await savedBy({ page }, outside.directory, () =>
      page.getByRole("button", { name: "Certificate and chain, PEM" }).click(),
    );
    expect((await Bun.file(file).text()).match(/BEGIN/g)).toHaveLength(3);
    await openssl([
      "verify",
      "-CAfile",
      join(outside.directory, "trusted.pem"),
      "-untrusted",
      file,
      file,
    ]);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("of a CA below a root elsewhere has that CA, and says where the root is", async () => {
    const asked = await world.instance.admin<{ readonly ca: Made; readonly csr_pem: string }>(
      "POST",
      "/api/ca/csr",
      { label: "guest", subject: { cn: "Example guest" }, key_type: "ecdsa-p256" },
    );
    const { id } = asked.ca;
    outside.write("sub.csr", asked.csr_pem);
    outside.write(
      "sub.cnf",
      "basicConstraints=critical,CA:true\nkeyUsage=critical,keyCertSign,cRLSign\nsubjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n",
    );
    const files = ["-in", "sub.csr", "-extfile", "sub.cnf", "-out", "sub.pem"];
    await outside.openssl(["ca", "-batch", "-notext", "-config", "openssl.cnf"].concat(files));
    await world.instance.admin("POST", `/api/ca/${id}/import-cert`, {
      certificate_pem: outside.read("sub.pem"),
      chain_pem: outside.read("cacert.pem"),
    });
    const { serial } = await issue(id, "guest.example.test");
    const at = `/console/certificates/${id}/${serial}?tab=chain`;
    const { page, complaints, close } = await world.root(at);
    const top = panel(page).getByRole("listitem").last();
    await top.getByText("CN=External Root").waitFor();
    await expectSoon(
      () => top.textContent(),
      expect.stringContaining("outside this instance · root"),
    );
    await expectStateAccessible(page);
    const names = ["guest.example.test", "Example guest"];
    await expectChain(page, outside.read("cacert.pem"), names);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("is whole for who may read its CA alone, and names those above by their certificates", async () => {
    const { ca_id, serial } = await issue(issuing.id, "granted.example.test");
    const { instance } = world;
    await instance.admin("POST", "/api/tenants", { slug: "other" });
    const token = await instance.admin<{ readonly id: string; readonly secret: string }>(
      "POST",
      "/api/tokens",
      { name: "granted", roles: ["approver"], tenant_id: "other" },
    );
    await instance.admin("POST", "/api/grants", {
      resource: `ca/${ca_id}`,
      entity_type: "user",
      entity_id: `token:${token.id}`,
      role: "ca-auditor",
      scope: "self",
    });
    const at = `/console/certificates/${ca_id}/${serial}?tab=chain`;
    const { page, complaints, close } = await world.bearer(token.secret, at);
    const above = panel(page).getByRole("listitem").filter({ hasText: "may read" });
    await above.getByText("CN=Example root").waitFor();
    await expectSoon(() => above.count(), 2);
    const names = ["granted.example.test", "Example issuing", "Example policy"];
    await expectChain(page, root.certificate, names);
    await panel(page).getByRole("listitem").nth(1).getByRole("link").click();
    await page.getByRole("link", { name: "Certificate", exact: true }).click();
    await page.getByText("2 more, which you may not read. The bundle has their").waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("is not given where a CA above could not be had, and the page says so", async () => {
    const { ca_id, serial } = await issue(issuing.id, "broken.example.test");
    const { page, close } = await world.root("/console/");
    await page.route(`**/api/ca/${policy.id}`, (route) =>
      route.fulfill({
        status: 500,
        json: { error: "It broke.", code: "internal", request_id: "req-of-this" },
      }),
    );
    await page.goto(`${world.origin}/console/certificates/${ca_id}/${serial}?tab=chain`);
    await panel(page).getByText("so no chain is given").waitFor();
    await panel(page).getByText("Whatever is above it could not be had.").waitFor();
    await panel(page).getByRole("alert").getByText("req-of-this").waitFor();
    await expectSoon(() => chainButton(page).isDisabled(), true);
    await expectStateAccessible(page);
    await page.goto(`${world.origin}/console/issue/result/${ca_id}/${serial}`);
    await page.getByText("so no chain is given").waitFor();
    await page.getByRole("alert").getByText("It broke.").waitFor();
    await close();
  }, 60_000);

  test("is no need of a key made in the page: that is saved without it, and it is asked for again", async () => {
    const { id } = await make(`/api/ca/${policy.id}/issue-intermediate`, "keys");
    const at = `/console/issue?ca=${id}&profile=server`;
    const { page, complaints, close } = await world.root(at);
    await page.getByLabel("Names").fill("key.example.test ");
    await page.getByText("It would be issued.").waitFor();
    const above = `**/api/ca/${policy.id}`;
    await page.route(above, (route) => route.fulfill({ status: 503, json: {} }));
    await page.getByRole("button", { name: "Issue", exact: true }).click();
    await page.getByText("The key is in this tab alone").waitFor();
    const whole = page.getByRole("button", { name: "Certificate and chain, PEM" });
    await expectSoon(() => whole.isDisabled(), true);
    await page.getByText("in one file, without the whole chain").waitFor();
    const passphrase = await drawnPassphrase(page);
    const save = page.getByRole("button", { name: "Save key.example.test.p12" });
    const file = await savedBy({ page }, outside.directory, () => save.click());
    const read = ["pkcs12", "-in", file, "-passin", `pass:${passphrase}`, "-nodes"];
    const { text } = await openssl(read);
    expect(text.match(/BEGIN [A-Z ]+/g)?.toSorted()).toEqual([
      "BEGIN CERTIFICATE",
      "BEGIN CERTIFICATE",
      "BEGIN PRIVATE KEY",
    ]);
    await expectStateAccessible(page);
    const notice = page.getByText("What is shown may be out of date");
    await notice.waitFor();
    await page.unroute(above);
    await page.getByRole("button", { name: "Try again" }).click();
    await notice.waitFor({ state: "detached" });
    await page.getByText("Private key, certificate and chain in one file").waitFor();
    await expectSoon(() => whole.isDisabled(), false);
    await expectSoon(() => page.getByText("so no chain is given").count(), 0);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);
});
