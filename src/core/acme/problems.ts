/**
 * How a refusal reads in ACME: the problem documents of RFC 8555 §6.7, made from the codes of the
 * table, and kept with the challenges and orders they ended.
 */

import { type Problem, type ProblemCode, problems } from "#core/problems.ts";

/** The error types that are used, without `urn:ietf:params:acme:error:`; a closed list. */
export const acmeTypes = [
  "accountDoesNotExist",
  "alreadyReplaced",
  "alreadyRevoked",
  "badCSR",
  "badNonce",
  "badPublicKey",
  "badRevocationReason",
  "badSignatureAlgorithm",
  "caa",
  "connection",
  "dns",
  "externalAccountRequired",
  "incorrectResponse",
  "invalidContact",
  "invalidProfile",
  "malformed",
  "orderNotReady",
  "rateLimited",
  "rejectedIdentifier",
  "serverInternal",
  "tls",
  "unauthorized",
  "unsupportedContact",
  "unsupportedIdentifier",
  "userActionRequired",
] as const;
export type AcmeType = (typeof acmeTypes)[number];

/** What an identifier is called in a problem; its type may be one that nobody supports. */
export interface NamedIdentifier {
  readonly type: string;
  readonly value: string;
}

/** What is wrong with one identifier, as refusals carry it and rows keep it. */
export interface FoundProblem {
  readonly type: AcmeType;
  /** A sentence for the subscriber, without internals. */
  readonly detail: string;
  readonly identifier: NamedIdentifier;
}

/** RFC 8555 §6.7.1: what is wrong with one identifier, as it is sent. */
export interface Subproblem {
  /** `urn:ietf:params:acme:error:…` */
  readonly type: string;
  readonly detail: string;
  readonly identifier: NamedIdentifier;
}

/** RFC 8555 §6.7, RFC 7807: the body of an answer of `application/problem+json`. */
export interface ProblemDocument {
  /** `urn:ietf:params:acme:error:…` */
  readonly type: string;
  readonly detail: string;
  /** The status of HTTP. */
  readonly status: number;
  /** Absent where there is none. */
  readonly subproblems?: readonly Subproblem[];
  /** RFC 8555 §6.2: what signatures are accepted, with `badSignatureAlgorithm`. */
  readonly algorithms?: readonly string[];
  /** RFC 8555 §7.3.3: where the user is to go, with `userActionRequired`. */
  readonly instance?: string;
}

/** A problem as it is kept with a challenge or an order. */
export interface StoredProblem {
  readonly type: AcmeType;
  /** A sentence for the subscriber, without internals. */
  readonly detail: string;
  /** The status of HTTP. */
  readonly status: number;
  /** The only identifier it is about. */
  readonly identifier?: NamedIdentifier;
  readonly subproblems?: readonly FoundProblem[];
}

/**
 * The document a refusal is told with (RFC 8555 §6.7, P-8); nothing of what went wrong inside is
 * in it (P-9), and no member that would be empty (AC-5).
 */
export function problemDocument(problem: Problem): ProblemDocument {
  const { algorithms, terms_of_service: terms } = problem.facts;
  return {
    ...documentOf(storedProblem(problem)),
    ...(isListOfTexts(algorithms) ? { algorithms } : {}),
    ...(typeof terms === "string" ? { instance: terms } : {}),
  };
}

/** A refusal as it is kept, for instance with the order that it made invalid (FIN-4). */
export function storedProblem(problem: Problem): StoredProblem {
  const type = typeOf(problem);
  const { subproblems } = problem.facts;
  const found = isListOfProblems(subproblems) ? subproblems : [];
  return {
    type,
    detail: detailOf(problem),
    status: statusOf(problem, type),
    ...(found.length === 0 ? {} : { subproblems: found }),
  };
}

/**
 * A kept problem as it is sent. RFC 8555 §6.7.1 allows identifiers in subproblems only, so the one
 * it is about becomes its subproblem.
 */
export function documentOf(stored: StoredProblem): ProblemDocument {
  const { type, detail, status, identifier } = stored;
  const alone = identifier === undefined ? [] : [{ type, detail, identifier }];
  const found = stored.subproblems?.length ? stored.subproblems : alone;
  return {
    type: urnOf(type),
    detail,
    status,
    ...(found.length === 0
      ? {}
      : { subproblems: found.map((one) => ({ ...one, type: urnOf(one.type) })) }),
  };
}

