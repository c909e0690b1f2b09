/** Who comes in: the mechanisms that prove a principal, and the sessions of people, put together from the settings. */

import type { Passwords } from "#adapters/passwords.ts";
import type { Metrics } from "#adapters/telemetry/families.ts";
import type { LoginConfig } from "#api/logins.ts";
import type { Config } from "#config/schema.ts";
import {
  type Attempts,
  type Authenticate,
  authenticator,
  mechanisms,
} from "#domain/access/authenticate.ts";
import { FailedLogins } from "#domain/access/failed-logins.ts";
import { Logins } from "#domain/access/logins.ts";
import { RootAccount } from "#domain/access/root-account.ts";
import { Sessions } from "#domain/access/sessions.ts";
import { ApiTokens } from "#domain/access/tokens.ts";
import type { Clock, Random } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import { Cookies } from "#http/cookies.ts";

export interface Access {
  readonly authenticate: Authenticate;
  readonly tokens: ApiTokens;
  readonly sessions: Sessions;
  readonly logins: Logins;
  readonly failedLogins: FailedLogins;
  readonly cookies: Cookies;
  readonly loginConfig: LoginConfig;
}

export interface AccessGround {
  readonly config: Config;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics;
  readonly passwords: Passwords;
  readonly rootPasswordHash: string;
  readonly attempts: Attempts;
}

/** Builds everything between a credential and a principal. */
export function openAccess(ground: AccessGround): Access {
  const { config, store, clock, random, metrics, passwords } = ground;
  const { session, api_tokens } = config.auth;
  const tokens = new ApiTokens({
    ...{ store, clock, random, maxLifetimeDays: api_tokens.max_lifetime_days },
    onVerified: (result) => metrics.count("pki_auth_token_verifications_total", { result }),
  });
  const root = new RootAccount({
    ...{ random, username: config.root_user.username, passwordHash: ground.rootPasswordHash },
    checkPassword: (password, hash) => passwords.check(password, hash),
  });
  const sessions = new Sessions({ clock, random, ttlSeconds: session.ttl_minutes * 60 });
  metrics.beforeScrape(() => metrics.set("pki_auth_sessions_active", {}, sessions.active));
  const failedLogins = new FailedLogins({ store, clock });
  const logins = new Logins({
    ...{ store, clock, root, sessions, failures: failedLogins },
    assignments: () => ({ subjects: {}, groups: {} }),
    rules: {},
    onLogin: (method, result) => metrics.count("pki_auth_logins_total", { method, result }),
    onLogout: () => metrics.count("pki_auth_logouts_total", {}),
  });
  const inOrder = mechanisms({
    ...{ root, failures: failedLogins, tokens, sessions, bearer: undefined },
    attempts: ground.attempts,
    rootBasicAllowed: config.policy.allow_root_basic_auth,
    onBasic: (result) => metrics.count("pki_auth_logins_total", { method: "password", result }),
  });
  return {
    ...{ authenticate: authenticator(inOrder), tokens, sessions, logins, failedLogins },
    cookies: new Cookies({ name: session.cookie_name, insecure: session.insecure }),
    loginConfig: loginConfigOf(),
  };
}

const loginConfigOf = (): LoginConfig => ({
  ...{ oidc_enabled: false, oidc_login_enabled: false, password_login: true },
  ...{ ldap_login: false, webauthn_enabled: false },
});
