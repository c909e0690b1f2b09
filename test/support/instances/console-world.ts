/**
 * The console as people have it: the compiled binary, a real browser, and what tests of every page
 * look at: the accessibility tree, axe, complaints, pictures.
 */

import { expect } from "bun:test";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, BrowserContext, Page, Request } from "playwright-core";

import { expectGolden, isGolden } from "#test/support/golden.ts";
import { isLongRun } from "#test/support/run-length.ts";
import { closeProfiles, shareBarePages, shareBrowser } from "./browser.ts";
import { Instance, newHome } from "./instance.ts";

export interface Visit {
  readonly page: Page;
  /** Errors of scripts and what the policy kept out: empty at the end of every test. */
  readonly complaints: string[];
  /** Until everything the page asked for has come, and it asks for nothing more for a while. */
  readonly quiet: () => Promise<void>;
  readonly close: () => Promise<void>;
}

export interface Look {
  readonly theme?: "light" | "dark";
  readonly width?: 1280 | 360;
}

/** Instance of the tests of a file, and the browser that the files of a process share. */
export class ConsoleWorld {
  readonly instance: Instance;
  readonly browser: Browser;
  readonly #password: string;
  #session: Awaited<ReturnType<BrowserContext["storageState"]>> | undefined;

  private constructor(instance: Instance, browser: Browser, password: string = rootPassword) {
    this.instance = instance;
    this.browser = browser;
    this.#password = password;
  }

  /** Starts the binary with root's password and what else configuration and environment say. */
  static async start(
    config: Readonly<Record<string, unknown>> = {},
    home: string = newHome(),
    env: Readonly<Record<string, string>> = {},
    password: string = rootPassword,
  ): Promise<ConsoleWorld> {
    const settings = { root_user: { password }, ...config };
    const [instance, browser] = await Promise.all([
      Instance.start({ home, config: settings, env }),
      shareBarePages(),
    ]);
    return new ConsoleWorld(instance, browser, password);
  }

  /** Around an instance with root's password that runs already, in the browser that people have. */
  static async around(instance: Instance): Promise<ConsoleWorld> {
    return new ConsoleWorld(instance, await shareBrowser());
  }

  /** Closes the open profiles and removes the instance. */
  async stop(): Promise<void> {
    await closeProfiles(this.browser);
    await this.instance.dispose();
  }

  get origin(): string {
    return `https://localhost:${new URL(this.instance.url).port}`;
  }

  /** A fresh profile at an address of the console, signed out. */
  async stranger(path: string, { theme = "light", width = 1280 }: Look = {}): Promise<Visit> {
    return this.#visit(path, { theme, width });
  }

  /** The same with root's session, which is opened once for the file. */
  async root(path: string, { theme = "light", width = 1280 }: Look = {}): Promise<Visit> {
    this.#session ??= await this.#signedIn();
    return this.#visit(path, { theme, width }, this.#session);
  }

  /** A fresh profile of somebody who presents an API token. */
  async bearer(secret: string, path: string, look: Look = {}): Promise<Visit> {
    const visit = await this.#visit(path, look);
    const { page } = visit;
    await page.getByText("Use an API token").click();
    await page.getByLabel("API token", { exact: true }).fill(secret);
    await page.getByRole("button", { name: "Log in" }).last().click();
    await page.getByRole("navigation", { name: "Pages", exact: true }).waitFor();
    return visit;
  }

  async #signedIn() {
    const { page, close } = await this.#visit("/console/", {});
    await signIn(page, "root", this.#password);
    const state = await page.context().storageState();
    await close();
    return state;
  }

  async #visit(
    path: string,
    { theme = "light", width = 1280 }: Look,
    session?: Awaited<ReturnType<BrowserContext["storageState"]>>,
  ): Promise<Visit> {
    const context = await this.browser.newContext({
      // For what a test asks beside the browser, through the routes it puts in between.
      ignoreHTTPSErrors: true,
      colorScheme: theme,
      viewport: { width, height: 800 },
      // Times and pictures are the same wherever the tests run.
      timezoneId: "UTC",
      locale: "en-GB",
      reducedMotion: "reduce",
      permissions: ["clipboard-read", "clipboard-write"],
      ...(session === undefined ? {} : { storageState: session }),
    });
    const page = await context.newPage();
    page.setDefaultTimeout(30_000);
    const complaints: string[] = [];
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on("console", (message) => {
      const text = message.text();
      if (/Content Security Policy|Refused to|TrustedScript|TrustedHTML/i.test(text)) {
        complaints.push(text);
      }
    });
    const quiet = quietOf(page);
    await page.goto(this.origin + path);
    return { page, complaints, quiet, close: () => context.close() };
  }
}

