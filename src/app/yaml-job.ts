/** Runs in the thread: reads one text, answers, and ends. */

import { parentPort } from "node:worker_threads";

import { readDocument } from "#config/yaml.ts";
import type { YamlJob } from "./yaml-thread-data.ts";

/** Answers once. */
export function runYamlJob({ yaml }: YamlJob): void {
  parentPort?.postMessage(readDocument(yaml.text, yaml.name));
  parentPort?.close();
}
