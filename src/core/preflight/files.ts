/** Judges who may read and write the files of an instance. */

import { failed, type Finding, gathered, passed, warned } from "./finding.ts";

/** A file as the host shows it. */
export interface FileFacts {
  readonly path: string;
  readonly kind: "file" | "directory" | "socket" | "other" | "absent";
  /** Permission bits. */
  readonly mode: number;
  /** Number of the owner. */
  readonly owner: number;
}

/** Group and others may read it. */
export const readableByOthers = ({ mode }: Pick<FileFacts, "mode">): boolean =>
  (mode & 0o044) !== 0;
/** Group and others may change it. */
export const writableByOthers = ({ mode }: Pick<FileFacts, "mode">): boolean =>
  (mode & 0o022) !== 0;

/** The configuration file; `secrets` are the keys whose values stand in it. */
export function judgeConfigFile(file: FileFacts, secrets: readonly string[]): Finding {
  const what = `${file.path} has mode ${modeText(file)}`;
  if (writableByOthers(file)) return failed(`${what}: others can change it.`);
  if (readableByOthers(file) && secrets.length > 0) {
    return warned(`${what}: others can read ${secrets.join(", ")}.`);
  }
  return passed(`${what}.`);
}

/**
 * What must be open to its owner alone; absent files are of no concern. `sealed` is the same for
 * what is encrypted whoever reads it: then it is a warning.
 */
export function judgePrivate(
  files: readonly FileFacts[],
  sealed: readonly FileFacts[] = [],
): Finding {
  const open = ({ kind, mode }: FileFacts) => kind !== "absent" && (mode & 0o077) !== 0;
  const told = (file: FileFacts) => `${file.path} has mode ${modeText(file)}.`;
  const findings = [
    ...files.filter(open).map((file) => failed(told(file))),
    ...sealed.filter(open).map((file) => warned(told(file))),
  ];
  const there = [...files, ...sealed].filter(({ kind }) => kind !== "absent").length;
  return gathered(findings, `${there} files and directories are open to their owner only.`);
}

/**
 * A socket of the server; `answered` when one listens on it, `bits` what the configuration lets its
 * mode be.
 */
export function judgeSocket(
  socket: FileFacts,
  answered: boolean,
  ownUser: number,
  bits = 0o600,
): Finding {
  const { path, kind, owner } = socket;
  if (kind === "absent") return passed(`${path} does not exist, and no server runs.`);
  if (kind !== "socket") return failed(`${path} is not a socket.`);
  if (!answered) return failed(`${path} is stale: nobody listens on it.`);
  if (owner !== ownUser) return failed(`${path} belongs to user ${owner}, not to ${ownUser}.`);
  const loose = (socket.mode & 0o777 & ~bits) !== 0;
  if (loose) return warned(`${path} has mode ${modeText(socket)} instead of ${bits.toString(8)}.`);
  return bits === 0o600
    ? passed(`${path} answers and is open to its owner only.`)
    : passed(`${path} answers, with mode ${modeText(socket)}.`);
}

const modeText = ({ mode }: Pick<FileFacts, "mode">): string =>
  (mode & 0o7777).toString(8).padStart(3, "0");
