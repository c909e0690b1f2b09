/** What an instance is opened with. */

import type { Read } from "#config/read.ts";
import type { Config } from "#config/schema.ts";
import type { Recovery } from "#domain/envelopes/recovery.ts";
import type { Log } from "#domain/ports.ts";
import type { Build } from "./handlers.ts";

/** Given by server, shell and tests. */
export interface AppOptions {
  readonly config: Config;
  readonly build: Build;
  readonly log: Log;
  /**
   * True where an instance may begin; without it what is none is refused (`NoInstance`), and
   * nothing is created.
   */
  readonly mayFound: boolean;
  /**
   * Sets an earlier instance's identity aside where its database is gone, instead of refusing to
   * begin another.
   */
  readonly foundAnew?: boolean;
  /** Shows or keeps the root password made up at the first start (CFG-6). */
  readonly keepRootPassword: (password: string) => void;
  /** The main module, which runs `runThread` when it finds itself in a thread. */
  readonly workerUrl?: string;
  /** How long keys that are away are waited for at the start (PRC-1); not at all without. */
  readonly keyPatienceMs?: number;
  /**
   * Milliseconds to wait for a command that holds the data directory; undefined does not wait.
   */
  readonly claimTimeoutMs?: number;
  /** True when pending PostgreSQL migrations may be applied. */
  readonly migrate?: boolean;
  /** Gives up the KEK for a new one: of a restore. */
  readonly recovery?: Recovery | undefined;
  /** True for a drill, which uses a configured token and does not change it. */
  readonly drill?: boolean;
  /** Reads the configuration again, for preflight. */
  readonly read?: () => Promise<Read>;
}
