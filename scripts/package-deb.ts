/**
 * Makes a Debian package of `dist/pkid`, or of the binary that is named: the same bytes for the
 * same binary and commit.
 */

import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

import { binary, buildOf, ran, root, sourceTime } from "./lib/packaging.ts";
import { libcVersion } from "./lib/shared-libraries.ts";

/** Of this binary, in this folder; gives the file. */
function makePackage(folder: string, binary: string): string {
  const { version } = buildOf(binary);
  const stage = join(folder, "deb");
  rmSync(stage, { recursive: true, force: true });
  mkdirSync(stage, { recursive: true, mode: 0o755 });
  const put = (path: string, content: string | Uint8Array, mode = 0o644) => {
    const target = join(stage, path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, content, { mode });
  };
  put("usr/bin/pkid", readFileSync(binary), 0o755);
  ran([binary, "service", "install", "--vendor", "--binary", "/usr/bin/pkid", "--root", stage]);
  for (const [shell, path] of completions) put(path, ran([binary, "completion", shell]));
  const page = manual(binary);
  if (page !== undefined) put("usr/share/man/man1/pkid.1.gz", page);
  put("usr/share/doc/pkid/copyright", readFileSync(join(root, "LICENSE"), "utf8"));
  mkdirSync(join(stage, "etc/pkid"), { recursive: true });
  for (const name of ["postinst", "prerm", "postrm"]) {
    put(`DEBIAN/${name}`, readFileSync(join(root, "scripts/package", name), "utf8"), 0o755);
  }
  const files = filesBelow(stage).filter((path) => !path.startsWith("DEBIAN/"));
  const bytes = files.reduce((sum, path) => sum + statSync(join(stage, path)).size, 0);
  put("DEBIAN/control", control(version, bytes));
  put("DEBIAN/md5sums", files.map((path) => digestLine(stage, path)).join(""));
  normalize(stage);
  chmodSync(join(stage, "etc/pkid"), 0o750);
  const target = join(folder, `pkid_${version}_${architecture()}.deb`);
  // One thread: how many cores there are must not show in the bytes.
  const ways = ["--root-owner-group", "-Zzstd", "-z9", "--threads-max=1"];
  ran(["dpkg-deb", ...ways, "--build", stage, target], { SOURCE_DATE_EPOCH: sourceTime() });
  rmSync(stage, { recursive: true });
  return target;
}

const completions = [
  ["bash", "usr/share/bash-completion/completions/pkid"],
  ["zsh", "usr/share/zsh/vendor-completions/_pkid"],
  ["fish", "usr/share/fish/vendor_completions.d/pkid.fish"],
] as const;

/** The manual page, where the binary has one to print. */
function manual(binary: string): Uint8Array | undefined {
  const asked = Bun.spawnSync([binary, "man"], { stderr: "ignore" });
  if (!asked.success || asked.stdout.length === 0) return undefined;
  return Bun.gzipSync(new Uint8Array(asked.stdout), { level: 9 });
}

/** The addon is compiled here, so no older C library will do. */
const control = (version: string, bytes: number): string => `Package: pkid
Version: ${version}
Architecture: ${architecture()}
Maintainer: pkid <pkid@localhost>
Section: net
Priority: optional
Installed-Size: ${Math.ceil(bytes / 1024)}
Depends: libc6 (>= ${libcVersion()}), systemd | systemd-standalone-sysusers | adduser
Recommends: ca-certificates
Suggests: opensc, softhsm2, postgresql
Description: certificate authority in one self-contained binary
 Issues and revokes X.509 certificates, publishes CRLs and answers OCSP, keeps
 its keys in a PKCS#11 HSM or sealed on disk, and records every change in a
 hash-chained audit log.
`;

const architecture = (): string => ran(["dpkg", "--print-architecture"]).trim();

function digestLine(stage: string, path: string): string {
  const digest = new Bun.CryptoHasher("md5").update(readFileSync(join(stage, path))).digest("hex");
  return `${digest}  ${path}\n`;
}

const filesBelow = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort();

/** Modes do not follow the umask of whoever builds. */
function normalize(folder: string): void {
  chmodSync(folder, 0o755);
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const executable = entry.isDirectory() || (statSync(path).mode & 0o100) !== 0;
    chmodSync(path, executable ? 0o755 : 0o644);
  }
}

if (import.meta.main) {
  const [folder = join(root, "dist"), file = binary] = process.argv.slice(2);
  const made = makePackage(resolve(folder), resolve(file));
  console.log(`${relative(process.cwd(), made)}: ${(statSync(made).size / 1e6).toFixed(1)} MB`);
}
