/** Which libraries go into an image beside the binary, and what is refused there. */

import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { packagesOf, sharedLibraries } from "#scripts/lib/shared-libraries.ts";

const home = mkdtempSync(join(tmpdir(), "pkid-libraries-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

test("a program needs its loader, the C library and what that opens by itself", () => {
  const needed = sharedLibraries("/bin/true");
  expect(needed.map((path) => path.split("/").at(-1) ?? "").toSorted()).toEqual([
    expect.stringMatching(/^ld-linux.*\.so\.\d$/),
    "libc.so.6",
    "libgcc_s.so.1",
  ]);
  expect(packagesOf(needed)).toEqual(["libc6", "libgcc-s1"]);
});

test("a file that links nothing, and a library of no package, are refused", () => {
  const file = join(home, "script");
  writeFileSync(file, "#!/bin/sh\n", { mode: 0o755 });
  expect(() => sharedLibraries(file)).toThrow("failed");
  expect(() => packagesOf([file])).toThrow("is of no Debian package");
});
