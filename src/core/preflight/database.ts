/** What a look at a database finds. */

import type { Instant } from "#core/time.ts";

/** What was found; sentences name tables and counts, never a value. */
export interface Diagnosis {
  readonly engine: "sqlite" | "postgres";
  /** Like `3.51.2` or `17.4`. */
  readonly version: string;
  readonly settings: readonly {
    readonly name: string;
    readonly value: string;
    readonly durable: boolean;
  }[];
  /** What the clock of the database says; undefined on SQLite, which has the host's. */
  readonly time: Instant | undefined;
  /** What the clock of the host said then. */
  readonly askedAt: Instant;
  /**
   * Of the replica that is furthest behind; undefined when there is none, or when nobody may see
   * it.
   */
  readonly replicaLagSeconds: number | undefined;
  /** Reason why pkid would not use the server, for operators; undefined if it would. */
  readonly unusable: string | undefined;
  /** True if PostgreSQL has a standby, and a commit waits for none. */
  readonly isReplicatedAsynchronously: boolean;
  /** Milliseconds of one round trip. */
  readonly pingMs: number;
  readonly bytes: number;
}
