/** The programs of systemd, where it runs this machine. */

import { existsSync } from "node:fs";

import { Failure } from "./failure.ts";

/** A program that was run, and what it said. */
export interface Turn {
  readonly line: string;
  readonly said: string;
}

/** True where systemd is the one who starts services (sd_booted(3)). */
export const systemdRuns = (): boolean => existsSync("/run/systemd/system");

/** Runs the lines in order; fails at the first that does, but for questions, which are answered. */
export async function askSystemd(lines: readonly (readonly string[])[]): Promise<Turn[]> {
  const turns: Turn[] = [];
  for (const words of lines) {
    const [program = "", verb = ""] = words;
    const path = Bun.which(program, { PATH: `${process.env.PATH ?? ""}:/usr/sbin:/usr/bin` });
    if (path === null) throw new Failure(`${program} is not there; it comes with systemd.`);
    const child = Bun.spawn([path, ...words.slice(1)], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    const outputs = [child.stdout, child.stderr].map((one) => new Response(one).text());
    const said = (await Promise.all(outputs)).join("").trim();
    const line = words.join(" ");
    if ((await child.exited) !== 0 && !verb.startsWith("is-")) {
      throw new Failure(`${line} failed: ${said}`);
    }
    turns.push({ line, said });
  }
  return turns;
}
