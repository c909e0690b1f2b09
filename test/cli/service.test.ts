/** `pkid service`: units that systemd accepts and finds tight, and nothing of others touched. */

import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { whyNotRunnable } from "#cli/service-files.ts";
import { configSchema } from "#config/schema.ts";
import { leaves } from "#config/section.ts";
import { ran } from "#test/support/child.ts";
import { shell } from "#test/support/instances/shell.ts";

const newRoot = (): string => mkdtempSync(join(tmpdir(), "pkid-service-"));
const unitOf = (root: string): string => join(root, "etc/systemd/system/pkid.service");
const configOf = (root: string): string => join(root, "etc/pkid/pkid.yaml");

function service(root: string, verb: string, ...flags: readonly string[]) {
  const named = verb !== "install" || flags.includes("--binary");
  const own = named ? [] : ["--binary", "/usr/bin/true"];
  return shell(["service", verb, "--root", root].concat(own, flags), { env: bare });
}
const bare = { PKID_DATA_DIR: undefined };

/** The section of that name, made where there is none. */
function sectionIn(section: Record<string, unknown>, key: string): Record<string, unknown> {
  const inner = section[key] ?? {};
  section[key] = inner;
  // Nothing else is put there.
  return inner as Record<string, unknown>;
}

function put(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

const installedUnit = async (root: string, ...flags: readonly string[]): Promise<string> => {
  expect(await service(root, "install", ...flags)).toMatchObject({ code: 0, stderr: "" });
  return readFileSync(unitOf(root), "utf8");
};

describe("systemd", () => {
  const widest = ["--device", "char-usb_device,/dev/nfast/nfast0", "--write", "/var/lib/softhsm"];
  const asked = ["--public-url", "http://pki.example.com"];
  const kinds = [
    ["of the defaults", []],
    ["with a low port, devices and a further directory", widest.concat(asked)],
    ["with sockets of systemd's", ["--socket"]],
  ] as const;
  for (const [name, flags] of kinds) {
    test(`accepts the unit ${name}, and finds it exposed by 2.0 at most`, async () => {
      const root = newRoot();
      await installedUnit(root, ...flags);
      const units = readdirSync(dirname(unitOf(root))).map((unit) =>
        join(dirname(unitOf(root)), unit),
      );
      const verified = await ran(["systemd-analyze", "verify", ...units]);
      expect(verified).toEqual({ code: 0, stdout: "", stderr: "" });
      const line = ["systemd-analyze", "security", "--offline=yes", "--threshold=20"];
      const judged = await ran(line.concat(unitOf(root)));
      expect([judged.code, judged.stdout.split("\n").at(-2)]).toEqual([
        0,
        expect.stringContaining("OK"),
      ]);
    });
  }

  test.if(process.getuid?.() === 0)("makes the user, who may read the configuration", async () => {
    const root = newRoot();
    await installedUnit(root);
    expect((await ran(["systemd-sysusers", "--root", root, "pkid.conf"])).code).toBe(0);
    const made = await ran(["systemd-tmpfiles", "--create", "--root", root, "pkid.conf"]);
    expect([made.code, made.stderr]).toEqual([0, ""]);
    const line = readFileSync(join(root, "etc/passwd"), "utf8").match(/^pkid:.*$/m)?.[0] ?? "";
    const [, , , gid = -1] = line.split(":").map(Number);
    expect(line).toEndWith("/var/lib/pkid:/usr/sbin/nologin");
    const facts = (path: string) => {
      const { mode, uid: owner, gid: group } = statSync(join(root, path));
      return [mode & 0o777, owner, group];
    };
    expect(facts("etc/pkid")).toEqual([0o750, 0, gid]);
    expect(facts("etc/pkid/pkid.yaml")).toEqual([0o640, 0, gid]);
  });
});

describe("the unit", () => {
  test("gives the one capability for a port below 1024 only where one is configured", async () => {
    expect(await installedUnit(newRoot())).toContain("CapabilityBoundingSet=\n");
    const root = newRoot();
    put(configOf(root), "server: {port: 443}\n");
    const unit = await installedUnit(root);
    expect(unit).toContain("\nCapabilityBoundingSet=CAP_NET_BIND_SERVICE\n");
    expect(unit).toContain("\nAmbientCapabilities=CAP_NET_BIND_SERVICE\n");
  });

  test("waits longer for a stop than the server takes, and lets it write where it must", async () => {
    const root = newRoot();
    const publish = "publish: {enabled: true, dir: {path: /srv/pki}}";
    put(configOf(root), `data_dir: /srv/ca\nserver: {shutdown_timeout_seconds: 90}\n${publish}\n`);
    const unit = await installedUnit(root, "--write", "/var/lib/softhsm/tokens");
    expect(unit).toContain("\nTimeoutStopSec=105\n");
    const [, written = ""] = /^ReadWritePaths=(.*)$/m.exec(unit) ?? [];
    expect(written.split(" ").sort()).toEqual([
      "-/srv/ca",
      "-/srv/ca/keys",
      "-/srv/pki",
      "-/var/lib/softhsm/tokens",
    ]);
  });

  test("lets it write to every place that the schema says it writes to", async () => {
    const places = leaves(configSchema).filter(({ field }) => field.writes !== undefined);
    const set: Record<string, unknown> = {};
    for (const { path } of places) {
      const keys = path.split(".");
      let section = set;
      for (const key of keys.slice(0, -1)) section = sectionIn(section, key);
      section[keys.at(-1) ?? ""] = `/srv/${path}/place`;
    }
    const root = newRoot();
    put(configOf(root), JSON.stringify(set));
    const unit = await installedUnit(root);
    const [, written = ""] = /^ReadWritePaths=(.*)$/m.exec(unit) ?? [];
    const expected = places.map(({ path, field }) =>
      field.writes === "file" ? `-/srv/${path}` : `-/srv/${path}/place`,
    );
    expect(written.split(" ")).toEqual(expected);
  });

  test("and tmpfiles give it the directories that it could not make, and take none from others", async () => {
    const root = newRoot();
    const backup = "data_dir: /var/lib/pkid\nbackup: {dir: /var/backups/pkid}";
    put(configOf(root), `${backup}\npublish: {dir: {path: /srv/pki}}\n`);
    expect(await installedUnit(root)).toContain("\nReadWritePaths=-/srv/pki -/var/backups/pkid\n");
    const lines = readFileSync(join(root, "etc/tmpfiles.d/pkid.conf"), "utf8");
    expect(lines).toContain("\nd /var/backups/pkid :0700 :pkid :pkid -\n");
    expect(lines).toContain("\nd /srv/pki :0755 :pkid :pkid -\n");
    if (process.getuid?.() !== 0) return;
    mkdirSync(join(root, "srv/pki"), { recursive: true, mode: 0o750 });
    await ran(["systemd-sysusers", "--root", root, "pkid.conf"]);
    const made = await ran(["systemd-tmpfiles", "--create", "--root", root, "pkid.conf"]);
    expect([made.code, made.stderr]).toEqual([0, ""]);
    const { mode, uid } = statSync(join(root, "var/backups/pkid"));
    expect([mode & 0o777, uid > 0]).toEqual([0o700, true]);
    const others = statSync(join(root, "srv/pki"));
    expect([others.mode & 0o777, others.uid]).toEqual([0o750, 0]);
  });

  test("is printed without anything being written", async () => {
    const root = newRoot();
    const { stdout } = await service(root, "install", "--print");
    expect(stdout).toStartWith("# Written by pkid service install");
    const all = await service(root, "install", "--dry-run");
    for (const file of [unitOf(root), configOf(root)]) expect(all.stdout).toContain(`# ${file}\n`);
    expect(all.stdout).toContain(stdout);
    expect(existsSync(join(root, "etc"))).toBe(false);
  });

  test("is written again after a change, and left alone without one", async () => {
    const root = newRoot();
    await installedUnit(root);
    const again = await service(root, "install");
    expect(again.stdout).toContain(`unchanged ${unitOf(root)}\n`);
    expect(await installedUnit(root, "--write", "/srv/token")).toContain("-/srv/token");
  });

  test("of a package is not written a second time, unless it says something else", async () => {
    const root = newRoot();
    await service(root, "install", "--vendor");
    expect(existsSync(configOf(root))).toBe(false);
    const same = await service(root, "install");
    expect(same.stdout).toContain(`as packaged: ${join(root, "usr/lib/systemd/system")}`);
    expect(existsSync(unitOf(root))).toBe(false);
    expect(await installedUnit(root, "--write", "/srv/token")).toContain("-/srv/token");
    const gone = await service(root, "uninstall");
    expect(gone.stdout).toContain("it goes with the package.");
    expect([existsSync(unitOf(root)), (await service(root, "status")).code]).toEqual([false, 0]);
  });
});

describe("sockets", () => {
  const socketOf = (root: string, unit: string) =>
    readFileSync(join(dirname(unitOf(root)), unit), "utf8");

  test("are systemd's with --socket, for each listener, and stay so until the service is uninstalled", async () => {
    const root = newRoot();
    const open = "public_http: {enabled: true, address: '[::1]:80'}";
    put(configOf(root), `server: {host: 0.0.0.0, port: 443, ${open}}\n`);
    const unit = await installedUnit(root, "--socket");
    expect(unit).toContain("\nSockets=pkid.socket pkid-public.socket\n");
    // Who binds a low port is systemd.
    expect(unit).toContain("\nCapabilityBoundingSet=\n");
    const main = socketOf(root, "pkid.socket");
    for (const line of ["ListenStream=0.0.0.0:443", "FileDescriptorName=main"]) {
      expect(main).toContain(`\n${line}\n`);
    }
    const publicly = socketOf(root, "pkid-public.socket");
    for (const line of ["ListenStream=[::1]:80", "FileDescriptorName=public"]) {
      expect(publicly).toContain(`\n${line}\n`);
    }
    expect(await installedUnit(root)).toBe(unit);
    put(configOf(root), "server: {port: 443}\n");
    expect(await installedUnit(root)).toContain("\nSockets=pkid.socket\n");
    expect(existsSync(join(dirname(unitOf(root)), "pkid-public.socket"))).toBe(false);
    await service(root, "uninstall");
    expect(readdirSync(dirname(unitOf(root)))).toEqual([]);
    expect(await installedUnit(root)).not.toContain("Sockets=");
  });

  test("are refused where systemd could not listen, and nothing is written", async () => {
    for (const server of ["{host: localhost}", "{port: 0}"]) {
      const root = newRoot();
      put(configOf(root), `server: ${server}\n`);
      const { code, stderr } = await service(root, "install", "--socket");
      expect([code, stderr]).toEqual([2, expect.stringContaining("--socket needs")]);
      expect(existsSync(unitOf(root))).toBe(false);
    }
  });
});

describe("refused is", () => {
  const refusals = [
    ["a program in a home", ["--binary", "/root/pkid"], "sees nothing below /root"],
    ["a program whose name a unit cannot say", ["--binary", "/opt/my pkid"], "is wanted"],
    ["a directory a unit cannot say", ["--write", "/srv/%h"], "is wanted"],
    ["a device that is none", ["--device", "/etc/passwd"], "neither below /dev"],
    ["to start what is another system's", ["--now"], "--now is for root"],
    ["another configuration", ["--config", "/srv/pkid.yaml"], "leave --config out"],
  ] as const;
  for (const [name, flags, words] of refusals) {
    test(`${name}, and nothing is written`, async () => {
      const root = newRoot();
      const { code, stdout, stderr } = await service(root, "install", ...flags);
      expect([code > 0, stdout]).toEqual([true, ""]);
      expect(stderr).toContain(words);
      expect(existsSync(join(root, "etc"))).toBe(false);
    });
  }

  test("a program that only some may execute", () => {
    const file = join(newRoot(), "pkid");
    writeFileSync(file, "");
    chmodSync(file, 0o744);
    expect(whyNotRunnable(file)).toBeDefined();
    expect(whyNotRunnable("/usr/bin/true")).toBeUndefined();
  });

  test("a configuration that would not load, with what is wrong", async () => {
    const root = newRoot();
    put(configOf(root), "server: {port: 99999}\n");
    const { code, stderr } = await service(root, "install");
    expect(code).toBe(1);
    expect(stderr).toContain("server.port");
    expect(existsSync(unitOf(root))).toBe(false);
  });

  test("to replace what others wrote, a masked unit too, unless forced", async () => {
    for (const others of [
      (file: string) => put(file, "[Service]\nExecStart=/bin/false\n"),
      (file: string) => {
        mkdirSync(dirname(file), { recursive: true });
        symlinkSync("/dev/null", file);
      },
    ]) {
      const root = newRoot();
      others(unitOf(root));
      for (const verb of ["install", "uninstall"]) {
        const { code, stderr } = await service(root, verb);
        expect([code, stderr]).toEqual([1, expect.stringContaining("was not written by this")]);
      }
      expect(existsSync(configOf(root))).toBe(false);
      expect(await installedUnit(root, "--force")).toContain("/usr/bin/true serve");
    }
  });
});

describe("the configuration", () => {
  test("of a first install is the service's own, and one that is there stays", async () => {
    const root = newRoot();
    await service(root, "install", "--public-url", "https://pki.example.com");
    const text = readFileSync(configOf(root), "utf8");
    for (const line of [
      "\ndata_dir: /var/lib/pkid\n",
      "\n  public_url: https://pki.example.com\n",
      "\n    path: /run/pkid/admin.sock\n",
    ]) {
      expect(text).toContain(line);
    }
    expect(statSync(configOf(root)).mode & 0o777).toBe(0o640);
    writeFileSync(configOf(root), "data_dir: /var/lib/pkid\n");
    const again = await service(root, "install");
    expect(again.stdout).toContain(`left as it is: ${configOf(root)}\n`);
    expect(readFileSync(configOf(root), "utf8")).toBe("data_dir: /var/lib/pkid\n");
    const other = await service(root, "install", "--public-url", "https://other.example.com");
    expect([other.code, other.stderr]).toEqual([2, expect.stringContaining("stays as it is")]);
  });

  test("and the data stay when the service is uninstalled", async () => {
    const root = newRoot();
    await installedUnit(root);
    put(join(root, "var/lib/pkid/pkid.db"), "");
    expect((await service(root, "status", "--json")).code).toBe(0);
    await service(root, "uninstall", "--dry-run");
    expect(existsSync(unitOf(root))).toBe(true);
    const { code, stdout } = await service(root, "uninstall");
    expect(code).toBe(0);
    expect(stdout).toContain(`removed ${unitOf(root)}\n`);
    expect(stdout).toContain(`${join(root, "var/lib/pkid")} stays as it is.\n`);
    expect([existsSync(unitOf(root)), existsSync(configOf(root))]).toEqual([false, true]);
    const status = await service(root, "status");
    expect([status.code, status.stdout]).toEqual([1, expect.stringContaining("none")]);
  });
});
