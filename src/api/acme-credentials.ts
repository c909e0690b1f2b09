/** Credentials of external account binding in JSON (EAB-1). */

import { coversTenant } from "#core/access/principal.ts";
import { dnsNameFault, isWildcard } from "#core/acme/identifiers.ts";
import {
  flag,
  type Input,
  integer,
  list,
  many,
  oneOf,
  optional,
  otherwise,
  parsed,
  shape,
  text,
  type ValueOf,
  words,
  WrongValue,
} from "#core/shape.ts";
import { block } from "#core/shape/texts.ts";
import { type Instant, timestamp } from "#core/time.ts";
import { canonicalDnsName } from "#core/x509/addresses.ts";
import { type Definition, operation } from "#domain/access/operation.ts";
import { made } from "#domain/access/outcome.ts";
import { anyScope } from "#domain/access/targets.ts";
import {
  type Credential,
  credentialSources,
  credentialStates,
  type Credentials,
  stateAt,
} from "#domain/acme/credentials.ts";
import type { Directories } from "#domain/acme/directories.ts";
import type { Clock } from "#domain/ports.ts";
import type { OperationName } from "#operations";
import { type OnDirectory, requireServed, theDirectory, theObject } from "./acme-targets.ts";
import { inDays, instantField, onlyOneOf } from "./fields.ts";
import { listOf, onePage, pageFields, pageOf } from "./pages.ts";
import { count, present, time, timeText } from "./shapes.ts";

export interface AcmeCredentialDeps {
  readonly clock: Clock;
  readonly directories: Directories;
  readonly credentials: Credentials;
}

/** Handlers for `acme.eab.*`. */
export function acmeCredentialHandlers(deps: AcmeCredentialDeps) {
  return {
    "acme.eab.list": credentialList(deps),
    "acme.eab.create": creation(deps),
    "acme.eab.revoke": revocation(deps),
  } satisfies Partial<Record<OperationName, Definition>>;
}

function credentialList({ clock, directories, credentials }: AcmeCredentialDeps) {
  return operation({
    summary: "Credentials with which ACME accounts are bound, newest first; never their keys.",
    target: anyScope,
    input: {
      id: optional(text({ min: 1, max: 64 })),
      status: optional(oneOf(credentialStates)),
      ...pageFields,
    },
    output: listOf(credentialShape),
    refuses: ["feature_disabled"],
    run: async (call) => {
      requireServed(directories);
      const { id, status } = call.input;
      const now = clock.now();
      // A grant on a CA is no right to what its tenant enrols with.
      const reach = call.rights.reachByRoles("ca:manage");
      if (id !== undefined) {
        const found = await credentials.named(id);
        if (found === undefined || !coversTenant(reach, found.tenant)) return onePage([]);
        const told = credentialJson(found, now);
        return onePage(status === undefined || told.status === status ? [told] : []);
      }
      return await pageOf(
        "acme.eab.list",
        { ...call, reach },
        { status: status ?? "" },
        (one: Credential) => credentialJson(one, now),
        (limit, after) => credentials.page({ reach, status }, limit, after),
      );
    },
  });
}

function creation({ clock, directories, credentials }: AcmeCredentialDeps) {
  return operation({
    summary: "Make a credential for accounts of a directory; its key is answered once.",
    target: theDirectory(directories),
    input: creationFields,
    output: createdShape,
    refuses: [
      "missing_field",
      "conflicting_fields",
      "unknown_profile",
      "profile_requires_approval",
      "feature_disabled",
      "ca_not_active",
      "key_unavailable",
    ],
    run: async (call) => {
      const now = clock.now();
      const request = requestOf(call, call.input, now);
      const { credential, hmacKey } = await credentials.create(call.origin, request);
      return made({
        ...credentialJson(credential, now),
        hmac_key: hmacKey,
        directory_url: call.directory.url("/directory"),
      });
    },
  });
}

