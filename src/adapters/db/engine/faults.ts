/**
 * Tells a database that cannot serve from a bug in what it was asked, and why a store will not
 * open.
 */

import { Problem, refuse } from "#core/problems.ts";
import { NothingWritten } from "#domain/store.ts";

/**
 * Why a store was not opened (V-6, V-28, V-29, file permissions); a start-up failure, never an
 * answer to a request.
 */
export class StoreUnfit extends Error {
  override readonly name = "StoreUnfit";
  readonly reason: UnfitReason;
  /** Name of the table whose copy differs; undefined for any other reason. */
  readonly table: string | undefined;

  constructor(reason: UnfitReason, sentence: string, table?: string) {
    super(sentence);
    this.reason = reason;
    this.table = table;
  }
}

export type UnfitReason =
  | "unreachable"
  | "unusable_server"
  | "unsafe_settings"
  | "schema_newer"
  | "schema_altered"
  | "migration_pending"
  | "copy_failed"
  | "no_room"
  | "head_mismatch"
  | "high_water_damaged"
  | "in_use"
  | "moved"
  | "not_empty";

/** Returns the error of a start for a server that must not be used; other errors as they are. */
export function toStartError(error: unknown): unknown {
  const root = rootCause(error);
  if (!(root instanceof UnusableServerError)) return error;
  return new StoreUnfit("unusable_server", root.message);
}

/** Reason why connections to a PostgreSQL server are closed, or not used for writes. */
export type ServerReason = keyof typeof serverMessages;

/** Error of a server that must not be used. Its message is for clients and contains no address. */
export class UnusableServerError extends Error {
  override readonly name = "UnusableServerError";
  readonly code = "PKID_UNUSABLE_SERVER";
  readonly reason: ServerReason;

  constructor(reason: ServerReason) {
    super(serverMessages[reason]);
    this.reason = reason;
  }
}

/**
 * The refusal for a database that does not serve now; the driver's error stays its cause, for the
 * log only.
 */
export function storageUnavailable(cause: unknown, sentence?: string): Problem {
  const root = rootCause(cause);
  const message = root instanceof UnusableServerError ? root.message : sentence;
  const problem = refuse("storage_unavailable", { retry_after: 2 }, message);
  problem.cause = root;
  return problem;
}

/** The same refusal, marked when nothing was written for sure. */
export function unitRefused(cause: unknown, sure: boolean): Problem {
  const problem = storageUnavailable(cause);
  if (sure) problem.cause = new NothingWritten("nothing was written", { cause: problem.cause });
  return problem;
}

/**
 * True when the database's own answer to a commit says that it has not happened. What ends the
 * connection while it runs does not: a server that is told to stop may have committed already.
 */
export function saysNotCommitted(error: unknown): boolean {
  const { code, errno } = codes(rootCause(error));
  if (code === "ERR_POSTGRES_SERVER_ERROR") return !/^(08|40003|57|58|XX)/.test(errno);
  return notCommittedCodes.some((name) => code.startsWith(name));
}

/**
 * The refusal of a text with a NUL, which PostgreSQL cannot hold; no dialect takes what another
 * would not.
 */
export const notHoldable = (): Problem =>
  refuse("invalid_field", { reason: "nul" }, "A text holds a NUL character, which is not stored.");

/**
 * The fault of a database that is silent, or was given up while a statement ran; a storage fault
 * like the driver's.
 */
export const unreachableDatabase = (): Error =>
  Object.assign(new Error("the database does not answer"), { code: "ETIMEDOUT" });

/**
 * The fault of a SQLite transaction that is over before its batch is: some faults end it, and
 * nobody else may.
 */
export const transactionEnded = (): Error =>
  Object.assign(new Error("the transaction of the batch has ended"), {
    code: "SQLITE_ABORT_ROLLBACK",
  });

/**
 * What a caller should see of an error: the refusal when the database is at fault, else the error
 * itself unwrapped.
 */
export function translated(error: unknown, sentence?: string): unknown {
  // What has been refused in words of the domain keeps them, whatever lies behind.
  if (error instanceof Problem) return error;
  return isStorageFault(error) ? storageUnavailable(error, sentence) : unwrapped(error);
}

/** True when SQLite finds that a file is not what it should be. */
export function isDamage(error: unknown): boolean {
  const { code } = codes(rootCause(error));
  return code.startsWith("SQLITE_CORRUPT") || code.startsWith("SQLITE_NOTADB");
}

/**
 * What a failed read is told as: damage by its name, for `pkid audit verify` and preflight say it
 * to an operator.
 */
export function translatedRead(error: unknown): unknown {
  return translated(error, isDamage(error) ? damaged : unreadable);
}

