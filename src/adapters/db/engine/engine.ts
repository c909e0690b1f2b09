/**
 * What a dialect must be able to do for the store above it: two connections, and one transaction of
 * many units.
 */

import type { LeaseTroubles } from "#domain/store.ts";

import type { Heads } from "./journal.ts";
import type { Connection } from "./connection.ts";

/** Channel of the notifications between replicas. */
export const eventChannel = "pkid_events";

export interface Engine {
  readonly dialect: "sqlite" | "postgres";
  /** Sees the last committed state; never part of a transaction. */
  readonly reader: Connection;
  /** The one connection that writes; used only between `begin` and `commit` or `rollback`. */
  readonly writer: Connection;
  /** The same, which before each of its statements waits for what `before` gives, if anything. */
  writerAfter(before: () => void | Promise<void>): Connection;
  /**
   * Calls `read` with a connection that sees one committed state until `read` ends, whatever is
   * committed meanwhile.
   */
  view<T>(read: (connection: Connection) => Promise<T>): Promise<T>;
  /** As the store's. */
  exclusively<T>(name: string, work: () => Promise<T>): Promise<T>;
  readonly leaseTroubles: LeaseTroubles;
  /**
   * Starts a transaction that holds the head row, and gives that row as committed. What `foresee`
   * asks of the writer is answered by then; where that would save no round trip it is not called.
   */
  begin(foresee?: () => Promise<void>): Promise<Readonly<Heads>>;
  /**
   * Takes statements that are under way. Where a round trip would be lost nothing is waited for: a
   * failure shows at the next statement or at the commit.
   */
  ahead(written: Promise<void>): void | Promise<void>;
  /** May be sent ahead of its answer: a failure shows at the next statement or at the commit. */
  savepoint(): void;
  release(): void;
  /**
   * Undoes everything since `savepoint`, which is gone then; throws when the transaction itself is
   * gone.
   */
  rollbackToSavepoint(): void | Promise<void>;
  /**
   * Durable when it returns; `heads` are what the head row now says. Throws `NothingWritten` around
   * what kept it from happening, and anything else when it may have happened.
   */
  commit(heads: Readonly<Heads>): Promise<void>;
  /**
   * Ends the transaction whatever its state; never throws. `cause` is the fault of the database
   * that ended it.
   */
  rollback(cause?: unknown): Promise<void>;
  /**
   * True while nothing can be written, from a failed write until the engine has found everything to
   * be there.
   */
  readonly stopped: boolean;
  /**
   * The revocation sequence as last committed by anyone; at once where nobody else can have
   * committed.
   */
  revocationSequence(): number | Promise<number>;
  /** Returns the sequence, or a number that also differs between database servers. */
  revocationStamp(): number | Promise<number>;
  /**
   * Gives the version of the rows that are remembered as last committed by anyone; undefined where
   * nobody else can have committed.
   */
  readonly rowsVersion: (() => Promise<number>) | undefined;
  /** Clock of the database minus clock of this host, in milliseconds, if they may differ. */
  readonly clockOffsetMs: number | undefined;
  /**
   * Calls back when another process may have appended events, up to `seq` when it is known; never
   * on SQLite.
   */
  listen(wake: (seq?: number) => void): Promise<void>;
  ping(): Promise<void>;
  /** Gives back memory that only speed needs: nobody asks for anything just now. */
  rest(): void;
  close(): Promise<void>;
}
