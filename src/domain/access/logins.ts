/**
 * People logging in and out: every login that works opens a session and is an event, and so is
 * every one that does not.
 */

import {
  type Assignments,
  type RoleSet,
  type Identity,
  type RoleMapping,
  roleless,
  rolesOf,
} from "#core/access/assignments.ts";
import { canonicalAddress, type Person } from "#core/access/person.ts";
import { effectiveRoles, type Principal } from "#core/access/principal.ts";
import type { Role } from "#core/access/roles.ts";
import { refuse } from "#core/problems.ts";
import type { Clock } from "#domain/ports.ts";
import { PostponableEvents } from "#domain/rollback.ts";
import type { Store } from "#domain/store.ts";
import type { Whence } from "./authenticate.ts";
import type { Origin } from "#domain/actor.ts";
import { type FailedLogin, type FailedLogins, printableName } from "./failed-logins.ts";
import type { RootAccount } from "./root-account.ts";
import type { LoginMethod, Session } from "#domain/actor.ts";
import type { NewSession, Sessions } from "./sessions.ts";

/** A mapping as configured: its tenant by id or slug. */
export interface MappingSetting {
  readonly claim: string;
  readonly value: string;
  readonly tenant: string | undefined;
  readonly roles: readonly Role[];
}

/** What a provider or directory adds to `rbac` for those it vouches for. */
export interface RoleRules {
  readonly mappings: readonly MappingSetting[];
  /** Lets in whoever has no role at all. */
  readonly allowZeroRole: boolean;
}

/** Where a login comes from, and with which browser. */
export interface Visitor extends Whence {
  readonly userAgent: string;
}

/** A session just opened; `id` goes into the cookie and nowhere else. */
export interface Opened {
  readonly id: string;
  readonly session: Session;
}

export interface LoginDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly root: RootAccount;
  readonly sessions: Sessions;
  readonly failures: FailedLogins;
  /** `rbac` as it is in force now. */
  readonly assignments: () => Assignments;
  /** The rules of each way to log in that is switched on. */
  readonly rules: Readonly<Partial<Record<LoginMethod, RoleRules>>>;
  readonly onLogin: (method: LoginMethod, result: "success" | "denied" | "error") => void;
  readonly onLogout: () => void;
}

/** The service. */
export class Logins {
  readonly #deps: LoginDeps;
  readonly #events: PostponableEvents;

  constructor(deps: LoginDeps) {
    this.#deps = deps;
    this.#events = new PostponableEvents(deps.store);
  }