/** The feed stays open, and nothing waits for it. */
function quietOf(page: Page): () => Promise<void> {
  const open = new Set<Request>();
  let moved = performance.now();
  page.on("request", (request) => {
    if (!request.url().includes("/api/events/stream")) open.add(request);
    moved = performance.now();
  });
  const over = (request: Request) => {
    open.delete(request);
    moved = performance.now();
  };
  page.on("requestfinished", over);
  page.on("requestfailed", over);
  const waitForSilence = async (start: number) => {
    while (open.size > 0 || performance.now() - Math.max(moved, start) < 250) {
      if (performance.now() - start > 20_000) {
        throw new Error(`still asking: ${[...open].map((request) => request.url()).join(", ")}`);
      }
      await Bun.sleep(25);
    }
  };
  return async () => {
    const start = performance.now();
    // A page without processor time sends no requests either. The first script runs after the
    // responses that have arrived, the second after the rendering that they started.
    for (let called = Number.NEGATIVE_INFINITY; moved > called; ) {
      await waitForSilence(start);
      called = performance.now();
      await page.evaluate("0");
      await Bun.sleep(50);
      await page.evaluate("0");
    }
  };
}

/** On the page of somebody who is out. */
export async function signIn(page: Page, name = "root", password = rootPassword): Promise<void> {
  await page.getByLabel("User name").fill(name);
  await page.getByLabel("Password", { exact: true }).fill(password);
  await page.getByRole("button", { name: "Log in" }).first().click();
  await page.getByRole("navigation", { name: "Pages", exact: true }).waitFor();
}

/**
 * Checks with axe-core that the page, or a part of it, has no violation of WCAG 2.2 AA. The light
 * theme gets every rule. The dark one gets the rules on colors, as no other rule depends on the
 * theme.
 */
export async function expectAccessible(page: Page, part = "html"): Promise<void> {
  const hasAxe = await page.evaluate("typeof axe !== 'undefined'");
  if (!hasAxe) await page.evaluate(axeSource());
  for (const [theme, run] of axeRuns) {
    await page.emulateMedia({ colorScheme: theme });
    const found = await page.evaluate(`${run}(${JSON.stringify(part)})`);
    expect({ theme, found }).toEqual({ theme, found: [] });
  }
}

/** Checks the current state of a page with axe-core, in the long run only. */
export async function expectStateAccessible(page: Page): Promise<void> {
  if (isLongRun) await expectAccessible(page);
}

/**
 * Waits until the accessibility tree of the page, or of a part, is that of the golden
 * `console/<name>.yml`; what differs from run to run is put as `…`.
 */
export async function expectTree(page: Page, name: string, part = "main"): Promise<void> {
  const golden = `console/${name}.yml`;
  const tree = async () => `${settled(await page.locator(part).first().ariaSnapshot())}\n`;
  // A page renders its parts when their responses arrive.
  const late = performance.now() + treeWaitMs;
  let text = await tree();
  while (!isGolden(golden, text) && performance.now() < late) {
    await Bun.sleep(50);
    text = await tree();
  }
  expectGolden(golden, text);
}

const treeWaitMs = 10_000;

/** Keeps a picture as an artefact, where `PKID_SCREENSHOTS` names a folder for it. */
export async function keepPicture(page: Page, name: string): Promise<void> {
  const folder = process.env.PKID_SCREENSHOTS;
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}

/** Times, digests, identifiers, serials and counts of days are of this run alone. */
const settled = (tree: string): string =>
  tree
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "…")
    .replace(/\d{4}-\d\d-\d\d( \d\d:\d\d(:\d\d)?)?( UTC)?/g, "…")
    .replace(/SHA256(:|%3A)([\w+/=-]|%2[BF]){43,44}/g, "…")
    .replace(/SHA256:[\w+/]{12}…/g, "…")
    .replace(/\b([0-9a-f]{4} ){2,}[0-9a-f]{2,4}\b/g, "…")
    .replace(/\b[0-9a-f]{4} [0-9a-f]{4}…/g, "…")
    .replace(/\b\d{20,}\b/g, "…")
    .replace(/\b[0-9a-f]{32,}\b/g, "…")
    // A signature of ECDSA is a few octets longer or shorter each time.
    .replace(/\b\d+ octets/g, "… octets")
    .replace(/localhost:\d+/g, "localhost:…")
    .replace(
      /in \d+ (days?|hours?|minutes?)|\d+ (days?|hours?|minutes?|seconds?) ago|\bnow\b/g,
      "…",
    );

const axeSource = (): string =>
  readFileSync(join(import.meta.dir, "../../../node_modules/axe-core/axe.min.js"), "utf8");

const axeRun = (runOnly: readonly string[]): string => `((part) => axe.run(part, {
  runOnly: ${JSON.stringify(runOnly)},
  resultTypes: ["violations"],
}).then(({ violations }) => violations.map(({ id, nodes }) =>
  [id, ...nodes.slice(0, 5).map(({ target, failureSummary }) => target.join(" ") + ": " + failureSummary)])))`;

const axeRuns = [
  ["light", axeRun(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"])],
  ["dark", axeRun(["color-contrast", "link-in-text-block"])],
] as const;

export const rootPassword = "correct horse battery staple";
