/**
 * Hashes passwords with argon2id, a bounded number at a time: each takes tens of megabytes and a
 * core.
 */

import { refuse } from "#core/problems.ts";

/** Hashes and checks off the main thread; more than a few at once wait, more than many are shed. */
export class Passwords {
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  /** An argon2id string with its parameters and salt. */
  hash(password: string): Promise<string> {
    return this.bounded(() => Bun.password.hash(password, parameters));
  }

  /** True when the password is the hashed one; a hash that cannot be read verifies nothing. */
  check(password: string, hash: string): Promise<boolean> {
    return this.bounded(() => Bun.password.verify(password, hash).catch(() => false));
  }

  private async bounded<T>(work: () => Promise<T>): Promise<T> {
    if (this.running >= atOnceMax) {
      if (this.waiting.length >= waitingMax) throw refuse("overloaded", { retry_after: 2 });
      await new Promise<void>((resume) => this.waiting.push(resume));
    }
    this.running += 1;
    try {
      return await work();
    } finally {
      this.running -= 1;
      this.waiting.shift()?.();
    }
  }
}

/** OWASP's second recommendation for argon2id: 19 MiB, two passes. */
const parameters = { algorithm: "argon2id", memoryCost: 19_456, timeCost: 2 } as const;
const atOnceMax = 2;
const waitingMax = 32;
