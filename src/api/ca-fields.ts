/** What the body of a request for a new CA may hold. */

import { parseCidr } from "#core/x509/name-constraints.ts";
import { isOid } from "#core/asn1/oid-octets.ts";
import { refuse } from "#core/problems.ts";
import {
  flag,
  type Input,
  integer,
  list,
  object,
  oneOf,
  optional,
  otherwise,
  parsed,
  text,
  WrongValue,
} from "#core/shape.ts";
import {
  algorithms,
  isPostQuantum,
  type KeyType,
  keyTypes,
  parseKeyType,
} from "#core/x509/algorithms.ts";
import { extendedKeyUsages, purposeOid } from "#core/x509/extensions.ts";
import type { NameConstraints, Subtrees } from "#core/x509/name-constraints.ts";
import { isDnsBase, isEmailBase, isUriBase } from "#core/x509/subtree-forms.ts";
import { encodeName, type NameAttribute } from "#core/x509/names.ts";
import { anyPolicy, type PolicyMapping } from "#core/x509/policy-extensions.ts";
import type { CaRequest } from "#domain/hierarchy/create.ts";

/** How a CA is called in this instance. */
export const labelField = text({ min: 1, max: 64, pattern: /^[A-Za-z0-9._-]+$/ });

/** The members of a subject. */
export const subjectFields = {
  cn: text({ min: 1, max: 64 }),
  o: optional(text({ min: 1, max: 64 })),
  ou: optional(text({ min: 1, max: 64 })),
  c: optional(text({ min: 2, max: 2, pattern: /^[A-Z]{2}$/ })),
  st: optional(text({ min: 1, max: 128 })),
  l: optional(text({ min: 1, max: 128 })),
};

const subtreeFields = {
  dns: otherwise(list(subtreeField(253, isDnsBase, "must be a domain")), []),
  ip: otherwise(list(cidrField()), []),
  email: otherwise(list(subtreeField(254, isEmailBase, "must be a mailbox or domain")), []),
  uri: otherwise(list(subtreeField(253, isUriBase, "must be a host or domain")), []),
  dir_names: otherwise(list(object(subjectFieldsAllOptional())), []),
};

const constraintFields = {
  permitted: optional(object(subtreeFields)),
  excluded: optional(object(subtreeFields)),
  critical: otherwise(flag(), true),
};

const policyFields = {
  oids: list(oidField(), 1, 20),
  cps: optional(text({ min: 1, max: 500, pattern: /^https?:\/\/[\x21-\x7e]+$/ })),
  critical: otherwise(flag(), false),
  mappings: otherwise(list(mappingField(), 0, 20), []),
  require_explicit_policy: optional(integer(0, 16)),
  inhibit_policy_mapping: optional(integer(0, 16)),
};

/** The members of `init-root` but its tenant. */
export const caFields = {
  label: labelField,
  subject: object(subjectFields),
  key_type: keyTypeField(),
  algorithm: otherwise(oneOf(algorithms), "classical"),
  alt_key_type: optional(keyTypeField()),
  validity_days: optional(integer(1, 36_500)),
  max_path_len: optional(integer(0, 16)),
  name_constraints: optional(object(constraintFields)),
  policies: optional(object(policyFields)),
};

/** The members of `POST …/issue-intermediate`. */
export const intermediateFields = {
  ...caFields,
  ext_key_usages: otherwise(list(purposeField(), 0, 20), []),
};

/**
 * The request for a root; its clients take it as it is, so it neither maps nor demands policies
 * (EXT-7).
 */
export function rootRequestOf(body: Input<typeof caFields>): CaRequest {
  const request = requestOf(body);
  const { mappings = [], requireExplicitPolicy, inhibitPolicyMapping } = request.policies ?? {};
  const limits = [requireExplicitPolicy, inhibitPolicyMapping];
  if (mappings.length > 0 || limits.some((limit) => limit !== undefined)) {
    throw refuse("invalid_field", { field: "policies", reason: "a root has policies alone" });
  }
  return request;
}

/** The request for an intermediate. */
export const intermediateRequestOf = (body: Input<typeof intermediateFields>): CaRequest => ({
  ...requestOf(body),
  extKeyUsages: body.ext_key_usages,
});

/**
 * The request the members express. Refuses `key_type_unsupported` for a key type that is not of the
 * algorithm.
 */
function requestOf(body: Input<typeof caFields>): CaRequest {
  if (isPostQuantum(body.key_type) !== (body.algorithm === "pqc")) {
    throw refuse("key_type_unsupported", { key_type: body.key_type });
  }
  return {
    label: body.label,
    subject: subjectOf(body.subject),
    keyType: body.key_type,
    alternativeKeyType: alternativeKeyType(body),
    validityDays: body.validity_days,
    maxPathLength: body.max_path_len,
    nameConstraints: constraintsOf(body.name_constraints),
    policies: policiesOf(body.policies),
  };
}

