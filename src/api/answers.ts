/**
 * What every operation is asked with and answers in JSON: types alone, taken from the definitions,
 * for those who ask over the wire.
 */

import type { Field, Json } from "#core/shape.ts";
import type { OperationName } from "#operations";
import type { accessHandlers } from "./access.ts";
import type { accessLogHandlers } from "./access-log.ts";
import type { acmeOverview } from "./acme.ts";
import type { acmeCredentialHandlers } from "./acme-credentials.ts";
import type { acmeDirectoryHandlers } from "./acme-directories.ts";
import type { replacementHandlers } from "./acme-replacements.ts";
import type { approvalHandlers } from "./approvals.ts";
import type { auditHandlers } from "./audit.ts";
import type { authorityHandlers } from "./authorities.ts";
import type { backupHandlers } from "./backups.ts";
import type { blockedKeyHandlers } from "./blocked-keys.ts";
import type { bulkHandlers } from "./bulk.ts";
import type { bulkRevocationHandlers } from "./bulk-revocations.ts";
import type { canaryHandlers } from "./canary.ts";
import type { certificateCountHandlers } from "./certificate-counts.ts";
import type { certificateHandlers } from "./certificates.ts";
import type { clockHandlers } from "./clock.ts";
import type { rollbackHandlers } from "./rollback.ts";
import type { crlListHandlers } from "./crl-list.ts";
import type { crlAdministration } from "./crls.ts";
import type { crossSignHandlers } from "./cross-signs.ts";
import type { eventStreamHandlers } from "./event-stream.ts";
import type { externalHandlers } from "./external.ts";
import type { grantHandlers } from "./grants.ts";
import type { healthHandlers } from "./health.ts";
import type { instanceHandlers } from "./instance.ts";
import type { issuanceHandlers } from "./issuance.ts";
import type { kekHandlers } from "./kek.ts";
import type { keyHandlers } from "./keys.ts";
import type { ledgerHandlers } from "./ledger.ts";
import type { lintHandlers } from "./lint.ts";
import type { loginHandlers } from "./logins.ts";
import type { manualHandlers } from "./manual.ts";
import type { monitorHandlers } from "./monitor.ts";
import type { oidcHandlers } from "./oidc.ts";
import type { passkeyHandlers } from "./passkeys.ts";
import type { pinningHandlers } from "./pinning.ts";
import type { preflightHandlers } from "./preflight.ts";
import type { presignHandlers } from "./presign.ts";
import type { profileHandlers } from "./profiles.ts";
import type { publishHandlers } from "./publish.ts";
import type { retentionHandlers } from "./retention.ts";
import type { revocationHandlers } from "./revocations.ts";
import type { rolloverHandlers } from "./rollover.ts";
import type { sessionHandlers } from "./sessions.ts";
import type { tenantHandlers } from "./tenants.ts";
import type { transparencyHandlers } from "./transparency.ts";
import type { validationHandlers } from "./validation.ts";

/** Operation by operation: what is answered. One that answers no JSON is not here. */
export type Answers = { readonly [N in JsonName]: AnswerOf<Handlers[N]> };

/**
 * Operation by operation: the members it is asked with, wherever the route has them. Of a public
 * one, and of those that devices speak, only the description knows them.
 */
export type Questions = {
  readonly [N in OperationName]: QuestionOf<N extends keyof Handlers ? Handlers[N] : unknown>;
};

type JsonName = {
  [N in keyof Handlers & OperationName]: unknown extends AnswerOf<Handlers[N]> ? never : N;
}[keyof Handlers & OperationName];

/** Of a document that is JSON: what stands in it. */
type AnswerOf<H> = H extends { readonly output?: infer Out }
  ? NonNullable<Out> extends Field<infer O>
    ? O
    : NonNullable<Out> extends { readonly content: Field<infer O> }
      ? O
      : unknown
  : unknown;

type QuestionOf<H> = H extends {
  readonly target: { readonly members: infer M };
  readonly input: infer F;
}
  ? { readonly [Member in NamesOf<M> | NamesOf<F>]?: Json | undefined }
  : Readonly<Record<string, Json>>;

/** Of a union the names that any of its parts has. */
type NamesOf<F> = F extends unknown ? keyof F & string : never;

/** The nouns of this folder, each operation with its own types. */
type Handlers = ReturnType<typeof accessHandlers> &
  ReturnType<typeof accessLogHandlers> &
  ReturnType<typeof acmeCredentialHandlers> &
  ReturnType<typeof acmeDirectoryHandlers> &
  ReturnType<typeof acmeOverview> &
  ReturnType<typeof approvalHandlers> &
  ReturnType<typeof auditHandlers> &
  ReturnType<typeof authorityHandlers> &
  ReturnType<typeof backupHandlers> &
  ReturnType<typeof blockedKeyHandlers> &
  ReturnType<typeof bulkHandlers> &
  ReturnType<typeof bulkRevocationHandlers> &
  ReturnType<typeof canaryHandlers> &
  ReturnType<typeof certificateCountHandlers> &
  ReturnType<typeof certificateHandlers> &
  ReturnType<typeof clockHandlers> &
  ReturnType<typeof rollbackHandlers> &
  ReturnType<typeof crlAdministration> &
  ReturnType<typeof crlListHandlers> &
  ReturnType<typeof crossSignHandlers> &
  ReturnType<typeof eventStreamHandlers> &
  ReturnType<typeof externalHandlers> &
  ReturnType<typeof grantHandlers> &
  ReturnType<typeof healthHandlers> &
  ReturnType<typeof instanceHandlers> &
  ReturnType<typeof issuanceHandlers> &
  ReturnType<typeof kekHandlers> &
  ReturnType<typeof keyHandlers> &
  ReturnType<typeof ledgerHandlers> &
  ReturnType<typeof lintHandlers> &
  ReturnType<typeof loginHandlers> &
  ReturnType<typeof manualHandlers> &
  ReturnType<typeof monitorHandlers> &
  ReturnType<typeof oidcHandlers> &
  ReturnType<typeof passkeyHandlers> &
  ReturnType<typeof pinningHandlers> &
  ReturnType<typeof preflightHandlers> &
  ReturnType<typeof presignHandlers> &
  ReturnType<typeof profileHandlers> &
  ReturnType<typeof publishHandlers> &
  ReturnType<typeof replacementHandlers> &
  ReturnType<typeof retentionHandlers> &
  ReturnType<typeof revocationHandlers> &
  ReturnType<typeof rolloverHandlers> &
  ReturnType<typeof sessionHandlers> &
  ReturnType<typeof tenantHandlers> &
  ReturnType<typeof transparencyHandlers> &
  ReturnType<typeof validationHandlers>;
