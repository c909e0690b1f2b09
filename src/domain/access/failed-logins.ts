/**
 * Writes failed logins down: the first from an address at once, its repeats folded into one event a
 * minute.
 */

import { addressKey } from "#core/address-key.ts";
import type { Instant } from "#core/time.ts";
import { Folding } from "#domain/audit/folding.ts";
import type { Clock } from "#domain/ports.ts";
import { PostponableEvents } from "#domain/rollback.ts";
import type { Store } from "#domain/store.ts";

/** A login that was refused. */
export interface FailedLogin {
  readonly method: "oidc" | "password" | "ldap";
  /**
   * `invalid_credentials`, `directory_unavailable`, `no_access`, or a code of the OIDC callback.
   */
  readonly reason: string;
  readonly channel?: "basic";
  /** What an identity provider gave as its reason. */
  readonly error?: string | undefined;
  readonly description?: string | undefined;
  /** As typed; a stranger wrote it. */
  readonly loginName: string;
  readonly ip: string;
  readonly requestId: string;
}

export interface FailedLoginDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** How many addresses and kinds of failure are told apart. */
  readonly windowsMax: number;
}

/** Guessing must leave a trace, and must not flood the chain. */
export class FailedLogins {
  readonly #folding: Folding<FailedLogin>;

  constructor({ store, clock, windowsMax }: FailedLoginDeps) {
    const events = new PostponableEvents(store);
    this.#folding = new Folding({
      clock,
      windowsMax,
      kindOf: ({ method, reason, channel = "", ip }) => ({
        coarse: [method, reason, channel],
        fine: [addressKey(ip)],
      }),
      tell: (failure, count, now) => append(events, failure, count, now),
    });
  }

  /**
   * Records the first failure of its kind from an address; within a minute, counts the next ones.
   */
  record(failure: FailedLogin): Promise<void> {
    return this.#folding.record(failure);
  }

  /**
   * Tells what was counted in windows that are over; `all` tells also of those that are not, before
   * the end.
   */
  fold(all = false): Promise<void> {
    return this.#folding.fold(all);
  }
}

async function append(
  events: PostponableEvents,
  failure: FailedLogin,
  count: number,
  now: Instant,
): Promise<void> {
  const { method, reason, channel, error, description, ip, requestId } = failure;
  const repeats = count > 1 ? count : undefined;
  const detail = {
    method,
    reason,
    channel,
    count: repeats,
    // An attacker can call the callback with any string.
    error: error && printableName(error),
    description: description && printableName(description),
  };
  await events.append(
    {
      action: "auth.login_failed",
      result: "denied",
      actor: "anonymous",
      targetName: printableName(failure.loginName) || undefined,
      ip,
      requestId,
      detail,
    },
    now,
  );
}

/** A stranger wrote it: whole characters, and none that a database cannot hold. */
export const printableName = (name: string): string =>
  name.replaceAll("\0", "\ufffd").slice(0, 128).toWellFormed();
