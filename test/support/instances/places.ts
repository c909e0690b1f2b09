/**
 * EVERY PLACE OF THE CONSOLE: the parts of each page and the dialogs over them. A new page is its
 * rows here; what a page leads to and has no row fails the tests that walk them.
 */

import type { Page } from "playwright-core";

import { AcmeClient } from "#test/support/acme/client.ts";
import { binding } from "#test/support/acme/keys.ts";
import { until } from "#test/support/until.ts";
import type { ConsoleWorld, Visit } from "./console-world.ts";
import { type Shown, shownWorld } from "./shown.ts";

/** A part of a page, or a dialog over one. */
export interface Place {
  readonly path: string;
  /** What opens it, where that is no address. */
  readonly act?: (page: Page) => Promise<void>;
  /** The button that ends it, where `Esc` must not. */
  readonly endedBy?: string;
}

/** What the addresses name. */
export interface Ids extends Pick<Shown, "ca" | "serial" | "approval"> {
  readonly suspended: string;
  readonly root: string;
  /** A CA that waits for its certificate. */
  readonly waiting: string;
  readonly apiToken: string;
  readonly tenant: string;
  readonly credential: string;
  readonly account: string;
  readonly authorization: string;
  readonly order: string;
  readonly session: string;
  readonly grant: string;
  /** Row and fingerprint of a blocked key, as they stand in an address. */
  readonly blocked: string;
}

/** Of overview, certificates, issuing, authorities and revocation. */
export function partsOfCas({ ca, serial }: Ids): readonly Place[] {
  const certificate = `/console/certificates/${ca}/${serial}?ca=${ca}`;
  const authority = `/console/authorities/${ca}`;
  const paths = [
    "/console/",
    `/console/certificates?ca=${ca}`,
    "/console/certificates?ca=*&q=example",
    certificate,
    ...["fields", "chain", "logs", "events", "dns"].map((tab) => `${certificate}&tab=${tab}`),
    `/console/issue?ca=${ca}`,
    `/console/issue?ca=${ca}&from=csr`,
    `/console/issue/many?ca=${ca}`,
    "/console/authorities",
    authority,
    ...["certificate", "crl", "cross", "rollover"].map((tab) => `${authority}?tab=${tab}`),
    `/console/revoke?ca=${ca}`,
  ];
  return paths.map((path) => ({ path }));
}

/** Of everything else. */
export function otherParts(ids: Ids): readonly Place[] {
  const { ca, approval, apiToken, tenant, credential, account, order, blocked } = ids;
  const paths = [
    "/console/approvals",
    "/console/approvals?decidable=true",
    `/console/approvals/${approval}`,
    "/console/events?action=tenant.*",
    "/console/events/3?action=tenant.*",
    "/console/enrolment/directories",
    "/console/enrolment/credentials",
    `/console/enrolment/credentials/${credential}`,
    "/console/enrolment/accounts",
    `/console/enrolment/accounts/${account}`,
    "/console/enrolment/orders",
    `/console/enrolment/orders/${order}`,
    "/console/enrolment/replacements",
    "/console/people/tokens",
    `/console/people/tokens/${apiToken}`,
    `/console/people/grants?ca=${ca}`,
    "/console/people/tenants",
    `/console/people/tenants/${tenant}`,
    "/console/people/sessions",
    "/console/people/passkeys",
    "/console/operations/preflight",
    "/console/operations/keys",
    "/console/operations/blocked",
    `/console/operations/blocked/${blocked}`,
    "/console/operations/ledger",
    "/console/operations/publication",
    "/console/operations/backup",
    "/console/operations/jobs",
    "/console/operations/settings",
    "/console/manual/chapters",
    "/console/manual/interface",
  ];
  return paths.map((path) => ({ path }));
}

