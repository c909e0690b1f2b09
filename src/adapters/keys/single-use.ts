/** Holds every signature to its ticket: exactly these octets, and once. */

import { following, promised } from "#core/at-once.ts";
import { sha256HexOf } from "#core/crypto.ts";
import { assert } from "#core/problems.ts";
import type { Keys } from "#domain/keys.ts";
import { SignTicket } from "#domain/signing/ticket.ts";

/**
 * Wraps `keys`; a ticket for other octets, one already used, or one that domain/signing has not
 * made is a bug and never reaches a key.
 */
export function singleUse(keys: Keys): Keys {
  const used = new RecentIds(remembered);
  return {
    generate: (wanted) => keys.generate(wanted),
    find: (ref) => keys.find(ref),
    sign: (ticket, message) => {
      const held = (digest: string) => {
        assert(SignTicket.isGenuine(ticket), "a ticket is made by domain/signing");
        const same = digest === ticket.digest;
        assert(same, "a ticket signs exactly the octets it was made for");
        assert(used.add(ticket.opId), "a ticket is used once");
        return keys.sign(ticket, message);
      };
      return promised(() => following(sha256HexOf(message), held));
    },
    destroy: (ref) => keys.destroy(ref),
    keks: keys.keks,
    intake: keys.intake,
    list: (provider) => keys.list(provider),
    facts: () => keys.facts(),
    close: () => keys.close(),
  };
}

/**
 * Remembers at least the last `count` ids in bounded memory: two generations, the older one dropped
 * whole.
 */
class RecentIds {
  readonly #count: number;
  #newer = new Set<string>();
  #older = new Set<string>();

  constructor(count: number) {
    this.#count = count;
  }

  /** False when the id is remembered. */
  add(id: string): boolean {
    if (this.#newer.has(id) || this.#older.has(id)) return false;
    if (this.#newer.size >= this.#count) {
      this.#older = this.#newer;
      this.#newer = new Set();
    }
    this.#newer.add(id);
    return true;
  }
}

const remembered = 65_536;
