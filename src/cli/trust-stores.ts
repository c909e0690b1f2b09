/** The places of this machine where programs look for CAs they trust, and how a CA gets there. */

import { accessSync, constants, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { decodePem } from "#core/asn1/pem.ts";

import { Failure } from "./failure.ts";
import { outFile } from "./out-file.ts";

/** A CA certificate as it is installed. */
export interface Anchor {
  /** Name of file and entry: letters, digits, dots and dashes. */
  readonly name: string;
  /** File of the certificate in PEM. */
  readonly file: string;
  readonly pem: string;
}

/** A store that took the anchor. */
export interface Installed {
  readonly store: "system" | "nss" | "java";
  readonly where: string;
}

/**
 * The operating system's own, for curl, Go, Python and OpenSSL. `folder` is another place of
 * anchors than the usual.
 */
export async function installInSystem(
  { name, pem }: Anchor,
  folder: string | undefined,
): Promise<Installed> {
  const known = systems.find(
    ({ anchors, command }) => existsSync(anchors) && found(command[0]) !== null,
  );
  const system = folder === undefined ? known : { ...(known ?? systems[0]), anchors: folder };
  if (system === undefined) {
    throw new Failure(
      "The trust store of this system is not known; name its directory with --anchors.",
    );
  }
  try {
    accessSync(system.anchors, constants.W_OK);
  } catch {
    throw new Failure(`${system.anchors} cannot be written by this user; run it as root.`);
  }
  const where = join(system.anchors, `${name}.crt`);
  mustBeSame(name, where, existsSync(where) ? readFileSync(where, "utf8") : "", pem);
  outFile(where, "a CA certificate", 0o644)(pem);
  await ran(system.command);
  return { store: "system", where };
}

/** A database of NSS, for Firefox, Chromium and curl built with it; made when it is not there. */
export async function installInNss(
  { name, file, pem }: Anchor,
  folder: string,
): Promise<Installed> {
  if (!existsSync(join(folder, "cert9.db"))) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    await ran(["certutil", "-N", "-d", `sql:${folder}`, "--empty-password"]);
  }
  const listed = await ran(["certutil", "-L", "-d", `sql:${folder}`]);
  if (listed.split("\n").some((line) => line.replace(/ +\S+$/, "") === name)) {
    const held = await ran(["certutil", "-L", "-d", `sql:${folder}`, "-n", name, "-a"]);
    mustBeSame(name, folder, held, pem);
  }
  await ran(["certutil", "-A", "-d", `sql:${folder}`, "-n", name, "-t", "C,,", "-i", file]);
  return { store: "nss", where: folder };
}

/**
 * A key store of Java, or without one that of the Java on PATH; `changeit` is the passphrase Java
 * itself ships.
 */
export async function installInJava(
  { name, file }: Anchor,
  keystore: string | undefined,
): Promise<Installed> {
  const place = keystore === undefined ? ["-cacerts"] : ["-keystore", keystore];
  const line = ["keytool", "-importcert", "-noprompt", "-alias", name, "-file", file];
  await ran([...line, ...place, "-storepass", "changeit"]);
  return { store: "java", where: keystore ?? "cacerts" };
}

/** Two CAs may have the same common name: the anchor of another never gives way to this one. */
function mustBeSame(name: string, where: string, held: string, pem: string): void {
  const [there, mine] = [held, pem].map((text) => decodePem(text, ["CERTIFICATE"]));
  if (held.trim() === "" || (there && mine && Buffer.compare(there, mine) === 0)) return;
  const sentence = `${where} has another CA under the name ${name}, which is not replaced; give this one another with --name.`;
  throw new Failure(sentence, "already_exists", { name, where });
}

/** Where PATH, as it is now, has a tool. */
const found = (tool: string): string | null => Bun.which(tool, { PATH: process.env.PATH ?? "" });

/** Runs a tool of the system and gives what it said; fails with that. */
async function ran(line: readonly [string, ...string[]] | readonly string[]): Promise<string> {
  const [tool = ""] = line;
  const path = found(tool);
  if (path === null) {
    throw new Failure(
      `${tool} is not on PATH; it comes with ${packages.get(tool) ?? "the system"}.`,
    );
  }
  const child = Bun.spawn([path, ...line.slice(1)], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const said = (
    await Promise.all([child.stdout, child.stderr].map((one) => new Response(one).text()))
  )
    .join("")
    .trim();
  if ((await child.exited) === 0) return said;
  throw new Failure(`${tool} failed: ${said.split("\n").at(-1) ?? ""}`);
}

const packages: ReadonlyMap<string, string> = new Map([
  ["certutil", "libnss3-tools (Debian) or nss-tools (Fedora)"],
  ["keytool", "a Java runtime"],
  ["update-ca-certificates", "ca-certificates"],
  ["update-ca-trust", "ca-certificates"],
]);

interface System {
  readonly anchors: string;
  readonly command: readonly [string, ...string[]];
}

const systems: readonly [System, ...System[]] = [
  { anchors: "/usr/local/share/ca-certificates", command: ["update-ca-certificates"] },
  { anchors: "/etc/pki/ca-trust/source/anchors", command: ["update-ca-trust", "extract"] },
  { anchors: "/etc/ca-certificates/trust-source/anchors", command: ["trust", "extract-compat"] },
];
