/** The Debian package: it comes, and goes again without a trace. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { ran } from "#test/support/child.ts";
import { binary, newHome } from "#test/support/instances/instance.ts";
import { selectByRun } from "#test/support/run-length.ts";

const source = resolve(import.meta.dir, "../..");
const home = newHome();
/** The package of the binary. */
let file = "";

async function packaged(folder: string, program: string): Promise<string> {
  mkdirSync(folder, { recursive: true });
  const line = [process.execPath, join(source, "scripts/package-deb.ts"), folder, program];
  const { code, stdout, stderr } = await ran(line, { cwd: folder });
  expect([code, stderr]).toEqual([0, ""]);
  return join(folder, stdout.split(":")[0] ?? "");
}

beforeAll(async () => {
  file = await packaged(join(home, "a"), binary);
}, 120_000);
afterAll(() => rmSync(home, { recursive: true, force: true }));

describe("the Debian package", () => {
  test("is the same bytes wherever it is made", async () => {
    expect(statSync(file).size).toBeGreaterThan(1_000_000);
    // The compression of the binary takes seconds: the short run packs a program that starts it.
    const small = join(home, "small");
    writeFileSync(small, `#!/bin/sh\nexec ${binary} "$@"\n`, { mode: 0o755 });
    const program = selectByRun(small, binary);
    const folders = [join(home, "b"), join(home, "longer", "path")];
    const [one, other] = await Promise.all(folders.map((folder) => packaged(folder, program)));
    expect(readFileSync(one ?? "").equals(readFileSync(other ?? ""))).toBe(true);
  }, 120_000);

  test("says what it is, and holds binary, unit, user and completions of root", async () => {
    const { stdout: facts } = await ran(["dpkg-deb", "-f", file]);
    expect(facts).toMatch(/^Package: pkid\nVersion: \d+\.\d+\.\d+\nArchitecture: \w+\n/);
    expect(facts).toMatch(/^Depends: libc6 \(>= 2\.\d+\)/m);
    const { stdout: listed } = await ran(["dpkg-deb", "-c", file]);
    const held = listed.split("\n").map((line) => line.split(/\s+/));
    const of = (path: string) => held.find((one) => one[5] === path)?.slice(0, 2);
    expect(of("./usr/bin/pkid")).toEqual(["-rwxr-xr-x", "root/root"]);
    expect(of("./etc/pkid/")).toEqual(["drwxr-x---", "root/root"]);
    for (const path of [
      "systemd/system/pkid.service",
      "sysusers.d/pkid.conf",
      "tmpfiles.d/pkid.conf",
    ]) {
      expect(of(`./usr/lib/${path}`)).toEqual(["-rw-r--r--", "root/root"]);
    }
    for (const path of [
      "bash-completion/completions/pkid",
      "zsh/vendor-completions/_pkid",
      "fish/vendor_completions.d/pkid.fish",
    ]) {
      expect(of(`./usr/share/${path}`)).toEqual(["-rw-r--r--", "root/root"]);
    }
  });

  test.if(process.getuid?.() === 0)(
    "installs, is upgraded and goes again below a root of its own, and leaves what is the operator's",
    async () => {
      const root = join(home, "root");
      mkdirSync(join(root, "var/lib/dpkg/info"), { recursive: true });
      mkdirSync(join(root, "var/lib/dpkg/updates"));
      writeFileSync(join(root, "var/lib/dpkg/status"), "");
      const dpkg = (...words: readonly string[]) => {
        const line = ["dpkg", `--root=${root}`, "--force-script-chrootless", "--force-depends"];
        return ran(line.concat(words), { env: { PATH: `${process.env.PATH}:/usr/sbin:/sbin` } });
      };
      const installed = await dpkg("-i", file);
      expect([installed.code, installed.stdout]).toEqual([
        0,
        expect.stringContaining("there is no /etc/pkid/pkid.yaml yet"),
      ]);
      expect(readFileSync(join(root, "etc/passwd"), "utf8")).toContain("pkid:");
      const unit = readFileSync(join(root, "usr/lib/systemd/system/pkid.service"), "utf8");
      expect(unit).toContain("ExecStart=/usr/bin/pkid serve");
      const version = await ran([join(root, "usr/bin/pkid"), "--version"]);
      expect([version.code, version.stdout]).toEqual([0, expect.stringContaining("pkid")]);

      const [config, database] = ["etc/pkid/pkid.yaml", "var/lib/pkid/pkid.db"].map((path) =>
        join(root, path),
      );
      mkdirSync(join(root, "var/lib/pkid"));
      for (const path of [config, database]) writeFileSync(path ?? "", "kept\n");
      const upgraded = await dpkg("-i", file);
      expect(upgraded.code).toBe(0);
      expect(upgraded.stdout).not.toContain("there is no");
      for (const verb of ["--remove", "--purge"]) {
        const gone = await dpkg(verb, "pkid");
        expect([gone.code, gone.stdout]).toEqual([
          0,
          expect.stringContaining("/var/lib/pkid stays"),
        ]);
      }
      expect(existsSync(join(root, "usr/bin/pkid"))).toBe(false);
      for (const path of [config, database])
        expect(readFileSync(path ?? "", "utf8")).toBe("kept\n");
    },
    60_000,
  );
});