/** Beside a classical key, ML-DSA-65 when the request does not say which. */
function alternativeKeyType(body: Input<typeof caFields>): KeyType | undefined {
  const { algorithm, alt_key_type: wanted } = body;
  if (algorithm !== "hybrid") {
    if (wanted === undefined) return undefined;
    throw refuse("invalid_field", { field: "alt_key_type", reason: "goes with hybrid only" });
  }
  if (wanted === undefined) return "ml-dsa-65";
  if (keyTypes[wanted][0] === "ml-dsa") return wanted;
  throw refuse("key_type_unsupported", { key_type: wanted });
}

/** Most general attribute first, as directories order them. */
export function subjectOf(
  subject: {
    readonly [K in keyof typeof subjectFields]: string | undefined;
  },
): readonly NameAttribute[] {
  const members = [
    ["C", subject.c],
    ["ST", subject.st],
    ["L", subject.l],
    ["O", subject.o],
    ["OU", subject.ou],
    ["CN", subject.cn],
  ] as const;
  return members.flatMap(([type, value]) => (value === undefined ? [] : [{ type, value }]));
}

function constraintsOf(given: Input<typeof constraintFields> | undefined) {
  if (given === undefined) return undefined;
  const constraints: NameConstraints & { readonly critical: boolean } = {
    permitted: subtreesOf(given.permitted),
    excluded: subtreesOf(given.excluded),
    critical: given.critical,
  };
  const all = [...Object.values(constraints.permitted), ...Object.values(constraints.excluded)];
  if (all.every((trees) => trees.length === 0)) {
    throw refuse("invalid_field", { field: "name_constraints", reason: "constrains nothing" });
  }
  return constraints;
}

function policiesOf(given: Input<typeof policyFields> | undefined): CaRequest["policies"] {
  if (given === undefined) return undefined;
  const { require_explicit_policy, inhibit_policy_mapping, ...rest } = given;
  return {
    ...rest,
    requireExplicitPolicy: require_explicit_policy,
    inhibitPolicyMapping: inhibit_policy_mapping,
  };
}

function subtreesOf(given: Input<typeof subtreeFields> | undefined): Subtrees {
  if (given === undefined) return { dns: [], ip: [], email: [], uri: [], dirNames: [] };
  const { dns, ip, email, uri, dir_names } = given;
  if (dir_names.some((name) => subjectOf(name).length === 0)) {
    throw refuse("invalid_field", { field: "dir_names", reason: "must have an attribute each" });
  }
  const dirNames = dir_names.map((name) => encodeName(subjectOf(name)).der);
  return { dns: dns.map((name) => name.toLowerCase()), ip, email, uri, dirNames };
}

function subjectFieldsAllOptional() {
  const { cn, ...rest } = subjectFields;
  return { cn: optional(cn), ...rest };
}

/**
 * A key type of the table; one that is known and cannot be made is refused `key_type_unsupported`.
 */
export function keyTypeField() {
  return parsed({ type: "string", enum: Object.keys(keyTypes) }, (value): KeyType => {
    const known = parseKeyType(value);
    if (known !== undefined) return known;
    throw new WrongValue("must be a key type");
  });
}

/**
 * A base other software can read too; one that cannot be read makes its CA certificate unreadable
 * to some.
 */
function subtreeField(max: number, isBase: (text: string) => boolean, wants: string) {
  return parsed({ type: "string", maxLength: max }, (value) => {
    if (!isBase(value)) throw new WrongValue(wants);
    return value;
  });
}

function cidrField() {
  return parsed({ type: "string" }, (value) => {
    if (parseCidr(value) === undefined) throw new WrongValue("must be an address range");
    return value;
  });
}

/** `issuer:subject`, both dotted; RFC 5280 §4.2.1.5 keeps anyPolicy out. */
function mappingField() {
  return parsed(
    { type: "string" },
    (value): PolicyMapping => {
      const [issuer = "", subject = "", ...rest] = value.split(":");
      if (rest.length > 0 || !isOid(issuer) || !isOid(subject)) {
        throw new WrongValue("must be two object identifiers with a colon between them");
      }
      if (issuer === anyPolicy || subject === anyPolicy) {
        throw new WrongValue("anyPolicy cannot be mapped");
      }
      return { issuer, subject };
    },
    ({ issuer, subject }) => `${issuer}:${subject}`,
  );
}

/** A purpose by name or OID; a CA for every purpose names none. */
function purposeField() {
  return parsed({ type: "string" }, (value) => {
    const isKnown = Object.hasOwn(extendedKeyUsages, value) || isOid(value);
    if (isKnown && purposeOid(value) !== extendedKeyUsages.anyExtendedKeyUsage) return value;
    throw new WrongValue("must be a purpose by name or object identifier");
  });
}

function oidField() {
  return parsed({ type: "string" }, (value) => {
    if (!isOid(value)) throw new WrongValue("must be a dotted object identifier");
    return value;
  });
}
