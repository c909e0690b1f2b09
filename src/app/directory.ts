/** The directory of one instance, from its settings. */

import { readFileSync } from "node:fs";

import { ldapDirectory, type Told } from "#adapters/directory/directory.ts";
import type {
  DirectoryServer,
  DirectorySettings,
  PersonLookup,
} from "#adapters/directory/settings.ts";
import type { SecretSources } from "#adapters/secrets/sources.ts";
import { SecretUnavailable } from "#config/secret.ts";
import type { Metrics } from "#adapters/telemetry/families.ts";
import type { Config } from "#config/schema.ts";
import { mappingsOf } from "#config/sections/access.ts";
import { attributeNamed, type EntryNames, namesEntry } from "#core/access/directory-entry.ts";
import type { Attempts } from "#domain/access/authenticate.ts";
import { DirectoryFault, DirectoryLogins } from "#domain/access/directory.ts";
import { AttemptKeys } from "#domain/access/login-attempt.ts";
import type { Logins } from "#domain/access/logins.ts";
import type { Log, Random } from "#domain/ports.ts";
import { openTurns } from "./turns.ts";

export interface DirectoryDeps {
  readonly config: Config;
  readonly log: Log;
  readonly random: Pick<Random, "bytes">;
  readonly attempts: Attempts;
  readonly secrets: SecretSources;
  readonly metrics: Metrics;
}

/** Undefined while no directory is asked; it is asked nothing before somebody comes. */
export function openDirectory(
  { config, secrets, log, random, attempts, metrics }: DirectoryDeps,
  logins: Logins,
): DirectoryLogins | undefined {
  const settings = directorySettings(config, secrets);
  if (settings === undefined) return undefined;
  const allowZeroRole = config.auth.ldap.allow_zero_role;
  const told: Told = (why) => log.write("info", "ldap_login_refused", { why });
  return new DirectoryLogins({
    directory: ldapDirectory(settings, told),
    logins,
    attempts,
    allowZeroRole,
    log,
    turns: openTurns({ atOnce: 64, atOncePerAddress: 8, atOnceStrangers: 48 }),
    keys: new AttemptKeys(random),
    onBasic: () => metrics.count("pki_auth_logins_total", { method: "ldap", result: "success" }),
  });
}

/** Undefined while `auth.ldap` is off. */
export function directorySettings(
  { auth: { ldap } }: Config,
  secrets: SecretSources,
): DirectorySettings | undefined {
  if (!ldap.enabled || ldap.url === undefined) return undefined;
  const { tls } = ldap;
  return {
    servers: ldap.url
      .trim()
      .split(/\s+/)
      .map((url) => serverOf(url, ldap.start_tls)),
    tls: {
      ca: tls.ca_file === undefined ? undefined : readFileSync(tls.ca_file, "utf8"),
      serverName: tls.server_name,
      minVersion: `TLSv${tls.min_version}`,
      verify: !tls.insecure_skip_verify,
    },
    timeoutSeconds: ldap.timeout_seconds,
    lookup: lookupOf(ldap, secrets),
    names: namesOf(ldap),
    groupAttribute: ldap.group_attribute,
    groupSearch: searchOf(ldap.group_base_dn, ldap.group_filter),
  };
}

type LdapBlock = Config["auth"]["ldap"];

function serverOf(text: string, startTls: boolean): DirectoryServer {
  const url = new URL(text);
  const secure = url.protocol === "ldaps:";
  const plain = startTls ? "start_tls" : "none";
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: url.port === "" ? (secure ? 636 : 389) : Number(url.port),
    encryption: secure ? "tls" : plain,
  };
}

/** The password is fetched when it is needed, and never older than a minute. */
function lookupOf(ldap: LdapBlock, secrets: SecretSources): PersonLookup {
  const { bind_dn: dn, bind_password, user_dn_template: template = "" } = ldap;
  const people = searchOf(ldap.user_base_dn, ldap.user_filter);
  if (dn === undefined || people === undefined) return { by: "bind", template, people };
  const password = async () => {
    try {
      return (await secrets.recent("auth.ldap.bind_password", bind_password)) ?? "";
    } catch (error) {
      if (error instanceof SecretUnavailable) throw new DirectoryFault(error.message);
      throw error;
    }
  };
  return { by: "search", service: { dn, password }, people };
}

const searchOf = (baseDn: string | undefined, filter: string | undefined) =>
  baseDn === undefined || filter === undefined ? undefined : { baseDn, filter };

function namesOf(ldap: LdapBlock): EntryNames {
  const { name_attribute, user_filter, user_dn_template } = ldap;
  const claims = mappingsOf(ldap.role_mappings, ldap.groups_claim).map(({ claim }) => claim);
  // A principal name, as Active Directory takes it, names no attribute: what is searched for does.
  const byTemplate = ldap.bind_dn === undefined && namesEntry(user_dn_template ?? "");
  return {
    username:
      ldap.username_attribute ?? attributeNamed(byTemplate ? user_dn_template : user_filter),
    email: ldap.email_attribute,
    displayNames: name_attribute === undefined ? ["displayName", "cn"] : [name_attribute],
    mapped: [...new Set(claims)].filter((claim) => claim !== ldap.groups_claim),
    groupsClaim: ldap.groups_claim,
  };
}
