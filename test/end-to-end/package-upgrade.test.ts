/**
 * A CA lives through its Debian package: what one version made is there under the next, and when
 * the package is gone. All below a root of its own, where the unit is started as its words say.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import {
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";

import { sharedLibraries } from "#scripts/lib/shared-libraries.ts";
import { type Ran, ran } from "#test/support/child.ts";
import { binary, newHome } from "#test/support/instances/instance.ts";
import { otherBuild } from "#test/support/instances/other-build.ts";
import {
  type Place,
  RootedServer,
  ranBelow,
  rootsPermitted,
} from "#test/support/instances/rooted.ts";

const source = resolve(import.meta.dir, "../..");
const home = newHome();
const root = join(home, "root");
const older = "0.0.9";
let oldBinary: string;
let [oldPackage, newPackage] = ["", ""];

async function packaged(folder: string, file: string): Promise<string> {
  mkdirSync(folder);
  const line = [process.execPath, join(source, "scripts/package-deb.ts"), folder, file];
  const env = { PATH: `${quickTools()}:${process.env.PATH}` };
  const { code, stdout, stderr } = await ran(line, { cwd: folder, env });
  expect([code, stderr]).toEqual([0, ""]);
  return join(folder, stdout.split(":")[0] ?? "");
}

/** A folder with a `dpkg-deb` that compresses little: in this test only the contents matter. */
function quickTools(): string {
  const folder = join(home, "tools");
  const script = `#!/bin/bash\nexec ${Bun.which("dpkg-deb")} "\${@/#-z9/-z1}"\n`;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "dpkg-deb"), script, { mode: 0o755 });
  return folder;
}

beforeAll(async () => {
  if (!rootsPermitted) return;
  oldBinary = await otherBuild(older);
  oldPackage = await packaged(join(home, "old"), oldBinary);
  newPackage = await packaged(join(home, "new"), binary);
  prepareRoot();
}, 120_000);

afterAll(() => {
  rmSync(home, { recursive: true, force: true });
  if (rootsPermitted) rmSync(dirname(oldBinary), { recursive: true, force: true });
});

/** What is there before the package: its database, and the C library that it depends on. */
function prepareRoot(): void {
  for (const path of ["var/lib/dpkg/info", "var/lib/dpkg/updates", "tmp"]) {
    mkdirSync(join(root, path), { recursive: true });
  }
  writeFileSync(join(root, "var/lib/dpkg/status"), "");
  for (const path of sharedLibraries(binary)) {
    mkdirSync(join(root, dirname(path)), { recursive: true });
    copyFileSync(path, join(root, path));
  }
}

/** The C library is not of this root's packages, and scripts run outside of it. */
function dpkg(...words: readonly string[]): Promise<Ran> {
  const line = ["dpkg", `--root=${root}`, "--force-script-chrootless", "--force-depends"];
  return ran(line.concat(words), { env: { PATH: `${process.env.PATH}:/usr/sbin:/sbin` } });
}

const installedVersion = async (): Promise<string | undefined> =>
  /^Version: (.*)$/m.exec((await dpkg("--status", "pkid")).stdout)?.[1];

/** The value of a directive of the unit that is installed. */
function unit(directive: string): string {
  const text = readFileSync(join(root, "usr/lib/systemd/system/pkid.service"), "utf8");
  return new RegExp(`^${directive}=(.*)$`, "m").exec(text)?.[1] ?? "";
}

/** As systemd does before it starts a unit: directories, the user, the file of the environment. */
function placeOfUnit(): Place {
  const [, , uid = "", gid = ""] =
    readFileSync(join(root, "etc/passwd"), "utf8")
      .split("\n")
      .map((line) => line.split(":"))
      .find(([name]) => name === unit("User")) ?? [];
  directory("StateDirectory", "var/lib", Number(uid), Number(gid));
  directory("RuntimeDirectory", "run", Number(uid), Number(gid));
  const variables = readFileSync(join(root, unit("EnvironmentFile").replace(/^-/, "")), "utf8");
  const env = Object.fromEntries(variables.split("\n").map((line) => line.split("=")));
  return { root, user: `${uid}:${gid}`, env: { PATH: "/usr/bin", ...env } };
}

