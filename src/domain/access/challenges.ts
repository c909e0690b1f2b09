/**
 * Challenges of ceremonies: each for one session and one kind of ceremony, for two minutes, taken
 * once.
 */

import { addSeconds, type Instant } from "#core/time.ts";
import type { Clock, Random } from "#domain/ports.ts";
import { base64url } from "./ceremonies.ts";

export type Ceremony = "register" | "step_up";

interface Given {
  readonly challenge: string;
  readonly expiresAt: Instant;
}

/**
 * Challenges of this process; a session has one of each kind at most, and a newer one takes its
 * place.
 */
export class Challenges {
  /** Oldest first. */
  readonly #given = new Map<string, Given>();
  readonly #clock: Clock;
  readonly #random: Pick<Random, "bytes">;

  constructor({ clock, random }: { clock: Clock; random: Pick<Random, "bytes"> }) {
    this.#clock = clock;
    this.#random = random;
  }

  /** 32 random octets in base64url. */
  give(session: string, ceremony: Ceremony): string {
    const now = this.#clock.now();
    this.#sweep(now);
    const key = `${ceremony} ${session}`;
    const challenge = base64url(this.#random.bytes(32));
    this.#given.delete(key);
    this.#given.set(key, { challenge, expiresAt: addSeconds(now, challengeSeconds) });
    return challenge;
  }

  /** The live challenge of this session and ceremony, which nobody gets again. */
  take(session: string, ceremony: Ceremony): string | undefined {
    const key = `${ceremony} ${session}`;
    const given = this.#given.get(key);
    this.#given.delete(key);
    return given !== undefined && given.expiresAt > this.#clock.now() ? given.challenge : undefined;
  }

  /**
   * All lives are equally long, so the oldest come first. Sessions are bounded, and so is what is
   * given to them.
   */
  #sweep(now: Instant): void {
    for (const [key, { expiresAt }] of this.#given) {
      if (expiresAt > now) return;
      this.#given.delete(key);
    }
  }
}

/** Also the time browsers are told. */
export const challengeSeconds = 120;
