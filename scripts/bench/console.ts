/**
 * The console in a real browser: what its first page weighs and when it is ready, beside a bare
 * page, and how steadily a long inventory scrolls and turns its pages.
 */

import type { Page, Request } from "playwright-core";

import { ConsoleWorld, rootPassword, signIn } from "#test/support/instances/console-world.ts";
import { newTls } from "./bare-issuer.ts";
import { filledInstance } from "./fill.ts";
import { figure, section } from "./print.ts";
import type { Bench } from "./scenario.ts";
import { median, percentile } from "./statistics.ts";

/** Prints medians of loads in turns with the bare page, then frames and turns of a long list. */
export async function consolePages(bench: Bench): Promise<void> {
  const rows = Math.min(bench.rows, rowsMax);
  section("console", `the console in Chromium, ${rows.toLocaleString("en")} certificates`);
  const root = { root_user: { password: rootPassword } };
  const { instance, ca } = await filledInstance(bench.binary, rows, 1000, root);
  const world = await ConsoleWorld.around(instance);
  try {
    await firstLoads(world);
    await longList(world, ca);
  } finally {
    await world.stop();
  }
}

/** Each in a fresh profile, in which nothing is cached. */
async function firstLoads(world: ConsoleWorld): Promise<void> {
  const { page, close } = await world.stranger("/console/");
  await signIn(page);
  const session = await page.context().storageState();
  await close();
  const bare = Bun.serve({
    tls: newTls(),
    hostname: "127.0.0.1",
    port: 0,
    development: false,
    fetch: () => new Response(barePage, { headers: { "content-type": "text/html" } }),
  });
  const load = async (address: string): Promise<Loaded> => {
    const profile = { storageState: session };
    const context = await world.browser.newContext(profile);
    try {
      return await loaded(await context.newPage(), address);
    } finally {
      await context.close();
    }
  };
  const consoles: Loaded[] = [];
  const bares: Loaded[] = [];
  for (let round = 0; round <= rounds; round++) {
    const both = [
      await load(`https://localhost:${bare.port}/`),
      await load(`${world.origin}/console/`),
    ];
    // The first one of each warms the browser and the server.
    if (round === 0) continue;
    bares.push(both[0] ?? none);
    consoles.push(both[1] ?? none);
  }
  await bare.stop(true);
  const middle = (of: readonly Loaded[], what: keyof Loaded) => median(of.map((one) => one[what]));
  figure({
    name: "first_load.size",
    label: "first page of somebody logged in, compressed",
    value: middle(consoles, "fileOctets") / 1000,
    unit: "kB",
    goal: { of: "value", most: 120 },
    note: `and ${(middle(consoles, "answerOctets") / 1000).toFixed(1)} kB of answers`,
  });
  figure({
    name: "first_load.ready",
    label: `  until it is drawn, median of ${rounds} in turns`,
    value: middle(consoles, "readyMs"),
    unit: "ms",
    floor: { name: "a bare page", value: middle(bares, "readyMs") },
    goal: { of: "value", most: 300 },
  });
}

interface Loaded {
  /** Of files of the console, as they were sent. */
  readonly fileOctets: number;
  /** Of what it asked the interface until then. */
  readonly answerOctets: number;
  /** From the beginning of the navigation until the heading of the page stands there. */
  readonly readyMs: number;
}

async function loaded(page: Page, address: string): Promise<Loaded> {
  await page.addInitScript(noteReady);
  let [fileOctets, answerOctets] = [0, 0];
  const sized: Promise<void>[] = [];
  const count = (request: Request) => {
    const { pathname } = new URL(request.url());
    const size = request.sizes().then(({ responseBodySize }) => {
      if (/^\/(api|auth|healthz|readyz|livez|metrics)/.test(pathname))
        answerOctets += responseBodySize;
      else fileOctets += responseBodySize;
    });
    sized.push(size);
  };
  page.on("requestfinished", count);
  await page.goto(address);
  await page.locator("main h1").first().waitFor();
  const readyMs = Number(await page.evaluate("window.readyAt"));
  // What ends from now on would be asked for its size when the page is gone.
  page.off("requestfinished", count);
  await Promise.all(sized);
  return { fileOctets, answerOctets, readyMs };
}

/** Scrolled down and up, then turned page by page; frames are counted meanwhile. */
async function longList(world: ConsoleWorld, ca: string): Promise<void> {
  const { page, quiet, close } = await world.stranger(`/console/certificates?ca=${ca}`);
  await signIn(page);
  await page.getByRole("button", { name: "Next" }).waitFor();
  await quiet();
  await page.mouse.move(640, 500);
  await page.evaluate(countFrames);
  for (let step = 0; step < wheelSteps; step++) {
    await page.mouse.wheel(0, step < wheelSteps / 2 ? 120 : -120);
    await page.evaluate("new Promise(requestAnimationFrame)");
  }
  frames("scroll", "scrolled", await page.evaluate<number[]>("window.frames"));
  await page.evaluate(countFrames);
  const turns: number[] = [];
  for (let turn = 1; turn <= pageTurns; turn++) {
    const begun = performance.now();
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByText(`${turn * 50 + 1}–${(turn + 1) * 50} of`).waitFor();
    turns.push(performance.now() - begun);
  }
  frames("turn", "turned", await page.evaluate<number[]>("window.frames"));
  figure({
    name: "turn.time",
    label: `a page of 50 rows, median of ${pageTurns}`,
    value: median(turns),
    unit: "ms",
    note: `${Math.max(...turns).toFixed(0)} ms the longest`,
  });
  await close();
}

function frames(name: string, done: string, lengths: readonly number[]): void {
  figure({
    name: `${name}.longest_frame`,
    label: `longest frame while the list is ${done}`,
    value: Math.max(...lengths),
    unit: "ms",
    goal: { of: "value", most: 50 },
    note: `${lengths.length} frames, p99 ${percentile(lengths, 99).toFixed(1)} ms`,
  });
}

/** What the least page does: it is sent, and a script draws it. */
const barePage = `<!doctype html><html lang="en"><title>bare</title><body><script>
  document.body.innerHTML = "<main><h1>bare</h1></main>";
</script></body></html>`;

const noteReady = `new MutationObserver((_, observer) => {
  if (document.querySelector("main h1") === null) return;
  window.readyAt = performance.now();
  observer.disconnect();
}).observe(document, { childList: true, subtree: true });`;

const countFrames = `(() => {
  window.frames = [];
  const counted = window.frames;
  let last = performance.now();
  const next = (now) => {
    counted.push(now - last);
    last = now;
    if (window.frames === counted) requestAnimationFrame(next);
  };
  requestAnimationFrame(next);
})()`;

const none: Loaded = { fileOctets: 0, answerOctets: 0, readyMs: 0 };
const rowsMax = 100_000;
const rounds = 9;
const wheelSteps = 60;
const pageTurns = 20;
