/** Opens who comes in: the mechanisms that prove a principal, and the sessions of people. */

import type { Identity } from "#core/access/assignments.ts";
import { mappingsOf } from "#core/access/role-mappings.ts";
import { madeFrom } from "#core/in-force.ts";
import type { LoginMethod } from "#domain/actor.ts";
import type { Clock, Log, PathWork, Random } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import { assignmentsOf, configuredGrants } from "./assigned.ts";
import { type Attempts, type Authenticate, authenticator, mechanisms } from "./authenticate.ts";
import type { PasskeyChecks } from "./ceremonies.ts";
import { openClients, type ReadText } from "./clients.ts";
import { type Directory, DirectoryLogins } from "./directory.ts";
import { FailedLogins } from "./failed-logins.ts";
import { Granting } from "./granting.ts";
import type { GrantSource } from "./grants.ts";
import { knownPrincipals } from "./known.ts";
import { AttemptKeys } from "./login-attempt.ts";
import { Logins, type RoleRules } from "./logins.ts";
import type { OidcLogin } from "#domain/access/oidc/login.ts";
import { openProviders, type ProviderPorts } from "#domain/access/oidc/open.ts";
import { Passkeys } from "./passkeys.ts";
import { PasswordMemory } from "./password-memory.ts";
import { type PrincipalNow, principalNow } from "./principal-now.ts";
import type { Refusals } from "./refusals.ts";
import { type PasswordCheck, RootAccount } from "./root-account.ts";
import type { AccessSections, MtlsSection, ReloadableAccess, Vouching } from "./sections.ts";
import { Sessions } from "./sessions.ts";
import { type RequireStepUp, stepUpGate } from "./step-up.ts";
import { ApiTokens, type ApiTokenVerdict } from "./tokens.ts";
import { openTurns, type Waiting } from "./turns.ts";

export interface AccessPorts extends Pick<ProviderPorts, "provider" | "clientSecret"> {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly waiting: Waiting;
  readonly checkPassword: PasswordCheck;
  readonly rootPasswordHash: string;
  /** Undefined while `auth.webauthn` is off. */
  readonly passkeyChecks: PasskeyChecks | undefined;
  /** Undefined while no directory is asked. */
  readonly directory: Directory | undefined;
  readonly attempts: Attempts;
  readonly refusals: Refusals;
  /** Where the paths of client certificates are looked for. */
  readonly clientPaths: PathWork;
  readonly readText: ReadText;
  readonly told: AccessTold;
}

/** Told what happened; metrics are its only use. */
export interface AccessTold {
  readonly login: (method: LoginMethod | "mtls", result: "success" | "denied" | "error") => void;
  readonly logout: () => void;
  readonly apiToken: (verdict: ApiTokenVerdict) => void;
}

/** Everything between a credential and a principal. */
export interface Accessing {
  readonly authenticate: Authenticate;
  readonly apiTokens: ApiTokens;
  readonly sessions: Sessions;
  readonly logins: Logins;
  readonly failedLogins: FailedLogins;
  /** Undefined while `auth.webauthn` is off, and then nobody is asked for one. */
  readonly passkeys: Passkeys | undefined;
  readonly requireStepUp: RequireStepUp | undefined;
  /** Undefined while nobody can log in at a provider. */
  readonly oidcLogin: OidcLogin | undefined;
  /** Undefined while no directory is asked. */
  readonly directoryLogins: DirectoryLogins | undefined;
  /** What somebody who asked earlier may do by now. */
  readonly principalNow: PrincipalNow;
  readonly grants: GrantSource;
  readonly granting: Granting;
  /**
   * Reads the file another configuration names, which may throw; what it gives is called when that
   * one is in force, and gives its roles also to those who are logged in (RLD-4).
   */
  readonly prepare: (next: MtlsSection) => () => Promise<void>;
}