/** Of authorities and certificates. */
export function dialogsOfCas({ ca, serial, suspended, root, waiting }: Ids): readonly Place[] {
  const certificate = `/console/certificates/${ca}/${serial}?ca=${ca}`;
  return [
    { path: `/console/certificates?ca=${ca}&dialog=export` },
    { path: `${certificate}&dialog=renew` },
    { path: `${certificate}&dialog=suspend` },
    { path: `${certificate}&dialog=revoke` },
    { path: `/console/certificates/${ca}/${suspended}?ca=${ca}&dialog=release` },
    { path: "/console/authorities?dialog=root" },
    { path: "/console/authorities?dialog=request" },
    { path: `/console/authorities/${root}?dialog=intermediate` },
    { path: `/console/authorities/${waiting}?dialog=import` },
    { path: `/console/authorities/${waiting}?dialog=delete` },
    { path: `/console/authorities/${root}?tab=cross&dialog=cross-sign` },
    { path: `/console/authorities/${ca}?tab=rollover&dialog=rotate` },
    { path: `/console/authorities/${ca}?tab=rollover&dialog=retire` },
    { path: `/console/issue?ca=${ca}&profile=payments`, act: saveKeyFirst },
  ];
}

/** Of everything else. */
export function otherDialogs(ids: Ids): readonly Place[] {
  const { ca, approval, apiToken, tenant, credential, account, authorization } = ids;
  const token = `/console/people/tokens/${apiToken}`;
  return [
    { path: "/console/", act: openKeyboardHelp },
    { path: `/console/approvals/${approval}?dialog=approve` },
    { path: `/console/approvals/${approval}?dialog=reject` },
    { path: `/console/approvals/${approval}?dialog=retry` },
    { path: "/console/events?dialog=verify" },
    { path: "/console/events?dialog=export" },
    { path: "/console/enrolment/credentials?dialog=new" },
    { path: `/console/enrolment/credentials/${credential}?dialog=revoke` },
    { path: `/console/enrolment/accounts/${account}?dialog=deactivate` },
    { path: `/console/enrolment/accounts/${account}?dialog=authz-${authorization}` },
    { path: `/console/enrolment/orders/${ids.order}?dialog=end` },
    { path: "/console/people/tokens?dialog=new" },
    {
      path: "/console/people/tokens?dialog=new&tenant=default",
      act: makeApiToken,
      endedBy: "I have kept it",
    },
    { path: `${token}?dialog=revoke` },
    { path: `/console/people/grants?ca=${ca}&dialog=grant` },
    { path: `/console/people/grants?ca=${ca}&dialog=revoke-${ids.grant}` },
    { path: "/console/people/tenants?dialog=new" },
    { path: `/console/people/tenants/${tenant}?dialog=quotas` },
    { path: `/console/people/tenants/${tenant}?dialog=status` },
    { path: `/console/people/tenants/${tenant}?dialog=delete` },
    { path: `/console/people/sessions?dialog=end-${ids.session}` },
    { path: "/console/operations/keys?dialog=rotate" },
    { path: "/console/operations/blocked?dialog=block" },
    { path: `/console/operations/blocked/${ids.blocked}&dialog=unblock` },
  ];
}

/** What an address shows, whichever thing it names: page, part, and tab or dialog. */
export function kindOf(path: string): { part: string; dialog: string | undefined } {
  const { pathname, searchParams } = new URL(path, "https://localhost");
  const [segment = "", word = ""] = pathname.split("/").slice(2);
  const named = /^[a-z]+$/.test(word) ? `/${word}` : "";
  const tab = searchParams.get("tab");
  const dialog = searchParams.get("dialog")?.replace(/-[\w-]{16,}$/, "");
  const part = `${segment}${named}${tab === null || dialog !== undefined ? "" : ` ${tab}`}`;
  return { part, dialog };
}

/** Opens each in one of several tabs at once: most of the time is spent waiting. */
export async function inTabs(
  { world }: Shown,
  places: readonly Place[],
  look: (visit: Visit, place: Place) => Promise<void>,
): Promise<readonly string[]> {
  const visits = [await world.root("/console/")];
  while (visits.length < tabsMax) visits.push(await world.root("/console/"));
  const waiting = [...places];
  const tab = async (visit: Visit) => {
    for (let place = waiting.shift(); place !== undefined; place = waiting.shift()) {
      await visit.page.goto(world.origin + place.path);
      const heading = visit.page.locator("h1").first();
      await heading.waitFor().catch(async (error) => {
        // What is there instead says more than that something is not.
        throw new Error(`${place.path}: ${await visit.page.textContent("body")}`, { cause: error });
      });
      await place.act?.(visit.page);
      await look(visit, place);
    }
  };
  await Promise.all(visits.map(tab));
  await Promise.all(visits.map(({ close }) => close()));
  return visits.flatMap(({ complaints }) => complaints);
}

