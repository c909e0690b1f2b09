/**
 * Has the YAML of a configuration read in a thread of its own: a file of some kilobytes takes
 * longer than anybody may hold the thread that serves.
 */

import { startThread } from "#adapters/start-thread.ts";
import { readDocument, type ReadDocument } from "#config/yaml.ts";
import type { YamlJob } from "./yaml-thread-data.ts";

/**
 * As `readDocument`, in another thread where it is long; `workerUrl` is the main module, which runs
 * `runYamlJob` there.
 */
export async function documentAside(
  workerUrl: string,
  text: string,
  name: string,
): Promise<ReadDocument> {
  if (text.length <= shortText) return readDocument(text, name);
  return await new Promise((resolve, reject) => {
    const job: YamlJob = { yaml: { text, name } };
    const worker = startThread(workerUrl, { workerData: job });
    worker.once("message", resolve);
    worker.once("error", reject);
    worker.once("exit", () => reject(new Error("the configuration was not read to its end")));
  });
}

/** What is read in less time than a thread takes to start: three milliseconds a kilobyte. */
const shortText = 4096;
