/**
 * Runs the openssl command line, the independent reader and writer the encodings are held against.
 */

import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Runs `openssl args…` with `input` on standard input; throws with its complaint unless it exits 0.
 */
export function openssl(args: readonly string[], input?: Uint8Array | string): Buffer {
  const run = spawnSync("openssl", args, { input, maxBuffer: 64 * 1024 * 1024 });
  if (run.status !== 0) throw new Error(`openssl ${args.join(" ")}: ${run.stderr}`);
  return run.stdout;
}

/** As `openssl`, with the output as text. */
export const opensslText = (args: readonly string[], input?: Uint8Array | string): string =>
  openssl(args, input).toString("utf8");

/**
 * A directory that `using` removes; `write` puts a file there and gives its path, `read` reads one.
 */
export function scratchDirectory() {
  const path = mkdtempSync(join(tmpdir(), "pkid-x509-"));
  return {
    path,
    write(name: string, content: Uint8Array | string): string {
      const file = join(path, name);
      writeFileSync(file, content);
      return file;
    },
    read: (name: string): Buffer => readFileSync(join(path, name)),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
}

/** A certificate that nobody has signed but itself, for these names as openssl writes them. */
export function selfSigned(names = "IP:127.0.0.1"): { cert: string; key: string } {
  using scratch = scratchDirectory();
  const key = scratch.write("key.pem", "");
  const args = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  const cert = openssl([
    ...args,
    "-keyout",
    key,
    "-days",
    "2",
    "-subj",
    "/CN=idp.test",
    "-addext",
    `subjectAltName=${names}`,
  ]).toString();
  return { cert, key: scratch.read("key.pem").toString() };
}
