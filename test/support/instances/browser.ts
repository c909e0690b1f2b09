/** Chromium as a person uses it: one browser, a fresh profile for each visit. */

import { type APIResponse, type Browser, chromium, type Page, type Route } from "playwright-core";

/** Where the browser is; undefined where it is not installed. */
export const chromiumPath = Bun.which("chromium") ?? undefined;

/**
 * Opens the browser; certificates of tests are from nobody it knows, which its network is told not
 * to mind. Where each page is told instead, a navigation is begun anew for each connection with
 * such a certificate, and now and then given up: `net::ERR_TOO_MANY_RETRIES`.
 */
export const openBrowser = (): Promise<Browser> =>
  chromium.launch({
    ...(chromiumPath === undefined ? {} : { executablePath: chromiumPath }),
    args: ["--no-sandbox", "--disable-gpu", "--ignore-certificate-errors"],
  });

/**
 * What the server answers to a request that is held up. `route.fetch` asks outside of the browser
 * and cannot be told not to mind certificates.
 */
export const answerTo = (route: Route): Promise<APIResponse> => {
  const request = route.request();
  return request.frame().page().request.fetch(request, { ignoreHTTPSErrors: true });
};

/**
 * A page of a fresh profile, and everything it complained about: errors of scripts, and what its
 * policy kept out.
 */
export async function freshPage(browser: Browser): Promise<{ page: Page; complaints: string[] }> {
  const context = await browser.newContext();
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    if (/Content Security Policy|Refused to/i.test(message.text())) complaints.push(message.text());
  });
  return { page, complaints };
}
