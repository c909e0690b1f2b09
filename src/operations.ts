/**
 * WHAT PKID CAN DO: every operation with its route, who may call it, whose tenant it concerns, and
 * its gates.
 */

import type { Capability } from "#core/access/roles.ts";
import type { StepUpName } from "#core/access/step-up.ts";
import type { ApprovalClass } from "#core/approvals/classes.ts";
import type { Action } from "#core/audit/actions.ts";

/**
 * How one operation is reached and guarded.
 * - `needs`: `pub` looks at no credential, `any` wants an authenticated principal, else a
 *   capability.
 * - `on`: what the capability must be held on: `ca` (the CA named in the path), `tenant` (the one
 *   the body names, else the
 *   caller's), `platform`, or `any` scope (the answer is narrowed to the scopes where it is held).
 * - `by`: where the CA is named when not as `{id}` in the path: as `resource`, in the body of a
 *   write, the query of a read.
 * - `writes`: refusals after authentication are audited under the operation's name; foreign and
 *   absent ids look alike (403).
 * - `action`: the audit action, where it has another name than the operation.
 * - `suspendable`: refused while the tenant is suspended. `limit`: the rate and guard class.
 * - `grows`: adds records nobody waits for in an emergency; refused while the disk is nearly full
 *   (`database.min_free_mb`).
 * - `aliases`: further paths of the same operation, with the same parameters and guards.
 * - `takesTwo`: the class under which it waits for another person's approval, where approvals guard
 *   that.
 * - `stepUp`: the name under which people in a session confirm it with a passkey, where passkeys
 *   guard that.
 * - `local`: exists only on the admin socket. `bulk`: its body is a list of many, and may be as
 *   large as `server.max_bulk_body_bytes`.
 * - `speaks`: the words of its protocol, in which refusals are told; JSON where it is not said.
 *   Devices and relying parties send no browser's headers, so pages of other sites are not kept
 *   from what speaks.
 * - `caller`: `inside` when the message itself says and proves who asks; nothing else is looked at.
 * - `in`: `query` where a change takes what its route does not name from there and not from a body.
 * - `headers`: members that stand in header fields, under their names with hyphens.
 * - `hot`: asked by the million; its route is `/…/{id}/…`, or names nothing, and is found before
 *   any other.
 */
export interface Operation {
  readonly route: string;
  readonly aliases?: readonly string[];
  readonly needs: "pub" | "any" | Capability;
  readonly on?: "ca" | "tenant" | "platform" | "any";
  readonly by?: "resource";
  readonly writes?: true;
  readonly action?: Action;
  readonly suspendable?: true;
  readonly grows?: true;
  readonly limit?: LimitClass;
  readonly stepUp?: StepUpName;
  readonly takesTwo?: ApprovalClass;
  readonly local?: true;
  readonly bulk?: true;
  readonly speaks?: Speech;
  readonly caller?: "inside";
  readonly hot?: true;
  readonly in?: "query";
  readonly headers?: readonly string[];
}

/** What is counted together. */
export type LimitClass =
  | "ocsp"
  | "crl"
  | "chain"
  | "login"
  | "acme_new_account"
  | "acme_new_order"
  | "acme_new_authz"
  | "acme_renewal_info"
  | "acme_finalize"
  | "acme_other"
  | "admin"
  | "admin_sign"
  | "exempt";

/** How refusals are told where JSON is not understood. */
export type Speech = "ocsp" | "acme";

const read = { needs: "read", on: "ca" } as const;
const issue = { needs: "issue", on: "ca", writes: true } as const;
const acme = { needs: "pub", speaks: "acme" } as const;
const manage = { needs: "ca:manage", on: "ca", writes: true } as const;