/** Made where it is missing; given over with what is in it where it is another's. */
function directory(directive: string, below: string, uid: number, gid: number): void {
  const folder = join(root, below, unit(directive));
  mkdirSync(folder, { recursive: true, mode: Number.parseInt(unit(`${directive}Mode`), 8) });
  if (statSync(folder).uid === uid) return;
  for (const path of [""].concat(readdirSync(folder, { recursive: true, encoding: "utf8" }))) {
    chownSync(join(folder, path), uid, gid);
  }
}

const startUnit = () => RootedServer.start(placeOfUnit(), unit("ExecStart").split(" "));

async function labels(): Promise<readonly string[]> {
  const listed = await ranBelow(placeOfUnit(), ["/usr/bin/pkid", "ca", "list", "--json"]);
  expect(listed).toMatchObject({ code: 0 });
  return JSON.parse(listed.stdout).items.map((one: { label: string }) => one.label);
}

async function configure(): Promise<void> {
  const out = ["--out", "/etc/pkid/pkid.yaml", "--data-dir", "/var/lib/pkid"];
  const line = ["/usr/bin/pkid", "init", "--public-url", "https://pki.example.test"];
  const made = await ranBelow({ root, user: "0:0", env: {} }, line.concat(out));
  expect(made).toMatchObject({ code: 0 });
  // The installed lines of tmpfiles.d let the user read what root wrote.
  const asked = await ran(["systemd-tmpfiles", `--root=${root}`, "--create", "pkid.conf"]);
  expect(asked).toMatchObject({ code: 0 });
  const settings = ["PKID_SERVER_HOST=127.0.0.1", "PKID_SERVER_PORT=0", "PKID_LOG_FORMAT=json"];
  writeFileSync(join(root, "etc/pkid/environment"), settings.join("\n"));
}

test.if(rootsPermitted)(
  "a CA that the packaged service made is there after an upgrade, and stays when the package goes",
  async () => {
    // 1. The older package is installed, configured and started.
    expect(await dpkg("-i", oldPackage)).toMatchObject({ code: 0 });
    expect(await installedVersion()).toBe(older);
    await configure();
    const before = await startUnit();
    expect(before.ready).toMatchObject({ version: older, data_dir: "/var/lib/pkid" });
    const uid = placeOfUnit().user.split(":")[0];
    expect(uid).not.toBe("0");
    expect(readFileSync(`/proc/${before.pid}/status`, "utf8")).toMatch(
      new RegExp(`^Uid:\\s+${uid}\\s`, "m"),
    );
    expect(await before.status("/readyz")).toBe(200);

    // 2. It makes a CA, and is stopped.
    const newRoot = ["ca", "init-root", "--label", "kept", "--cn", "Kept Root"];
    const made = await ranBelow(placeOfUnit(), ["/usr/bin/pkid"].concat(newRoot));
    expect(made).toMatchObject({ code: 0 });
    expect(await before.stop()).toBe(0);

    // 3. The package of this binary takes its place, and finds configuration and data.
    const upgraded = await dpkg("-i", newPackage);
    expect(upgraded).toMatchObject({ code: 0 });
    expect(upgraded.stdout).toContain(`over (${older})`);
    expect(upgraded.stdout).not.toContain("there is no /etc/pkid/pkid.yaml");
    const after = await startUnit();
    expect(after.ready.version).toBe((await installedVersion()) ?? "");
    expect(after.ready.version).not.toBe(older);
    expect(await labels()).toEqual(["kept"]);
    expect(await after.stop()).toBe(0);

    // 4. Neither removing nor purging takes anything of the operator's.
    const kept = ["etc/pkid/pkid.yaml", "var/lib/pkid/pkid.db", "var/lib/pkid/master.key"];
    const digests = () => kept.map((path) => Bun.hash(readFileSync(join(root, path))));
    const held = digests();
    for (const verb of ["--remove", "--purge"]) {
      const gone = await dpkg(verb, "pkid");
      expect(gone).toMatchObject({ code: 0 });
      for (const place of ["/var/lib/pkid", "/etc/pkid"]) {
        expect(gone.stdout).toContain(`pkid: ${place} stays`);
      }
      expect(existsSync(join(root, "usr/bin/pkid"))).toBe(false);
      expect(digests()).toEqual(held);
    }
    expect(statSync(join(root, "var/lib/pkid")).uid).toBe(Number(uid));

    // 5. Installed again it goes on where it was.
    expect(await dpkg("-i", newPackage)).toMatchObject({ code: 0 });
    const returned = await startUnit();
    expect(await labels()).toEqual(["kept"]);
    expect(await returned.stop()).toBe(0);
  },
  120_000,
);
