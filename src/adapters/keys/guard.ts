/** Bounds how many key operations are under way, lets a few wait, and sheds the rest. */

import { promised } from "#core/at-once.ts";
import { refuse } from "#core/problems.ts";
import type { SignTicket } from "#domain/signing/ticket.ts";
import type { Keys } from "#domain/keys.ts";

import type { GuardSettings } from "./settings.ts";

/**
 * Wraps `keys`; what finds no place, or no turn in time, is refused with `overloaded`. The limits
 * are asked for anew each time, because a reload may change them. Looking a key up, and signing
 * what makes a revocation known, never wait behind those who want certificates (REV-3). `turns`
 * shows how much is under way.
 */
export function guarded(
  keys: Keys,
  settings: () => GuardSettings,
  turns: Turns = new Turns(settings),
): Keys {
  const { halves } = keys.keks;
  return {
    generate: (wanted) => turns.during(() => keys.generate(wanted)),
    find: (ref) => keys.find(ref),
    sign: (ticket, message) =>
      exempt.has(ticket.purpose)
        ? keys.sign(ticket, message)
        : turns.during(() => keys.sign(ticket, message)),
    destroy: (ref) => turns.during(() => keys.destroy(ref)),
    keks: {
      generate: (wanted) => turns.during(() => keys.keks.generate(wanted)),
      wrap: (kek, dek) => turns.during(() => keys.keks.wrap(kek, dek)),
      unwrap: (kek, wrapped) => turns.during(() => keys.keks.unwrap(kek, wrapped)),
      destroy: (kek) => turns.during(() => keys.keks.destroy(kek)),
      halves: {
        generate: (kek) => turns.during(() => halves.generate(kek)),
        fingerprint: (kek) => turns.during(() => halves.fingerprint(kek)),
        wrap: (kek, request) => turns.during(() => halves.wrap(kek, request)),
        unwrap: (kek, header, share) => turns.during(() => halves.unwrap(kek, header, share)),
        destroy: (kek) => turns.during(() => halves.destroy(kek)),
      },
      use: (versions) => keys.keks.use(versions),
      // Goes on for as long as there are keys, and must not be shed half-way.
      reseal: (version) => keys.keks.reseal(version),
      handOut: (address) => keys.keks.handOut(address),
      takeOver: (dataKeys) => keys.keks.takeOver(dataKeys),
    },
    intake: {
      address: () => turns.during(() => keys.intake.address()),
      take: (wanted) => turns.during(() => keys.intake.take(wanted)),
    },
    list: (provider) => turns.during(() => keys.list(provider)),
    facts: () => keys.facts(),
    close: () => keys.close(),
  };
}

interface Waiting {
  readonly start: () => void;
  readonly shed: () => void;
  readonly since: number;
}

/**
 * First come, first served. One timer watches the whole queue, because its order is the order of
 * expiry.
 */
export class Turns {
  readonly #settings: () => GuardSettings;
  readonly #queue: Waiting[] = [];
  #first = 0;
  #running = 0;
  #timer: Timer | undefined;

  constructor(settings: () => GuardSettings) {
    this.#settings = settings;
  }

  /** Operations under way. */
  get inUse(): number {
    return this.#running;
  }

  /** Operations that wait for their turn. */
  get waiting(): number {
    return this.#queue.length - this.#first;
  }

  during<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#settings().max_in_flight) return this.#later(work);
    this.#running += 1;
    return this.#within(work);
  }

  async #later<T>(work: () => Promise<T>): Promise<T> {
    await this.#turn();
    return await this.#within(work);
  }

  /** Holds a place until the work is over. */
  #within<T>(work: () => Promise<T>): Promise<T> {
    return promised(work).then(this.#done<T>, this.#failed);
  }

  readonly #done = <T>(made: T): T => {
    this.#pass();
    return made;
  };

  readonly #failed = (fault: unknown): never => {
    this.#pass();
    throw fault;
  };

  /** Resolves when a place was handed over. */
  #turn(): Promise<void> {
    if (this.#queue.length - this.#first >= this.#settings().max_queue) throw overloaded();
    return new Promise((resolve, reject) => {
      const shed = () => reject(overloaded());
      this.#queue.push({ start: resolve, shed, since: performance.now() });
      this.#watch();
    });
  }

  #pass(): void {
    // Above the limit only after it was lowered: the place goes to nobody.
    const next = this.#running > this.#settings().max_in_flight ? undefined : this.#take();
    if (next === undefined) this.#running -= 1;
    else next.start();
  }

  #take(): Waiting | undefined {
    const next = this.#queue[this.#first];
    if (next === undefined) return undefined;
    this.#first += 1;
    if (this.#first === this.#queue.length || this.#first > 1024) {
      this.#queue.splice(0, this.#first);
      this.#first = 0;
    }
    return next;
  }

  #watch(): void {
    const head = this.#queue[this.#first];
    const { acquire_timeout_ms } = this.#settings();
    if (this.#timer !== undefined || head === undefined || acquire_timeout_ms === 0) return;
    const left = head.since + acquire_timeout_ms - performance.now();
    this.#timer = setTimeout(() => this.#expire(), Math.max(1, Math.ceil(left)));
  }

  #expire(): void {
    this.#timer = undefined;
    const { acquire_timeout_ms } = this.#settings();
    if (acquire_timeout_ms === 0) return;
    const oldest = performance.now() - acquire_timeout_ms;
    for (let head = this.#queue[this.#first]; head !== undefined && head.since <= oldest; ) {
      this.#take()?.shed();
      head = this.#queue[this.#first];
    }
    this.#watch();
  }
}

const exempt: ReadonlySet<SignTicket["purpose"]> = new Set([
  "crl",
  "delta_crl",
  "responder_certificate",
]);

const overloaded = () => refuse("overloaded", { retry_after: 2 });
