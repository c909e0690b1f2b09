/**
 * Signs on the signer's main thread with the keys whose signatures take less time than handing them
 * to a worker does.
 */

import type { SignatureName } from "#core/x509/algorithms.ts";
import type { LocalRef } from "#adapters/keys/signer/provider.ts";

import type { TokenSession } from "./token-session.ts";

/** One token session, and which keys are quick enough to be used through it. */
export class QuickKeys {
  readonly #open: () => QuickTokenSession;
  readonly #now: () => number;
  readonly #paces = new Map<string, Pace>();
  #tokenSession: QuickTokenSession | undefined;

  /**
   * `open` gives a token session that heals nothing, when the first key turns out to be quick;
   * `now` gives milliseconds.
   */
  constructor(open: () => QuickTokenSession, now = () => performance.now()) {
    this.#open = open;
    this.#now = now;
  }

  /**
   * The signature, valid until the next one is made; undefined when a worker had better make it:
   * the key is not known to be quick, the message is long, or it failed here, which a worker may
   * heal and in any case explains.
   */
  sign(ref: LocalRef, algorithm: SignatureName, message: Buffer): Uint8Array | undefined {
    const pace = this.#paces.get(nameOf(ref, algorithm));
    if (pace?.quick !== true || message.length > messageBytesMax) return undefined;
    const started = this.#now();
    try {
      this.#tokenSession ??= this.#open();
      const signature = this.#tokenSession.sign(ref, algorithm, message);
      pace.hereMs += (this.#now() - started - pace.hereMs) / smoothing;
      if (pace.hereMs > 2 * quickMs) this.#paces.delete(nameOf(ref, algorithm));
      return signature;
    } catch {
      this.#paces.clear();
      this.#tokenSession?.leave();
      this.#tokenSession = undefined;
      return undefined;
    }
  }

  /**
   * Told how many milliseconds a worker's call took: the least of many is what the token needs, the
   * rest is waiting.
   */
  learn(ref: LocalRef, algorithm: SignatureName, elapsedMs: number): void {
    const name = nameOf(ref, algorithm);
    const pace = this.#paces.get(name) ?? { count: 0, leastMs: elapsedMs, hereMs: 0, quick: false };
    pace.count++;
    pace.leastMs = Math.min(pace.leastMs, elapsedMs);
    if (this.#paces.size >= pacesMax) this.#paces.clear();
    this.#paces.set(name, pace);
    if (pace.count < countMin || pace.leastMs > quickMs) return;
    pace.quick = true;
    pace.hereMs = pace.leastMs;
  }
}

/** What is needed of a token session. */
type QuickTokenSession = Pick<TokenSession, "sign" | "leave">;

/** What is known of a key with an algorithm. */
interface Pace {
  /** Signatures a worker has made. */
  count: number;
  leastMs: number;
  /** Of late, on this thread. */
  hereMs: number;
  quick: boolean;
}

const nameOf = (ref: LocalRef, algorithm: SignatureName) => `${ref.id}/${algorithm}/${ref.label}`;

/**
 * No device at the end of a cable or slot answers within this time: it is a library on our own
 * processors.
 */
const quickMs = 0.15;
/** Signatures after which a key's pace is believed: the first find cold code. */
const countMin = 32;
const smoothing = 32;
const pacesMax = 4096;
/** Longer messages, CRLs among them, take long to hash. */
const messageBytesMax = 16 * 1024;
