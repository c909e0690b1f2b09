/** Puts together what a container image is built from: `dist/oci`, with nothing but the binary. */

import { chmodSync, copyFileSync, mkdirSync, rmSync, statSync } from "node:fs";
import { join, relative, resolve } from "node:path";

import { binary, ran, root, sourceTime } from "./lib/packaging.ts";

/**
 * One archive with owners and modes in it, so that the image needs no shell to set them. The
 * directories of the service are its user's; the binary is root's.
 */
function makeContext(context: string): void {
  const stage = join(context, "stage");
  rmSync(context, { recursive: true, force: true });
  for (const folder of ["usr/bin", "var/lib/pkid", "run/pkid"]) {
    mkdirSync(join(stage, folder), { recursive: true });
  }
  copyFileSync(binary, join(stage, "usr/bin/pkid"));
  chmodSync(join(stage, "usr/bin/pkid"), 0o755);
  const archive = join(context, "files.tar");
  const same = ["--sort=name", `--mtime=@${sourceTime()}`, "--numeric-owner", "--format=ustar"];
  const add = (how: string, mode: string, owner: string, paths: readonly string[]) => {
    const whose = [`--mode=${mode}`, `--owner=${owner}`, `--group=${owner}`];
    ran(["tar", how, "-f", archive, "-C", stage, ...same, ...whose, ...paths]);
  };
  add("-c", "0755", "0", ["usr/bin/pkid"]);
  add("-r", "0700", serviceUser, ["var/lib/pkid", "run/pkid"]);
  rmSync(stage, { recursive: true });
  copyFileSync(join(root, "scripts/package/Containerfile"), join(context, "Containerfile"));
  console.log(
    `${relative(process.cwd(), context)}: ${(statSync(archive).size / 1e6).toFixed(1)} MB`,
  );
}

/** As the Containerfile says. */
const serviceUser = "65532";

if (import.meta.main) {
  const [folder = join(root, "dist/oci")] = process.argv.slice(2);
  makeContext(resolve(folder));
}
