/**
 * What people do with requests for approval: approve, reject, withdraw, retry; and what time does
 * to them.
 */

import { isSamePerson } from "#core/access/person.ts";
import { effectiveRoles } from "#core/access/principal.ts";
import { approvalClasses, type ApprovalsSection, isOperator } from "#core/approvals/classes.ts";
import { type Problem, refuse } from "#core/problems.ts";
import type { Origin } from "#domain/actor.ts";
import type { Refusals } from "#domain/access/refusals.ts";
import type { Rights } from "#domain/access/rights.ts";
import type { Clock, Patience, Random } from "#domain/ports.ts";
import type { Store, Unit } from "#domain/store.ts";
import type { Executions } from "./executions.ts";
import { isInReach, refusalOf } from "./deciding.ts";
import { approvalEvent, expireIfDue, type FourEyes, isDue, waitSeconds } from "./four-eyes.ts";
import { type ApprovalRecord, approvalsOf, type Decider, type Decision } from "./store.ts";

export interface ApprovalDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly patience: Patience;
  readonly settings: ApprovalsSection;
  readonly executions: Executions;
  readonly fourEyes: FourEyes;
  /** Writes down who tried to decide without being one of those who may. */
  readonly refusals: Pick<Refusals, "record">;
}

/** Who asks: a caller and what it may do. */
export interface Asker {
  readonly origin: Origin;
  readonly rights: Rights;
}

/** The service. */
export class Approvals {
  readonly #deps: ApprovalDeps;

  constructor(deps: ApprovalDeps) {
    this.#deps = deps;
  }

  /**
   * The request, for its maker and for holders of `approval:read` on its tenant; foreign and absent
   * ones refuse alike with `not_found`.
   */
  async shown({ origin, rights }: Asker, id: string): Promise<ApprovalRecord> {
    const found = await this.#deps.store.read.approvals.byId(id);
    const own = found !== undefined && isMaker(origin, found);
    if (found === undefined || !(own || rights.in(found.tenant, "approval:read"))) {
      throw refuse("not_found");
    }
    const now = this.#deps.clock.now();
    return isDue(found, now)
      ? await this.#deps.store.atomically((tx) => expireIfDue(tx, found, now))
      : found;
  }

  /** What the caller may decide now: of this the decision itself and lists are made. */
  decider({ origin, rights }: Asker): Decider {
    const { clock, settings } = this.#deps;
    const { person } = origin.principal;
    return {
      person,
      reach: rights.reachByRoles("approval:approve"),
      classes: approvalClasses.filter((one) => isOperator(settings, one, person)),
      now: clock.now(),
    };
  }

  /**
   * Approves. The decision that meets the threshold starts the execution in its own transaction,
   * and waits for the outcome for at most 25 s. Refuses `not_found`, to whoever may approve
   * everything, and else `forbidden` where the caller lacks `approval:approve` in the tenant of the
   * request or is no operator of its class; `self_approval` to whoever may be the maker,
   * `already_decided` to whoever may have decided before, `approval_not_pending` and
   * `approval_expired`.
   */
  async approve(who: Asker, id: string, comment: string): Promise<ApprovalRecord> {
    const { store, executions, patience } = this.#deps;
    await this.#refuseUnlessMay(who, id);
    const { approval, done } = await executions.claimed(id, () =>
      this.#decided(who, id, { decision: "approve", comment }),
    );
    await patience.within(waitSeconds, done);
    return (await store.read.approvals.byId(id)) ?? approval;
  }

  /**
   * Ends a request for good: one rejection is enough, and so is its maker's change of mind. Refuses
   * as `approve`, and `forbidden` to withdraw what somebody else has made.
   */
  async reject(
    who: Asker,
    id: string,
    { comment, withdraw }: { readonly comment: string; readonly withdraw: boolean },
  ): Promise<ApprovalRecord> {
    const mine = await this.#isMine(who, id);
    if (!mine) await this.#refuseUnlessMay(who, id);
    if (!mine && withdraw) throw refuse("forbidden", {}, notTheMaker);
    return await this.#decided(who, id, { decision: "reject", comment });
  }