// biome-ignore format: the table is read by column.
export const operations = {
  // health and description
  "health.live":           { route: "GET /healthz",                                      needs: "pub", limit: "exempt" },
  "health.live_api":       { route: "GET /api/health",                                   needs: "pub", limit: "exempt" },
  "health.ready":          { route: "GET /readyz",                                       needs: "pub", limit: "exempt" },
  "metrics.read":          { route: "GET /metrics",                                      needs: "pub", limit: "exempt" },
  "openapi.read":          { route: "GET /openapi.json",                                 needs: "pub" },
  "openapi.page":          { route: "GET /docs",                                         needs: "pub" },
  "manual.page":           { route: "GET /docs/manual",                                  needs: "pub" },
  "manual.read":           { route: "GET /api/manual",                                   needs: "pub" },
  "auth.config":           { route: "GET /api/auth/config",                              needs: "pub" },
  "auth.login":            { route: "GET /auth/login",                                   needs: "pub", limit: "login" },
  "auth.callback":         { route: "GET /auth/callback",                                needs: "pub", limit: "login" },
  "auth.login_password":   { route: "POST /auth/login/password",                         needs: "pub", limit: "login" },
  "auth.login_ldap":       { route: "POST /auth/login/ldap",                             needs: "pub", limit: "login" },
  "auth.logout":           { route: "POST /auth/logout",                                 needs: "pub" },
  "auth.session":          { route: "GET /auth/session",                                 needs: "pub" },
  "auth.me":               { route: "GET /api/me",                                       needs: "any" },

  // certificate authorities
  "ca.list":               { route: "GET /api/ca",                                       aliases: ["/api/keys"], needs: "read", on: "any" },
  "ca.show":               { route: "GET /api/ca/{id}",                                  aliases: ["/api/keys/{id}"], ...read },
  "ca.public_key":         { route: "GET /api/ca/{id}/public-key",                       aliases: ["/api/keys/{id}/public-key"], ...read },
  "ca.certificate":        { route: "GET /api/ca/{id}/certificate",                      needs: "pub", limit: "chain" },
  "ca.chain":              { route: "GET /api/ca/{id}/chain",                            needs: "pub", limit: "chain" },
  "ca.init_root":          { route: "POST /api/ca/init-root",                            needs: "ca:manage", on: "tenant", writes: true, suspendable: true, grows: true, limit: "admin_sign", takesTwo: "ca.create", stepUp: "ca.init_root" },
  "ca.issue_intermediate": { route: "POST /api/ca/{id}/issue-intermediate",              ...manage, suspendable: true, grows: true, limit: "admin_sign", takesTwo: "ca.create", stepUp: "ca.issue_intermediate" },
  "ca.csr":                { route: "POST /api/ca/csr",                                  needs: "ca:manage", on: "tenant", writes: true, suspendable: true, grows: true, limit: "admin_sign", stepUp: "ca.csr" },
  "ca.csr_show":           { route: "GET /api/ca/{id}/csr",                              ...read },
  "ca.import_cert":        { route: "POST /api/ca/{id}/import-cert",                     ...manage, suspendable: true, grows: true, takesTwo: "ca.create", stepUp: "ca.import_cert" },
  "import.address":        { route: "GET /api/imports/address",                          needs: "ca:manage", on: "platform", local: true, limit: "exempt" },
  "ca.import":             { route: "POST /api/imports",                                 needs: "ca:manage", on: "tenant", writes: true, suspendable: true, grows: true, local: true, limit: "exempt", stepUp: "ca.import_cert" },
  "import.check":          { route: "POST /api/imports/check",                           needs: "ca:manage", on: "tenant", local: true, limit: "exempt", bulk: true },
  "cert.import":           { route: "POST /api/ca/{id}/certificates:import",             ...manage, grows: true, local: true, limit: "exempt", bulk: true, stepUp: "ca.import_cert" },
  "ca.import_finish":      { route: "POST /api/ca/{id}/import:finish",                   ...manage, suspendable: true, grows: true, local: true, limit: "exempt", takesTwo: "ca.create", stepUp: "ca.import_cert" },
  "ca.cross_sign":         { route: "POST /api/ca/{id}/cross-signs",                     ...manage, suspendable: true, grows: true, limit: "admin_sign", takesTwo: "ca.create", stepUp: "ca.cross_sign" },
  "ca.cross_signs":        { route: "GET /api/ca/{id}/cross-signs",                      ...read },
  "ca.cross_chain":        { route: "GET /api/ca/{id}/cross-signs/{cross_sign_id}/chain", needs: "pub", limit: "chain" },
  "ca.chains":             { route: "GET /api/ca/{id}/chains",                           needs: "pub", limit: "chain" },
  "ca.delete":             { route: "DELETE /api/ca/{id}",                               aliases: ["/api/keys/{id}"], ...manage, in: "query", stepUp: "ca.manage" },
  "ca.rotations":          { route: "GET /api/rotations",                                needs: "read", on: "any" },
  "ca.rotation":           { route: "GET /api/ca/{id}/rotation",                         ...read },
  "ca.rotate":             { route: "POST /api/ca/{id}/rotate",                          ...manage, suspendable: true, grows: true, limit: "admin_sign", takesTwo: "ca.rotate", stepUp: "ca.rotate" },
  "ca.retire":             { route: "POST /api/ca/{id}/retire",                          ...manage, limit: "exempt", takesTwo: "ca.retire", stepUp: "ca.retire" },
  "cert.orphans":          { route: "GET /api/ca/{id}/orphans",                          ...read },

  // certificates
  "profile.list":          { route: "GET /api/profiles",                                 needs: "any" },
  "cert.issue":            { route: "POST /api/ca/{id}/issue",                           ...issue, suspendable: true, grows: true, limit: "admin_sign", takesTwo: "cert.issue" },
  "cert.renew":           { route: "POST /api/ca/{id}/renew",                            ...issue, suspendable: true, grows: true, limit: "admin_sign", takesTwo: "cert.issue" },
  "cert.preview":         { route: "POST /api/ca/{id}/certificates:preview",             needs: "issue", on: "ca" },
  "cert.issue_bulk":      { route: "POST /api/ca/{id}/certificates:bulk",                ...issue, suspendable: true, grows: true, limit: "admin_sign", bulk: true, stepUp: "cert.issue_bulk" },
  "cert.lint":            { route: "POST /api/lint",                                     needs: "read", on: "any" },
  "cert.validate":        { route: "POST /api/validate",                                 needs: "read", on: "any" },
  "csr.parse":            { route: "POST /api/parse-csr",                                needs: "read", on: "any" },
  "cert.list":             { route: "GET /api/ca/{id}/certificates",                     ...read },
  "cert.show":             { route: "GET /api/ca/{id}/certificates/{serial}",            ...read },
  "dns.tlsa":              { route: "GET /api/ca/{id}/dns-records/tlsa",                 ...read },

  // revocation
  "cert.revoke":           { route: "POST /api/ca/{id}/revoke",                          ...issue, limit: "exempt", stepUp: "cert.revoke" },
  "cert.suspend":          { route: "POST /api/ca/{id}/certificates/{serial}:suspend",   ...issue, limit: "exempt", stepUp: "cert.revoke" },
  "cert.release":          { route: "POST /api/ca/{id}/certificates/{serial}:release",   ...issue, limit: "exempt", stepUp: "cert.revoke" },
  "cert.revoke_bulk":      { route: "POST /api/ca/{id}/revocations:bulk",                ...manage, limit: "exempt", bulk: true, takesTwo: "revocation.bulk", stepUp: "cert.revoke_bulk" },
  "revocation.list":       { route: "GET /api/ca/{id}/revoked",                          ...read },
  "crl.read":              { route: "GET /api/ca/{id}/crl",                              needs: "pub", limit: "crl", hot: true },
  "crl.delta":             { route: "GET /api/ca/{id}/crl/delta",                        needs: "pub", limit: "crl" },
  "crl.partition":         { route: "GET /api/ca/{id}/crl/partition/{shard}",            needs: "pub", limit: "crl" },
  "crl.partition_delta":   { route: "GET /api/ca/{id}/crl/partition/{shard}/delta",      needs: "pub", limit: "crl" },
  "crl.status":            { route: "GET /api/ca/{id}/crl/status",                       ...read },
  "crl.list":              { route: "GET /api/crls",                                     needs: "read", on: "any" },
  "crl.publish":           { route: "POST /api/ca/{id}/crl:publish",                     ...manage, limit: "exempt" },
  "crl.import":            { route: "POST /api/ca/{id}/crl:import",                      ...manage, limit: "exempt", bulk: true, stepUp: "cert.revoke_bulk" },
  "ocsp.get":              { route: "GET /api/ca/{id}/ocsp/{request*}",                  needs: "pub", limit: "ocsp", speaks: "ocsp", hot: true },
  "ocsp.post":             { route: "POST /api/ca/{id}/ocsp",                            needs: "pub", limit: "ocsp", speaks: "ocsp", hot: true },
  "publish.run":           { route: "POST /api/publish:run",                             needs: "ca:manage", on: "platform", writes: true, limit: "exempt" },
  "ocsp.presign":          { route: "POST /api/ocsp:presign",                            needs: "ca:manage", on: "platform", writes: true, limit: "exempt" },

  // ACME
  "acme.directory":        { route: "GET /acme/directory",                               ...acme, limit: "acme_other" },
  "acme.nonce":            { route: "GET /acme/new-nonce",                               ...acme, limit: "acme_other", hot: true },
  "acme.account.new":      { route: "POST /acme/new-account",                            ...acme, limit: "acme_new_account" },
  "acme.account":          { route: "POST /acme/acct/{account}",                              ...acme, limit: "acme_other" },
  "acme.account.orders":   { route: "POST /acme/acct/{account}/orders",                       ...acme, limit: "acme_other" },
  "acme.order.new":        { route: "POST /acme/new-order",                              ...acme, limit: "acme_new_order" },
  "acme.authz.new":        { route: "POST /acme/new-authz",                              ...acme, limit: "acme_new_authz" },
  "acme.order":            { route: "POST /acme/order/{order}",                             ...acme, limit: "acme_other" },
  "acme.order.finalize":   { route: "POST /acme/order/{order}/finalize",                    ...acme, limit: "acme_finalize" },
  "acme.authz":            { route: "POST /acme/authz/{authz}",                             ...acme, limit: "acme_other" },
  "acme.challenge":        { route: "POST /acme/chall/{challenge}",                             ...acme, limit: "acme_other" },
  "acme.certificate":      { route: "POST /acme/cert/{certificate}",                              ...acme, limit: "acme_other" },
  "acme.certificate.other": { route: "POST /acme/cert/{certificate}/{n}",                         ...acme, limit: "acme_other" },
  "acme.revoke":           { route: "POST /acme/revoke-cert",                            ...acme, limit: "exempt" },
  "acme.key_change":       { route: "POST /acme/key-change",                             ...acme, limit: "acme_other" },
  "acme.renewal_info":     { route: "GET /acme/renewal-info/{certid}",                   ...acme, limit: "acme_renewal_info" },

  // what operators see and do of ACME
  "acme.guide":            { route: "GET /docs/acme",                                    needs: "pub" },
  "acme.directory.list":   { route: "GET /api/acme/directories",                         needs: "read", on: "any" },
  "acme.eab.list":         { route: "GET /api/acme/eab",                                 needs: "ca:manage", on: "any" },
  "acme.eab.create":       { route: "POST /api/acme/eab",                                needs: "ca:manage", on: "tenant", writes: true, suspendable: true, grows: true, stepUp: "eab.create" },
  "acme.eab.revoke":       { route: "DELETE /api/acme/eab/{id}",                         needs: "ca:manage", on: "tenant", writes: true, in: "query" },
  "acme.account.list":     { route: "GET /api/acme/accounts",                            needs: "read", on: "any" },
  "acme.account.deactivate": { route: "POST /api/acme/accounts/{id}:deactivate",         needs: "ca:manage", on: "tenant", writes: true },
  "acme.order.list":       { route: "GET /api/acme/orders",                              needs: "read", on: "any" },
  "acme.order.deactivate": { route: "POST /api/acme/orders/{id}:deactivate",             needs: "ca:manage", on: "tenant", writes: true },
  "acme.authz.list":       { route: "GET /api/acme/authorizations",                      needs: "read", on: "any" },
  "acme.authz.deactivate": { route: "POST /api/acme/authorizations/{id}:deactivate",     needs: "ca:manage", on: "tenant", writes: true },

  "acme.replace.plan":     { route: "POST /api/ca/{id}/acme-replacements",               ...manage, limit: "exempt", bulk: true, grows: true, takesTwo: "revocation.bulk", stepUp: "cert.revoke_bulk" },
  "acme.replace.list":     { route: "GET /api/acme/replacements",                        needs: "read", on: "any" },
  "acme.replace.show":     { route: "GET /api/acme/replacements/{id}",                   ...read },
  "acme.replace.cancel":   { route: "POST /api/acme/replacements/{id}:cancel",           ...manage, limit: "exempt" },

  // certificate transparency
  "ct.inclusion":          { route: "GET /api/ct/inclusion",                             needs: "read", on: "any" },
  "ct.verify":             { route: "POST /api/ct/inclusion:verify",                     needs: "ca:manage", on: "platform", local: true, limit: "exempt" },

  // watching
  "preflight.run":         { route: "POST /api/preflight",                               needs: "ca:manage", on: "platform", limit: "exempt" },
  "instance.show":         { route: "GET /api/instance",                                 needs: "any" },
  "config.show":           { route: "GET /api/config",                                   needs: "ca:manage", on: "platform" },
  "job.list":              { route: "GET /api/jobs",                                     needs: "ca:manage", on: "platform" },
  "monitor.expiring":      { route: "GET /api/monitor/expiring",                         needs: "read", on: "any" },
  "monitor.clock_accept":  { route: "POST /api/monitor/clock:accept",                    needs: "ca:manage", on: "platform", writes: true, local: true, limit: "exempt" },
  "db.accept_rollback":    { route: "POST /api/database/rollback:accept",                needs: "ca:manage", on: "platform", writes: true, action: "system.accept_rollback", local: true, limit: "exempt" },
  "canary.run":            { route: "POST /api/canary:run",                              needs: "issue", on: "platform", writes: true, action: "canary.probe", grows: true, limit: "admin_sign" },

  // retention
  "retention.run":         { route: "POST /api/retention:run",                           needs: "ca:manage", on: "platform", writes: true, action: "inventory.retention", limit: "exempt" },
  "retention.status":      { route: "GET /api/retention",                                needs: "read", on: "platform" },

  // backup
  "backup.run":            { route: "POST /api/backup",                                  needs: "ca:manage", on: "platform", writes: true, local: true, limit: "exempt" },
  "backup.status":         { route: "GET /api/backup",                                   needs: "ca:manage", on: "platform" },
  "backup.make":           { route: "POST /api/backup:run",                              needs: "ca:manage", on: "platform", writes: true, action: "backup.run", local: true, limit: "exempt" },
  "backup.drilled":        { route: "POST /api/backup:drilled",                          needs: "ca:manage", on: "platform", writes: true, action: "backup.verify", local: true, limit: "exempt" },

  // tenants
  "tenant.list":           { route: "GET /api/tenants",                                  needs: "any" },
  "tenant.create":         { route: "POST /api/tenants",                                 needs: "tenant:manage", on: "platform", writes: true, grows: true },
  "tenant.show":           { route: "GET /api/tenants/{id}",                             needs: "any" },
  "tenant.update":         { route: "PUT /api/tenants/{id}",                             needs: "tenant:manage", on: "platform", writes: true },
  "tenant.status":         { route: "PUT /api/tenants/{id}/status",                      needs: "tenant:manage", on: "platform", writes: true, action: "tenant.update" },
  "tenant.usage":          { route: "GET /api/tenants/{id}/usage",                       needs: "any" },
  "tenant.delete":         { route: "DELETE /api/tenants/{id}",                          needs: "tenant:manage", on: "platform", writes: true },

  // access
  "session.list":          { route: "GET /api/sessions",                                 needs: "session:manage", on: "platform" },
  "session.end":           { route: "DELETE /api/sessions/{id}",                         needs: "session:manage", on: "platform", writes: true, action: "auth.logout", stepUp: "session.end" },
  "token.list":            { route: "GET /api/tokens",                                   needs: "token:manage", on: "any" },
  "token.create":          { route: "POST /api/tokens",                                  needs: "token:manage", on: "tenant", writes: true, grows: true, takesTwo: "token.create", stepUp: "token.create" },
  "token.revoke":          { route: "DELETE /api/tokens/{id}",                           needs: "any", writes: true },

  // passkeys
  "webauthn.register_begin": { route: "POST /auth/webauthn/register/begin",              needs: "any", writes: true, action: "webauthn.register" },
  "webauthn.register":     { route: "POST /auth/webauthn/register/finish",               needs: "any", writes: true },
  "webauthn.step_up_begin": { route: "POST /auth/webauthn/stepup/begin",                 needs: "any" },
  "webauthn.step_up":      { route: "POST /auth/webauthn/stepup/finish",                 needs: "any", writes: true, action: "auth.step_up" },
  "webauthn.list":         { route: "GET /auth/webauthn/credentials",                    needs: "any" },
  "webauthn.remove":       { route: "DELETE /auth/webauthn/credentials/{id}",            needs: "any", writes: true, stepUp: "webauthn.remove" },

  "webauthn.reset":        { route: "POST /api/passkeys:reset",                          needs: "session:manage", on: "platform", writes: true, action: "webauthn.remove", takesTwo: "token.create", stepUp: "webauthn.remove" },

  // grants
  "grant.list":            { route: "GET /api/grants",                                   needs: "grant:manage", on: "ca", by: "resource" },
  "resource.grant":        { route: "POST /api/grants",                                  needs: "grant:manage", on: "ca", by: "resource", writes: true, grows: true, stepUp: "grant.change" },
  "resource.revoke":       { route: "DELETE /api/grants",                                needs: "grant:manage", on: "ca", by: "resource", writes: true, stepUp: "grant.change" },
  "grant.effective":       { route: "GET /api/grants/effective",                         needs: "any" },

  // approvals
  "approval.list":         { route: "GET /api/approvals",                                needs: "any" },
  "approval.show":         { route: "GET /api/approvals/{id}",                           needs: "any" },
  "approval.approve":      { route: "POST /api/approvals/{id}/approve",                  needs: "approval:approve", on: "any", writes: true, limit: "admin_sign", stepUp: "approval.approve" },
  "approval.reject":       { route: "POST /api/approvals/{id}/reject",                   needs: "any", writes: true },
  "approval.retry":        { route: "POST /api/approvals/{id}/retry",                    needs: "any", writes: true, limit: "admin_sign", stepUp: "approval.approve" },
  "approval.transcript":   { route: "GET /api/approvals/{id}/transcript",                needs: "approval:read", on: "any" },
  "approval.certificate":  { route: "GET /api/approvals/{id}/certificate",               needs: "any" },

  // audit and keys
  "event.list":            { route: "GET /api/events",                                   needs: "audit:read", on: "any" },
  "event.verify":          { route: "GET /api/events/verify",                            needs: "audit:read", on: "platform" },
  "event.export":          { route: "GET /api/events/export",                            needs: "audit:read", on: "platform" },
  "event.stream":          { route: "GET /api/events/stream",                            needs: "audit:read", on: "any", headers: ["last_event_id"] },
  "access_log.list":       { route: "GET /api/access-log",                               needs: "audit:read", on: "platform" },
  "blocked_key.list":      { route: "GET /api/blocked-keys",                             needs: "read", on: "any" },
  "key.block":             { route: "POST /api/blocked-keys",                            needs: "ca:manage", on: "platform", writes: true, stepUp: "key.block" },
  "key.unblock":           { route: "DELETE /api/blocked-keys/{id}",                     needs: "ca:manage", on: "platform", writes: true, stepUp: "key.block" },
  "kek.show":              { route: "GET /api/kek",                                      needs: "hsm:manage", on: "platform" },
  "kek.rotate":            { route: "POST /api/kek/rotate",                              needs: "hsm:manage", on: "platform", writes: true, takesTwo: "kek.rotate", stepUp: "kek.rotate" },
  "kek.try":               { route: "POST /api/kek/try",                                 needs: "hsm:manage", on: "platform", local: true, limit: "exempt" },
  "inventory.keys":        { route: "GET /api/inventory/keys",                           needs: "hsm:manage", on: "platform" },
  "inventory.certificates": { route: "GET /api/inventory/certificates",                  needs: "read", on: "any" },
  "inventory.days":        { route: "GET /api/inventory/days",                           needs: "read", on: "any" },
  "hsm.audit_log":         { route: "GET /api/hsm/audit-log",                            needs: "audit:read", on: "platform" },
  "hsm.signed_audit_log":  { route: "GET /api/hsm/signed-audit-log",                     needs: "audit:read", on: "platform" },
  "hsm.combined_audit_log": { route: "GET /api/hsm/combined-audit-log",                  needs: "audit:read", on: "platform" },
  "hsm.factory_reset":     { route: "POST /api/hsm/factory-reset",                       needs: "hsm:manage", on: "platform", writes: true, stepUp: "hsm.factory_reset" },
  "hsm.info":              { route: "GET /api/hsm/info",                                 needs: "read", on: "any" },
} as const satisfies Record<string, Operation>;

