/**
 * Starts threads. The runtime ends the whole process if a new thread lacks descriptors or is not
 * allowed by the control group, so both are checked first.
 */

import { closeSync, openSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Worker, type WorkerOptions } from "node:worker_threads";

/**
 * Starts a thread that runs the main module.
 *
 * @throws {Error} with code EMFILE, ENFILE or EAGAIN if the process lacks descriptors or tasks
 */
export function startThread(workerUrl: string, options: WorkerOptions): Worker {
  requireDescriptors(filesPerThread);
  requireTasks(tasksPerThread);
  return new Worker(new URL(workerUrl), options);
}

/** Throws the error of the system unless this number of files can be opened now. */
function requireDescriptors(count: number): void {
  const files: number[] = [];
  try {
    while (files.length < count) files.push(openSync("/dev/null", "r"));
  } finally {
    for (const file of files) closeSync(file);
  }
}

/**
 * Throws EAGAIN if a control group of this process allows fewer new tasks (cgroups(7), of either
 * version).
 *
 * @param root directory that contains `/proc` and `/sys`
 */
export function requireTasks(count: number, root = "/"): void {
  for (const line of readText(join(root, "proc/self/cgroup")).split("\n")) {
    const [, controllers = "", path = ""] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    if (path === "" || (controllers !== "" && !controllers.split(",").includes("pids"))) continue;
    const folder = controllers === "" ? "sys/fs/cgroup" : "sys/fs/cgroup/pids";
    // Each parent limits the group as well.
    for (let group = path; ; group = dirname(group)) {
      const max = readNumber(join(root, folder, group, "pids.max"));
      const current = readNumber(join(root, folder, group, "pids.current"));
      if (current + count > max) throw lackOfTasks(max);
      if (group === "/" || group === ".") break;
    }
  }
}

const lackOfTasks = (max: number): Error =>
  Object.assign(new Error(`No thread can be started: ${max} tasks are allowed (pids.max).`), {
    code: "EAGAIN",
  });

/** Returns NaN, which is larger than no number, if there is no limit. */
const readNumber = (path: string): number => Number.parseInt(readText(path), 10);

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return ""; // Not Linux, or no such control group.
  }
}

/** Two for the event loop of the thread, the others for the module that it reads. */
const filesPerThread = 8;
/** The thread, and the threads that the engine starts with it. */
const tasksPerThread = 8;
