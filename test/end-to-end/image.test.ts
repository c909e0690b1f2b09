/** The container image: complete in one archive, of nothing but the binary and what it links. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { ran } from "#test/support/child.ts";
import { binary, newHome } from "#test/support/instances/instance.ts";
import {
  type Place,
  RootedServer,
  ranBelow,
  rootsPermitted,
} from "#test/support/instances/rooted.ts";

const source = resolve(import.meta.dir, "../..");
const home = newHome();
const [made, again] = [join(home, "oci"), join(home, "longer", "path")];
const layout = join(home, "layout");
const containerfile = readFileSync(join(source, "scripts/package/Containerfile"), "utf8");

async function makeImage(folder: string): Promise<void> {
  const line = [process.execPath, join(source, "scripts/package-oci.ts"), folder];
  expect(await ran(line)).toMatchObject({ code: 0, stderr: "" });
}

beforeAll(async () => {
  await makeImage(made);
  await makeImage(again);
  mkdirSync(layout);
  await ran(["tar", "-xf", join(made, "pkid-oci.tar"), "-C", layout]);
}, 120_000);
afterAll(() => rmSync(home, { recursive: true, force: true }));

const said = (path: string) => JSON.parse(readFileSync(join(layout, path), "utf8"));
const blob = ({ digest }: { digest: string }) => said(`blobs/${digest.replace(":", "/")}`);
const words = (instruction: string) =>
  [...containerfile.matchAll(new RegExp(`^${instruction} (.*)$`, "gm"))].map(([, rest]) => rest);

async function buildSaid(): Promise<{ version: string; commit: string }> {
  return JSON.parse((await ran([binary, "--version", "--json"])).stdout);
}

describe("the container image", () => {
  test("is the same bytes wherever it is made", () => {
    for (const name of ["pkid-oci.tar", "files.tar", "Containerfile"]) {
      const [one, other] = [made, again].map((folder) => readFileSync(join(folder, name)));
      expect(other !== undefined && one?.equals(other)).toBe(true);
    }
  });

  test("has no base, runs the binary as a user that is not root, and keeps data on a volume", () => {
    expect(words("FROM")).toEqual(["scratch"]);
    expect(words("ADD")).toEqual(["files.tar /"]);
    expect(words("USER")).toEqual(["65532:65532"]);
    expect(words("ENTRYPOINT")).toEqual(['["/usr/bin/pkid"]']);
    expect(words("CMD")).toEqual(['["serve"]']);
    expect(words("VOLUME")).toEqual(['["/var/lib/pkid"]']);
    expect(words("ENV")).toEqual(["PKID_DATA_DIR=/var/lib/pkid"]);
    expect(words("RUN")).toEqual([]);
    expect(readFileSync(join(made, "Containerfile"), "utf8")).toBe(containerfile);
  });

  test("holds the binary, what it links, a user, places to write and licences, and nothing else", async () => {
    const listed = await ran(["tar", "--numeric-owner", "-tvf", join(made, "files.tar")]);
    const held = listed.stdout
      .trim()
      .split("\n")
      .map((one) => one.split(/\s+/))
      .map(([mode, owner, , , , path = ""]) => `${mode} ${owner} ${path}`);
    const { stdout: linked } = await ran(["ldd", binary]);
    const libraries = linked.split(/\s+/).filter((word) => word.startsWith("/"));
    const libc = libraries.find((path) => path.endsWith("/libc.so.6")) ?? "";
    libraries.push(libc.replace("libc.so.6", "libgcc_s.so.1"));
    expect(libraries.length).toBeGreaterThan(3);
    expect(held.filter((line) => !line.endsWith("/")).toSorted()).toEqual(
      [
        "-rw-r--r-- 0/0 etc/group",
        "-rw-r--r-- 0/0 etc/nsswitch.conf",
        "-rw-r--r-- 0/0 etc/passwd",
        "-rw-r--r-- 0/0 usr/share/doc/libc6/copyright",
        "-rw-r--r-- 0/0 usr/share/doc/libgcc-s1/copyright",
        "-rw-r--r-- 0/0 usr/share/doc/pkid/copyright",
        "-rwxr-xr-x 0/0 usr/bin/pkid",
      ]
        .concat(libraries.map((path) => `-rwxr-xr-x 0/0 ${path.slice(1)}`))
        .toSorted(),
    );
    const directories = held.filter((line) => line.endsWith("/"));
    expect(directories.filter((line) => !line.startsWith("drwxr-xr-x 0/0 "))).toEqual([
      "drwx------ 65532/65532 run/pkid/",
      "drwxrwxrwt 0/0 tmp/",
      "drwx------ 65532/65532 var/lib/pkid/",
    ]);
  });

  test("is run by its archive as by its Containerfile", () => {
    const { config } = blob(blob(said("index.json").manifests[0]).config);
    expect(config).toEqual({
      User: words("USER")[0],
      ExposedPorts: { [`${words("EXPOSE")[0]}/tcp`]: {} },
      Env: words("ENV"),
      Entrypoint: JSON.parse(words("ENTRYPOINT")[0] ?? ""),
      Cmd: JSON.parse(words("CMD")[0] ?? ""),
      Volumes: { [JSON.parse(words("VOLUME")[0] ?? "")[0]]: {} },
      WorkingDir: words("WORKDIR")[0],
      StopSignal: words("STOPSIGNAL")[0],
      Labels: expect.objectContaining({ "org.opencontainers.image.title": "pkid" }),
    });
    const given = containerfile.match(/^[A-Z]+(?= )/gm);
    // Nothing is said there that is not held against the archive here.
    expect(given?.toSorted().join(" ")).toBe(
      "ADD CMD ENTRYPOINT ENV EXPOSE FROM STOPSIGNAL USER VOLUME WORKDIR",
    );
  });

  test("says of itself what its binary says, in every place that a tool reads", async () => {
    const { version, commit } = await buildSaid();
    const [described] = said("index.json").manifests;
    expect(described.annotations).toEqual({
      "io.containerd.image.name": `localhost/pkid:${version}`,
      "org.opencontainers.image.ref.name": version,
    });
    const manifest = blob(described);
    expect(manifest.annotations).toMatchObject({
      "org.opencontainers.image.version": version,
      "org.opencontainers.image.revision": commit,
      "org.opencontainers.image.created": expect.stringMatching(/^20\d\d-.*T\d\d:\d\d:\d\dZ$/),
    });
    const path = (digest: string) => `blobs/${digest.replace(":", "/")}`;
    expect(said("manifest.json")).toEqual([
      {
        Config: path(manifest.config.digest),
        RepoTags: [`localhost/pkid:${version}`],
        Layers: [path(manifest.layers[0].digest)],
      },
    ]);
  });
});

describe.skipIf(Bun.which("umoci") === null)("the container image, unpacked by umoci,", () => {
  const bundle = join(home, "bundle");
  const place: Place = { root: join(bundle, "rootfs"), user: "65532:65532", env: {} };

  beforeAll(async () => {
    const rootless = process.getuid?.() === 0 ? [] : ["--rootless"];
    const image = `${layout}:${(await buildSaid()).version}`;
    const unpacked = await ran(["umoci", "unpack", ...rootless, "--image", image, bundle]);
    expect(unpacked).toMatchObject({ code: 0 });
  }, 60_000);

  const handed = () => JSON.parse(readFileSync(join(bundle, "config.json"), "utf8")).process;

  test("tells a runtime to run the server as the user, at home in the data directory", () => {
    expect(handed()).toMatchObject({ args: ["/usr/bin/pkid", "serve"], cwd: "/var/lib/pkid" });
    expect(handed().env).toContain("PKID_DATA_DIR=/var/lib/pkid");
    // From /etc/passwd of the image.
    expect(handed().env).toContain("HOME=/var/lib/pkid");
    const served = readFileSync(join(place.root, "usr/bin/pkid"));
    expect(served.equals(readFileSync(binary))).toBe(true);
  });

  test.if(rootsPermitted)("runs with no other library of this machine", async () => {
    const { stdout } = await ran([binary, "--version"]);
    expect(await ranBelow(place, ["/usr/bin/pkid", "--version"])).toEqual({
      code: 0,
      stdout,
      stderr: "",
    });
  });

  test.if(rootsPermitted)(
    "serves as a runtime starts it, finds names in /etc/hosts, and stops when it is told to",
    async () => {
      // A runtime writes this file.
      writeFileSync(join(place.root, "etc/hosts"), "127.0.0.1 localhost pkid.internal\n");
      const { args, env } = handed();
      const given = Object.fromEntries(env.map((one: string) => one.split("=")));
      const own = { PKID_SERVER_HOST: "pkid.internal", PKID_SERVER_PORT: "0" };
      const running = { ...place, env: { ...given, ...own, PKID_LOG_FORMAT: "json" } };
      const server = await RootedServer.start(running, args);
      expect(server.ready).toMatchObject({
        url: `https://pkid.internal:${server.port}`,
        data_dir: "/var/lib/pkid",
      });
      expect(readFileSync(`/proc/${server.pid}/status`, "utf8")).toMatch(/^Uid:\s+65532\s/m);
      for (const path of ["/readyz", "/api/health"]) expect(await server.status(path)).toBe(200);
      const root = ["ca", "init-root", "--label", "root", "--cn", "Image Root"];
      const asked = await ranBelow(running, ["/usr/bin/pkid"].concat(root));
      expect(asked).toMatchObject({ code: 0 });
      expect(await server.stop()).toBe(0);
    },
    60_000,
  );
});
