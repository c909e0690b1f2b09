/**
 * How long a start takes where there is much, beside a start where there is nothing: it must not
 * grow with the inventory.
 */

import { Instance, newHome } from "#test/support/instances/instance.ts";
import { filledConfig, filledInstance } from "./fill.ts";
import { ratio, row, section } from "./print.ts";
import type { Bench } from "./scenario.ts";
import { median } from "./statistics.ts";

/** Fills a data directory, a tenth of it revoked, and prints its starts. */
export async function starts({ rows, binary }: Bench): Promise<void> {
  section(
    "starts",
    `starts with ${rows.toLocaleString("en")} certificates, a tenth of them revoked, SQLite`,
  );
  const { instance } = await filledInstance(binary, rows, 10);
  row("start to ready, the first one after the filling", milliseconds(instance.readyMs));
  await (await startsBeside(binary, instance)).dispose();
}

/**
 * Prints the medians of five starts each in turn: on nothing at all, on a data directory that has
 * only been started before, and on that of `filled`, which has to stop for it. Gives the last start
 * of the last, running.
 */
export async function startsBeside(binary: string, filled: Instance): Promise<Instance> {
  const { home } = filled;
  await filled.stop();
  const started = await Instance.start({ binary, config: filledConfig });
  await started.stop();
  const times = { nothing: [] as number[], started: [] as number[], filled: [] as number[] };
  for (let n = 0; n < 5; n++) {
    times.nothing.push(await once(binary, newHome(), true));
    times.started.push(await once(binary, started.home, false));
    times.filled.push(await once(binary, home, false));
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
  return await Instance.start({ binary, home, config: filledConfig });
}

async function once(binary: string, home: string, dispose: boolean): Promise<number> {
  const instance = await Instance.start({ binary, home, config: filledConfig });
  await (dispose ? instance.dispose() : instance.stop());
  return instance.readyMs;
}

const milliseconds = (figure: number) => `${figure.toFixed(0)} ms`;
