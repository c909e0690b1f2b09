/**
 * Requests for approval in JSON: list, show, decide, try again, and the certificate of a parked
 * issue.
 */

import { Document } from "#domain/access/outcome.ts";
import { isSamePerson } from "#core/access/person.ts";
import { type ApprovalClass, approvalClasses, approvalStatuses } from "#core/approvals/classes.ts";
import { caId } from "#core/ids.ts";
import { refuse } from "#core/problems.ts";
import {
  either,
  flag,
  many,
  oneOf,
  optional,
  otherwise,
  type Output,
  shape,
  text,
  words,
} from "#core/shape.ts";
import { type Asking, type Definition, operation } from "#domain/access/operation.ts";
import { anyScope, noTarget } from "#domain/access/targets.ts";
import type { Approvals } from "#domain/approvals/approvals.ts";
import { expired, type FourEyes, rejectedBy } from "#domain/approvals/four-eyes.ts";
import type { ApprovalRecord } from "#domain/approvals/store.ts";
import { eventsOf, signTranscript, type TranscriptDeps } from "#domain/approvals/transcript.ts";
import { issuedBefore } from "#domain/certificates/issue.ts";
import type { Store } from "#domain/store.ts";
import type { OperationName } from "#operations";
import { eventJson, eventShape } from "./audit.ts";
import { approvalJson, approvalShape, parkedOutcome, parkedShape } from "./approval-json.ts";
import { issuedJson, issuedShape } from "./issuance.ts";
import { listMembers, pageFields, pageOf, readableTenant } from "./pages.ts";
import { time } from "./shapes.ts";

interface Deps extends TranscriptDeps {
  readonly approvals: Approvals;
  readonly fourEyes: FourEyes;
  /** `approvals.enabled`. */
  readonly enabled: boolean;
  /** The classes whose operations wait for somebody. */
  readonly guarded: readonly ApprovalClass[];
}

/** Handlers for `approval.*`. */
export function approvalHandlers(deps: Deps) {
  const { approvals } = deps;
  return {
    "approval.list": approvalList(deps),
    "approval.show": operation({
      summary: "One request for approval, with everything that would be executed.",
      target: noTarget,
      input: { id },
      output: approvalShape,
      run: async (call) => approvalJson(await approvals.shown(call, call.input.id)),
    }),
    "approval.approve": operation({
      summary: "Approve a request; the last approval it needs executes the operation.",
      target: anyScope,
      input: { id, comment: otherwise(text({ max: 500 }), "") },
      output: approvalShape,
      refuses: ["self_approval", "already_decided", "approval_not_pending", "approval_expired"],
      run: async (call) =>
        approvalJson(await approvals.approve(call, call.input.id, call.input.comment)),
    }),
    "approval.reject": operation({
      summary: "Reject a request for good, or withdraw one's own.",
      target: noTarget,
      input: {
        id,
        comment: optional(commentField),
        reason: optional(commentField),
        // Says that the caller means its own request: somebody else's is not rejected by that.
        withdraw: otherwise(flag(), false),
      },
      output: approvalShape,
      refuses: [
        "missing_field",
        "conflicting_fields",
        "forbidden",
        "already_decided",
        "approval_not_pending",
        "approval_expired",
      ],
      run: async (call) => {
        const said = { comment: commentOf(call.input), withdraw: call.input.withdraw };
        return approvalJson(await approvals.reject(call, call.input.id, said));
      },
    }),
    "approval.retry": operation({
      summary: "Execute an approved operation again that failed for a passing reason.",
      target: noTarget,
      input: { id },
      output: approvalShape,
      refuses: ["forbidden", "approval_not_retryable", "approval_expired"],
      run: async (call) => approvalJson(await approvals.retry(call, call.input.id)),
    }),
    "approval.certificate": certificate(deps),
    "approval.transcript": transcript(deps),
  } satisfies Partial<Record<OperationName, Definition>>;
}

const approvalListMembers = listMembers(approvalShape);

