/** What tests of hostile texts share: CAs named by them, and what must be true of every page. */

import { expect } from "bun:test";

import { x509 } from "#test/support/encodings/peculiar.ts";
import { freePort } from "#test/support/servers/free-port.ts";
import { ConsoleWorld, type Visit } from "./console-world.ts";
import { hostile } from "./hostile.ts";

export const [image = "", script = "", link = "", , reversed = ""] = hostile(64);

/** The world, and the CA that issues in it. */
export interface HostileWorld {
  readonly world: ConsoleWorld;
  readonly ca: string;
}

/** Starts the binary, with profiles whose descriptions are hostile; `vouched` takes two. */
export async function hostileWorld(): Promise<HostileWorld> {
  const port = await freePort();
  const world = await ConsoleWorld.start({
    server: { port, public_url: `https://localhost:${port}` },
    acme: { enabled: true, ca_label: "issuing" },
    approvals: { enabled: true, thresholds: { "cert.issue": 1 } },
    profiles: [
      {
        name: "vouched",
        description: script,
        ext_key_usages: ["clientAuth"],
        require_approval: true,
      },
      { name: "plain", description: link, ext_key_usages: ["clientAuth"] },
    ],
  });
  return { world, ca: await makeCas(world) };
}

async function makeCas({ instance }: ConsoleWorld): Promise<string> {
  const subject = { cn: image, o: script, ou: link };
  const kind = { key_type: "ecdsa-p256" };
  const root = await instance.admin<{ id: string }>("POST", "/api/ca/init-root", {
    label: "root",
    subject,
    ...kind,
  });
  const path = `/api/ca/${root.id}/issue-intermediate`;
  const request = { label: "issuing", subject: { cn: script, o: image }, ...kind };
  return (await instance.admin<{ id: string }>("POST", path, request)).id;
}

/** X.520: marks of direction are control characters, and no certificate is issued with them. */
export const isLawful = (text: string): boolean => !text.includes("\u202E");

/** A request whose subject and URI are the text. */
export async function csrOf(text: string): Promise<string> {
  const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const value = `https://e.example/?q=${encodeURIComponent(text)}`;
  const made = await x509.Pkcs10CertificateRequestGenerator.create({
    name: [{ CN: [text] }],
    keys,
    signingAlgorithm: algorithm,
    extensions: [new x509.SubjectAlternativeNameExtension([{ type: "url", value }])],
  });
  return made.toString("pem");
}

/**
 * Nothing was executed, nothing stands there that could be, and no mark turns text around; gives
 * the page's text.
 */
export async function expectInert({ page, quiet }: Visit): Promise<string> {
  await page.locator("h1, h2, p, pre").first().waitFor();
  await quiet();
  const at = page.url().slice(0, 200);
  const found = await page.evaluate(lookForHarm);
  expect({ at, found }).toEqual({ at, found: [] });
  expect(await page.evaluate("window.hacked")).toBeUndefined();
  const text: string = await page.evaluate("document.body.textContent");
  expect({ at, marks: text.match(marks) }).toEqual({ at, marks: null });
  return text;
}

const lookForHarm = `[
  ...document.querySelectorAll("img, iframe, object, embed, base, body script, a[href^='javascript:' i]"),
  ...[...document.querySelectorAll("*")].filter((one) =>
    one.getAttributeNames().some((name) => name.startsWith("on") || name === "srcdoc" ||
      ((name === "title" || name === "aria-label") && /${"[\\u200e\\u200f\\u202a-\\u202e]"}/.test(one.getAttribute(name))))),
].filter((one) => one.tagName !== "SCRIPT" || !one.src.startsWith(location.origin + "/console/assets/"))
  .map((one) => one.outerHTML.slice(0, 200))`;

const marks = /.{0,20}[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069].{0,20}/u;
