/**
 * How long a start takes where there is much, beside a start where there is nothing: it must not
 * grow with the inventory.
 */

import { Instance, newHome } from "#test/support/instances/instance.ts";
import { filledConfig, filledInstance } from "./fill.ts";
import { bold, ratio, row } from "./print.ts";

/** Fills a data directory, a tenth of it revoked, and prints its starts. */
export async function starts(rows: number): Promise<void> {
  bold(`starts with ${rows.toLocaleString("en")} certificates, a tenth of them revoked, SQLite`);
  const { instance } = await filledInstance(rows, 10);
  row("start to ready, the first one after the filling", milliseconds(instance.readyMs));
  await (await startsBeside(instance)).dispose();
}

/**
 * Prints the medians of five starts each in turn: on nothing at all, on a data directory that has
 * only been started before, and on that of `filled`, which has to stop for it. Gives the last start
 * of the last, running.
 */
export async function startsBeside(filled: Instance): Promise<Instance> {
  const { home } = filled;
  await filled.stop();
  const started = await Instance.start({ config: filledConfig });
  await started.stop();
  const times = { nothing: [] as number[], started: [] as number[], filled: [] as number[] };
  for (let n = 0; n < 5; n++) {
    times.nothing.push(await once(newHome(), true));
    times.started.push(await once(started.home, false));
    times.filled.push(await once(home, false));
  }
  await started.dispose();
  const nothing = median(times.nothing);
  const empty = median(times.started);
  const full = median(times.filled);
  row("start to ready, empty data directory (median of 5)", milliseconds(nothing));
  row("start to ready, started once before (median of 5)", milliseconds(empty));
  row("start to ready, filled (median of 5)", milliseconds(full));
  const beside = `${ratio(full, nothing)}, ${ratio(full, empty)}`;
  row("filled beside empty, and beside started once before", beside);
  return await Instance.start({ home, config: filledConfig });
}

async function once(home: string, dispose: boolean): Promise<number> {
  const instance = await Instance.start({ home, config: filledConfig });
  await (dispose ? instance.dispose() : instance.stop());
  return instance.readyMs;
}

const median = (times: readonly number[]): number =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN;

const milliseconds = (figure: number) => `${figure.toFixed(0)} ms`;
