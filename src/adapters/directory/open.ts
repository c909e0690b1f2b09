/** Reads what `auth.ldap` says of the directory: its servers, and how people are found in it. */

import { readFileSync } from "node:fs";

import type { SecretSetting, Secrets } from "#config/secret.ts";
import { SecretUnavailable } from "#config/secret.ts";
import { attributeNamed, type EntryNames, namesEntry } from "#core/access/directory-entry.ts";
import { mappingsOf, type RoleMappingRow } from "#core/access/role-mappings.ts";
import { type Directory, DirectoryFault } from "#domain/access/directory.ts";
import { ldapDirectory, type Told } from "./directory.ts";
import type { DirectoryServer, DirectorySettings, PersonLookup } from "./settings.ts";

/** `auth.ldap`. */
export interface LdapSection {
  readonly enabled: boolean;
  /** Several, separated by spaces. */
  readonly url: string | undefined;
  readonly start_tls: boolean;
  readonly timeout_seconds: number;
  readonly bind_dn: string | undefined;
  readonly bind_password: SecretSetting | undefined;
  readonly user_base_dn: string | undefined;
  readonly user_filter: string | undefined;
  readonly user_dn_template: string | undefined;
  readonly username_attribute: string | undefined;
  readonly group_attribute: string;
  readonly group_base_dn: string | undefined;
  readonly group_filter: string | undefined;
  readonly email_attribute: string;
  readonly name_attribute: string | undefined;
  readonly groups_claim: string;
  readonly role_mappings: readonly RoleMappingRow[];
  readonly tls: {
    readonly ca_file: string | undefined;
    readonly server_name: string | undefined;
    readonly min_version: "1.2" | "1.3";
    readonly insecure_skip_verify: boolean;
  };
}

/** Undefined while no directory is asked; it is asked nothing before somebody comes. */
export function openDirectory(
  ldap: LdapSection,
  secrets: Secrets,
  told: Told,
): Directory | undefined {
  const read = readDirectory(ldap, secrets);
  return read && ldapDirectory(read, told);
}

/** What the section means; undefined while it is off. Throws when its CA file cannot be read. */
export function readDirectory(ldap: LdapSection, secrets: Secrets): DirectorySettings | undefined {
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
function lookupOf(ldap: LdapSection, secrets: Secrets): PersonLookup {
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

function namesOf(ldap: LdapSection): EntryNames {
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
