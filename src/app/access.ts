/** Who comes in, over the adapters that know: passwords, passkeys, directory, providers. */

import { readFileSync } from "node:fs";

import { openDirectory } from "#adapters/directory/open.ts";
import { providerClient } from "#adapters/network/oidc.ts";
import { extraTrust } from "#adapters/network/outbound.ts";
import type { Passwords } from "#adapters/passwords.ts";
import { systemLater, systemStopwatch } from "#adapters/system.ts";
import type { Metrics } from "#adapters/telemetry/families.ts";
import { openWebAuthn } from "#adapters/webauthn.ts";
import type { LoginConfig } from "#api/logins.ts";
import type { PasskeyFeature } from "#api/passkeys.ts";
import type { Config } from "#config/schema.ts";
import { type Secrets, SecretUnavailable } from "#config/secret.ts";
import { type Accessing, type AccessPorts, openAccess } from "#domain/access/open.ts";
import { ProviderFault } from "#domain/access/oidc/metadata.ts";
import { Cookies } from "#http/cookies.ts";

/** Everything between a request and a principal. */
export interface Access extends Omit<Accessing, "passkeys" | "prepare"> {
  readonly passkeys: PasskeyFeature | undefined;
  readonly cookies: Cookies;
  readonly loginConfig: LoginConfig;
  /** As `Accessing.prepare`, of a whole configuration. */
  readonly prepare: (next: Config) => () => Promise<void>;
}

type Given = Pick<
  AccessPorts,
  | "store"
  | "clock"
  | "random"
  | "log"
  | "rootPasswordHash"
  | "attempts"
  | "refusals"
  | "clientPaths"
>;

export interface AccessDeps extends Given {
  readonly config: Config;
  readonly inForce: () => Config;
  readonly metrics: Metrics;
  readonly passwords: Passwords;
  readonly secrets: Secrets;
}

/** Opens it; nobody is asked anything before somebody comes. */
export function openCallers({ config, inForce, ...deps }: AccessDeps): Access {
  const { metrics, passwords, secrets, log } = deps;
  const { auth } = config;
  const webAuthn = openWebAuthn(auth.webauthn);
  const told = toldTo(metrics);
  const { passkeys, prepare, ...access } = openAccess(config, inForce, {
    ...deps,
    told,
    waiting: {
      elapsedMs: systemStopwatch.elapsedMs,
      later: systemLater,
      sleep: (milliseconds) => Bun.sleep(milliseconds),
    },
    checkPassword: (password, hash) => passwords.check(password, hash),
    passkeyChecks: webAuthn?.checks,
    directory: openDirectory(auth.ldap, secrets, (why) =>
      log.write("info", "ldap_login_refused", { why }),
    ),
    provider: providerClient(extraTrust(config.outbound)),
    clientSecret: () => clientSecret(config, secrets),
    readText: (path) => readFileSync(path, "utf8"),
  });
  metrics.beforeScrape(() => metrics.set("pki_auth_sessions_active", {}, access.sessions.active));
  return {
    ...access,
    passkeys: webAuthn && passkeys && { ...webAuthn.shown, service: passkeys },
    cookies: new Cookies(auth.session),
    loginConfig: loginConfigOf(config),
    prepare: (next) => prepare(next.auth.mtls),
  };
}

const toldTo = (metrics: Metrics): AccessPorts["told"] => ({
  login: (method, result) => metrics.count("pki_auth_logins_total", { method, result }),
  logout: () => metrics.count("pki_auth_logouts_total", {}),
  apiToken: (result) => metrics.count("pki_auth_token_verifications_total", { result }),
});

/**
 * A secret that cannot be had is a fault of the provider's side as far as whoever logs in is
 * concerned.
 */
async function clientSecret({ auth }: Config, secrets: Secrets): Promise<string | undefined> {
  try {
    return await secrets.recent("auth.oidc.client_secret", auth.oidc.client_secret);
  } catch (error) {
    if (error instanceof SecretUnavailable) throw new ProviderFault(error.message);
    throw error;
  }
}

/** What the page of logins is told: which ways there are. */
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
