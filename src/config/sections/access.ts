/**
 * Settings of identities: the root user, policy, sessions, OpenID providers, API tokens, and roles.
 */

import {
  anyUrl,
  count,
  existingFile,
  field,
  flag,
  items,
  list,
  listKind,
  map,
  reloadable,
  text,
  word,
} from "#config/fields.ts";
import { secret } from "#config/secret-field.ts";
import { maybeDerived, section } from "#config/section.ts";
import { roles } from "#core/access/roles.ts";
import { isVisible } from "#core/access/subject.ts";
import { configurableStepUps, usualStepUps } from "#core/access/step-up.ts";
import { usualScopes } from "#core/jose/usual-scopes.ts";
import { oneOf } from "#core/shape.ts";
import { checkedText, dnsName, textual } from "#core/shape/texts.ts";

import { mtls } from "./client-certificates.ts";
import { grants } from "./tenants.ts";

/**
 * It stands in lists and events beside those of other people, and before the colon of HTTP Basic
 * (RFC 7617 §2).
 */
const rootName = checkedText("user name", "root", (value) => {
  const fits = value.length <= 128 && isVisible(value) && !value.includes(":");
  return fits
    ? undefined
    : "Must be 1 to 128 characters without colon, control, format and invisible ones.";
});

/** The keys under `root_user`. */
export const rootUser = section("Root user", {
  username: field("Name of the built-in administrator.", rootName, "root"),
  password: secret("Password; generated at the first start when neither it nor the hash is set."),
  password_hash: secret(
    "Argon2id string of the password, so that no clear text is stored.",
    undefined,
    {
      wrong: (value) =>
        value.startsWith("$argon2id$") ? undefined : "Must be an argon2id string ($argon2id$…).",
    },
  ),
});

/** The keys under `policy`. */
export const policy = section("Policy", {
  allow_root_basic_auth: flag("Accept the root user's password over HTTP Basic.", true),
  max_cert_validity_days: count("Cap on the validity of every leaf in days; 0 means none.", 0),
});

/** RFC 6265 §4.1.1: a token; room is left for what is appended. */
const cookieName = textual("cookie name", "pki_session", {
  pattern: /^[A-Za-z0-9_.-]{1,64}$/,
  wants: "Must be 1 to 64 of the characters A-Z, a-z, 0-9, dot, underscore and hyphen.",
});

/**
 * An issuer is compared byte for byte, so nothing of it is tidied; only https keeps keys and codes
 * to ourselves.
 */
const issuer = checkedText("issuer URL", "https://id.example.com", (value) => {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url?.protocol !== "https:" || url.username !== "" || /[?#]/.test(value)) {
    return "Must be an https URL without user info, query and fragment.";
  }
  return undefined;
});

const rolesKind = listKind(oneOf(roles));

/** The keys under `oidc`. */
export const oidc = section("Tokens of an OpenID provider", {
  issuer_url: field(
    "Issuer whose tokens are accepted from API callers, exactly as it names itself.",
    issuer,
  ),
  client_id: text("Our client id there, which tokens must have as audience."),
  redirect_url: anyUrl("Address the provider sends browsers back to; for `auth.oidc`."),
});

/** An origin as browsers write it: compared letter by letter. */
const origin = checkedText("origin", "https://pki.example.com", (value) => {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const secure =
    url?.protocol === "https:" || (url?.protocol === "http:" && url.hostname === "localhost");
  return secure && url?.origin === value
    ? undefined
    : "Must be an origin as browsers write it: https://host, with a port unless it is 443, and nothing after.";
});

