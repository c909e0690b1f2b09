/** Turns what a request presents into a principal, by the mechanisms of AUTH-1 in their order. */

import { localPerson } from "#core/access/person.ts";
import type { Principal } from "#core/access/principal.ts";
import { refuse } from "#core/problems.ts";
import type { Instant } from "#core/time.ts";
import type { ClientCheck } from "./client-certificates.ts";
import type { FailedLogins } from "./failed-logins.ts";
import type { Presented } from "./presented.ts";
import type { RootAccount } from "./root-account.ts";
import type { Session } from "#domain/actor.ts";
import type { Sessions } from "./sessions.ts";
import type { ApiTokens } from "./tokens.ts";

/** Where a request comes from. */
export interface Whence {
  readonly ip: string;
  readonly requestId: string;
  /** For what is never held up by what others have failed at: to revoke (REV-3). */
  readonly exempt?: boolean;
}

/** Counts an attempt by the tiers of configuration, unless it is for what they do not hold up. */
export const counted = (attempts: Attempts, { ip, exempt }: Whence): (() => void) =>
  exempt === true ? () => {} : attempts.attempt(ip);

export interface Authenticated {
  readonly principal: Principal;
  /** The session behind the principal, when a cookie proved it. */
  readonly session?: Session;
  /** When what was presented runs out, where it says so itself. */
  readonly until?: Instant;
}

/**
 * Gives who is asking, or undefined when nothing that was presented says so. Refuses what a
 * mechanism refuses.
 */
export type Authenticate = (
  presented: Presented,
  whence: Whence,
) => Promise<Authenticated | undefined>;

/**
 * One way of proving who one is. Undefined lets the next one try: nothing was presented for it, or
 * what was may fall through. A refusal is final, so that a bad credential never falls through to a
 * weaker one.
 */
export type Mechanism = Authenticate;

/**
 * Who a bearer token of an identity provider stands for; refuses `invalid_token` and
 * `oidc_unavailable`.
 */
export type BearerCheck = (token: string) => Promise<Authenticated>;

/**
 * Who a name and password of the directory stand for; refuses `invalid_credentials`, `no_access`
 * and `rate_limited`.
 */
export type DirectoryCheck = (name: string, password: string, whence: Whence) => Promise<Principal>;

/** Slows down who guesses passwords. */
export interface Attempts {
  /**
   * Counts an attempt from this address, or refuses `rate_limited` when it has failed too often.
   * What it gives takes the attempt back, for one that was no wrong guess: counted first, many
   * guesses at once are many.
   */
  attempt(ip: string): () => void;
}

export interface MechanismDeps {
  readonly root: RootAccount;
  /** `policy.allow_root_basic_auth`. */
  readonly rootBasicAllowed: boolean;
  readonly failures: FailedLogins;
  readonly attempts: Attempts;
  readonly apiTokens: Pick<ApiTokens, "verify">;
  /** Undefined without a provider: then every bearer is refused. */
  readonly bearer: BearerCheck | undefined;
  readonly sessions: Pick<Sessions, "find">;
  /** Asked about every name but root's; undefined while no directory is. */
  readonly directory: DirectoryCheck | undefined;
  /** Undefined while client certificates prove nothing. */
  readonly client: ClientCheck | undefined;
  /** Told every Basic attempt as root; metrics are its only use. */
  readonly onBasic: (result: "success" | "denied") => void;
}

/**
 * THE ORDER. A credential of the first three is final; a cookie that is unknown or expired, and a
 * certificate that binds nobody, are as good as none.
 */
export const mechanisms = (deps: MechanismDeps): readonly Mechanism[] => [
  basic(deps),
  apiToken(deps),
  bearerToken(deps),
  sessionCookie(deps),
  clientCertificate(deps),
  localSocket,
];

/** Tries the mechanisms in order. */
export function authenticator(inOrder: readonly Mechanism[]): Authenticate {
  return async (presented, whence) => {
    for (const mechanism of inOrder) {
      const found = await mechanism(presented, whence);
      if (found !== undefined) return found;
    }
    return undefined;
  };
}

function basic(deps: MechanismDeps): Mechanism {
  const { root, rootBasicAllowed, failures, attempts, directory, onBasic } = deps;
  return async ({ authorization }, whence) => {
    if (authorization?.kind === "malformed" && authorization.scheme === "basic") {
      throw refuse("invalid_credentials");
    }
    if (authorization?.kind !== "basic") return undefined;
    const { name, password } = authorization;
    // Root's name never leaves: not with the right password, and not while Basic is off for root.
    if (directory !== undefined && !root.goesBy(name)) {
      return { principal: await directory(name, password, whence) };
    }
    const takeBack = counted(attempts, whence);
    // Checked also where it cannot count, so that the setting shows in no answer and in no time.
    const right = await root.verify(name, password, whence).catch((error: unknown) => {
      takeBack(); // Nobody looked at it.
      throw error;
    });
    const accepted = right && rootBasicAllowed;
    onBasic(accepted ? "success" : "denied");
    if (accepted) {
      takeBack();
      return { principal: root.principal("basic") };
    }
    const failure = {
      method: "password",
      reason: "invalid_credentials",
      channel: "basic",
    } as const;
    const { ip, requestId } = whence;
    await failures.record({ ...failure, loginName: name, ip, requestId });
    throw refuse("invalid_credentials");
  };
}

function apiToken({ apiTokens }: MechanismDeps): Mechanism {
  return async ({ authorization }, { ip }) => {
    if (authorization?.kind !== "token") return undefined;
    return { principal: await apiTokens.verify(authorization.secret, ip) };
  };
}

function bearerToken({ bearer }: MechanismDeps): Mechanism {
  return async ({ authorization }) => {
    if (authorization?.kind === "malformed") throw refuse("invalid_token");
    if (authorization?.kind !== "bearer") return undefined;
    if (bearer === undefined) throw refuse("invalid_token");
    return await bearer(authorization.token);
  };
}

function sessionCookie({ sessions }: MechanismDeps): Mechanism {
  return async ({ cookie }) => {
    const session = cookie === undefined ? undefined : sessions.find(cookie);
    return session && { principal: session.principal, session };
  };
}

/** One that binds nobody is as good as none. */
function clientCertificate({ client }: MechanismDeps): Mechanism {
  return async ({ certificate }, whence) => {
    if (client === undefined || certificate === undefined) return undefined;
    const principal = await client(certificate, whence);
    return principal && { principal };
  };
}

const localSocket: Mechanism = async ({ localUser }) =>
  localUser === undefined ? undefined : { principal: localPrincipal(localUser) };

/**
 * A caller of the admin socket, by the name of its user; all of them together are one person
 * (CLI-3).
 */
export const localPrincipal = (user: string): Principal => ({
  subject: `local:${user}`,
  person: localPerson,
  isRoot: false,
  roles: ["admin"],
  tenantRoles: {},
  groups: [],
  mechanism: "local",
});
