/** The groups of this system, as its C library knows them. */

import { readFileSync } from "node:fs";

/**
 * Number of a group by its name; undefined when there is none. Asks `getent` where the local file
 * does not have it.
 */
export function groupIdOf(name: string): number | undefined {
  if (!/^[A-Za-z0-9_.@$-]{1,256}$/.test(name) || name.startsWith("-")) return undefined;
  return inLines(localGroups(), name) ?? inLines(otherGroups(name), name);
}

function localGroups(): string {
  try {
    return readFileSync("/etc/group", "utf8");
  } catch {
    return ""; // A minimal image has no such file.
  }
}

/** Groups of a directory are known to the system's name service only. */
function otherGroups(name: string): string {
  const getent = Bun.which("getent");
  if (getent === null) return "";
  const asked = Bun.spawnSync([getent, "group", name], { timeout: 5000, stderr: "ignore" });
  return asked.stdout.toString();
}

function inLines(text: string, name: string): number | undefined {
  for (const line of text.split("\n")) {
    const [group, , id] = line.split(":");
    if (group === name && id !== undefined && /^\d{1,10}$/.test(id)) return Number(id);
  }
  return undefined;
}