export type OperationName = keyof typeof operations;

export interface Route {
  readonly method: string;
  readonly path: string;
}

/**
 * The method and path pattern of an operation; `{name}` is a segment, `{name*}` the rest of the
 * path.
 */
export const routeOf = (name: OperationName): Route => routeIn(operations[name].route);

function routeIn(route: string): Route {
  const [method = "", path = ""] = route.split(" ");
  return { method, path };
}

/** Every way to an operation, its own route first. */
export function routesOf({ route, aliases = [] }: Operation): readonly Route[] {
  const own = routeIn(route);
  return [own, ...aliases.map((path) => ({ method: own.method, path }))];
}

/** The members that a path names, in their order. */
export const namesIn = (path: string): readonly string[] =>
  [...path.matchAll(/\{([a-z_]+)\*?\}/g)].map(([, name = ""]) => name);

/** A request as HTTP has it; what the operation takes stands where its row says. */
export interface Asked {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  /** Undefined where there is none. */
  readonly body: Readonly<Record<string, unknown>> | undefined;
}

/**
 * How a client asks an operation for these members, wherever the request has them; undefined ones
 * are left out, and so are those of header fields, which it sends itself. A body is sent where any
 * member stands there.
 */
export function askedOf(row: Operation, members: Readonly<Record<string, unknown>>): Asked {
  const { method, path } = routeIn(row.route);
  const given = Object.entries(members).filter(([, value]) => value !== undefined);
  const elsewhere = new Set([...namesIn(path), ...(row.headers ?? [])]);
  const filled = path.replace(/\{([a-z_]+)\*?\}/g, (_, name: string) =>
    encodeURIComponent(String(members[name] ?? "")),
  );
  const others = given.filter(([name]) => !elsewhere.has(name));
  if (method !== "GET" && row.in === undefined) {
    return {
      method,
      path: filled,
      body: others.length > 0 ? Object.fromEntries(others) : undefined,
    };
  }
  const search = new URLSearchParams(others.map(([name, value]) => [name, String(value)]));
  return { method, path: others.length > 0 ? `${filled}?${search}` : filled, body: undefined };
}

/** The row widened to all optional members. */
export const operationOf = (name: OperationName): Operation => operations[name];
