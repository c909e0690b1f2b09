/**
 * Makes a container image of `dist/pkid` and what it is linked with, in `dist/oci`: complete in one
 * archive, `pkid-oci.tar`, and beside it what a builder makes the same of.
 */

import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

import { runSettings } from "./lib/containerfile.ts";
import { writeOciArchive } from "./lib/oci-layout.ts";
import { binary, buildOf, ran, root, sourceTime } from "./lib/packaging.ts";
import { packagesOf, sharedLibraries } from "./lib/shared-libraries.ts";

/** Three files: the image's, how it is run, and the image. */
function makeImage(folder: string): string {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const files = join(folder, "files.tar");
  archive(files, contents(), join(folder, "stage"));
  copyFileSync(join(root, "scripts/package/Containerfile"), join(folder, "Containerfile"));
  const image = join(folder, "pkid-oci.tar");
  const { version, commit } = buildOf(binary);
  writeOciArchive(image, {
    name: "localhost/pkid",
    title: "pkid",
    version,
    revision: commit,
    created: Number(sourceTime()),
    architecture: architectures[process.arch] ?? process.arch,
    run: runSettings(readFileSync(join(folder, "Containerfile"), "utf8")),
    layer: new Uint8Array(readFileSync(files)),
  });
  return image;
}

/** What is in the image, by its path without the first slash. */
type Contents = ReadonlyMap<string, Entry>;

interface Entry {
  readonly mode: string;
  readonly owner: string;
  /** A file of this machine, or the text of one; a directory without it. */
  readonly content?: { readonly copied: string } | { readonly text: string };
}

/** A user and places to write, which other images have from their base. */
function contents(): Contents {
  const libraries = sharedLibraries(binary);
  const copied = (path: string): [string, Entry] => [
    path.slice(1),
    // A library keeps the name it is looked for, not that of the file a link leads to.
    { mode: "0755", owner: "0", content: { copied: realpathSync(path) } },
  ];
  const text = (words: string): Entry => ({ mode: "0644", owner: "0", content: { text: words } });
  const licence = (name: string): [string, Entry] => {
    const path = `usr/share/doc/${name}/copyright`;
    return [path, text(readFileSync(`/${path}`, "utf8"))];
  };
  const listed = new Map<string, Entry>([
    ["usr/bin/pkid", { mode: "0755", owner: "0", content: { copied: binary } }],
    ["usr/share/doc/pkid/copyright", text(readFileSync(join(root, "LICENSE"), "utf8"))],
    ["etc/passwd", text(passwd)],
    ["etc/group", text(`root:x:0:\npkid:x:${serviceUser}:\n`)],
    ["etc/nsswitch.conf", text("passwd: files\ngroup: files\nhosts: files dns\n")],
    ["tmp", { mode: "1777", owner: "0" }],
    ["var/lib/pkid", { mode: "0700", owner: serviceUser }],
    ["run/pkid", { mode: "0700", owner: serviceUser }],
    ...libraries.map(copied),
    ...packagesOf(libraries).map(licence),
  ]);
  for (const path of listed.keys()) {
    for (let above = dirname(path); above !== "."; above = dirname(above)) {
      if (!listed.has(above)) listed.set(above, { mode: "0755", owner: "0" });
    }
  }
  return listed;
}

/**
 * One archive with owners and modes in it, so that the image needs no shell to set them, sorted so
 * that directories come before what is in them.
 */
function archive(target: string, listed: Contents, stage: string): void {
  const paths = [...listed.keys()].sort();
  for (const path of paths) put(join(stage, path), listed.get(path)?.content);
  const same = [`--mtime=@${sourceTime()}`, "--numeric-owner", "--format=ustar", "--no-recursion"];
  for (const path of paths) {
    const { mode = "", owner = "" } = listed.get(path) ?? {};
    const whose = [`--mode=${mode}`, `--owner=${owner}`, `--group=${owner}`];
    ran(["tar", "-rf", target, "-C", stage].concat(same, whose, path));
  }
  rmSync(stage, { recursive: true });
}

function put(target: string, content: Entry["content"]): void {
  if (content === undefined) {
    mkdirSync(target, { recursive: true });
    return;
  }
  mkdirSync(dirname(target), { recursive: true });
  if ("copied" in content) copyFileSync(content.copied, target);
  else writeFileSync(target, content.text);
  chmodSync(target, 0o644);
}

/** As the Containerfile says. */
const serviceUser = "65532";

const passwd = `root:x:0:0:root:/:/usr/sbin/nologin
pkid:x:${serviceUser}:${serviceUser}:pkid certificate authority:/var/lib/pkid:/usr/sbin/nologin
`;

/** Where Go's name of an architecture, which images use, is another one. */
const architectures: Readonly<Record<string, string>> = { x64: "amd64" };

if (import.meta.main) {
  const [folder = join(root, "dist/oci")] = process.argv.slice(2);
  const made = makeImage(resolve(folder));
  console.log(`${relative(process.cwd(), made)}: ${(statSync(made).size / 1e6).toFixed(1)} MB`);
}