const urnOf = (type: AcmeType): string => `urn:ietf:params:acme:error:${type}`;

function typeOf({ code, facts }: Problem): AcmeType {
  const type = types[code];
  return type === "by gate" ? typeOfGates(facts.gates) : type;
}

/** FIN-4: of several gates that refused, the one the subscriber can do something about. */
function typeOfGates(gates: unknown): AcmeType {
  const entries: readonly unknown[] = Array.isArray(gates) ? gates : [];
  const names = entries.map((gate) =>
    typeof gate === "object" && gate !== null && "name" in gate ? gate.name : undefined,
  );
  return gateTypes.find(([name]) => names.includes(name))?.[1] ?? "badCSR";
}

function statusOf({ code, status }: Problem, type: AcmeType): number {
  // No realm could be named for a challenge of HTTP (RFC 9110 §15.5.2): who asks is in the message.
  if (status === 401) return 403;
  // A problem of the server that is none of overload is told without saying which. A CA that is
  // not there yet may be, and clients come again.
  if (type === "serverInternal" && status !== 503) return code === "ca_not_active" ? 503 : 500;
  return statuses.get(type) ?? status;
}

function detailOf({ code, message, facts }: Problem): string {
  const [status, sentence] = problems[code];
  if (status >= 500 || !tellsReason.test(code)) return sentence;
  if (message !== sentence) return message;
  const { reason } = facts;
  return typeof reason === "string"
    ? `${withoutStop(sentence)}: ${withoutStop(reason)}.`
    : sentence;
}

const withoutStop = (text: string): string => (text.endsWith(".") ? text.slice(0, -1) : text);

/** Types that have one status, whatever the JSON API answers with the code. */
const statuses: ReadonlyMap<AcmeType, number> = new Map([
  ["alreadyRevoked", 400],
  ["caa", 403],
  ["unauthorized", 403],
]);

/** Refusals whose reasons are phrases for whoever wrote the message. */
const tellsReason = /^acme_/;

const isListOfTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((one) => typeof one === "string");

/** The facts of our own refusals, which nobody else makes. */
const isListOfProblems = (value: unknown): value is readonly FoundProblem[] =>
  Array.isArray(value) && value.every((one) => typeof one === "object" && one !== null);

/** Gates by what their refusal means; all others object to the request. */
const gateTypes: readonly (readonly [gate: string, type: AcmeType])[] = [
  ["caa", "caa"],
  ["names", "rejectedIdentifier"],
  ["name_constraints", "rejectedIdentifier"],
  ["approval", "unauthorized"],
];