/** One server or several; each with a host, and with nothing behind it. */
const directoryUrls = checkedText("ldap URL", "ldaps://ldap.example.com", (value) => {
  const urls = value.trim().split(/\s+/);
  const sound = (one: string) => /^ldaps?:\/\/[^/?#@\s]+\/?$/i.test(one) && URL.canParse(one);
  return urls.length <= 8 && urls.every((one) => sound(one) && new URL(one).hostname !== "")
    ? undefined
    : "Must be 1 to 8 ldap:// or ldaps:// URLs of host and port, separated by spaces.";
});

/** One row of `role_mappings`. */
const roleMapping = {
  claim: text("Claim that is looked at; `groups_claim` when absent."),
  value: text("Text the claim must be or contain as an item."),
  tenant: text("Tenant, by id or slug, where the roles hold; everywhere when absent."),
  roles: list("Roles given: admin, issuer, auditor, approver.", textual("role", "auditor"), []),
} as const;

/** The keys under `auth`. */
export const auth = section("Authentication", {
  session: section("Sessions of people", {
    cookie_name: field(
      "Name of the session cookie; the others are named after it.",
      cookieName,
      "pki_session",
    ),
    ttl_minutes: count("Life of a session in minutes from login, however much it is used.", 60, {
      min: 1,
      max: 44_640,
    }),
    insecure: flag("Leave Secure out of cookies, for tests without TLS.", false),
  }),
  oidc: section("Login through an OpenID provider", {
    enabled: flag("Let people log in at the provider.", false),
    issuer_url: field(
      "Issuer, exactly as it names itself.",
      issuer,
      maybeDerived("`oidc.issuer_url`", (of) => of("oidc.issuer_url")),
    ),
    client_id: text(
      "Our client id there.",
      maybeDerived("`oidc.client_id`", (of) => of("oidc.client_id")),
    ),
    redirect_url: anyUrl(
      "Address the provider sends browsers back to.",
      maybeDerived(
        "`oidc.redirect_url`, else `{server.public_url}/auth/callback`",
        (of) => of("oidc.redirect_url") ?? callbackOf(of("server.public_url")),
      ),
    ),
    client_secret: secret("Our secret there; none for a public client."),
    scopes: list(
      "Scopes asked for. Of the default only those are that the provider lists, and groups beside them when it lists that.",
      textual("scope", "openid"),
      [...usualScopes],
    ),
    groups_claim: text("Claim that holds the groups of a person.", "groups"),
    role_mappings: items("Roles by what claims hold, beside those of `rbac`.", roleMapping),
    allow_zero_role: flag("Let in people who have no role.", false),
  }),
  webauthn: section("Confirming with a passkey", {
    enabled: flag("Ask people in a session to confirm some operations with a passkey.", false),
    rp_id: field("Domain the passkeys are for: the console's host, or one it lies in.", dnsName),
    rp_name: text("Name browsers show.", "pkid"),
    origins: list("Origins of the console.", origin, []),
    user_verification: word(
      "Whether authenticators must verify the person, by PIN or finger, or need only be touched.",
      ["required", "preferred"],
      "required",
    ),
    step_up_ttl_minutes: count("Minutes for which one confirmation counts.", 5, {
      min: 1,
      max: 1440,
    }),
    step_up_operations: list(
      "What is confirmed, by name; registering a further passkey and removing one always are.",
      oneOf(configurableStepUps),
      [...usualStepUps],
    ),
  }),
  ldap: section("Login through a directory", {
    enabled: flag(
      "Let people of the directory log in, and use their passwords over HTTP Basic.",
      false,
    ),
    url: field(
      "Server, ldaps:// or ldap://; several, separated by spaces, are tried in order.",
      directoryUrls,
    ),
    start_tls: flag("Encrypt ldap:// before anything is said on it.", false),
    insecure_allow_cleartext: flag("Let passwords go over ldap:// in clear.", false),
    timeout_seconds: count("Time one server has for one login, in seconds.", 10, {
      min: 1,
      max: 60,
    }),
    bind_dn: text("Account that searches for people; without it they bind by `user_dn_template`."),
    bind_password: secret("Password of that account; resolved when it is needed."),
    user_base_dn: text("Where people are searched for."),
    user_filter: text("Finds a person; `%s` is the login name, escaped: `(uid=%s)`."),
    user_dn_template: text(
      "What people bind as; `%s` is the login name: `uid=%s,ou=people,dc=example,dc=com`.",
    ),
    username_attribute: text(
      "Attribute that names a person here; else the one `user_filter` or `user_dn_template` holds against `%s`, else uid.",
    ),
    group_attribute: text("Attribute of a person that holds the groups, as they are.", "memberOf"),
    group_base_dn: text("Where groups are searched for, instead of taking `group_attribute`."),
    group_filter: text(
      "Finds the groups of a person; `%s` is the DN, `%u` the login name: `(member=%s)`. A group goes by its DN and by the first value in it.",
    ),
    email_attribute: text(
      "Attribute that holds the e-mail address, which counts as verified.",
      "mail",
    ),
    name_attribute: text("Attribute that holds the name to show; else displayName, then cn."),
    groups_claim: text("Name under which `role_mappings` look at the groups.", "groups"),
    role_mappings: items(
      "Roles by groups, or by an attribute named as claim, beside those of `rbac`.",
      roleMapping,
    ),
    allow_zero_role: flag("Let in people who have no role.", false),
    tls: section("TLS to the directory", {
      ca_file: existingFile("PEM file of what is trusted, instead of the system's certificates."),
      server_name: text("Name the certificate must have; else the host of the URL."),
      min_version: word("Lowest version of TLS.", ["1.2", "1.3"], "1.2"),
      insecure_skip_verify: flag("Believe any certificate, for tests.", false),
    }),
  }),
  mtls,
  api_tokens: section("API tokens", {
    max_lifetime_days: count(
      "Longest life of a token in days; 0 means no cap. With a cap a token without expiry gets it.",
      0,
    ),
  }),
});

/** The keys under `rbac`. */
export const rbac = section("Roles of people", {
  subjects: reloadable(
    map("Roles by subject, or by e-mail address once the provider has verified it.", rolesKind),
  ),
  groups: reloadable(map("Roles by group.", rolesKind)),
  grants,
});

const callbackOf = (base: unknown): string | undefined =>
  typeof base === "string" ? `${base}/auth/callback` : undefined;
