/** Chromium as a person uses it: one browser, a fresh profile for each visit. */

import { type Browser, chromium, type Page } from "playwright-core";

import { once } from "#core/once.ts";

/** Where the browser is; undefined where it is not installed. */
export const chromiumPath = Bun.which("chromium") ?? undefined;

/** The browser with all that people have around a page. */
export const openBrowser = (): Promise<Browser> => launched(chromiumPath);

/** The same with nothing around its pages: a visit costs a third of the processor's time. */
export const openBarePages = (): Promise<Browser> =>
  launched(Bun.which("chromium-headless-shell") ?? chromiumPath);

/**
 * The two browsers as the test files of a process share them: each starts once and ends with the
 * process. Profiles share nothing.
 */
export const shareBrowser = once(openBrowser);
export const shareBarePages = once(openBarePages);

/** Closes every profile that is open in a shared browser. */
export async function closeProfiles(browser: Browser): Promise<void> {
  for (const context of browser.contexts()) await context.close();
}

/**
 * Certificates of tests are from nobody it knows, which its network is told not to mind. Where each
 * page is told instead, a navigation is begun anew for each connection with such a certificate, and
 * now and then given up: `net::ERR_TOO_MANY_RETRIES`.
 */
const launched = (executablePath: string | undefined): Promise<Browser> =>
  chromium.launch({
    ...(executablePath === undefined ? {} : { executablePath }),
    args: ["--no-sandbox", "--disable-gpu", "--ignore-certificate-errors"],
  });

/**
 * A page of a fresh profile, and everything it complained about: errors of scripts, and what its
 * policy kept out.
 */
export async function freshPage(browser: Browser): Promise<{ page: Page; complaints: string[] }> {
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    if (/Content Security Policy|Refused to/i.test(message.text())) complaints.push(message.text());
  });
  return { page, complaints };
}
