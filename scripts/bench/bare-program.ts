/** The bare server as a program of any size, and its life: the floor of starts and restarts. */

import { cpSync, openSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { newTls } from "./bare-issuer.ts";

/** Compiles the bare server, with so much ballast that it is as large as the other. */
export async function bareProgram(folder: string, bytes: number): Promise<string> {
  const program = join(folder, "bare");
  const ballast = join(folder, "ballast.bin");
  for (const [name, text] of Object.entries(newTls())) {
    if (name === "cert" || name === "key") writeFileSync(join(folder, name), String(text));
  }
  cpSync(join(import.meta.dir, "bare-start.ts"), join(folder, "bare-start.ts"));
  const compiled = async (ballastBytes: number): Promise<number> => {
    writeFileSync(ballast, new Uint8Array(ballastBytes).fill(7));
    const built = await Bun.build({
      entrypoints: [join(folder, "bare-start.ts")],
      target: "bun",
      format: "esm",
      bytecode: true,
      minify: true,
      compile: { outfile: program, assets: [ballast] },
    });
    if (!built.success) throw new Error(built.logs.join("\n"));
    return statSync(program).size;
  };
  const alone = await compiled(1);
  if (alone < bytes) await compiled(bytes - alone);
  return program;
}

/** A bare server that is ready; `stop` ends it as one is ended for a newer one. */
export interface BareServer {
  /** Milliseconds from spawn to the word ready, watched for as those of an instance. */
  readonly readyMs: number;
  stop(): Promise<void>;
}

/** Starts it on the folder `home`; `folder` is where it was compiled. */
export async function startBare(
  program: string,
  folder: string,
  home: string,
): Promise<BareServer> {
  const log = join(home, `log-${crypto.randomUUID()}`);
  const began = performance.now();
  const child = Bun.spawn([program, home, join(folder, "cert"), join(folder, "key")], {
    cwd: home,
    stdin: "ignore",
    stdout: openSync(log, "w", 0o600),
    stderr: "inherit",
  });
  while (!readFileSync(log, "utf8").includes("ready")) {
    if (child.exitCode !== null) throw new Error("the bare server ended before it was ready");
    await Bun.sleep(2);
  }
  const readyMs = performance.now() - began;
  const stop = async () => {
    child.kill();
    await child.exited;
  };
  return { readyMs, stop };
}