  /** Executes a failed request again. Refuses `approval_not_retryable`, `approval_expired`. */
  async retry(who: Asker, id: string): Promise<ApprovalRecord> {
    const { store, executions, patience, fourEyes } = this.#deps;
    if (!(await this.#isMine(who, id))) await this.#refuseUnlessMay(who, id);
    const { approval, done } = await executions.claimed(id, () => fourEyes.retry(id));
    await patience.within(waitSeconds, done);
    return (await store.read.approvals.byId(id)) ?? approval;
  }

  /** Expires requests whose deadline has passed, and executes approved ones that a crash left. */
  async sweep(): Promise<void> {
    const { store, clock, executions } = this.#deps;
    const now = clock.now();
    for (const id of await store.read.approvals.overdue(now, sweptAtOnce)) {
      await store.atomically(async (tx) => {
        const found = await tx.approvals.lock(id);
        if (found !== undefined) await expireIfDue(tx, found, now);
      });
    }
    await executions.recover();
  }

  async #isMine({ origin }: Asker, id: string): Promise<boolean> {
    const found = await this.#deps.store.read.approvals.byId(id);
    return found !== undefined && isMaker(origin, found);
  }

  /** Foreign and absent ids refuse alike, but for who may decide everything (SCOPE-1). */
  async #refuseUnlessMay(who: Asker, id: string): Promise<void> {
    const { origin, rights } = who;
    const found = await this.#deps.store.read.approvals.byId(id);
    if (found !== undefined && isInReach(found, this.decider(who))) return;
    if (found === undefined && rights.everywhere("approval:approve")) throw refuse("not_found");
    const refusal = refuse("forbidden", { capability: "approval:approve" });
    if (found !== undefined && rights.in(found.tenant, "approval:read")) {
      await this.#tellDenied(origin, found, refusal);
    }
    throw refusal;
  }

  async #decided(
    who: Asker,
    id: string,
    said: Pick<Decision, "decision" | "comment">,
  ): Promise<ApprovalRecord> {
    const { store, random } = this.#deps;
    const { origin } = who;
    const { principal } = origin;
    const decider = this.decider(who);
    const createdAt = decider.now;
    const decision: Decision = {
      ...said,
      id: random.uuid(),
      approver: principal.subject,
      person: principal.person,
      approverName: principal.name ?? "",
      createdAt,
    };
    const outcome = await store.atomically(async (tx) => {
      const locked = await tx.approvals.lock(id);
      if (locked === undefined) return { refusal: refuse("not_found") };
      const found = await expireIfDue(tx, locked, createdAt);
      const refusal = refusalOf(found, decider, said.decision);
      if (refusal !== undefined) return { refusal, found };
      return { decided: await settle(tx, origin, found, decision) };
    });
    if (outcome.decided !== undefined) return outcome.decided;
    const { refusal, found } = outcome;
    if (found !== undefined && refusal.status === 403) {
      await this.#tellDenied(origin, found, refusal);
    }
    throw refusal;
  }

  /**
   * Folded where whoever may decide nothing tries; a maker who tries to approve the own request is
   * told of every time.
   */
  async #tellDenied(origin: Origin, approval: ApprovalRecord, { code }: Problem): Promise<void> {
    const { store, clock, refusals } = this.#deps;
    const { resourceKey: resource, required, tenant } = approval;
    const event = {
      ...approvalEvent("approved", origin, approval),
      result: "denied" as const,
      actorRoles: effectiveRoles(origin.principal, tenant),
      detail: { resource, required, approvals: approvalsOf(approval), reason: code },
    };
    if (code === "forbidden") return await refusals.record(event);
    const at = clock.now();
    await store.atomically((tx) => tx.audit.appendEvent(event, at));
  }
}

/** Stores the decision and what it makes of the request, with the event, in the unit of both. */
async function settle(
  tx: Unit,
  origin: Origin,
  found: ApprovalRecord,
  decision: Decision,
): Promise<ApprovalRecord> {
  const at = decision.createdAt;
  await tx.approvals.decide(found.id, decision);
  const decided: ApprovalRecord = { ...found, decisions: [...found.decisions, decision] };
  const { comment } = decision;
  if (decision.decision === "reject") {
    const withdrawn = isMaker(origin, found) ? true : undefined;
    const rejected: ApprovalRecord = { ...decided, status: "rejected", decidedAt: at };
    await tx.approvals.save(rejected);
    const event = approvalEvent("rejected", origin, rejected, { comment, withdrawn });
    await tx.audit.appendEvent(event, at);
    return rejected;
  }
  if (approvalsOf(decided) < found.required) return decided;
  // Claimed at once by this store: whoever races finds it claimed, and after a crash a sweep finds
  // it so.
  const claimed: ApprovalRecord = {
    ...decided,
    status: "executing",
    decidedAt: at,
    attempts: 1,
  };
  await tx.approvals.save(claimed);
  await tx.audit.appendEvent(approvalEvent("approved", origin, claimed, { comment }), at);
  return claimed;
}

const isMaker = ({ principal }: Origin, { maker }: ApprovalRecord): boolean =>
  isSamePerson(maker.person, principal.person);

const notTheMaker =
  "Only who made a request withdraws it; whoever may decide on it rejects it instead.";
const sweptAtOnce = 500;
