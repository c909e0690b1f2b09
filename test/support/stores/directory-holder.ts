/**
 * Run as a process of its own: holds the directory it is given, starts a child, prints the child's
 * pid, and waits.
 */

import { holdDirectory } from "#adapters/data-directory.ts";

holdDirectory(String(process.argv[2]));
const child = Bun.spawn(["sleep", "60"], { stdio: ["ignore", "ignore", "ignore"] });
console.log(child.pid);
setInterval(() => {}, 1000);
