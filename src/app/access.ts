/**
 * Who comes in: the mechanisms that prove a principal, and the sessions of people, put together
 * from the settings.
 */

import type { Passwords } from "#adapters/passwords.ts";
import type { Metrics } from "#adapters/telemetry/families.ts";
import { systemLater, systemStopwatch } from "#adapters/system.ts";
import { passkeyAlgorithms, WebAuthn } from "#adapters/webauthn.ts";
import type { LoginConfig } from "#api/logins.ts";
import type { PasskeyFeature } from "#api/passkeys.ts";
import type { SecretSources } from "#adapters/secrets/sources.ts";
import type { Config } from "#config/schema.ts";
import type { Identity } from "#core/access/assignments.ts";
import { mappingsOf } from "#config/sections/access.ts";
import {
  type Attempts,
  type Authenticate,
  authenticator,
  mechanisms,
} from "#domain/access/authenticate.ts";
import type { DirectoryLogins } from "#domain/access/directory.ts";
import { FailedLogins } from "#domain/access/failed-logins.ts";
import type { Refusals } from "#domain/access/refusals.ts";
import { type LoginDeps, Logins, type RoleRules } from "#domain/access/logins.ts";
import type { OidcLogin } from "#domain/access/oidc/login.ts";
import { Passkeys } from "#domain/access/passkeys.ts";
import { type PrincipalNow, principalNow } from "#domain/access/principal-now.ts";
import { AttemptKeys } from "#domain/access/login-attempt.ts";
import { PasswordMemory } from "#domain/access/password-memory.ts";
import { RootAccount } from "#domain/access/root-account.ts";
import { Sessions } from "#domain/access/sessions.ts";
import { type RequireStepUp, stepUpGate } from "#domain/access/step-up.ts";
import { ApiTokens } from "#domain/access/tokens.ts";
import type { Clock, Log, PathWork, Random } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import { Cookies } from "#http/cookies.ts";
import { assignmentsOf } from "./access-settings.ts";
import { openClients } from "./client-trust.ts";
import { openDirectory } from "./directory.ts";
import { openProviders } from "./providers.ts";
import { openTurns } from "./turns.ts";

export interface Access {
  readonly authenticate: Authenticate;
  readonly apiTokens: ApiTokens;
  readonly sessions: Sessions;
  readonly logins: Logins;
  readonly failedLogins: FailedLogins;
  readonly cookies: Cookies;
  readonly loginConfig: LoginConfig;
  /** Undefined while `auth.webauthn` is off, and then nobody is asked for one. */
  readonly passkeys: PasskeyFeature | undefined;
  readonly requireStepUp: RequireStepUp | undefined;
  /** Undefined while nobody can log in at a provider. */
  readonly oidcLogin: OidcLogin | undefined;
  /** Undefined while no directory is asked. */
  readonly directoryLogins: DirectoryLogins | undefined;
  /** What somebody who asked earlier may do by now. */
  readonly principalNow: PrincipalNow;
  /**
   * Reads what another configuration names, which may throw; what it gives puts `rbac` and the
   * client certificates into force, also for those who are logged in (RLD-4).
   */
  readonly prepare: (config: Config) => () => Promise<void>;
}

export interface AccessDeps {
  readonly config: Config;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly passwords: Passwords;
  readonly secrets: SecretSources;
  readonly rootPasswordHash: string;
  readonly attempts: Attempts;
  readonly refusals: Refusals;
  /** Where the paths of client certificates are looked for. */
  readonly clientPaths: PathWork;
}

/** Builds everything between a credential and a principal. */
export function openAccess(deps: AccessDeps): Access {
  const { config, store, clock, log, metrics, refusals } = deps;
  const apiTokens = openApiTokens(deps);
  const root = rootAccount(deps);
  const sessions = openSessions(deps);
  const { cookie_name, insecure } = config.auth.session;
  const failedLogins = new FailedLogins({ store, clock, windowsMax });
  let inForce = assignmentsOf(config);
  const logins = new Logins({
    store,
    clock,
    root,
    sessions,
    failures: failedLogins,
    assignments: () => inForce,
    rules: loginRules(config),
    ...loginCounters(metrics),
  });
  const providers = openProviders(deps, logins);
  const directory = openDirectory(deps, logins);
  const clients = openClients(deps);
  const inOrder = mechanisms({
    client: clients.check,
    root,
    failures: failedLogins,
    apiTokens,
    sessions,
    bearer: providers.bearer,
    directory: directory?.principal,
    attempts: deps.attempts,
    rootBasicAllowed: config.policy.allow_root_basic_auth,
    onBasic: (result) => metrics.count("pki_auth_logins_total", { method: "password", result }),
  });
  return {
    authenticate: authenticator(inOrder),
    apiTokens,
    sessions,
    logins,
    failedLogins,
    ...openPasskeys(deps, sessions, refusals),
    cookies: new Cookies({ name: cookie_name, insecure }),
    loginConfig: loginConfigOf(config),
    oidcLogin: providers.login,
    directoryLogins: directory,
    principalNow: principalNow({ apiTokens, root, logins, ...evidenceOf(config, clients) }),
    prepare: (next) => {
      // The file is read before anything changes, so that a reload changes all or nothing.
      const admit = clients.prepare(next);
      return async () => {
        inForce = assignmentsOf(next);
        admit();
        const ended = await logins.resolveAgain();
        if (ended.length > 0) log.write("info", "sessions_left_without_role", { digests: ended });
      };
    },
  };
}

