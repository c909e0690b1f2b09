/** Builds the PKCS#11 addon when the build has not done so yet. */

import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";

/** Makes sure `require("pkcs11js")` works; throws with the compiler's words when it cannot. */
export function ensureAddon(): void {
  const addon = join(modules, "pkcs11js/build/Release/pkcs11.node");
  if (existsSync(addon)) return;
  mkdirSync(join(addon, ".."), { recursive: true });
  const source = (name: string) => join(modules, "pkcs11js/src", `${name}.cpp`);
  const built = Bun.spawnSync([
    "g++",
    "-O2",
    "-fPIC",
    "-shared",
    "-std=c++17",
    "-DNODE_GYP_MODULE_NAME=pkcs11",
    "-I",
    join(modules, "node-api-headers/include"),
    "-I",
    join(modules, "pkcs11js/includes"),
    "-static-libstdc++",
    "-static-libgcc",
    "-s",
    "-Wl,--build-id=none",
    ...["dl", "common", "main"].map(source),
    "-o",
    addon,
  ]);
  if (built.exitCode !== 0) throw new Error(built.stderr.toString());
}

const modules = join(import.meta.dir, "../../../node_modules");
