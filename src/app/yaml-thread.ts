/**
 * Has the YAML of a configuration read in a thread of its own: a file of some kilobytes takes
 * longer than anybody may hold the thread that serves.
 */

import { Worker } from "node:worker_threads";

import type { ReadDocument } from "#config/yaml.ts";

/** What the thread is started with; tells it from other threads of the binary. */
export interface YamlJob {
  readonly yaml: { readonly text: string; readonly name: string };
}

/** True for the data a thread of this kind is started with. */
export const isYamlJob = (job: unknown): job is YamlJob =>
  typeof job === "object" && job !== null && "yaml" in job;

/**
 * As `readDocument`, in another thread; `workerUrl` is the main module, which runs `runYamlJob`
 * there.
 */
export function documentAside(
  workerUrl: string,
  text: string,
  name: string,
): Promise<ReadDocument> {
  return new Promise((resolve, reject) => {
    const job: YamlJob = { yaml: { text, name } };
    const worker = new Worker(new URL(workerUrl), { workerData: job });
    worker.once("message", resolve);
    worker.once("error", reject);
    worker.once("exit", () => reject(new Error("the configuration was not read to its end")));
  });
}
