/** What a process costs, as the kernel counts it: processor time, memory, writes. */

import { readdirSync, readFileSync } from "node:fs";

/**
 * What the process has computed, in user and system mode; a machine that is shared makes it wait,
 * but adds nothing.
 */
export async function processorSeconds(pid: number): Promise<number> {
  const fields = (await Bun.file(`/proc/${pid}/stat`).text()).split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** Octets the process has had written to storage; pages it has dirtied count once they are. */
export const writtenBytes = (pid: number): number =>
  Number(/^write_bytes: (\d+)/m.exec(text(pid, "io"))?.[1] ?? Number.NaN);

/** Megabytes of a process and its share of what it has in common with others. */
export interface Memory {
  readonly rss: number;
  readonly pss: number;
}

/** What one process holds. */
export function memoryOf(pid: number): Memory {
  const rollup = text(pid, "smaps_rollup");
  const megabytes = (name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(rollup)?.[1] ?? Number.NaN) / 1024;
  return { rss: megabytes("Rss"), pss: megabytes("Pss") };
}

/** The process and all it has started, and what those have. */
export function tree(pid: number): number[] {
  const tasks = readdirSync(`/proc/${pid}/task`);
  const children = tasks.flatMap((task) =>
    text(pid, `task/${task}/children`).split(" ").filter(Boolean).map(Number),
  );
  return [pid, ...children.flatMap(tree)];
}

/** Of the whole tree. */
export function treeMemory(pid: number): Memory {
  const all = tree(pid).map(memoryOf);
  return {
    rss: all.reduce((sum, { rss }) => sum + rss, 0),
    pss: all.reduce((sum, { pss }) => sum + pss, 0),
  };
}

/** Server and signer apart, as they stand now. */
export interface Cost {
  readonly serverSeconds: number;
  readonly signerSeconds: number;
  readonly writtenBytes: number;
}

/** What server and signers have cost until now. */
export async function costs(pid: number): Promise<Cost> {
  const [server = pid, ...signers] = tree(pid);
  const seconds = await Promise.all(signers.map(processorSeconds));
  return {
    serverSeconds: await processorSeconds(server),
    signerSeconds: seconds.reduce((sum, one) => sum + one, 0),
    writtenBytes: [server, ...signers].reduce((sum, one) => sum + writtenBytes(one), 0),
  };
}

/** What it cost meanwhile, by each of `count`. */
export const costOfEach = (before: Cost, after: Cost, count: number) => ({
  serverMs: ((after.serverSeconds - before.serverSeconds) * 1000) / count,
  signerMs: ((after.signerSeconds - before.signerSeconds) * 1000) / count,
  writtenBytes: (after.writtenBytes - before.writtenBytes) / count,
});

/** Empty where the process has ended or the kernel does not tell. */
function text(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch {
    return ""; // Then the figure is none.
  }
}
