/** Settings of issuance: what every certificate has in common, and the custom profiles. */

import { isOid } from "#core/asn1/oid-octets.ts";
import type { Profile } from "#core/policy/profile.ts";
import { isUriScheme } from "#core/policy/subtrees.ts";
import { oneOf } from "#core/shape.ts";
import {
  absoluteUrl,
  block,
  checkedText,
  dnsName,
  label,
  objectId,
  serverAndPort,
} from "#core/shape/texts.ts";
import { algorithms } from "#core/x509/algorithms.ts";
import { extendedKeyUsages, type KeyUsage, keyUsageBits } from "#core/x509/extensions.ts";
import { anyPolicy, type PolicyMapping } from "#core/x509/policy-extensions.ts";
import { isDnsBase } from "#core/x509/subtree-forms.ts";
import { hasDotSegments, parseUri } from "#core/x509/uris.ts";

import {
  absolutePath,
  count,
  duration,
  field,
  flag,
  items,
  list,
  map,
  reloadable,
  text,
  word,
} from "#config/fields.ts";
import { maybeDerived, section, type Values } from "#config/section.ts";
import { ctPolicyOf, profileCt } from "./transparency.ts";

/** The keys under `issuance`. */
export const issuance = section("Issuance", {
  backdate_seconds: count(
    "Seconds notBefore lies before the signature, never more than 1/12 of the validity.",
    300,
    { max: 3600 },
  ),
  ski_method: word(
    "How subject key identifiers of new keys are made.",
    ["rfc7093", "sha1"],
    "rfc7093",
  ),
  max_names: count("Subject alternative names per certificate.", 100, { min: 1, max: 1000 }),
});

const postQuantumTypes = ["ml-dsa-44", "ml-dsa-65", "ml-dsa-87"] as const;
/** The keys under `keychecks`. */
export const keychecks = section("Key checks", {
  weak_key_blocklist_paths: list(
    "Files of weak keys: SHA-1 or SHA-256 of key or modulus in hex, SHA256:<base64>, or Debian's 20 digits, a line each. Read at the start and on SIGHUP.",
    absolutePath,
    [],
  ),
});

/** The keys under `caa`. */
export const caa = section("Certification authority authorization", {
  identifier: field("Issuer domain name that CAA records must name.", dnsName),
  cache_ttl_seconds: count("Seconds an answer is remembered at most.", 300, { max: 28_800 }),
  dns_resolver: field(
    "Validating resolver to ask, a host with a port; unset asks the system's.",
    serverAndPort,
    maybeDerived("`acme.dns_resolver`", (of) => of("acme.dns_resolver")),
  ),
});

const modes = ["enforce", "warn"] as const;
// The table's keys are exactly the key usages; what CAs do, no profile may let a leaf do.
const usages = (Object.keys(keyUsageBits) as readonly KeyUsage[]).filter(
  (usage) => usage !== "keyCertSign" && usage !== "cRLSign",
);
const { anyExtendedKeyUsage, ...purposes } = extendedKeyUsages;
const extended = checkedText("usage name or OID", "serverAuth", (value) => {
  if (value === anyExtendedKeyUsage) return "Must not be every purpose; name those it is for.";
  return Object.hasOwn(purposes, value) || isOid(value)
    ? undefined
    : `Must be a dotted OID or one of ${Object.keys(purposes).join(", ")}.`;
});
const suffix = checkedText("DNS suffix", "example.internal", (value) =>
  isDnsBase(value) ? undefined : "Must be a domain, with a dot in front for what is below it only.",
);
const mapping = checkedText("OID=OID", "1.3.6.1.4.1.55555.1=1.3.6.1.4.1.55555.2", (value) => {
  const { issuer, subject } = mappingOf(value);
  if (issuer === anyPolicy || subject === anyPolicy) return "Must not map anyPolicy.";
  return isOid(issuer) && isOid(subject) && value === `${issuer}=${subject}`
    ? undefined
    : "Must be two dotted OIDs with an equals sign between them.";
});
const uriPrefix = checkedText("URI prefix", "spiffe://example.internal/", (value) => {
  const uri = parseUri(value);
  return isUriScheme(value) || (uri !== undefined && !hasDotSegments(uri))
    ? undefined
    : "Must be a scheme with its colon, or the beginning of a URI with a whole host.";
});

