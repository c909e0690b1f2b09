/** Records in the audit log that access log rows were deleted for lack of space. */

import { addSeconds, instant, secondsPerDay } from "#core/time.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";

export interface AccessLogTrimDeps {
  readonly store: Pick<Store, "read" | "atomically" | "takeAccessLogTrims">;
  readonly clock: Clock;
}

/** Sums the deleted rows of this process. Any client causes them, so a daily event is enough. */
export class AccessLogTrims {
  readonly #deps: AccessLogTrimDeps;
  #rows = 0;

  constructor(deps: AccessLogTrimDeps) {
    this.#deps = deps;
  }

  /** Appends `access_log.trim` with the number of rows, if there are any, at most daily. */
  async record(): Promise<void> {
    const { store, clock } = this.#deps;
    this.#rows += store.takeAccessLogTrims();
    const rows = this.#rows;
    if (rows === 0) return;
    const now = clock.now();
    const last = instant(Number((await store.read.instance.value(lastName)) ?? 0));
    if (last <= now && now < addSeconds(last, secondsPerDay)) return;
    await store.atomically(async (tx) => {
      await tx.instance.setValue(lastName, String(now));
      await tx.audit.appendEvent(
        {
          action: "access_log.trim",
          result: "success",
          actor: "system:access_log",
          detail: { rows },
        },
        now,
      );
    });
    this.#rows -= rows;
  }
}

const lastName = "access_log.trimmed_at";
