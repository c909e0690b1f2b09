/** The page that tells people how their ACME clients are pointed here. */

import { beforeEach, expect, test } from "bun:test";

import { acmeGuideHandlers } from "#http/acme-guide.ts";
import { caId } from "#core/ids.ts";
import { Problem } from "#core/problems.ts";
import { ca } from "#test/support/stores/records.ts";
import { type BindingWorld, bindingWorld, labSection } from "#test/support/worlds/binding.ts";

let world: BindingWorld;
let terms: string | undefined;
beforeEach(async () => {
  world = await bindingWorld();
  terms = undefined;
});

const answer = async (query = "") => {
  const config = () => ({
    acme: { challenge_types: ["http-01", "dns-01"], terms_of_service: terms },
  });
  const handler = acmeGuideHandlers({ ...world, config })["acme.guide"];
  const request = new Request("https://pki.test/docs/acme");
  return await handler({ request, path: {}, query, ip: "", requestId: "" });
};
const page = async (query?: string) => (await answer(query)).text();
const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error) => (error instanceof Problem ? error.code : error),
  );

test("has the lines of every client with the addresses of this instance", async () => {
  const html = await page();
  for (const client of ["certbot", "lego", "Caddy", "acme.sh", "cert-manager"]) {
    expect(html).toContain(`<h3>${client}</h3>`);
  }
  expect(html).toContain("--server https://pki.test/acme/directory");
  expect(html).toContain("<code>http-01</code>, <code>dns-01</code>");
  expect(html).not.toContain("--eab-kid");
  world.current.acme = { ...world.current.acme, require_eab: true };
  expect(await page()).toContain("--eab-kid KID --eab-hmac-key KEY");
});

test("has no script, and comes under the policy of the other pages", async () => {
  const { headers } = await answer();
  expect(headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(headers.get("content-security-policy")).toStartWith(
    "default-src 'none'; style-src 'sha256-",
  );
  expect(await page()).not.toContain("<script");
});

test("escapes what the configuration says, and links to nothing but the web", async () => {
  terms = 'javascript:alert("1")';
  world.current.acme = {
    ...world.current.acme,
    profiles: { "<b>": { description: "Six <i>days</i>.", profile: "server" } },
  };
  const html = await page();
  expect(html).not.toMatch(/<b>|<i>|href="javascript/);
  expect(html).toContain("Six &#60;i&#62;days&#60;/i&#62;.");
  terms = "https://pki.test/terms";
  expect(await page()).toContain('<a href="https://pki.test/terms">');
});

test("shows the directory of one tenant to those who name it, and to nobody else", async () => {
  expect(await page()).not.toContain("acme-lab");
  expect(await page("directory=lab")).toContain("https://pki.test/acme-lab/directory");
  expect(await codeOf(answer("directory=none"))).toBe("not_found");
  const { tenant: _, ...common } = labSection;
  const lab = { ...common, tenant: undefined };
  world.current.acme = { ...world.current.acme, directories: { lab } };
  expect(await page()).toContain("https://pki.test/acme-lab/directory");
});

test("links to the root that relying parties trust, where it is ours", async () => {
  await world.store.atomically(async (tx) => {
    await tx.cas.insert(ca({ id: caId("r"), label: "root" }));
    await tx.cas.insert(ca({ id: caId("below"), label: "below", parent: caId("r") }));
  });
  const naming = (label: string) => {
    world.current.acme = { ...world.current.acme, ca_label: label };
  };
  naming("below");
  expect(await page()).toContain('href="/api/ca/r/certificate?format=pem"');
  naming("later");
  expect(await page()).not.toContain("/certificate");
});

test("is not there while ACME is off", async () => {
  world.current.acme = { ...world.current.acme, enabled: false };
  expect(await codeOf(answer())).toBe("feature_disabled");
});
