/** Turns what a request presents into a principal, in the evaluation order of the HTTP contract §2.1. */

import type { Principal } from "#core/access/principal.ts";
import { equalInConstantTime, sha256 } from "#core/crypto.ts";
import { refuse } from "#core/problems.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import type { Presented } from "./presented.ts";
import type { ApiTokens } from "./tokens.ts";

/**
 * Gives the principal, or undefined when nothing is presented. Refuses `invalid_credentials` for a wrong name or password
 * and `invalid_token` for every bad token or bearer; a presented credential never falls through to a weaker one.
 */
export type Authenticate = (
  presented: Presented,
  ip: string,
  requestId: string,
) => Promise<Principal | undefined>;

/** Compares a password with a stored hash (argon2id); slow on purpose, off the main thread. */
export type PasswordCheck = (password: string, hash: string) => Promise<boolean>;

export interface AuthenticateDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly tokens: ApiTokens;
  readonly root: {
    readonly username: string;
    readonly passwordHash: string;
    readonly basicAllowed: boolean;
  };
  readonly checkPassword: PasswordCheck;
  readonly onLogin: (result: "success" | "error") => void;
}

/** Builds authentication from the root account and the token verifier. */
export function authenticator(deps: AuthenticateDeps): Authenticate {
  const basic = new RootBasic(deps);
  return async (presented, ip, requestId) => {
    switch (presented.kind) {
      case "none":
        return undefined;
      case "basic":
        return basic.login(presented.name, presented.password, ip, requestId);
      case "token":
        return deps.tokens.verify(presented.secret, ip);
      case "bearer":
        throw refuse("invalid_token");
      case "local":
        return localPrincipal(presented.user);
      case "malformed":
        throw refuse(presented.scheme === "basic" ? "invalid_credentials" : "invalid_token");
      default:
        return presented satisfies never;
    }
  };
}

/** The one account of a fresh instance. */
class RootBasic {
  /** SHA-256 of the last password that passed, so that argon2id runs once per password and not per request. */
  private passed: Uint8Array | undefined;
  private readonly failures = new Map<string, { at: number; count: number }>();

  constructor(private readonly deps: AuthenticateDeps) {}

  async login(name: string, password: string, ip: string, requestId: string): Promise<Principal> {
    const { root } = this.deps;
    // The password is checked whatever the name is, so that a wrong name takes as long as a wrong password.
    const right = password.length > 0 && (await this.check(password));
    const accepted = right && constantTimeEqual(name, root.username) && root.basicAllowed;
    this.deps.onLogin(accepted ? "success" : "error");
    if (accepted) return rootPrincipal(root.username);
    await this.recordFailure(name, ip, requestId);
    throw refuse("invalid_credentials");
  }

  private async check(password: string): Promise<boolean> {
    const presented = sha256(new TextEncoder().encode(password));
    if (this.passed !== undefined && equalInConstantTime(this.passed, presented)) return true;
    const right = await this.deps.checkPassword(password, this.deps.root.passwordHash);
    if (right) this.passed = presented;
    return right;
  }

  /** Repeats from one address fold into one event per minute, so that guessing cannot flood the chain. */
  private async recordFailure(name: string, ip: string, requestId: string): Promise<void> {
    const now = this.deps.clock.now();
    const recent = this.failures.get(ip);
    if (recent !== undefined && now - recent.at < 60_000) {
      recent.count += 1;
      return;
    }
    const count = recent === undefined ? undefined : recent.count;
    if (this.failures.size >= addressesMax) this.failures.clear();
    this.failures.set(ip, { at: now, count: 1 });
    await this.deps.store.atomically(async (tx) => {
      await tx.audit.appendEvent(
        {
          ...{ action: "auth.login_failed", result: "denied", actor: "anonymous" },
          ...{ targetName: printableName(name), ip, requestId },
          detail: { method: "password", reason: "invalid_credentials", channel: "basic", count },
        },
        now,
      );
    });
  }
}

function rootPrincipal(username: string): Principal {
  return {
    ...{ subject: "root", person: "root", name: username, isRoot: true, roles: ["admin"] },
    ...{ tenantRoles: {}, groups: [], mechanism: "basic" },
  };
}

/** All local callers together are one person (CLI-3). */
function localPrincipal(user: string): Principal {
  return {
    ...{ subject: `local:${user}`, person: "local", isRoot: false, roles: ["admin"] },
    ...{ tenantRoles: {}, groups: [], mechanism: "local" },
  };
}

/** A stranger wrote it: whole characters, and none that a database cannot hold. */
const printableName = (name: string) =>
  name.replaceAll("\0", "\ufffd").slice(0, 128).toWellFormed();

const constantTimeEqual = (a: string, b: string) =>
  equalInConstantTime(sha256(new TextEncoder().encode(a)), sha256(new TextEncoder().encode(b)));

/** How many addresses the failure fold remembers. */
const addressesMax = 10_000;
