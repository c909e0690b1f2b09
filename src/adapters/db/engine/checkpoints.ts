/** When the log of a SQLite database is copied into it, and by whom. */

import type { CheckpointThread } from "./checkpoint-thread.ts";
import { isWriteFault } from "./faults.ts";
import type { SqliteConnection } from "./sqlite-connection.ts";

export interface CheckpointsDeps {
  /** Makes the thread; undefined where every checkpoint is made by whoever commits. */
  readonly thread: ((failed: (error: Error) => void) => CheckpointThread) | undefined;
  /** Told that a checkpoint failed: SQLite would keep it to itself. */
  readonly onFault: (error: unknown) => void;
  /** Told that the thread failed, and the database did not. */
  readonly onThreadFault: (error: unknown) => void;
}

/**
 * Copying megabytes holds a thread up for some 10 ms, so another thread does it while commits go
 * on. What they have added meanwhile is little, and copied by whoever commits: only when nothing is
 * left does SQLite begin the log anew. Where it is much, because the other thread is slow or a long
 * view has just ended, the next batch waits for that thread, and whatever only reads does not.
 */
export class Checkpoints {
  readonly #onFault: (error: unknown) => void;
  readonly #thread: CheckpointThread | undefined;
  /** Commits and their rows since the log was looked at. */
  #unseen = 0;
  /** True from a failure of the thread to the next checkpoint, which is made here. */
  #failed = false;
  /** Pages that were copied at the last look. */
  #copied = 0;
  #behind: Promise<void> | undefined;

  constructor({ thread, onFault, onThreadFault }: CheckpointsDeps) {
    this.#onFault = onFault;
    this.#thread = thread?.((error) => {
      this.#failed = true;
      if (isWriteFault(error)) onFault(error);
      else onThreadFault(error);
    });
  }

  /** What the next batch has to wait for, if anything. */
  get behind(): Promise<void> | undefined {
    return this.#behind;
  }

  /** After each commit on this connection, which added so many entries to the chains. */
  committed(entries: number, connection: Pick<SqliteConnection, "compiled">): void {
    this.#unseen += 1 + entries;
    // A look costs as much as a small commit without its sync.
    if (this.#unseen < unseenMax) return;
    this.#unseen = 0;
    try {
      const [, pages, copied] =
        connection.compiled("pragma wal_checkpoint(noop)").values()[0] ?? [];
      const left = Number(pages) - Number(copied);
      const progress = copied !== this.#copied;
      this.#copied = Number(copied);
      if (Number(pages) < pagesUsual) return;
      if (this.#thread === undefined || this.#failed || left <= leftMax) {
        connection.compiled("pragma wal_checkpoint").values();
        this.#failed = false;
        return;
      }
      const over = this.#thread.begin();
      // What a view keeps from being copied, nobody waits for.
      if (left >= pagesMax && progress) this.#waitFor(over);
    } catch (error) {
      this.#onFault(error);
    }
  }

  #waitFor(over: Promise<void>): void {
    this.#behind = over.then(() => {
      this.#behind = undefined;
    });
  }

  /** Resolves when no other thread has the database open. */
  async rest(): Promise<void> {
    await this.#thread?.close();
  }
}

/** Entries of both chains, of which a certificate has three, and commits. */
const unseenMax = 64;
/** 8 MB: fewer would have pages that are written again and again reach the file each time. */
const pagesUsual = 2000;
/** What is copied in about a millisecond. */
const leftMax = 256;
/** Who is so far ahead of the other thread waits for it: 32 MB. */
const pagesMax = 8000;