function revocation({ directories, credentials }: AcmeCredentialDeps) {
  return operation({
    summary:
      "Revoke a credential: it binds no more accounts, and those it has bound order nothing more.",
    target: theObject(directories, (id) => credentials.named(id)),
    input: { accounts: optional(oneOf(["deactivate"])) },
    output: revokedShape,
    refuses: ["feature_disabled", "config_managed"],
    run: async ({ origin, input, found }) => {
      const bound = await credentials.boundAccounts(found.id);
      const changed = await credentials.revoke(origin, found);
      const status = changed ? ("revoked" as const) : ("already_revoked" as const);
      if (input.accounts === undefined) return { status, bound_accounts: bound };
      const deactivated = await credentials.deactivateAccounts(origin, found);
      return { status, bound_accounts: bound, deactivated_accounts: deactivated };
    },
  });
}

/** Refuses `conflicting_fields`. */
function requestOf(
  { directory, ca }: OnDirectory,
  input: Input<typeof creationFields>,
  now: Instant,
) {
  const { expires_at, expires_in_days } = input;
  onlyOneOf({ expires_at, expires_in_days });
  return {
    directory,
    ca,
    name: input.name,
    description: input.description,
    profile: input.profile,
    dnsSuffixes: [...new Set(input.dns_suffixes)],
    ipRanges: [...new Set(input.ip_ranges)],
    allowWildcards: input.allow_wildcards,
    anyIdentifier: input.any_identifier,
    maxUses: input.max_uses,
    expiresAt: expires_at ?? inDays(now, expires_in_days),
  };
}

/** A name that stands for itself and all below it; U-labels become A-labels. */
const suffix = parsed({ type: "string", examples: ["example.com"] }, (given) => {
  const name = canonicalDnsName(given);
  const fault = name === undefined ? "is no DNS name" : dnsNameFault(name);
  if (name === undefined || fault !== undefined || isWildcard(name)) {
    throw new WrongValue("must be a DNS name like example.com, without wildcard");
  }
  return name;
});

const creationFields = {
  name: text({ min: 1, max: 100 }),
  description: otherwise(text({ max: 500 }), ""),
  profile: optional(text({ min: 1, max: 64 })),
  dns_suffixes: otherwise(list(suffix), []),
  ip_ranges: otherwise(list(block), []),
  allow_wildcards: otherwise(flag(), false),
  any_identifier: otherwise(flag(), false),
  max_uses: otherwise(integer(0, 1_000_000), 1),
  expires_at: optional(instantField),
  expires_in_days: optional(integer(1, 36_500)),
};

const credentialMembers = {
  id: words({ description: "The kid of bindings." }),
  directory: words(),
  ca_id: words(),
  tenant_id: words(),
  name: words(),
  description: optional(words()),
  profile: optional(words()),
  dns_suffixes: many(words()),
  ip_ranges: many(words()),
  allow_wildcards: flag(),
  any_identifier: flag(),
  max_uses: integer(0, Number.MAX_SAFE_INTEGER),
  uses: count,
  status: oneOf(credentialStates),
  source: oneOf(credentialSources),
  created_by: words(),
  created_at: time,
  expires_at: optional(time),
  last_used_at: optional(time),
  revoked_at: optional(time),
  revoked_by: optional(words()),
};
const credentialShape = shape(credentialMembers);
const createdShape = shape({
  ...credentialMembers,
  hmac_key: words({ description: "32 random octets, base64url." }),
  directory_url: words({ format: "uri" }),
});
const revokedShape = shape({
  status: oneOf(["revoked", "already_revoked"]),
  bound_accounts: count,
  deactivated_accounts: optional(count),
});

function credentialJson(credential: Credential, now: Instant) {
  return present<ValueOf<typeof credentialShape>>({
    id: credential.id,
    directory: credential.directory,
    ca_id: credential.caId,
    tenant_id: credential.tenant,
    name: credential.name,
    description: credential.description || undefined,
    profile: credential.profile,
    dns_suffixes: credential.dnsSuffixes,
    ip_ranges: credential.ipRanges,
    allow_wildcards: credential.allowWildcards,
    any_identifier: credential.anyIdentifier,
    max_uses: credential.maxUses,
    uses: credential.uses,
    status: stateAt(credential, now),
    source: credential.source,
    created_by: credential.createdBy,
    created_at: timestamp(credential.createdAt),
    expires_at: timeText(credential.expiresAt),
    last_used_at: timeText(credential.lastUsedAt),
    revoked_at: timeText(credential.revokedAt),
    revoked_by: credential.revokedBy,
  });
}
