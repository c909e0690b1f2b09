/**
 * Remembers for a while which password of an account was right and which were wrong, so that the
 * slow hash runs once for each.
 */

import { equalInConstantTime } from "#core/crypto.ts";
import type { Later } from "#domain/ports.ts";

export interface PasswordMemoryDeps {
  readonly elapsedMs: () => number;
  readonly later: Later;
}

/**
 * Of one account whose password does not change while this lives, as digests of attempts. What is
 * right is forgotten when nobody has used it for a while: a copy of the memory holds the key of the
 * digests too, and could then be guessed at.
 */
export class PasswordMemory {
  readonly #deps: PasswordMemoryDeps;
  #right: { readonly digest: string; usedMs: number } | undefined;
  /** When each was seen, the longest ago first. */
  readonly #wrong = new Map<string, number>();
  #sweeping = false;

  constructor(deps: PasswordMemoryDeps) {
    this.#deps = deps;
  }

  /** True for the one that was right of late, which starts its while anew. In constant time. */
  isRight(digest: string): boolean {
    const right = this.#right;
    if (right === undefined || !equalInConstantTime(octets(right.digest), octets(digest))) {
      return false;
    }
    const now = this.#deps.elapsedMs();
    if (now - right.usedMs >= idleMs) return false;
    right.usedMs = now;
    return true;
  }

  /** True for one that was wrong of late. */
  isWrong(digest: string): boolean {
    const seenMs = this.#wrong.get(digest);
    return seenMs !== undefined && this.#deps.elapsedMs() - seenMs < idleMs;
  }

  /** Keeps what the slow hash has said. */
  keep(digest: string, right: boolean): void {
    const now = this.#deps.elapsedMs();
    if (right) this.#right = { digest, usedMs: now };
    else {
      this.#wrong.delete(digest);
      this.#wrong.set(digest, now);
      const [oldest] = this.#wrong.keys();
      if (this.#wrong.size > wrongMax && oldest !== undefined) this.#wrong.delete(oldest);
    }
    this.#sweepLater();
  }

  #sweepLater(): void {
    if (this.#sweeping) return;
    this.#sweeping = true;
    this.#deps.later(idleMs, () => {
      this.#sweeping = false;
      const before = this.#deps.elapsedMs() - idleMs;
      if (this.#right !== undefined && this.#right.usedMs <= before) this.#right = undefined;
      for (const [digest, seenMs] of this.#wrong) {
        if (seenMs > before) break;
        this.#wrong.delete(digest);
      }
      if (this.#right !== undefined || this.#wrong.size > 0) this.#sweepLater();
    });
  }
}

const octets = (digest: string): Uint8Array => new TextEncoder().encode(digest);

const idleMs = 900_000;
const wrongMax = 4096;
