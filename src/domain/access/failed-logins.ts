/** Writes failed logins down: the first from an address at once, its repeats folded into one event a minute. */

import { addSeconds, type Instant } from "#core/time.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";

/** A login that was refused. */
export interface FailedLogin {
  readonly method: "oidc" | "password" | "ldap";
  /** `invalid_credentials`, `directory_unavailable`, `no_access`, or a code of the OIDC callback. */
  readonly reason: string;
  readonly channel?: "basic";
  /** As typed; a stranger wrote it. */
  readonly loginName: string;
  readonly ip: string;
  readonly requestId: string;
}

/** Repeats of one kind from one address since the last event about them. */
interface Window {
  readonly last: FailedLogin;
  readonly ends: Instant;
  readonly repeats: number;
}

export interface FailedLoginDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** How many addresses and kinds of failure are told apart. */
  readonly windowsMax: number;
}

/** Guessing must leave a trace, and must not flood the chain. */
export class FailedLogins {
  readonly #deps: FailedLoginDeps;
  readonly #windows = new Map<string, Window>();

  constructor(deps: FailedLoginDeps) {
    this.#deps = deps;
  }

  /** Records the first failure of its kind from an address; within a minute, counts the next ones. */
  async record(failure: FailedLogin): Promise<void> {
    const now = this.#deps.clock.now();
    const key = this.#keyOf(failure);
    const window = this.#windows.get(key);
    if (window !== undefined && now < window.ends) {
      this.#windows.set(key, { ...window, last: failure, repeats: window.repeats + 1 });
      return;
    }
    this.#windows.set(key, { last: failure, ends: addSeconds(now, 60), repeats: 0 });
    // A window that is over and not yet told is told with this one.
    await this.#append(failure, (window?.repeats ?? 0) + 1, now);
  }

  /** Tells what was counted in windows that are over; `all` tells also of those that are not, before the end. */
  async fold(all = false): Promise<void> {
    const now = this.#deps.clock.now();
    for (const [key, { last, ends, repeats }] of [...this.#windows]) {
      if (now < ends && !all) continue;
      if (repeats === 0) this.#windows.delete(key);
      else {
        this.#windows.set(key, { last, ends: addSeconds(now, 60), repeats: 0 });
        await this.#append(last, repeats, now);
      }
    }
  }

  /** One bucket for all addresses beyond those that can be told apart. */
  #keyOf({ method, reason, channel, ip }: FailedLogin): string {
    const kind = `${method} ${reason} ${channel ?? ""}`;
    const key = `${kind} ${ip}`;
    return this.#windows.has(key) || this.#windows.size < this.#deps.windowsMax ? key : kind;
  }

  async #append(failure: FailedLogin, count: number, now: Instant): Promise<void> {
    const { method, reason, channel, ip, requestId } = failure;
    const detail = { method, reason, channel, count: count > 1 ? count : undefined };
    await this.#deps.store.atomically(async (tx) => {
      await tx.audit.appendEvent(
        {
          ...{ action: "auth.login_failed", result: "denied", actor: "anonymous" },
          ...{ targetName: printableName(failure.loginName) || undefined, ip, requestId, detail },
        },
        now,
      );
    });
  }
}

/** A stranger wrote it: whole characters, and none that a database cannot hold. */
export const printableName = (name: string): string =>
  name.replaceAll("\0", "\ufffd").slice(0, 128).toWellFormed();