const tabsMax = 4;

/** An instance on which each of them has something to show. */
export async function placesWorld(): Promise<{ readonly shown: Shown; readonly ids: Ids }> {
  const shown = await shownWorld();
  const { instance } = shown.world;
  const first = async (path: string, fits: (row: Row) => boolean = () => true) => {
    const { items } = await instance.admin<{ items: readonly Row[] }>("GET", path);
    const row = items.find(fits);
    if (row === undefined) throw new Error(`nothing fits in ${path}`);
    return row;
  };
  const { ca } = shown;
  await instance.admin("POST", "/api/ca/csr", {
    label: "waiting",
    subject: { cn: "Waiting" },
    key_type: "ecdsa-p256",
  });
  const grant = {
    resource: `ca/${ca}`,
    entity_type: "user",
    entity_id: "alice",
    role: "ca-issuer",
  };
  await instance.admin("POST", "/api/grants", { ...grant, scope: "self" });
  const enrolled = await enrol(shown.world, ["walked.example.com"]);
  const blocked = await first("/api/blocked-keys");
  await shown.world.root("/console/").then(({ close }) => close());
  const ids: Ids = {
    ca,
    serial: shown.serial,
    approval: shown.approval,
    waiting: String((await first("/api/ca", ({ label }) => label === "waiting")).id),
    suspended: String((await first(`/api/ca/${ca}/certificates?status=held`)).serial),
    root: String((await first("/api/ca", ({ label }) => label === "example-root")).id),
    apiToken: String((await first("/api/tokens")).id),
    tenant: String((await first("/api/tenants", ({ slug }) => slug === "shop")).id),
    session: String((await first("/api/sessions")).id),
    grant: String((await first(`/api/grants?resource=ca/${ca}`)).id),
    blocked: `${blocked.id}?key=${encodeURIComponent(String(blocked.public_key_fingerprint))}`,
    ...enrolled,
    authorization: String((await first(`/api/acme/authorizations?account=${enrolled.account}`)).id),
  };
  return { shown, ids };
}

type Row = Readonly<Record<string, unknown>>;

/** A client with an account orders a certificate for the names, and has proved nothing yet. */
export async function enrol({ instance, origin }: ConsoleWorld, names: readonly string[]) {
  const made = await instance.admin<Row>("POST", "/api/acme/eab", {
    name: "walked",
    dns_suffixes: ["example.com"],
    max_uses: 0,
  });
  const reaching = { ca: instance.servingCa() };
  const client = await AcmeClient.at(`${origin}/acme/directory`, undefined, reaching);
  const key = { kid: String(made.id), hmacKey: String(made.hmac_key) };
  const externalAccountBinding = binding(key, client.directory.newAccount, client.key.jwk);
  await client.register({ termsOfServiceAgreed: true, externalAccountBinding });
  await client.order(names);
  const only = async (path: string) => {
    const { items } = await instance.admin<{ items: readonly Row[] }>("GET", path);
    return String(items[0]?.id);
  };
  return {
    credential: String(made.id),
    account: await only("/api/acme/accounts"),
    order: await only("/api/acme/orders"),
  };
}

async function saveKeyFirst(page: Page): Promise<void> {
  await page.getByLabel("Names").fill("new.pay.example.com,");
  await page.getByRole("link", { name: "Save the key first" }).click();
}

/** Presses the key until the page listens, which it does only after it is first rendered. */
const openKeyboardHelp = (page: Page) =>
  until(async () => {
    await page.keyboard.press("?");
    return await page.locator("dialog[open]").isVisible();
  });

async function makeApiToken(page: Page): Promise<void> {
  await page.getByLabel("Name", { exact: true }).fill("walked");
  await page.getByRole("button", { name: "Make the token" }).click();
  await page.getByText("Nobody can show it again").waitFor();
}
