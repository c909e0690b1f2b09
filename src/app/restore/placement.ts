/** Moves a verified instance to its final paths. The next restore recovers from a killed one. */

import {
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname, join } from "node:path";

import { syncDirectory, writeDurably } from "#adapters/keys/software/files.ts";

/** Files and directories to move, and the database that they belong to. */
export interface Placement {
  readonly moves: readonly (readonly [from: string, to: string])[];
  /** True for a database on a server, which cannot be removed with the files. */
  readonly isDatabaseRemote: boolean;
  /** Numeric user and group of the files; undefined leaves them. */
  readonly owner: Owner | undefined;
}

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** Record of a placement, written before the first move. */
interface Journal {
  readonly moves: readonly Move[];
  readonly isDatabaseRemote: boolean;
  readonly owner?: Owner;
}

interface Move {
  readonly from: string;
  readonly to: string;
  /** Device, inode and modification time, which a rename does not change. */
  readonly identity: string;
}

/**
 * Moves everything, or nothing if a move fails.
 *
 * @param directory working directory of the restore, which contains the files to move
 * @param rename renames a file or directory; replaced by tests
 */
export function moveFiles(
  directory: string,
  { moves, isDatabaseRemote, owner }: Placement,
  rename: typeof renameSync = renameSync,
): void {
  const present = moves.flatMap(([from, to]): Move[] => {
    const identity = findIdentity(from);
    return to === "" || identity === undefined ? [] : [{ from, to, identity }];
  });
  const journal: Journal = { moves: present, isDatabaseRemote, ...(owner && { owner }) };
  writeDurably(join(directory, journalName), Buffer.from(JSON.stringify(journal)));
  try {
    for (const move of present) moveFile(move, owner, rename);
  } catch (error) {
    undoMoves(present);
    throw error;
  }
  removeJournal(directory);
}

/**
 * Undoes the placement that a killed restore left in its working directory. Finishes it instead if
 * the database is remote, and thus complete already.
 *
 * @returns true if the placement was finished
 */
export function recoverPlacement(directory: string): boolean {
  const journal = readJournal(directory);
  if (journal === undefined) return false;
  const open = journal.moves.filter(({ from }) => existsSync(from));
  // The restore was killed after its last move: the instance may be in service.
  if (open.length === 0) return false;
  if (!journal.isDatabaseRemote) {
    undoMoves(journal.moves);
    return false;
  }
  for (const move of open) moveFile(move, journal.owner, renameSync);
  removeJournal(directory);
  return true;
}

/** Changes the owner of a file or of a directory with its content. Only root can do that. */
export function changeOwner(path: string, { uid, gid }: Owner): void {
  if (process.getuid?.() !== 0) return;
  chownSync(path, uid, gid);
  if (!statSync(path).isDirectory()) return;
  for (const name of readdirSync(path)) changeOwner(join(path, name), { uid, gid });
}

function moveFile({ from, to }: Move, owner: Owner | undefined, rename: typeof renameSync): void {
  mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
  if (owner !== undefined) changeOwner(from, owner);
  // A rename replaces an empty directory.
  rename(from, to);
  syncDirectory(dirname(to));
}

/** Removes the files that were moved. A file of another origin has another identity and stays. */
function undoMoves(moves: readonly Move[]): void {
  for (const { to, identity } of moves.toReversed()) {
    if (findIdentity(to) !== identity) continue;
    rmSync(to, { recursive: true, force: true });
    syncDirectory(dirname(to));
  }
}

function readJournal(directory: string): Journal | undefined {
  const path = join(directory, journalName);
  if (!existsSync(path)) return undefined;
  // Written as a whole by `moveFiles`, in a directory of this user.
  return JSON.parse(readFileSync(path, "utf8")) as Journal;
}

function removeJournal(directory: string): void {
  rmSync(join(directory, journalName), { force: true });
  syncDirectory(directory);
}

function findIdentity(path: string): string | undefined {
  const entry = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return entry && [entry.dev, entry.ino, entry.mtimeNs].join(":");
}

const journalName = "placement.json";