  /**
   * Root's password in exchange for a session; refuses `invalid_credentials`, whatever is wrong.
   */
  async password(name: string, password: string, visitor: Visitor): Promise<Opened> {
    const { root } = this.#deps;
    if (!(await root.verify(name, password, visitor))) {
      const failure = { method: "password", reason: "invalid_credentials" } as const;
      await this.failed({ ...failure, loginName: name, ...whenceOf(visitor) }, "denied");
      throw refuse("invalid_credentials");
    }
    const principal = root.principal("session");
    return this.#open({
      method: "password",
      principal,
      identity: undefined,
      loginName: name,
      ip: visitor.ip,
      userAgent: visitor.userAgent,
      requestId: visitor.requestId,
    });
  }

  /**
   * A session for somebody a provider or directory vouches for; refuses `no_access` to whoever has
   * no role.
   */
  async vouched(method: "oidc" | "ldap", identity: Identity, visitor: Visitor): Promise<Opened> {
    const principal = await this.principalOf(method, identity, "session");
    if (roleless(principal) && !this.#deps.rules[method]?.allowZeroRole) {
      const { loginName } = identity;
      await this.failed({ method, reason: "no_access", loginName, ...whenceOf(visitor) }, "denied");
      throw refuse("no_access");
    }
    return this.#open({
      method,
      principal,
      identity,
      loginName: identity.loginName,
      ip: visitor.ip,
      userAgent: visitor.userAgent,
      requestId: visitor.requestId,
    });
  }

  /** Counts and records a login that was refused (`denied`) or could not be decided (`error`). */
  async failed(failure: FailedLogin, result: "denied" | "error"): Promise<void> {
    this.#deps.onLogin(failure.method, result);
    await this.#deps.failures.record(failure);
  }

  /**
   * Who an identity is here, with the roles it has now: those of `rbac`, and of the mappings of
   * `method` when given.
   */
  async principalOf(
    method: LoginMethod | undefined,
    identity: Identity,
    mechanism: Principal["mechanism"],
  ): Promise<Principal> {
    const { subject, name, email, emailVerified, groups } = identity;
    return {
      subject,
      person: personOf(identity),
      isRoot: false,
      ...(name === undefined ? {} : { name }),
      ...(email === undefined ? {} : { email, emailVerified }),
      ...(await this.#roles(identity, this.#mappings(method))),
      groups,
      mechanism,
      evidence: { kind: "identity", identity },
    };
  }

  /** The owner ends a session. */
  async logout(session: Session, whence: Whence): Promise<void> {
    await this.#end(session, "self", session.principal, whence);
  }

  /** An admin ends a session by its digest; refuses `not_found`. */
  async end(digest: string, { principal, ip, requestId }: Origin): Promise<void> {
    const session = this.#deps.sessions.byDigest(digest);
    if (session === undefined) throw refuse("not_found");
    await this.#end(session, "admin", principal, { ip, requestId });
  }

  /**
   * Gives every session the roles its owner has now (RLD-4); gives the digests of those left
   * without any.
   */
  resolveAgain(): Promise<readonly string[]> {
    return this.#deps.sessions.resolveAgain(({ method }, identity) =>
      this.principalOf(method, identity, "session"),
    );
  }

  async #open(login: NewSession & { readonly requestId: string }): Promise<Opened> {
    const { clock, sessions, onLogin } = this.#deps;
    const { requestId, ...wanted } = login;
    const opened = sessions.open(wanted);
    const { principal, digest, method, ip } = opened.session;
    const now = clock.now();
    try {
      await this.#events.append(
        {
          action: "auth.login",
          result: "success",
          actor: principal.subject,
          actorName: principal.name,
          actorRoles: effectiveRoles(principal, undefined),
          target: digest,
          targetName: printableName(login.loginName) || undefined,
          detail: { method },
          ip,
          requestId,
        },
        now,
      );
    } catch (error) {
      sessions.end(digest); // A login that could not be written down did not happen.
      onLogin(method, "error");
      throw error;
    }
    onLogin(method, "success");
    return opened;
  }

  async #end(
    session: Session,
    endedBy: "self" | "admin",
    actor: Principal,
    { ip, requestId }: Whence,
  ): Promise<void> {
    const { clock, sessions, onLogout } = this.#deps;
    const now = clock.now();
    // Ended first: if it cannot be written down, the session is gone all the same.
    if (sessions.end(session.digest) === undefined) return;
    onLogout();
    await this.#events.append(
      {
        action: "auth.logout",
        result: "success",
        actor: actor.subject,
        actorName: actor.name,
        actorRoles: effectiveRoles(actor, undefined),
        target: session.digest,
        targetName: printableName(session.loginName) || undefined,
        detail: { ended_by: endedBy },
        ip,
        requestId,
      },
      now,
    );
  }

  #mappings(method: LoginMethod | undefined): readonly MappingSetting[] {
    return (method && this.#deps.rules[method]?.mappings) ?? [];
  }

  /** A mapping to a tenant that does not exist gives nothing. */
  async #roles(identity: Identity, settings: readonly MappingSetting[]): Promise<RoleSet> {
    const mappings: RoleMapping[] = [];
    for (const { tenant: reference, ...setting } of settings) {
      const tenant =
        reference === undefined ? undefined : await this.#deps.store.read.tenants.named(reference);
      if (reference === undefined || tenant !== undefined) {
        mappings.push({ ...setting, tenant: tenant?.id });
      }
    }
    return rolesOf(identity, this.#deps.assignments(), mappings);
  }
}

const personOf = ({ subject, voucher, issuer, email, emailVerified }: Identity): Person => ({
  subject,
  voucher,
  issuer,
  address: emailVerified && email !== undefined ? canonicalAddress(email) : "",
});

const whenceOf = ({ ip, requestId }: Whence): Whence => ({ ip, requestId });
