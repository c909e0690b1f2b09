/** Checks that all PostgreSQL connections of an engine lead to one server, which accepts writes. */

import { type ServerReason, UnusableServerError } from "./faults.ts";

/** State of the server behind a connection, as the server reported it. */
export interface ServerState {
  /** Server process of the connection. Only a pooler replaces it while the connection is open. */
  readonly backend: string;
  /** Start time, system identifier and timeline: equal only for connections to one server. */
  readonly identity: string;
  readonly isStandby: boolean;
  readonly isReadOnly: boolean;
  /** Settings that are off and could lose an acknowledged commit (V-6). */
  readonly unsafeSettings: readonly string[];
  /** Clock of the server, in milliseconds since 1970. */
  readonly clockMs: number;
}

/**
 * The server that all connections of an engine share. The first connection defines it, and again
 * the first one after `reset`.
 */
export class SharedServer {
  readonly #acceptsReadOnly: boolean;
  #identity: string | undefined;
  #previous: string | undefined;
  #epoch = 0;

  /** @param acceptsReadOnly true for an engine that only reads, which may do so on a standby */
  constructor(acceptsReadOnly: boolean) {
    this.#acceptsReadOnly = acceptsReadOnly;
  }

  /** Number of servers so far. Values cached under another number may be wrong. */
  get epoch(): number {
    return this.#epoch;
  }

  /**
   * Admits a connection by the state of its server.
   *
   * @throws {UnusableServerError} if the server takes no writes, or is another one
   */
  admit(state: ServerState): void {
    const reason = this.#findReason(state);
    if (reason !== undefined) throw new UnusableServerError(reason);
    this.#identity = state.identity;
    if (this.#previous === state.identity) return;
    this.#previous = state.identity;
    this.#epoch += 1;
  }

  /**
   * Checks a connection that was admitted before.
   *
   * @throws {UnusableServerError} see `admit`, and if a pooler has replaced the server process
   */
  readmit(before: ServerState, now: ServerState): void {
    if (before.backend !== now.backend) throw new UnusableServerError("transaction_pooling");
    // A read-only server is reported as such, also after another connection has caused a reset.
    const reason = this.#findReason(now) ?? (this.includes(now) ? undefined : "other_server");
    if (reason !== undefined) throw new UnusableServerError(reason);
  }

  /** Returns true if a connection leads to the current server, by its state when it was opened. */
  includes({ identity }: ServerState): boolean {
    return identity === this.#identity;
  }

  /** Drops the current server: the address may lead to another one. */
  reset(): void {
    this.#identity = undefined;
  }

  #findReason({ identity, isStandby, isReadOnly }: ServerState): ServerReason | undefined {
    if (!this.#acceptsReadOnly) {
      if (isStandby) return "standby";
      if (isReadOnly) return "read_only";
    }
    return (this.#identity ?? identity) === identity ? undefined : "other_server";
  }
}

/** Columns of a query for the state of the server, all of type text. */
export const serverColumns = buildServerColumns(`(select system_identifier from pg_control_system())
  || ' ' || coalesce(case when not pg_is_in_recovery()
    then substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) end, '')`);

/** Columns like `serverColumns`, for a service that hides the control file from its users. */
export const basicServerColumns = buildServerColumns("''");

/** Parses the last columns of a row, which are `serverColumns`. */
export function parseServerState(row: readonly unknown[] | undefined): ServerState {
  const [backend, identity, standby, readOnly, fsync, commit, clock] = (row ?? [])
    .slice(-serverColumnCount)
    .map(String);
  const settings = { fsync, synchronous_commit: commit };
  const unsafe = Object.entries(settings).filter(([, value]) => value === "off");
  return {
    backend: backend ?? "",
    identity: identity ?? "",
    isStandby: standby !== "false",
    isReadOnly: readOnly !== "off",
    unsafeSettings: unsafe.map(([name]) => name),
    clockMs: Number(clock),
  };
}

/** `transaction_read_only` of a single statement is the default, and on in recovery. */
function buildServerColumns(control: string): string {
  return `pg_backend_pid()::text,
  extract(epoch from pg_postmaster_start_time())::text || ' ' || ${control},
  pg_is_in_recovery()::text, current_setting('transaction_read_only'),
  current_setting('fsync'), current_setting('synchronous_commit'),
  (extract(epoch from clock_timestamp()) * 1000)::text`;
}

const serverColumnCount = 7;
