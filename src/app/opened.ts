/**
 * What is open before callers are let in: what `openApp` was told, and the adapters it has opened.
 */

import type { OpenKeys } from "#adapters/keys/open.ts";
import type { FreeSpace } from "#adapters/free-space.ts";
import type { Passwords } from "#adapters/passwords.ts";
import type { SecretSources } from "#adapters/secrets/sources.ts";
import type { Metrics } from "#adapters/telemetry/families.ts";
import type { Read } from "#config/read.ts";
import type { Config } from "#config/schema.ts";
import type { ClockWatch } from "#domain/clock-watch.ts";
import type { KeyCounts } from "#domain/audit/key-counts.ts";
import type { PathWork } from "#domain/ports.ts";
import type { PreparedInstance } from "#domain/instance/prepare.ts";
import type { Keys } from "#domain/keys.ts";
import type { Log } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import type { RateLimits } from "#http/rate-limits.ts";
import type { Build } from "./handlers.ts";
import type { Schedules } from "./running.ts";
import type { Sealing } from "./sealing.ts";

/** What an instance is opened with. */
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
  /** True when pending PostgreSQL migrations may be applied. */
  readonly migrate?: boolean;
  /** Reads the configuration again, for preflight. */
  readonly read?: () => Read;
}

/** What guard and rate tiers go by, and the configuration in force; a reload replaces that. */
export interface Limits {
  inForce: Config;
  readonly rates: RateLimits;
}

/** Everything below the domain. */
export interface Opened extends AppOptions {
  readonly secrets: SecretSources;
  readonly store: Store;
  readonly keys: Keys;
  readonly limits: Limits;
  readonly metrics: Metrics;
  readonly passwords: Passwords;
  readonly space: FreeSpace;
  readonly instance: PreparedInstance;
  readonly sealing: Sealing;
  readonly counts: KeyCounts;
  readonly clockWatch: ClockWatch;
  readonly paths: PathWork;
  readonly clientPaths: PathWork;
  readonly schedules: Schedules;
  readonly close: () => Promise<void>;
  /** The providers themselves, for what is no operation of a key. */
  readonly opened: Pick<OpenKeys, "again" | "load">;
}