/**
 * True when the database is full, broken, read-only, locked or gone, so that trying later may
 * succeed.
 */
export function isStorageFault(error: unknown): boolean {
  const { code, errno } = codes(rootCause(error));
  if (code === "ERR_POSTGRES_SERVER_ERROR") {
    return postgresClasses.some((prefix) => errno.startsWith(prefix));
  }
  return faultCodes.some((prefix) => code.startsWith(prefix));
}

/**
 * True when SQLite could not write, so that nobody knows what the disk has; somebody else's lock is
 * no such fault.
 */
export function isWriteFault(error: unknown): boolean {
  const { code } = codes(rootCause(error));
  return writeFaultCodes.some((prefix) => code.startsWith(prefix));
}

/** True when another connection or program has the lock. */
export const isLocked = (error: unknown): boolean =>
  codes(rootCause(error)).code.startsWith("SQLITE_BUSY");

/** True when SQLite found no room on the disk. */
export const isFull = (error: unknown): boolean =>
  codes(rootCause(error)).code.startsWith("SQLITE_FULL");

/** Returns true if PostgreSQL refused a write because the transaction or server is read-only. */
export const isReadOnlyServer = (error: unknown): boolean =>
  codes(rootCause(error)).errno === "25006";

/** Returns true if PostgreSQL refused a connection only because it has too many of them. */
export const hasTooManyConnections = (error: unknown): boolean =>
  codes(rootCause(error)).errno === "53300";

/** Returns true if the role may not call a function, or the service does not have it. */
export const isUnsupported = (error: unknown): boolean =>
  /^(42501|42883|0A000)$/.test(codes(rootCause(error)).errno);

/** True when a table does not exist, on PostgreSQL. */
export const isMissingTable = (error: unknown): boolean =>
  codes(rootCause(error)).errno === "42P01";

/**
 * The query builder wraps every driver error and puts the values into its message, which must not
 * reach a log.
 */
function unwrapped(error: unknown): unknown {
  const wrapped = error instanceof Error && error.message.startsWith("Failed query:");
  return wrapped ? (error.cause ?? error) : error;
}

function rootCause(error: unknown): unknown {
  let at = error;
  for (let depth = 0; depth < 8; depth++) {
    if (!(at instanceof Error) || at.cause === undefined) return at;
    at = at.cause;
  }
  return at;
}

function codes(error: unknown): { readonly code: string; readonly errno: string } {
  if (typeof error !== "object" || error === null) return { code: "", errno: "" };
  const code = "code" in error ? String(error.code) : "";
  return { code, errno: "errno" in error ? String(error.errno) : "" };
}

const serverMessages = {
  standby: "The database server is a standby and accepts no writes.",
  read_only: "The database server is read-only (`default_transaction_read_only` is on).",
  other_server: "The database address leads to more than one server.",
  unsafe_settings: "The database server runs with `fsync` or `synchronous_commit` off.",
  transaction_pooling:
    "The database is behind a pooler in transaction mode; session mode is required.",
};

const unreadable = "The database cannot be read.";
const damaged = "The database is damaged: a page of it cannot be read.";

// Every client-side PostgreSQL error is a lost or refused connection, but the server's own answers.
const faultCodes = [
  "SQLITE_FULL",
  "SQLITE_IOERR",
  "SQLITE_READONLY",
  "SQLITE_CANTOPEN",
  "SQLITE_BUSY",
  "SQLITE_LOCKED",
  "SQLITE_NOMEM",
  "SQLITE_PROTOCOL",
  "SQLITE_CORRUPT",
  "SQLITE_NOTADB",
  "SQLITE_ABORT_ROLLBACK",
  "ERR_POSTGRES_",
  "PKID_UNUSABLE_SERVER",
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ENOENT",
  "ETIMEDOUT",
];

const notCommittedCodes = [
  "SQLITE_FULL",
  "SQLITE_BUSY",
  "SQLITE_CONSTRAINT",
  "SQLITE_ABORT_ROLLBACK",
];

const writeFaultCodes = [
  "SQLITE_IOERR",
  "SQLITE_FULL",
  "SQLITE_CORRUPT",
  "SQLITE_NOTADB",
  "SQLITE_CANTOPEN",
  "SQLITE_READONLY",
  "SQLITE_PROTOCOL",
  "SQLITE_NOMEM",
];

// SQLSTATE: connection, login refused, no such database, transaction rollback, resources, lock not
// available, operator, system, read only, transaction that waited or took too long, internal.
const postgresClasses = [
  "08",
  "28",
  "3D",
  "40",
  "53",
  "55",
  "57",
  "58",
  "25006",
  "25P03",
  "25P04",
  "XX",
];
