/** Approvals in the console: what waits, everything that would be done, and the decision on it. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { chromiumPath } from "#test/support/instances/browser.ts";
import {
  ConsoleWorld,
  expectStateAccessible,
  expectTree,
  keepPicture,
  rootPassword,
} from "#test/support/instances/console-world.ts";
import { hostile } from "#test/support/instances/hostile.ts";
import { shareSecondPerson } from "#test/support/instances/second-person.ts";
import { expectSoon } from "#test/support/until.ts";
import { copyText } from "#test/support/instances/issue-page.ts";

const second = shareSecondPerson();
let world: ConsoleWorld;
/** API token of the second person. */
let other: string;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  world = await ConsoleWorld.start({
    auth: second.auth,
    approvals: { enabled: true, thresholds: { "ca.create": 1 } },
  });
  other = await second.createToken(world.instance, ["admin"], "platform");
}, 60_000);
afterAll(() => world?.stop());

/** Asks for a root, and gives the request that waits. */
async function parked(label: string, authorization: string, cn = label): Promise<string> {
  const answer = await world.instance.fetch("/api/ca/init-root", {
    method: "POST",
    headers: { authorization, "content-type": "application/json" },
    body: JSON.stringify({ label, subject: { cn }, key_type: "ecdsa-p256" }),
  });
  expect(answer.status).toBe(202);
  return String(answer.headers.get("x-pki-approval-id"));
}

const byOther = (label: string, cn?: string) => parked(label, `Token ${other}`, cn);
const byRoot = (label: string) =>
  parked(label, `Basic ${Buffer.from(`root:${rootPassword}`).toString("base64")}`);

describe.skipIf(chromiumPath === undefined)("approvals in the console", () => {
  test("show everything that is asked for, and execute it by the last approval", async () => {
    await byOther("approved-root");
    const { page, complaints, close } = await world.root("/console/approvals?status=pending");
    await page.getByRole("link", { name: /approved-root/ }).click();
    const panel = page.getByRole("complementary");
    await panel.getByText("0 of 1 approvals").waitFor();
    await panel.getByText("ecdsa-p256", { exact: true }).waitFor();
    await expectTree(page, "approvals-request", "aside");
    await expectStateAccessible(page);
    await keepPicture(page, "approvals");
    const copy = panel.getByRole("button", { name: "copy fingerprint" });
    await expectSoon(() => copy.textContent(), expect.stringMatching(/^[0-9a-f]{4} [0-9a-f]{4} /));
    expect(await copyText(copy)).toMatch(/^[0-9a-f]{64}$/);
    await panel.getByRole("link", { name: "Approve" }).click();
    await page.getByLabel("Comment").fill("as agreed");
    // Nobody has passkeys here.
    await expectSoon(() => page.getByText("with your passkey").count(), 0);
    await expectStateAccessible(page);
    await page.getByRole("button", { name: "Approve and execute" }).click();
    await panel.getByText("as agreed").waitFor();
    await panel.getByText("What it answered").waitFor();
    const saved = page.waitForEvent("download");
    await panel.getByRole("button", { name: "Signed transcript" }).click();
    expect((await saved).suggestedFilename()).toMatch(/^apr_.*\.json$/);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("let nobody approve what they have asked for, but withdraw it", async () => {
    const id = await byRoot("own-root");
    const { page, complaints, close } = await world.root(`/console/approvals/${id}`);
    const approve = page.getByRole("button", { name: "Approve" });
    await approve.waitFor();
    await expectSoon(() => approve.isDisabled(), true);
    await page.getByText("You made it: somebody else must approve.").waitFor();
    await page.getByRole("link", { name: "Withdraw" }).click();
    const withdraw = page.getByRole("button", { name: "Withdraw the request" });
    await expectSoon(() => withdraw.isDisabled(), true);
    await page.getByLabel("Comment").fill("not needed");
    await withdraw.click();
    await page
      .getByRole("complementary")
      .getByText("● rejected")
      .or(page.getByText("○ rejected"))
      .first()
      .waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("the console does not let root approve a request of a shell of the host", async () => {
    const { approval_id: id } = await world.instance.admin<{ approval_id: string }>(
      "POST",
      "/api/ca/init-root",
      { label: "shell-root", subject: { cn: "Shell" }, key_type: "ecdsa-p256" },
    );
    const { page, complaints, close } = await world.root(`/console/approvals/${id}`);
    const approve = page.getByRole("button", { name: "Approve" });
    await approve.waitFor();
    await expectSoon(() => approve.isDisabled(), true);
    await page.getByText("root and its shells are one person").waitFor();
    const withdrawal = { comment: "withdrawn", withdraw: true };
    await world.instance.admin("POST", `/api/approvals/${id}/reject`, withdrawal);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("are decided in a narrow window too, and hostile names stay names", async () => {
    const [hack = ""] = hostile(60);
    const id = await byOther("narrow-root", hack);
    const { page, complaints, close } = await world.root("/console/approvals?status=pending", {
      width: 360,
    });
    await page.getByRole("link", { name: /narrow-root/ }).click();
    await page.getByRole("complementary").getByText(hack).first().waitFor();
    await expectStateAccessible(page);
    await page.getByRole("link", { name: "Reject" }).click();
    await page.getByLabel("Comment").fill(hack);
    await page.getByRole("button", { name: "Reject the request" }).click();
    await page.getByRole("blockquote").getByText(hack).waitFor();
    expect(await page.evaluate("window.hacked")).toBeUndefined();
    const found = await world.instance.admin<{ status: string }>("GET", `/api/approvals/${id}`);
    expect(found.status).toBe("rejected");
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("tell apart what reads the same, and a filter that hides all from nothing at all", async () => {
    await byOther("told-root", "Example One");
    await byRoot("told-root");
    const { page, complaints, close } = await world.root("/console/approvals?status=pending");
    const rows = page.getByRole("row").filter({ hasText: "told-root" });
    await rows.filter({ hasText: "Example One" }).waitFor();
    await expectSoon(() => rows.count(), 2);
    await page.getByRole("link", { name: "Mine" }).click();
    await rows.filter({ hasText: "Example One" }).waitFor({ state: "detached" });
    await expectSoon(() => rows.count(), 1);
    await page.getByText("not needed").waitFor();
    await expectStateAccessible(page);
    await page.getByRole("link", { name: "All", exact: true }).click();
    await rows.filter({ hasText: "Example One" }).getByRole("link").click();
    await page.getByRole("link", { name: "Approve", exact: true }).click();
    await page.getByRole("dialog", { name: /^Approve: Example One: Make the root CA/ }).waitFor();
    await page.goto(`${world.origin}/console/approvals?class=kek.rotate`);
    await page.getByText("No request is as the filters say.").waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("lead there from what was parked in the console itself", async () => {
    const { page, complaints, close } = await world.root("/console/manual/interface/ca.init_root");
    await page
      .getByLabel("Body, JSON")
      .fill('{"label":"tried","subject":{"cn":"Tried"},"key_type":"ecdsa-p256"}');
    await page.getByRole("button", { name: "POST it" }).click();
    await page.getByRole("status").getByText("202").waitFor();
    await page.locator("pre").getByText("pending_approval").waitFor();
    await page.getByRole("link", { name: /waiting for your approval/ }).click();
    // Others decide on it: it waits in no inbox of its maker's.
    await page.getByRole("row", { name: /told-root/ }).waitFor();
    await expectSoon(() => page.getByRole("link", { name: /tried/ }).count(), 0);
    await page.getByRole("link", { name: "Mine" }).click();
    await page.getByRole("link", { name: /tried/ }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);
});
