/** Puts the files of the service where systemd looks for them, and takes them away again. */

import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";

import { Failure } from "./failure.ts";
import {
  directoriesFile,
  isOurs,
  type ServiceNeeds,
  socketUnit,
  unitFile,
  usersFile,
} from "./service-unit.ts";

/** One file, by its place below the root of the system. */
export interface ServiceFile {
  readonly path: string;
  readonly text: string;
  /** What a package may have put in another place, with the same meaning. */
  readonly packaged: string;
}

/** What became of one. */
export interface Placed {
  readonly path: string;
  readonly done: "written" | "unchanged" | "packaged" | "kept" | "removed" | "absent";
}

/** The files, where an administrator puts them, or a package. */
export function serviceFiles(needs: ServiceNeeds, vendor: boolean): readonly ServiceFile[] {
  const folder = vendor ? "/usr/lib" : "/etc";
  return [
    { place: "systemd/system/pkid.service", text: unitFile(needs) },
    ...needs.sockets.map((need) => ({
      place: `systemd/system/${need.unit}`,
      text: socketUnit(need),
    })),
    { place: "sysusers.d/pkid.conf", text: usersFile },
    { place: "tmpfiles.d/pkid.conf", text: directoriesFile(needs.made) },
  ].map(({ place, text }) => ({
    path: `${folder}/${place}`,
    text,
    packaged: `/usr/lib/${place}`,
  }));
}

/** Fails for a file that somebody else has written; nothing is changed. */
export function mustBeOurs(root: string, path: string, force: boolean): void {
  const found = textAt(join(root, path));
  if (force || found === undefined || isOurs(found)) return;
  const sentence = `${join(root, path)} was not written by this command; --force replaces it.`;
  throw new Failure(sentence, "already_exists", { file: join(root, path) });
}

/** Writes one as a whole, unless it is there already, or a package has the same. */
export function placeFile(root: string, { path, text, packaged }: ServiceFile): Placed {
  const target = join(root, path);
  if (textAt(target) === text) return { path: target, done: "unchanged" };
  if (packaged !== path && textAt(target) === undefined && textAt(join(root, packaged)) === text) {
    return { path: join(root, packaged), done: "packaged" };
  }
  replaceWhole(target, text, 0o644);
  return { path: target, done: "written" };
}

/**
 * Writes the configuration where there is none: 0640, and the group's where there is that group
 * already. One that is there stays as it is.
 */
export function placeConfiguration(
  target: string,
  text: string,
  groupId: number | undefined,
): Placed {
  if (textAt(target) !== undefined) return { path: target, done: "kept" };
  replaceWhole(target, text, 0o640);
  if (groupId !== undefined) chownSync(target, 0, groupId);
  return { path: target, done: "written" };
}

/** Removes one that is there. */
export function removeFile(root: string, path: string): Placed {
  const target = join(root, path);
  if (textAt(target) === undefined) return { path: target, done: "absent" };
  trying(target, () => rmSync(target));
  return { path: target, done: "removed" };
}

/** Text of a file; undefined without one. A link is not followed: it is not ours. */
export function textAt(file: string): string | undefined {
  const found = lstatSync(file, { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  if (!found.isFile()) return "";
  return trying(file, () => readFileSync(file, "utf8"));
}

/**
 * What keeps the service from running this program; undefined when nothing does. Homes and
 * temporary directories are not what they are outside.
 */
export function whyNotRunnable(binary: string): string | undefined {
  const hidden = hiddenPlaces.find((place) => binary.startsWith(`${place}/`));
  if (hidden !== undefined) return `the service sees nothing below ${hidden}`;
  const status = statSync(binary, { throwIfNoEntry: false });
  if (status === undefined) return undefined; // It may come later, or be another system's.
  if (!status.isFile() || (status.mode & 0o001) === 0) return "not everybody may execute it";
  for (let folder = dirname(binary); folder !== "/"; folder = dirname(folder)) {
    if ((statSync(folder).mode & 0o001) === 0) return `only some may pass through ${folder}`;
  }
  return undefined;
}

function replaceWhole(target: string, text: string, mode: number): void {
  const fresh = join(dirname(target), `.${basename(target)}.${crypto.randomUUID()}`);
  trying(target, () => {
    mkdirSync(dirname(target), { recursive: true, mode: 0o755 });
    try {
      writeFileSync(fresh, text, { mode, flag: "wx", flush: true });
      // Whatever the umask of the caller is.
      chmodSync(fresh, mode);
      renameSync(fresh, target);
    } catch (error) {
      rmSync(fresh, { force: true });
      throw error;
    }
  });
}

function trying<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof Error && "code" in error)) throw error;
    const advice = error.code === "EACCES" ? "; run it as root" : "";
    throw new Failure(`${file} cannot be read or written: ${String(error.code)}${advice}.`);
  }
}

const hiddenPlaces = ["/home", "/root", "/run/user", "/tmp", "/var/tmp"] as const;
