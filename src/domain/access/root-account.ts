/** The built-in administrator and the password that proves it. */

import { ownPerson } from "#core/access/person.ts";
import type { Principal } from "#core/access/principal.ts";
import { equalInConstantTime, sha256 } from "#core/crypto.ts";
import type { Random } from "#domain/ports.ts";
import { type FairTurns, laneOf } from "./fair-turns.ts";

/** Compares a password with a stored hash (argon2id); slow on purpose, off the main thread. */
export type PasswordCheck = (password: string, hash: string) => Promise<boolean>;

export interface RootAccountDeps {
  readonly random: Pick<Random, "bytes">;
  readonly username: string;
  readonly passwordHash: string;
  readonly checkPassword: PasswordCheck;
  /** Who waits for whom while many present passwords. */
  readonly turns: FairTurns;
}

/** The one account that needs neither provider nor directory. */
export class RootAccount {
  readonly #deps: RootAccountDeps;
  /**
   * Without it what is kept of a password that passed could be guessed offline from a copy of the
   * memory.
   */
  readonly #salt: Uint8Array;
  /**
   * Digest of the last name and password that passed, so that the slow hash runs once and not on
   * every request.
   */
  #passed: Uint8Array | undefined;

  constructor(deps: RootAccountDeps) {
    this.#deps = deps;
    this.#salt = deps.random.bytes(32);
  }

  /**
   * True for root's name with root's password. A wrong name costs the same slow hash as a wrong
   * password; an empty password is refused before it. Refuses `rate_limited` while too many from
   * the same address wait.
   */
  async verify(
    name: string,
    password: string,
    whence: { readonly ip: string; readonly exempt?: boolean },
  ): Promise<boolean> {
    if (password.length === 0) return false;
    const { turns } = this.#deps;
    const lane = laneOf(whence);
    // Before anything is compared: what is compared at once would let others guess as fast as they
    // can send.
    turns.refuseWhenFull(lane);
    const presented = this.#digest(`${name}\0${password}`);
    if (this.#knows(presented)) return true;
    const look = () => this.#look(name, password, presented);
    return turns.run(lane, look, (right) => !right);
  }

  async #look(name: string, password: string, presented: Uint8Array): Promise<boolean> {
    // It may have passed while this one waited.
    if (this.#knows(presented)) return true;
    const { passwordHash, checkPassword } = this.#deps;
    const right = await checkPassword(password, passwordHash);
    const named = this.goesBy(name);
    if (right && named) this.#passed = presented;
    return right && named;
  }

  #knows(presented: Uint8Array): boolean {
    return this.#passed !== undefined && equalInConstantTime(this.#passed, presented);
  }

  /** True for root's name. */
  goesBy(name: string): boolean {
    return equalInConstantTime(this.#digest(name), this.#digest(this.#deps.username));
  }

  /** Who root is when this mechanism has proved it. */
  principal(mechanism: Principal["mechanism"]): Principal {
    return {
      subject: "root",
      person: ownPerson("root"),
      name: this.#deps.username,
      isRoot: true,
      roles: ["admin"],
      tenantRoles: {},
      groups: [],
      mechanism,
    };
  }

  #digest(text: string): Uint8Array {
    return sha256(new Uint8Array([...this.#salt, ...new TextEncoder().encode(text)]));
  }
}