function openSessions({ config, clock, random, metrics }: AccessDeps): Sessions {
  const ttlSeconds = config.auth.session.ttl_minutes * 60;
  const sessions = new Sessions({ clock, random, ttlSeconds, max: sessionsMax });
  metrics.beforeScrape(() => metrics.set("pki_auth_sessions_active", {}, sessions.active));
  return sessions;
}

const loginCounters = (metrics: Metrics): Pick<LoginDeps, "onLogin" | "onLogout"> => ({
  onLogin: (method, result) => metrics.count("pki_auth_logins_total", { method, result }),
  onLogout: () => metrics.count("pki_auth_logouts_total", {}),
});

const openApiTokens = ({ config, store, clock, random, metrics }: AccessDeps): ApiTokens =>
  new ApiTokens({
    store,
    clock,
    random,
    maxLifetimeDays: config.auth.api_tokens.max_lifetime_days,
    onVerified: (result) => metrics.count("pki_auth_token_verifications_total", { result }),
  });

const loginRules = ({ auth: { oidc, ldap } }: Config) => ({
  ...(oidc.enabled ? { oidc: rulesOf(oidc) } : {}),
  ...(ldap.enabled ? { ldap: rulesOf(ldap) } : {}),
});

const evidenceOf = (config: Config, { again }: ReturnType<typeof openClients>) => ({
  vouching: (identity: Identity) => vouching(config, identity),
  client: again,
});

/**
 * Whose mappings count for an identity; undefined where the configuration asks nobody who could
 * have vouched for it.
 */
function vouching({ auth, oidc }: Config, { voucher, issuer }: Identity) {
  if (voucher === "ldap") return auth.ldap.enabled ? ({ method: "ldap" } as const) : undefined;
  if (auth.oidc.enabled && issuer === auth.oidc.issuer_url) return { method: "oidc" } as const;
  return issuer === oidc.issuer_url ? { method: undefined } : undefined;
}

const rootAccount = ({ config, random, rootPasswordHash, passwords }: AccessDeps): RootAccount =>
  new RootAccount({
    username: config.root_user.username,
    passwordHash: rootPasswordHash,
    checkPassword: (password, hash) => passwords.check(password, hash),
    turns: openTurns({ atOnce: 2, atOncePerAddress: 2, atOnceStrangers: 2 }),
    attempts: new AttemptKeys(random),
    memory: new PasswordMemory({ elapsedMs: systemStopwatch.elapsedMs, later: systemLater }),
  });

/** Passkeys, and the gate that asks for them. */
function openPasskeys(deps: AccessDeps, sessions: Sessions, refusals: Refusals) {
  const { enabled, rp_id, ...settings } = deps.config.auth.webauthn;
  // V-8 has made sure that an enabled block has it.
  if (!enabled || rp_id === undefined) return { passkeys: undefined, requireStepUp: undefined };
  const { store, clock, random } = deps;
  const requireStepUp = stepUpGate({ clock, store }, settings.step_up_operations);
  const { origins, user_verification: userVerification } = settings;
  const service = new Passkeys({
    store,
    clock,
    random,
    sessions,
    requireStepUp,
    refusals,
    checks: new WebAuthn({ rpId: rp_id, origins, userVerification }),
    stepUpSeconds: settings.step_up_ttl_minutes * 60,
  });
  const shown = { rpId: rp_id, rpName: settings.rp_name, userVerification };
  return { passkeys: { service, ...shown, algorithms: passkeyAlgorithms }, requireStepUp };
}

/**
 * More people than any one process serves, and more guessing addresses than are worth telling
 * apart.
 */
const sessionsMax = 10_000;
const windowsMax = 10_000;

const rulesOf = (block: Config["auth"]["oidc"] | Config["auth"]["ldap"]): RoleRules => ({
  mappings: mappingsOf(block.role_mappings, block.groups_claim),
  allowZeroRole: block.allow_zero_role,
});

function loginConfigOf({ oidc, auth }: Config): LoginConfig {
  const login = auth.oidc.enabled;
  const { issuer_url, client_id } = login ? auth.oidc : oidc;
  return {
    oidc_enabled: oidc.issuer_url !== undefined,
    oidc_login_enabled: login,
    password_login: true,
    ldap_login: auth.ldap.enabled,
    webauthn_enabled: auth.webauthn.enabled,
    ...(issuer_url === undefined ? {} : { issuer_url }),
    ...(client_id === undefined ? {} : { client_id }),
  };
}