const profileMembers = {
  name: field("Name; a profile named like a built-in one replaces it.", label),
  description: text("What the profile is for."),
  key_usages: list("Key usages.", oneOf(usages), []),
  ext_key_usages: list("Extended key usages, by name or OID.", extended, []),
  default_validity_days: count(
    "Validity in days when the request names none; 0 takes the longest allowed.",
    0,
  ),
  max_validity_days: count(
    "Longest validity in days; 0 leaves it to the caps of CA and policy.",
    0,
  ),
  default_validity: duration("Validity when the request names none, instead of the day key."),
  max_validity: duration("Longest validity, instead of the day key."),
  lint: section("Lint", {
    disabled: flag("Switch the lint gate off.", false),
    mode: word("Refuse, or only report.", modes, "enforce"),
    public: flag("Apply the rules of publicly trusted certificates.", false),
    require_must_staple: flag("Warn about certificates without must-staple.", false),
    overrides: map("Mode by rule.", oneOf(modes)),
  }),
  caa: section("Certification authority authorization", {
    mode: word(
      "Ask nothing, only report what the domains' CAA records say, or refuse by them.",
      ["off", "permissive", "enforce"],
      "off",
    ),
    identifier: field("Issuer domain name of this profile instead of `caa.identifier`.", dnsName),
    timeout_seconds: count("Seconds one attempt at one lookup may take.", 5, { min: 1, max: 60 }),
  }),
  key_checks: section("Key quality", {
    disabled: flag("Switch the optional key checks off; the fixed ones stay.", false),
    mode: word("Refuse, or only report.", modes, "enforce"),
    detect_duplicates: flag(
      "Refuse a key for which another subject of the tenant has an unexpired certificate.",
      false,
    ),
    min_rsa_bits: count("Smallest RSA modulus in bits.", 2048, { min: 2048, max: 16_384 }),
  }),
  policies: section("Certificate policies", {
    oids: list("Policy OIDs.", objectId, []),
    cps: field("URL of the certification practice statement.", absoluteUrl("any")),
    critical: flag("Mark the extension critical.", false),
    mappings: list(
      "Pairs of a policy of the parent and one of the CA's own that counts as it; for CA certificates only.",
      mapping,
      [],
    ),
  }),
  ct: profileCt,
  names: section("Names the profile admits", {
    permitted_dns: list("DNS suffixes; unset admits any.", suffix),
    permitted_ips: list("Address blocks; unset admits any.", block),
    permitted_emails: list("E-mail domains; unset admits any.", suffix),
    permitted_uris: list("URI prefixes; unset admits any.", uriPrefix),
    allow_wildcards: flag("Admit wildcard DNS names.", true),
    require_san: flag("Require at least one subject alternative name.", true),
  }),
  must_staple: flag("Ask clients to insist on a stapled OCSP answer.", false),
  allow_must_staple_override: flag("Let a request switch must-staple on or off.", false),
  require_approval: flag(
    "Let nobody issue with it alone over JSON, console or shell; without approvals: not at all.",
    false,
  ),
  omit_revocation_pointers: flag(
    "Put no CRL and OCSP URLs into certificates; only up to 7 days of validity.",
    false,
  ),
  algorithm: word(
    "What it wants: nothing, ML-DSA keys and issuer, or a second key of ML-DSA under a hybrid CA.",
    algorithms,
    "classical",
  ),
  pqc_key_type: word("The one ML-DSA key type it accepts; unset accepts all.", postQuantumTypes),
} as const;

/** The key `profiles`. */
export const profiles = reloadable(items("Custom profiles.", profileMembers));

/** One entry of `profiles` as configured. */
export type ProfileSetting = Values<typeof profileMembers>;

/** The profile an entry stands for; the caller has validated it (V-13). */
export function profileOf(setting: ProfileSetting): Profile {
  const { lint, caa, key_checks, policies, names } = setting;
  return {
    name: setting.name ?? "",
    description: setting.description ?? "",
    builtin: false,
    keyUsages: setting.key_usages,
    extKeyUsages: setting.ext_key_usages,
    defaultValiditySeconds:
      setting.default_validity ?? setting.default_validity_days * secondsPerDay,
    maxValiditySeconds: setting.max_validity ?? setting.max_validity_days * secondsPerDay,
    lint: {
      disabled: lint.disabled,
      mode: lint.mode,
      public: lint.public,
      requireMustStaple: lint.require_must_staple,
      overrides: lint.overrides,
    },
    caa: { mode: caa.mode, identifier: caa.identifier, timeoutSeconds: caa.timeout_seconds },
    keyChecks: {
      disabled: key_checks.disabled,
      mode: key_checks.mode,
      detectDuplicates: key_checks.detect_duplicates,
      minRsaBits: key_checks.min_rsa_bits,
    },
    policies:
      policies.oids.length === 0
        ? undefined
        : { ...policies, mappings: policies.mappings.map(mappingOf) },
    names: {
      permittedDns: names.permitted_dns,
      permittedIps: names.permitted_ips,
      permittedEmails: names.permitted_emails,
      permittedUris: names.permitted_uris,
      allowWildcards: names.allow_wildcards,
      requireSan: names.require_san,
      requireEmail: false,
    },
    mustStaple: setting.must_staple,
    allowMustStapleOverride: setting.allow_must_staple_override,
    omitRevocationPointers: setting.omit_revocation_pointers,
    algorithm: setting.algorithm,
    pqcKeyType: setting.pqc_key_type,
    requireApproval: setting.require_approval,
    ct: ctPolicyOf(setting.ct),
  };
}

function mappingOf(text: string): PolicyMapping {
  const [issuer = "", subject = ""] = text.split("=");
  return { issuer, subject };
}

const secondsPerDay = 86_400;