/** Opens it; `inForce` is asked anew for what a reload may replace. */
export function openAccess(
  config: AccessSections,
  inForce: () => ReloadableAccess,
  ports: AccessPorts,
): Accessing {
  const { store, clock, random, log, told } = ports;
  const { auth, tenants } = config;
  // 1. Roles and grants, as they are in force.
  const assignments = madeFrom(
    () => inForce().rbac,
    (rbac) => assignmentsOf({ rbac, tenants }),
  );
  const source = madeFrom(
    () => inForce().rbac,
    ({ grants }) => ({ grants: grants.flatMap(configuredGrants), since: clock.now() }),
  );
  const grants: GrantSource = { configured: source };
  source();
  // 2. Who is there without a provider.
  const failedLogins = new FailedLogins({ store, clock, windowsMax });
  const { max_lifetime_days: maxLifetimeDays } = auth.api_tokens;
  const apiTokens = new ApiTokens({
    store,
    clock,
    random,
    maxLifetimeDays,
    onVerified: told.apiToken,
  });
  const root = openRoot(config, ports);
  const ttlSeconds = auth.session.ttl_minutes * 60;
  const sessions = new Sessions({ clock, random, ttlSeconds, max: sessionsMax });
  // 3. People, and who vouches for them.
  const logins = new Logins({
    store,
    clock,
    root,
    sessions,
    failures: failedLogins,
    assignments,
    rules: rulesOf(auth),
    onLogin: told.login,
    onLogout: told.logout,
  });
  const providers = openProviders(config, ports, logins);
  const directoryLogins = openDirectoryLogins(auth.ldap, ports, logins);
  // 4. Machines by their certificates.
  const onLogin = (result: "success" | "denied" | "error") => told.login("mtls", result);
  const clients = openClients(auth.mtls, { ...ports, onLogin });
  // 5. The mechanisms, in their order.
  const inOrder = mechanisms({
    client: clients.check,
    root,
    failures: failedLogins,
    apiTokens,
    sessions,
    bearer: providers.bearer,
    directory: directoryLogins?.principal,
    attempts: ports.attempts,
    rootBasicAllowed: config.policy.allow_root_basic_auth,
    onBasic: (result) => told.login("password", result),
  });
  const known = knownPrincipals(apiTokens, assignments);
  return {
    authenticate: authenticator(inOrder),
    apiTokens,
    sessions,
    logins,
    failedLogins,
    ...openPasskeys(auth.webauthn, ports, sessions),
    oidcLogin: providers.login,
    directoryLogins,
    principalNow: principalNow({
      apiTokens,
      root,
      logins,
      vouching: (identity) => vouching(config, identity),
      client: clients.again,
    }),
    grants,
    granting: new Granting({ store, clock, random, source: grants, known }),
    prepare: (next) => {
      const admit = clients.prepare(next);
      return async () => {
        source();
        admit();
        const ended = await logins.resolveAgain();
        if (ended.length > 0) log.write("info", "sessions_left_without_role", { digests: ended });
      };
    },
  };
}

const openRoot = (
  { root_user }: AccessSections,
  { rootPasswordHash, checkPassword, random, waiting }: AccessPorts,
): RootAccount =>
  new RootAccount({
    username: root_user.username,
    passwordHash: rootPasswordHash,
    checkPassword,
    turns: openTurns(waiting, { atOnce: 2, atOncePerAddress: 2, atOnceStrangers: 2 }),
    attempts: new AttemptKeys(random),
    memory: new PasswordMemory(waiting),
  });

const rulesOf = ({ oidc, ldap }: AccessSections["auth"]) => ({
  ...(oidc.enabled ? { oidc: roleRules(oidc) } : {}),
  ...(ldap.enabled ? { ldap: roleRules(ldap) } : {}),
});

const roleRules = (block: Vouching): RoleRules => ({
  mappings: mappingsOf(block.role_mappings, block.groups_claim),
  allowZeroRole: block.allow_zero_role,
});

/**
 * Whose mappings count for an identity; undefined where the configuration asks nobody who could
 * have vouched for it.
 */
function vouching({ auth, oidc }: AccessSections, { voucher, issuer }: Identity) {
  if (voucher === "ldap") return auth.ldap.enabled ? ({ method: "ldap" } as const) : undefined;
  if (auth.oidc.enabled && issuer === auth.oidc.issuer_url) return { method: "oidc" } as const;
  return issuer === oidc.issuer_url ? { method: undefined } : undefined;
}

/** People of the directory; nobody is asked anything before somebody comes. */
function openDirectoryLogins(
  { allow_zero_role: allowZeroRole }: Vouching,
  { directory, attempts, log, random, waiting, told }: AccessPorts,
  logins: Logins,
): DirectoryLogins | undefined {
  if (directory === undefined) return undefined;
  return new DirectoryLogins({
    directory,
    logins,
    attempts,
    allowZeroRole,
    log,
    turns: openTurns(waiting, { atOnce: 64, atOncePerAddress: 8, atOnceStrangers: 48 }),
    keys: new AttemptKeys(random),
    onBasic: () => told.login("ldap", "success"),
  });
}

/** Passkeys, and the gate that asks for them. */
function openPasskeys(
  webauthn: AccessSections["auth"]["webauthn"],
  { store, clock, random, refusals, passkeyChecks: checks }: AccessPorts,
  sessions: Sessions,
) {
  if (!webauthn.enabled || checks === undefined) {
    return { passkeys: undefined, requireStepUp: undefined };
  }
  const requireStepUp = stepUpGate({ clock, store }, webauthn.step_up_operations);
  const stepUpSeconds = webauthn.step_up_ttl_minutes * 60;
  const common = { store, clock, random, sessions, refusals };
  const passkeys = new Passkeys({ ...common, requireStepUp, checks, stepUpSeconds });
  return { passkeys, requireStepUp };
}

/** More people than any one process serves. */
const sessionsMax = 10_000;
/** Addresses with failed logins within a minute: each is two permanent events. */
const windowsMax = 500;
