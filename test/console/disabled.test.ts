/** Nothing in the console is disabled in silence: what describes it says why. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { Glob } from "bun";
import type { Page } from "playwright-core";

import type { Answers } from "#api/answers.ts";
import type { OperationName } from "#operations";
import { chromiumPath } from "#test/support/instances/browser.ts";
import {
  dialogsOfCas,
  otherDialogs,
  otherParts,
  partsOfCas,
  placesWorld,
} from "#test/support/instances/places.ts";
import { type DisabledControl, disabledIn, go, reasonOf } from "#test/support/instances/reasons.ts";

let world: Awaited<ReturnType<typeof placesWorld>>;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  world = await placesWorld();
}, 60_000);
afterAll(() => world?.shown.world.stop());

const everywhere = () => [
  ...partsOfCas(world.ids),
  ...otherParts(world.ids),
  ...dialogsOfCas(world.ids),
  ...otherDialogs(world.ids),
];

describe.skipIf(chromiumPath === undefined)("what is disabled in the console", () => {
  test("is described by its reason at every path, for a user who may only read", async () => {
    const { instance } = world.shown.world;
    const reader = await instance.token(["auditor"], { scope: "platform" });
    const visit = await world.shown.world.bearer(reader, "/console/people");
    const { page, quiet, complaints, close } = visit;
    const found: DisabledControl[] = [];
    for (const { path, act } of everywhere()) {
      if (act !== undefined) continue;
      await go(page, path.slice("/console/".length));
      await quiet();
      found.push(...(await disabledAt(path, page)));
    }
    expect(found.filter(({ reason }) => reason === "")).toEqual([]);
    expect(complaints).toEqual([]);
    expect(found.length).toBeGreaterThan(20);
    await close();
  }, 180_000);
});

describe.skipIf(chromiumPath === undefined)("a dialog that asks for confirmation", () => {
  test("is one of those that are tried here", async () => {
    expect(Object.keys(confirmations()).toSorted()).toEqual([...(await confirmed())]);
  });

  test("says why whoever only reads cannot confirm it, and so does what stands for it", async () => {
    const { instance } = world.shown.world;
    const reader = await instance.token(["auditor"], { scope: "platform" });
    const visit = await world.shown.world.bearer(reader, "/console/people");
    const { page, complaints, quiet, close } = visit;
    await page.route("**/api/acme/replacements/planned", (route) =>
      route.fulfill({ json: running() }),
    );
    const found: unknown[] = [];
    const expected: unknown[] = [];
    for (const [operation, [address, at, told]] of Object.entries(confirmations())) {
      await go(page, address);
      const act = page.getByRole("dialog").locator("button.danger");
      const place = page.getByRole("main").locator(".notice", { hasText: told }).first();
      const isDialog = at === "dialog";
      await (isDialog ? act : place).waitFor();
      await quiet();
      const reason = isDialog ? await reasonOf(act) : await place.textContent();
      const may = isDialog && (await act.isEnabled());
      found.push([operation, { may, reason, open: await act.count() }]);
      const why = expect.stringContaining(told);
      expected.push([operation, { may: false, reason: why, open: isDialog ? 1 : 0 }]);
    }
    expect(found).toEqual(expected);
    expect(complaints).toEqual([]);
    await close();
  }, 120_000);
});

/**
 * Every dialog that asks for confirmation, by its operation: where it opens, and what whoever only
 * reads is told: in the dialog, or in its place where they may not read what it is about either.
 */
const confirmations = () => {
  const { ids } = world;
  const { account, apiToken, ca, tenant } = ids;
  return {
    "key.unblock": [
      `operations/blocked/${ids.blocked}&dialog=unblock`,
      "dialog",
      "Needs ca:manage",
    ],
    "kek.rotate": ["operations/keys?dialog=rotate", "place", "Needs hsm:manage"],
    "acme.order.deactivate": [
      `enrolment/orders/${ids.order}?dialog=end`,
      "dialog",
      "Needs ca:manage",
    ],
    "acme.account.deactivate": [
      `enrolment/accounts/${account}?dialog=deactivate`,
      "dialog",
      "Needs ca:manage",
    ],
    "acme.authz.deactivate": [
      `enrolment/accounts/${account}?dialog=authz-${ids.authorization}`,
      "dialog",
      "Needs ca:manage",
    ],
    "acme.eab.revoke": [
      `enrolment/credentials/${ids.credential}?dialog=revoke`,
      "place",
      "Needs ca:manage",
    ],
    "acme.replace.cancel": [
      "enrolment/replacements/planned?dialog=cancel",
      "dialog",
      "Needs ca:manage",
    ],
    "token.revoke": [`people/tokens/${apiToken}?dialog=revoke`, "place", "Needs token:manage"],
    "tenant.status": [`people/tenants/${tenant}?dialog=status`, "dialog", "Needs tenant:manage"],
    "tenant.delete": [`people/tenants/${tenant}?dialog=delete`, "dialog", "Needs tenant:manage"],
    "resource.revoke": [
      `people/grants?ca=${ca}&dialog=revoke-${ids.grant}`,
      "place",
      "Needs grant:manage",
    ],
    "session.end": [`people/sessions?dialog=end-${ids.session}`, "dialog", "Needs session:manage"],
    // What is one's own needs nothing but to be a person.
    "webauthn.remove": ["people/passkeys?dialog=remove-1", "place", "You use an API token"],
  } as const satisfies Partial<Record<OperationName, Confirmation>>;
};

type Confirmation = readonly [address: string, at: "dialog" | "place", told: string];

/** A replacement that runs, as the server would show it. */
const running = (): Answers["acme.replace.show"] => ({
  id: "planned",
  ca_id: world.ids.ca,
  filter: "Every certificate",
  tenant_id: world.ids.tenant,
  status: "running",
  start: new Date().toISOString(),
  end: new Date().toISOString(),
  per_second: 1,
  created_by: "root",
  created_at: new Date().toISOString(),
  revoked: 0,
  total: 2,
  replaced: 1,
  outstanding: 1,
});

/** The operations of the dialogs that the pages have. */
async function confirmed(): Promise<readonly string[]> {
  const pages = await Array.fromAsync(new Glob("web/pages/**/*.tsx").scan("."));
  const found = pages.flatMap((file) => {
    const text = readFileSync(file, "utf8");
    const named = /\boperation: "([\w.]+)"/.exec(text)?.[1];
    return [...text.matchAll(/<Confirm\s+(?:operation="([\w.]+)"|\{\.\.\.guard\})/g)].map(
      ([, operation]) => operation ?? String(named),
    );
  });
  return found.toSorted();
}

/** With the address, so that a failure says where. */
async function disabledAt(path: string, page: Page): Promise<readonly DisabledControl[]> {
  const found = await disabledIn(page);
  return found.map(({ control, reason }) => ({ control: `${path}: ${control}`, reason }));
}
