/**
 * WHAT PKID REFUSES: every error code with its HTTP status, its sentence and the facts it carries.
 */

/**
 * A closed list; a code never changes its status. Columns: status, sentence, names of the facts.
 */
export const problems = {
  malformed_json: [400, "The body is not valid JSON.", []],
  unknown_field: [400, "The body has a member this operation does not know.", ["field"]],
  missing_field: [400, "A required member is missing.", ["field"]],
  invalid_field: [400, "A member has a wrong type or value.", ["field", "reason"]],
  conflicting_fields: [400, "These members exclude each other.", ["fields"]],
  bad_query: [
    400,
    "A query parameter is missing or has a wrong or unknown value.",
    ["parameter", "reason"],
  ],
  unknown_parameter: [400, "This operation does not know the parameter.", ["parameter"]],
  bad_header: [400, "A header field can be read in more than one way.", ["header"]],
  bad_cursor: [400, "The cursor does not belong to this query.", []],
  bad_serial: [400, "This is not a certificate serial.", []],
  bad_fingerprint: [400, "This is not a SHA-256 public-key fingerprint.", ["field"]],
  bad_reason: [400, "This revocation reason is not accepted here.", []],
  bad_csr: [400, "The certificate request cannot be used.", ["reason"]],
  bad_certificate: [400, "The certificate cannot be read.", ["reason"]],
  bad_key: [400, "The public key is not acceptable.", ["reason"]],
  key_type_unsupported: [400, "The key provider cannot make this key type.", ["key_type"]],
  unknown_profile: [400, "There is no such profile.", ["profile"]],
  profile_requires_approval: [
    400,
    "A profile that needs approval cannot be opened to unattended enrolment.",
    ["profile"],
  ],
  unsupported_name: [
    400,
    "The request has a name of a type this service does not issue.",
    ["names"],
  ],
  key_usage_unsuitable: [400, "The key cannot serve the profile's usages.", ["key_type"]],
  gate_refused: [400, "An issuance gate refused the request.", ["gates"]],
  ct_policy_unmet: [
    400,
    "Too few transparency logs answered; no certificate was signed.",
    ["required", "received", "logs"],
  ],
  validity_exceeds_limit: [
    400,
    "The requested validity is longer than allowed.",
    ["requested_days", "limit_days", "limit"],
  ],
  identity_mismatch: [
    400,
    "A renewal keeps subject and names; the request has others.",
    ["mismatch"],
  ],
  ca_constraint: [400, "The issuing CA's constraints forbid this certificate.", ["reason"]],
  import_refused: [400, "The CA certificate failed its checks.", ["checks"]],
  not_rotatable: [400, "Only intermediates issued by this service can be rotated.", ["reason"]],
  bad_partition: [400, "There is no such CRL partition.", ["shard_count"]],
  empty_selection: [400, "The filter is empty; send all to select every certificate.", []],
  unknown_serials: [400, "Serials unknown to the inventory cannot be put on hold.", ["serials"]],
  lifetime_exceeded: [400, "The token would live longer than allowed.", ["max_lifetime_days"]],
  target_refused: [400, "This webhook address is not allowed.", ["reason"]],
  wrong_class: [400, "This approval request is not for a certificate.", ["operation_class"]],
  webauthn_failed: [400, "The passkey could not be registered.", ["reason"]],
  acme_malformed: [400, "The ACME request is malformed.", ["reason"]],
  acme_bad_nonce: [400, "The nonce is missing, too old, or was used before.", []],
  acme_bad_signature_algorithm: [
    400,
    "Signatures of this algorithm are not accepted.",
    ["algorithms"],
  ],
  acme_bad_public_key: [400, "The account key is not acceptable.", ["reason"]],
  acme_account_unknown: [400, "There is no account with this key.", []],
  acme_invalid_contact: [400, "A contact is not valid.", ["reason"]],
  acme_unsupported_contact: [400, "A contact is of a kind that is not supported.", ["reason"]],
  acme_invalid_profile: [400, "No profile is offered by this name.", ["profile"]],
  acme_unsupported_identifier: [
    400,
    "An identifier is of a type that is not supported.",
    ["subproblems"],
  ],
  acme_rejected_identifier: [
    400,
    "No certificate is issued for an identifier.",
    ["subproblems", "reason"],
  ],
  acme_bad_csr: [400, "The request cannot be used for the order.", ["reason"]],
  acme_bad_revocation_reason: [400, "This reason is not accepted for a revocation.", []],
  acme_already_revoked: [400, "The certificate was revoked before.", []],
  idp_error: [400, "The login could not be completed.", []],
  bad_tx: [400, "The login could not be completed.", []],
  state_mismatch: [400, "The login could not be completed.", []],
  no_code: [400, "The login could not be completed.", []],
  unauthenticated: [401, "Authentication is required.", []],
  no_session: [401, "There is no session.", []],
  invalid_credentials: [401, "The name or the password is wrong.", []],
  invalid_token: [401, "The token is not accepted.", []],
  step_up_failed: [401, "The passkey assertion was not accepted.", ["reason"]],
  verify_failed: [401, "The identity token was not accepted.", []],
  nonce_mismatch: [401, "The identity token was not accepted.", []],
  claims_failed: [401, "The identity token was not accepted.", []],
  forbidden: [403, "You may not do this.", ["capability"]],
  csrf_failed: [403, "The CSRF token is missing or wrong.", []],
  step_up_required: [403, "Confirm this operation with your passkey.", ["operation"]],
  fresh_login_required: [403, "Log in again before adding the first passkey.", ["max_age_seconds"]],
  no_access: [403, "This account has no role here.", []],
  tenant_suspended: [403, "The tenant is suspended.", []],
  acme_unauthorized: [403, "The account may not do this.", ["reason"]],
  acme_terms_not_agreed: [403, "The terms of service must be agreed to.", ["terms_of_service"]],
  acme_eab_required: [403, "New accounts need an external account binding.", []],
  acme_order_not_ready: [403, "The order is not ready to be finalized.", ["status"]],
  acme_caa: [403, "The domain's CAA records forbid the certificate.", ["reason"]],
  self_approval: [
    403,
    "The person who made a request cannot approve it; root and all local shells are one person.",
    [],
  ],
  not_found: [404, "There is no such thing.", []],
  feature_disabled: [404, "This feature is switched off.", ["feature"]],
  acme_not_found: [404, "There is no such ACME resource.", []],
  method_not_allowed: [405, "This path does not take this method.", ["allow"]],
  acme_not_acceptable: [406, "The certificate is given as a PEM chain only.", []],
  already_exists: [409, "The name is not available.", ["field"]],
  ca_not_active: [409, "The CA is not active.", ["status"]],
  ca_not_pending: [409, "The CA does not wait for a certificate.", ["status"]],
  ca_not_superseded: [409, "The CA has no superseded key to retire.", ["status"]],
  ca_in_use: [409, "The CA has signed; it can be retired, not deleted.", []],
  leaves_outstanding: [
    409,
    "Certificates of the old key are still valid.",
    ["outstanding_leaves", "retire_after"],
  ],
  already_revoked: [409, "The certificate is revoked for good.", ["revoked_at", "reason"]],
  acme_already_replaced: [409, "Another order has replaced the certificate.", []],
  acme_key_in_use: [409, "Another account has this key.", ["account_url"]],
  hold_not_permitted: [409, "This certificate cannot be put on hold.", []],
  not_renewable: [409, "This certificate cannot be renewed.", ["status"]],
  certificate_expired: [409, "The certificate has expired.", ["not_after"]],
  not_held: [409, "The certificate is not on hold.", ["status"]],
  confirm_count_mismatch: [
    409,
    "The live count differs from confirm_count; nothing was changed.",
    ["confirm_count", "actual_count"],
  ],
  replacement_too_fast: [
    409,
    "So many certificates cannot be replaced in so short a time.",
    ["least_seconds", "per_second"],
  ],
  operation_mismatch: [409, "This operation id belongs to another request.", ["operation_id"]],
  operation_running: [409, "The operation is already running.", ["operation_id"]],
  already_decided: [409, "You have already decided this request.", []],
  approval_unreachable: [
    409,
    "Too few people besides you may approve this; nothing was stored.",
    ["required_approvals", "operators"],
  ],
  approval_not_pending: [409, "The request is no longer open.", ["status"]],
  approval_not_retryable: [409, "The request cannot be executed again.", ["status"]],
  approval_rejected: [409, "The request was rejected.", ["comment"]],
  approval_expired: [409, "The request has expired.", ["expires_at"]],
  approval_failed: [409, "The approved operation failed.", ["failure"]],
  secret_already_shown: [409, "The secret was shown once and is gone.", []],
  delivery_not_final: [409, "The delivery is still under way.", ["status"]],
  delivery_not_dead: [409, "Only dead deliveries can be acknowledged.", ["status"]],
  subscription_disabled: [409, "The subscription is disabled.", []],
  config_managed: [409, "This record comes from the configuration.", []],
  keys_in_use: [409, "The device holds keys of CAs that are not retired.", ["labels"]],
  tenant_protected: [409, "The default tenant cannot be suspended or deleted.", []],
  tenant_not_empty: [409, "The tenant still owns CAs.", ["cas"]],
  chain_broken: [409, "The audit chain is broken.", ["valid", "broken_at_seq", "reason"]],
  body_too_large: [413, "The body is too large.", ["limit_bytes"]],
  headers_too_large: [431, "The address and the header fields are too large.", ["limit_bytes"]],
  unsupported_media_type: [415, "This media type is not accepted.", ["expected"]],
  unprocessable: [422, "The record cannot be made from this input.", ["reason"]],
  no_credential: [428, "No passkey is registered.", []],
  rate_limited: [429, "Too many requests.", ["tier", "retry_after"]],
  quota_exceeded: [429, "The tenant's quota is used up.", ["quota", "retry_after"]],
  internal: [500, "internal error", []],
  bulk_partial: [500, "The run stopped midway; repeat it with the same operation id.", ["result"]],
  not_supported: [501, "The key provider cannot do this.", []],
  exchange_failed: [502, "The identity provider did not complete the login.", []],
  no_id_token: [502, "The identity provider did not complete the login.", []],
  key_unavailable: [503, "The key store does not answer.", ["retry_after"]],
  crl_unavailable: [503, "The CRL cannot be signed now.", ["retry_after"]],
  storage_unavailable: [503, "The database does not accept writes.", ["retry_after"]],
  oidc_unavailable: [503, "The identity provider does not answer.", ["retry_after"]],
  overloaded: [503, "Too many signing requests wait.", ["retry_after"]],
  shutting_down: [503, "The server is stopping.", ["retry_after"]],
  approval_pending: [202, "The operation waits for approval.", ["approval_id"]],
} as const satisfies Record<
  string,
  readonly [status: number, sentence: string, facts: readonly string[]]
>;

export type ProblemCode = keyof typeof problems;

/** A refusal: nothing changed, and the sentence says why. Anything else that is thrown is a bug. */
export class Problem extends Error {
  override readonly name = "Problem";
  readonly code: ProblemCode;
  readonly facts: Readonly<Record<string, unknown>>;

  constructor(code: ProblemCode, facts: Readonly<Record<string, unknown>>) {
    super(problems[code][1]);
    this.code = code;
    this.facts = facts;
  }

  get status(): number {
    return problems[this.code][0];
  }
}

/**
 * Makes the refusal `code`; the caller throws it. `facts` are the members the table lists,
 * those without a value left out; `sentence` replaces the table's when more can be said.
 */
export function refuse<C extends ProblemCode>(
  code: C,
  facts: Facts<C> = {},
  sentence?: string,
): Problem {
  const problem = new Problem(code, facts);
  if (sentence !== undefined) problem.message = sentence;
  return problem;
}

/** States what only a bug can break; the sentence reaches the log, never a caller. */
export function assert(condition: unknown, sentence: string): asserts condition {
  if (!condition) throw new Error(`assertion failed: ${sentence}`);
}

type Facts<C extends ProblemCode> = { readonly [F in (typeof problems)[C][2][number]]?: unknown };
