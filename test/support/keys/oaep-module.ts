/**
 * Puts a PKCS#11 module without AES-GCM, with OAEP of one hash or with none of its own, in front of
 * a good one.
 */

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Compiles it in front of the module at `real`; gives its path. `hash` is the one it undoes OAEP
 * with, whatever it is asked for; without it OAEP is as the real module has it.
 */
export function newOaepModule(real: string, hash?: "sha256" | "sha1"): string {
  const path = join(mkdtempSync(join(tmpdir(), "pkid-oaep-")), "oaep.so");
  const built = Bun.spawnSync([
    "gcc",
    "-shared",
    "-fPIC",
    "-O1",
    `-DREAL="${real}"`,
    ...(hash === undefined ? [] : [`-DOAEP_HASH=EVP_${hash}`]),
    join(import.meta.dir, "oaep-module.c"),
    "-o",
    path,
    // By its file name, because the headers and the plain name come with a package few machines
    // have.
    ...(hash === undefined ? [] : ["-l:libcrypto.so.3"]),
    "-ldl",
    "-lpthread",
  ]);
  if (built.exitCode !== 0) throw new Error(built.stderr.toString());
  return path;
}
