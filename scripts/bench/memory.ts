/** What an instance holds in memory: at rest, right after load, and at rest again. */

import { createChain } from "#test/support/instances/first-certificate.ts";
import { Instance } from "#test/support/instances/instance.ts";
import { issueRequest } from "./issue-request.ts";
import { load } from "./load.ts";
import { figure, section } from "./print.ts";
import { memoryOf, treeMemory } from "./processor.ts";
import { type Bench, type KeyHome, measured } from "./scenario.ts";

/** Prints three moments; the load is sixty-four clients that issue. */
export async function memory(bench: Bench, home: KeyHome): Promise<void> {
  section(`memory.${home.name}`, `memory, ${home.title}`);
  const instance = await Instance.start(measured(bench, home));
  try {
    const chain = await createChain(instance, "ecdsa-p256");
    const request = await issueRequest(instance, chain.intermediateId);
    await Bun.sleep(settleMs);
    const most = home.name === "software" ? 120 : 150;
    memoryFigures(instance.pid, { name: "idle", label: "at rest" });
    const { requests } = await load({ ...request, connections: 64, seconds: bench.seconds });
    memoryFigures(instance.pid, { name: "loaded", label: `after ${requests} certificates` });
    await Bun.sleep(restMs);
    memoryFigures(instance.pid, { name: "rested", label: "a minute after load", most });
  } finally {
    await instance.dispose();
  }
}

/** Prints PSS of the whole tree and RSS of the server alone. */
export function memoryFigures(
  pid: number,
  { name, label, most }: { readonly name: string; readonly label: string; readonly most?: number },
): void {
  const all = treeMemory(pid);
  figure({
    name: `${name}.pss`,
    label: `PSS of server and signer, ${label}`,
    value: all.pss,
    unit: "MB",
    goal: most === undefined ? undefined : { of: "value", most },
  });
  figure({
    name: `${name}.rss`,
    label: `RSS of the server, ${label}`,
    value: memoryOf(pid).rss,
    unit: "MB",
    note: `${all.rss.toFixed(0)} MB with the signer`,
  });
}

const settleMs = 3000;
/** What "a minute after" means. */
export const restMs = 60_000;
