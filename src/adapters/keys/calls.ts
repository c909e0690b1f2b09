/** The requests that wait for an answer from a signer. */

import { refuse } from "#core/problems.ts";

import type { FrameKind, Outbox } from "./frames.ts";

/** One request; it keeps what it takes to send it again. */
export interface Call {
  readonly kind: FrameKind;
  readonly parts: readonly Uint8Array[];
  readonly resolve: (body: Buffer) => void;
  readonly reject: (fault: Error) => void;
  readonly timeoutMs: number;
  /** False for what must not happen twice. */
  readonly repeatable: boolean;
  /** Monotonic milliseconds at which waiting ends. */
  deadline: number;
  sends: number;
}

/** Requests by id, oldest first. */
export class Calls {
  readonly #waiting = new Map<number, Call>();
  #lastId = 0;

  get size(): number {
    return this.#waiting.size;
  }

  /** Remembers a request; gives its id. */
  add(call: Call): number {
    this.#lastId = (this.#lastId % idMax) + 1;
    this.#waiting.set(this.#lastId, call);
    return this.#lastId;
  }

  /** Takes the request an answer belongs to; undefined when nobody waits for it any more. */
  take(id: number): Call | undefined {
    const call = this.#waiting.get(id);
    if (call !== undefined) this.#waiting.delete(id);
    return call;
  }

  /** Sends everything that waits, under the ids it already has, with a fresh deadline. */
  sendAll(outbox: Outbox): void {
    for (const [id, call] of this.#waiting) send(outbox, id, call);
  }

  /** After a lost signer: keeps what may be repeated and was sent only once, refuses the rest. */
  refuseUnrepeatable(): void {
    for (const [id, call] of this.#waiting) {
      if (call.sends === 0 || (call.sends < sendsMax && call.repeatable)) continue;
      this.#waiting.delete(id);
      call.reject(unavailable());
    }
  }

  /** Refuses what has waited too long; gives how many there were that a signer had been asked. */
  refuseOverdue(now: number): number {
    let asked = 0;
    for (const [id, call] of this.#waiting) {
      if (call.deadline > now) continue;
      this.#waiting.delete(id);
      if (call.sends > 0) asked += 1;
      call.reject(unavailable());
    }
    return asked;
  }

  /** Refuses everything. */
  refuseAll(fault: () => Error = () => unavailable()): void {
    for (const call of this.#waiting.values()) call.reject(fault());
    this.#waiting.clear();
  }
}

/** Sends one request and starts its deadline. */
export function send(outbox: Outbox, id: number, call: Call): void {
  call.sends += 1;
  call.deadline = performance.now() + call.timeoutMs;
  outbox.add(call.kind, id, call.parts);
}

/** The one refusal for a provider that does not answer. */
export const unavailable = (retryAfterSeconds = 2): Error =>
  refuse("key_unavailable", { retry_after: retryAfterSeconds });

/** Once, and once more after a respawn (KEY-8). */
const sendsMax = 2;
const idMax = 0xffff_fffe;
