/**
 * People who log in with the password of a directory: asked once per attempt, and refused alike
 * whatever is wrong.
 */

import { type RoleSet, type Identity, roleless } from "#core/access/assignments.ts";
import { isLoginName } from "#core/access/directory-entry.ts";
import { refuse } from "#core/problems.ts";
import type { Log } from "#domain/ports.ts";
import { type Attempts, counted, type DirectoryCheck, type Whence } from "./authenticate.ts";
import type { FairTurns } from "./fair-turns.ts";
import type { FailedLogin } from "./failed-logins.ts";
import type { AttemptKeys } from "./login-attempt.ts";
import type { Logins, Opened, Visitor } from "./logins.ts";
import type { Verdict } from "./waiting.ts";

/** Where people and their passwords are kept. */
export interface Directory {
  /**
   * Who this is, when the directory accepts the password; undefined when it knows nobody of that
   * name, knows several, or refuses the password. Name and password are not empty. Throws
   * `DirectoryFault` when there is no answer.
   */
  identify(name: string, password: string): Promise<Identity | undefined>;
}

/** The directory gave no answer that could be used; the message never holds a password. */
export class DirectoryFault extends Error {
  override readonly name = "DirectoryFault";
}

export interface DirectoryLoginDeps {
  readonly directory: Directory;
  readonly logins: Logins;
  readonly attempts: Attempts;
  /** `allow_zero_role`. */
  readonly allowZeroRole: boolean;
  readonly log: Log;
  /**
   * Who waits for whom: a directory that is slow must not pile people up here, nor one person keep
   * out the others.
   */
  readonly turns: FairTurns;
  readonly keys: AttemptKeys;
  /** Told every Basic credential that was accepted; metrics are its only use. */
  readonly onBasic: () => void;
}

/** The service. */
export class DirectoryLogins {
  readonly #deps: DirectoryLoginDeps;

  constructor(deps: DirectoryLoginDeps) {
    this.#deps = deps;
  }

  /** A session for a person of the directory; refuses `invalid_credentials` and `no_access`. */
  async open(name: string, password: string, visitor: Visitor): Promise<Opened> {
    const { ip, requestId } = visitor;
    const identity = await this.#identity(name, password, { ip, requestId });
    return this.#deps.logins.vouched("ldap", identity, visitor);
  }

  /**
   * Who a Basic credential stands for, for this request alone; refuses as `open` does, and
   * `rate_limited`.
   */
  readonly principal: DirectoryCheck = async (name, password, whence) => {
    const { logins, allowZeroRole, onBasic } = this.#deps;
    const identity = await this.#identity(name, password, whence, "basic");
    const principal = await logins.principalOf("ldap", identity, "basic");
    if (!mayEnter(principal, allowZeroRole)) {
      const failure = { method: "ldap", reason: "no_access", channel: "basic" } as const;
      const { ip, requestId } = whence;
      await logins.failed({ ...failure, loginName: name, ip, requestId }, "denied");
      throw refuse("no_access");
    }
    onBasic();
    return principal;
  };

  /** Says the same, and records the difference, when the directory is away. */
  async #identity(name: string, password: string, whence: Whence, channel?: "basic") {
    const { attempts } = this.#deps;
    // The route of the other channel counts its requests itself.
    const takeBack = channel === "basic" ? counted(attempts, whence) : () => {};
    const found = await this.#asked(name, password, whence).catch((error: unknown) => {
      takeBack();
      throw error;
    });
    // Nobody has guessed anything while the directory was away.
    if (found !== "invalid_credentials") takeBack();
    if (typeof found === "object") return found;
    const { ip, requestId } = whence;
    const failure: FailedLogin = {
      method: "ldap",
      reason: found,
      loginName: name,
      ip,
      requestId,
      ...(channel === undefined ? {} : { channel }),
    };
    await this.#deps.logins.failed(failure, found === "invalid_credentials" ? "denied" : "error");
    throw refuse("invalid_credentials");
  }

  async #asked(name: string, password: string, whence: Whence): Promise<Identity | Failure> {
    // RFC 4513 §5.1.2: a bind with a name and no password is anonymous, and a directory may let it
    // pass.
    if (password === "" || !isLoginName(name)) return "invalid_credentials";
    // Nothing is remembered of a password: the directory alone knows whether it is right still, and
    // counts its failures.
    return this.#deps.turns.run<Identity | Failure>({
      attempt: this.#deps.keys.of(name, password, whence),
      look: () => this.#answered(name, password),
      verdict: verdictOf,
      wrong: "invalid_credentials",
    });
  }

  async #answered(name: string, password: string): Promise<Identity | Failure> {
    const { directory, log } = this.#deps;
    try {
      return (await directory.identify(name, password)) ?? "invalid_credentials";
    } catch (error) {
      if (!(error instanceof DirectoryFault)) throw error;
      log.write("warn", "directory_fault", { why: error.message });
      return "directory_unavailable";
    }
  }
}

function verdictOf(found: Identity | Failure): Verdict {
  if (typeof found === "object") return "right";
  return found === "invalid_credentials" ? "wrong" : "nothing";
}

type Failure = "invalid_credentials" | "directory_unavailable";

const mayEnter = (roleSet: RoleSet, allowZeroRole: boolean): boolean =>
  allowZeroRole || !roleless(roleSet);