/** Every code, also those that nobody meets here: a new one does not compile without its type. */
// biome-ignore format: the table is read by column.
const types: Readonly<Record<ProblemCode, AcmeType | "by gate">> = {
  malformed_json:               "malformed",
  unknown_field:                "malformed",
  missing_field:                "malformed",
  invalid_field:                "malformed",
  conflicting_fields:           "malformed",
  bad_query:                    "malformed",
  unknown_parameter:            "malformed",
  bad_header:                   "malformed",
  bad_cursor:                   "malformed",
  bad_serial:                   "malformed",
  bad_fingerprint:              "malformed",
  bad_reason:                   "badRevocationReason",
  bad_csr:                      "badCSR",
  bad_certificate:              "malformed",
  bad_key:                      "badCSR",
  key_type_unsupported:         "badCSR",
  unknown_profile:              "serverInternal",
  profile_requires_approval:    "unauthorized",
  unsupported_name:             "badCSR",
  key_usage_unsuitable:         "badCSR",
  gate_refused:                 "by gate",
  ct_policy_unmet:              "serverInternal",
  validity_exceeds_limit:       "badCSR",
  identity_mismatch:            "badCSR",
  ca_constraint:                "rejectedIdentifier",
  import_refused:               "malformed",
  not_rotatable:                "malformed",
  bad_partition:                "malformed",
  empty_selection:              "malformed",
  unknown_serials:              "malformed",
  lifetime_exceeded:            "malformed",
  target_refused:               "malformed",
  wrong_class:                  "malformed",
  webauthn_failed:              "malformed",
  acme_malformed:               "malformed",
  acme_bad_nonce:               "badNonce",
  acme_bad_signature_algorithm: "badSignatureAlgorithm",
  acme_bad_public_key:          "badPublicKey",
  acme_account_unknown:         "accountDoesNotExist",
  acme_invalid_contact:         "invalidContact",
  acme_unsupported_contact:     "unsupportedContact",
  acme_invalid_profile:         "invalidProfile",
  acme_unsupported_identifier:  "unsupportedIdentifier",
  acme_rejected_identifier:     "rejectedIdentifier",
  acme_bad_csr:                 "badCSR",
  acme_bad_revocation_reason:   "badRevocationReason",
  acme_already_revoked:         "alreadyRevoked",
  idp_error:                    "malformed",
  bad_tx:                       "malformed",
  state_mismatch:               "malformed",
  no_code:                      "malformed",
  unauthenticated:              "unauthorized",
  no_session:                   "unauthorized",
  invalid_credentials:          "unauthorized",
  invalid_token:                "unauthorized",
  step_up_failed:               "unauthorized",
  verify_failed:                "unauthorized",
  nonce_mismatch:               "unauthorized",
  claims_failed:                "unauthorized",
  forbidden:                    "unauthorized",
  csrf_failed:                  "unauthorized",
  step_up_required:             "unauthorized",
  fresh_login_required:         "unauthorized",
  no_access:                    "unauthorized",
  tenant_suspended:             "unauthorized",
  acme_unauthorized:            "unauthorized",
  acme_terms_not_agreed:        "userActionRequired",
  acme_eab_required:            "externalAccountRequired",
  acme_order_not_ready:         "orderNotReady",
  acme_caa:                     "caa",
  self_approval:                "unauthorized",
  not_found:                    "malformed",
  feature_disabled:             "malformed",
  acme_not_found:               "malformed",
  method_not_allowed:           "malformed",
  acme_not_acceptable:          "malformed",
  already_exists:               "malformed",
  ca_not_active:                "serverInternal",
  ca_not_pending:               "malformed",
  ca_not_superseded:            "malformed",
  ca_in_use:                    "malformed",
  leaves_outstanding:           "malformed",
  already_revoked:              "alreadyRevoked",
  acme_already_replaced:        "alreadyReplaced",
  acme_key_in_use:              "malformed",
  hold_not_permitted:           "malformed",
  not_renewable:                "malformed",
  certificate_expired:          "malformed",
  not_held:                     "malformed",
  confirm_count_mismatch:       "malformed",
  replacement_too_fast:         "malformed",
  operation_mismatch:           "malformed",
  operation_running:            "malformed",
  already_decided:              "malformed",
  approval_unreachable:         "malformed",
  approval_not_pending:         "malformed",
  approval_not_retryable:       "malformed",
  approval_rejected:            "malformed",
  approval_expired:             "malformed",
  approval_failed:              "malformed",
  secret_already_shown:         "malformed",
  delivery_not_final:           "malformed",
  delivery_not_dead:            "malformed",
  subscription_disabled:        "malformed",
  config_managed:               "malformed",
  keys_in_use:                  "malformed",
  tenant_protected:             "malformed",
  tenant_not_empty:             "malformed",
  chain_broken:                 "malformed",
  body_too_large:               "malformed",
  headers_too_large:            "malformed",
  unsupported_media_type:       "malformed",
  unprocessable:                "malformed",
  no_credential:                "unauthorized",
  rate_limited:                 "rateLimited",
  quota_exceeded:               "rateLimited",
  internal:                     "serverInternal",
  bulk_partial:                 "serverInternal",
  not_supported:                "serverInternal",
  exchange_failed:              "serverInternal",
  no_id_token:                  "serverInternal",
  key_unavailable:              "serverInternal",
  crl_unavailable:              "serverInternal",
  storage_unavailable:          "serverInternal",
  oidc_unavailable:             "serverInternal",
  overloaded:                   "rateLimited",
  shutting_down:                "serverInternal",
  approval_pending:             "serverInternal",
};