function approvalList({ store, approvals, enabled, guarded }: Deps) {
  return operation({
    summary: "Requests for approval the caller may read or has made, newest first.",
    target: noTarget,
    input: {
      status: optional(oneOf(approvalStatuses)),
      class: optional(oneOf(approvalClasses)),
      // Only what the caller has asked for.
      mine: otherwise(flag(), false),
      // Only what an approval of the caller would be taken for now.
      decidable: otherwise(flag(), false),
      tenant: optional(text({ max: 64 })),
      ...pageFields,
    },
    output: shape({
      ...approvalListMembers,
      enabled: flag(),
      guarded: many(oneOf(approvalClasses)),
      /** The classes on which the configuration lets the caller decide. */
      operates: many(oneOf(approvalClasses)),
    }),
    run: async (call) => {
      const reach = call.rights.reachByRoles("approval:read");
      const { person } = call.origin.principal;
      const filter = {
        person,
        mine: call.input.mine,
        decidable: call.input.decidable,
        status: call.input.status,
        operationClass: call.input.class,
        tenant: await readableTenant(store, call.input.tenant, reach),
      };
      const decider = approvals.decider(call);
      const decidableBy = call.input.decidable ? decider : undefined;
      const list = await pageOf(
        "approval.list",
        { ...call, reach },
        filter,
        approvalJson,
        (limit, after) =>
          store.read.approvals.page({ ...filter, decidableBy, reach }, limit, after),
      );
      return { ...list, enabled, guarded, operates: decider.classes };
    },
  });
}

/** For who may issue there, or made the request; reading it as its maker collects it (APV-3). */
function certificate({ store, fourEyes }: Deps) {
  return operation({
    summary: "The certificate of a parked issue, once it is approved.",
    target: noTarget,
    input: { id },
    output: either(issuedShape, parkedShape),
    refuses: ["wrong_class", "approval_rejected", "approval_expired", "approval_failed"],
    run: async (call) => {
      const approval = await readable(store, call, call.input.id);
      if (approval.operationClass !== "cert.issue") {
        throw refuse("wrong_class", { operation_class: approval.operationClass });
      }
      const { effect, status, failure } = approval;
      if (status === "rejected") throw rejectedBy(approval);
      if (status === "expired") throw expired(approval);
      if (status === "failed") throw refuse("approval_failed", { failure });
      if (effect?.caId === undefined || effect.serial === undefined) {
        return parkedOutcome(approval, 5);
      }
      if (isMaker(call, approval)) await fourEyes.collect(approval.id);
      return issuedJson(await issuedBefore(store.read, effect.caId, effect.serial));
    },
  });
}

const sealMembers = { exported_at: time, signature_algorithm: words(), signature: words() };
const transcriptShape = shape({
  approval: approvalShape,
  events: many(eventShape),
  ...sealMembers,
});

/** Texts are rendered once: what is signed is what is sent. */
function transcript(deps: Deps) {
  const { store } = deps;
  return operation({
    summary: "Who asked, who decided and what was done, signed by the ledger key.",
    target: anyScope,
    input: { id },
    output: { media: ["application/json"], content: transcriptShape },
    refuses: ["key_unavailable"],
    run: async ({ input, rights }) => {
      const found = await store.read.approvals.byId(input.id);
      if (found === undefined || !rights.in(found.tenant, "approval:read")) {
        throw refuse("not_found");
      }
      const approval = JSON.stringify(approvalJson(found));
      const events = JSON.stringify((await eventsOf(store, found)).map(eventJson));
      const signed = await signTranscript(deps, { approval, events });
      const tail: Output<typeof sealMembers> = {
        exported_at: signed.exportedAt,
        signature_algorithm: signed.algorithm,
        signature: signed.signature,
      };
      return new Document({
        content: `{"approval":${approval},"events":${events},${JSON.stringify(tail).slice(1)}`,
        type: "application/json",
        fileName: `${found.id}.transcript.json`,
      });
    },
  });
}

async function readable(
  store: Store,
  call: Pick<Asking, "origin" | "rights">,
  id: string,
): Promise<ApprovalRecord> {
  const found = await store.read.approvals.byId(id);
  if (found !== undefined && isMaker(call, found)) return found;
  const { cas } = store.read;
  const ca = found?.operationClass === "cert.issue" ? await caOf(cas, found) : undefined;
  if (found !== undefined && ca !== undefined && (await call.rights.on(ca, "issue"))) return found;
  if (found !== undefined && call.rights.in(found.tenant, "issue")) return found;
  throw refuse("not_found");
}

const caOf = (cas: Store["read"]["cas"], { input }: ApprovalRecord) =>
  cas.byId(caId(String(input.id))); // An issue names its CA.

const isMaker = ({ origin }: Pick<Asking, "origin">, { maker }: ApprovalRecord): boolean =>
  isSamePerson(maker.person, origin.principal.person);

/** `reason` is another name of the same member (API-1). */
function commentOf({
  comment,
  reason,
}: {
  readonly comment: string | undefined;
  readonly reason: string | undefined;
}): string {
  if (comment !== undefined && reason !== undefined) {
    throw refuse("conflicting_fields", { fields: ["comment", "reason"] });
  }
  const given = comment ?? reason;
  if (given === undefined) throw refuse("missing_field", { field: "comment" });
  return given;
}

const id = text({ min: 1, max: 64 });
const commentField = text({ min: 1, max: 500, pattern: /\S/ });
