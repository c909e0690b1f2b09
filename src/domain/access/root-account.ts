/** The built-in administrator and the password that proves it. */

import { ownPerson } from "#core/access/person.ts";
import type { Principal } from "#core/access/principal.ts";
import { equalInConstantTime, sha256 } from "#core/crypto.ts";
import type { FairTurns } from "./fair-turns.ts";
import type { AttemptKeys } from "./login-attempt.ts";
import type { PasswordMemory } from "./password-memory.ts";

/** Compares a password with a stored hash (argon2id); slow on purpose, off the main thread. */
export type PasswordCheck = (password: string, hash: string) => Promise<boolean>;

export interface RootAccountDeps {
  readonly username: string;
  readonly passwordHash: string;
  readonly checkPassword: PasswordCheck;
  /** Who waits for whom while many present passwords. */
  readonly turns: FairTurns;
  readonly attempts: AttemptKeys;
  /** Of this account's password; its hash is the same for as long as the process lives. */
  readonly memory: PasswordMemory;
}

/** The one account that needs neither provider nor directory. */
export class RootAccount {
  readonly #deps: RootAccountDeps;

  constructor(deps: RootAccountDeps) {
    this.#deps = deps;
  }

  /**
   * True for root's name with root's password. A wrong name costs the same slow hash as a wrong
   * password, once for each; an empty password is refused before it. Refuses `rate_limited` to
   * whoever gives way in the queue.
   */
  async verify(
    name: string,
    password: string,
    whence: { readonly ip: string; readonly exempt?: boolean },
  ): Promise<boolean> {
    if (password.length === 0) return false;
    const { turns, attempts, memory } = this.#deps;
    const attempt = attempts.of(name, password, whence);
    // Whoever repeats what is known to be wrong learns nothing and costs nothing.
    if (memory.isWrong(attempt.digest)) return false;
    return turns.run({
      attempt,
      recall: () => memory.isRight(attempt.digest) || undefined,
      look: () => this.#look(name, password, attempt.digest),
      verdict: (right) => (right ? "right" : "wrong"),
      wrong: false,
    });
  }

  async #look(name: string, password: string, digest: string): Promise<boolean> {
    const { passwordHash, checkPassword, memory } = this.#deps;
    // Either may have become known while this one waited.
    if (memory.isRight(digest)) return true;
    if (memory.isWrong(digest)) return false;
    const matches = await checkPassword(password, passwordHash);
    const named = this.goesBy(name);
    const right = matches && named;
    memory.keep(digest, right);
    return right;
  }

  /** True for root's name. */
  goesBy(name: string): boolean {
    return equalInConstantTime(digestOf(name), digestOf(this.#deps.username));
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
}

const digestOf = (text: string): Uint8Array => sha256(new TextEncoder().encode(text));
