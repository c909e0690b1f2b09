/**
 * Requests for approval in JSON: list, show, decide, try again, and the certificate of a parked
 * issue.
 */

import { isSamePerson } from "#core/access/person.ts";
import { approvalClasses, approvalStatuses } from "#core/approvals/classes.ts";
import { caId } from "#core/ids.ts";
import { refuse } from "#core/problems.ts";
import { flag, oneOf, optional, otherwise, text } from "#core/shape.ts";
import { type Answer, type Authorized, type Handler, handler, ok } from "#domain/access/call.ts";
import type { Approvals } from "#domain/approvals/approvals.ts";
import { expired, type FourEyes, rejectedBy } from "#domain/approvals/four-eyes.ts";
import type { ApprovalRecord } from "#domain/approvals/store.ts";
import { eventsOf, signTranscript, type TranscriptDeps } from "#domain/approvals/transcript.ts";
import { issuedBefore } from "#domain/certificates/issue.ts";
import type { Store } from "#domain/store.ts";
import type { OperationName } from "#operations";
import { eventJson } from "./audit.ts";
import { approvalJson, parkedAnswer } from "./approval-json.ts";
import { issuedJson } from "./issuance.ts";
import { pageFields, pageOf, readableTenant } from "./pages.ts";

interface Deps extends TranscriptDeps {
  readonly approvals: Approvals;
  readonly fourEyes: FourEyes;
  /** `approvals.enabled`. */
  readonly enabled: boolean;
}

/** Handlers for `approval.*`. */
export function approvalHandlers(deps: Deps) {
  const { approvals } = deps;
  return {
    "approval.list": approvalList(deps),
    "approval.show": handler({
      summary: "One request for approval, with everything that would be executed.",
      path: { id },
      run: async (call) => ok(approvalJson(await approvals.shown(call, call.path.id))),
    }),
    "approval.approve": handler({
      summary: "Approve a request; the last approval it needs executes the operation.",
      path: { id },
      body: { comment: otherwise(text({ max: 500 }), "") },
      run: async (call) =>
        ok(approvalJson(await approvals.approve(call, call.path.id, call.body.comment))),
    }),
    "approval.reject": handler({
      summary: "Reject a request for good, or withdraw one's own.",
      path: { id },
      body: {
        comment: optional(commentField),
        reason: optional(commentField),
        // Says that the caller means its own request: somebody else's is not rejected by that.
        withdraw: otherwise(flag(), false),
      },
      run: async (call) => {
        const said = { comment: commentOf(call.body), withdraw: call.body.withdraw };
        return ok(approvalJson(await approvals.reject(call, call.path.id, said)));
      },
    }),
    "approval.retry": handler({
      summary: "Execute an approved operation again that failed for a passing reason.",
      path: { id },
      body: {},
      run: async (call) => ok(approvalJson(await approvals.retry(call, call.path.id))),
    }),
    "approval.certificate": certificate(deps),
    "approval.transcript": transcript(deps),
  } satisfies Partial<Record<OperationName, Handler>>;
}

function approvalList({ store, enabled }: Deps): Handler {
  return handler({
    summary: "Requests for approval the caller may read or has made, newest first.",
    query: {
      status: optional(oneOf(approvalStatuses)),
      class: optional(oneOf(approvalClasses)),
      tenant: optional(text({ max: 64 })),
      ...pageFields,
    },
    run: async (call) => {
      const reach = call.rights.reachByRoles("approval:read");
      const { person } = call.origin.principal;
      const filter = {
        person,
        status: call.query.status,
        operationClass: call.query.class,
        tenant: await readableTenant(store, call.query.tenant, reach),
      };
      const list = await pageOf(
        "approval.list",
        { ...call, reach },
        filter,
        approvalJson,
        (limit, after) => store.read.approvals.page({ ...filter, reach }, limit, after),
      );
      return ok({ ...list, enabled });
    },
  });
}

/** For who may issue there, or made the request; reading it as its maker collects it (APV-3). */
function certificate({ store, fourEyes }: Deps): Handler {
  return handler({
    summary: "The certificate of a parked issue, once it is approved.",
    path: { id },
    run: async (call) => {
      const approval = await readable(store, call, call.path.id);
      if (approval.operationClass !== "cert.issue") {
        throw refuse("wrong_class", { operation_class: approval.operationClass });
      }
      const { effect, status, failure } = approval;
      if (status === "rejected") throw rejectedBy(approval);
      if (status === "expired") throw expired(approval);
      if (status === "failed") throw refuse("approval_failed", { failure });
      if (effect?.caId === undefined || effect.serial === undefined) return waiting(approval);
      if (isMaker(call, approval)) await fourEyes.collect(approval.id);
      return ok(issuedJson(await issuedBefore(store.read, effect.caId, effect.serial)));
    },
  });
}

/** Texts are rendered once: what is signed is what is sent. */
function transcript(deps: Deps): Handler {
  const { store } = deps;
  return handler({
    summary: "Who asked, who decided and what was done, signed by the ledger key.",
    path: { id },
    run: async ({ path, rights }) => {
      const found = await store.read.approvals.byId(path.id);
      if (found === undefined || !rights.in(found.tenant, "approval:read")) {
        throw refuse("not_found");
      }
      const approval = JSON.stringify(approvalJson(found));
      const events = JSON.stringify((await eventsOf(store, found)).map(eventJson));
      const signed = await signTranscript(deps, { approval, events });
      const tail = {
        exported_at: signed.exportedAt,
        signature_algorithm: signed.algorithm,
        signature: signed.signature,
      };
      return {
        status: 200,
        raw: `{"approval":${approval},"events":${events},${JSON.stringify(tail).slice(1)}`,
        headers: {
          "content-type": "application/json",
          "content-disposition": `attachment; filename="${found.id}.transcript.json"`,
        },
      };
    },
  });
}

async function readable(
  store: Store,
  call: Pick<Authorized<never, never, never>, "origin" | "rights">,
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
  cas.byId(caId(input.path.id ?? ""));

function waiting(approval: ApprovalRecord): Answer {
  const parked = parkedAnswer(approval);
  return { ...parked, headers: { ...parked.headers, "retry-after": "5" } };
}

const isMaker = (
  { origin }: Pick<Authorized<never, never, never>, "origin">,
  { maker }: ApprovalRecord,
): boolean => isSamePerson(maker.person, origin.principal.person);

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
