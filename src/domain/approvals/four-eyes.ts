/**
 * Step 8 of the order of gates: an operation that takes two waits, and a repeated call gets what
 * came of it (GATE-1, APV-3).
 */

import { isSamePerson } from "#core/access/person.ts";
import { effectiveRoles } from "#core/access/principal.ts";
import {
  type ApprovalClass,
  type ApprovalsSection,
  operatorsBeside,
  thresholdOf,
} from "#core/approvals/classes.ts";
import { fingerprintOf, type StoredInput } from "#core/approvals/input.ts";
import type { Action } from "#core/audit/actions.ts";
import type { TenantId } from "#core/ids.ts";
import { Problem, problems, refuse, type ProblemCode } from "#core/problems.ts";
import { addSeconds, type Instant, timestamp } from "#core/time.ts";
import type { Parking } from "#domain/access/operation.ts";
import type { Origin } from "#domain/actor.ts";
import type { Envelopes } from "#domain/envelopes/envelopes.ts";
import { placeOf } from "#domain/envelopes/places.ts";
import type { Clock, Patience, Random } from "#domain/ports.ts";
import type { Store, Unit } from "#domain/store.ts";
import type { OperationName } from "#operations";
import type { Executions } from "./executions.ts";
import {
  type ApprovalRecord,
  approvalsOf,
  type Effect,
  isOpen,
  type KeptAnswer,
  type ListedApproval,
} from "./store.ts";

export interface FourEyesDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly patience: Patience;
  readonly settings: ApprovalsSection;
  readonly executions: Executions;
  readonly envelopes: Pick<Envelopes, "open">;
}

/** One call that takes two. */
export interface ParkableCall extends Parking {
  readonly operationClass: ApprovalClass;
  readonly operation: OperationName;
  readonly tenant: TenantId | undefined;
  readonly input: StoredInput;
  /** Runs in the unit that marks the result as collected; what it throws keeps it uncollected. */
  readonly also?: (tx: Unit, effect: Effect) => Promise<void>;
}

/** What a call meets: a request that waits, or what became of one. */
export type ParkOutcome =
  | { readonly kind: "parked"; readonly approval: ApprovalRecord }
  | {
      readonly kind: "done";
      readonly approval: ApprovalRecord;
      readonly answer: KeptAnswer;
      /** Shown now, and never again. */
      readonly secret?: string;
    };

/** Holds calls. */
export class FourEyes {
  readonly #deps: FourEyesDeps;

  constructor(deps: FourEyesDeps) {
    this.#deps = deps;
  }

  /** True when the class waits for anybody. */
  guards(of: ApprovalClass): boolean {
    return thresholdOf(this.#deps.settings, of) > 0;
  }

  /**
   * Parks the call, or finds the request an identical call of the same person made. `named` is the
   * request the caller asks for by id: its result is answered any number of times; refuses
   * `not_found` when it is not that of this call. Refuses as `check` does, with the failure of a
   * repeated execution, and `storage_unavailable` (APR-8).
   */
  async park(origin: Origin, call: ParkableCall, named?: string): Promise<ParkOutcome> {
    const fingerprint = fingerprintOf(call);
    if (named !== undefined) {
      return await this.#outcome(await this.#named(origin, fingerprint, named), call.also);
    }
    const known = await this.#known(origin, fingerprint);
    if (known !== undefined) return await this.#outcome(known, call.also);
    this.#refuseUnreachable(origin, call.operationClass);
    await call.check();
    const made = this.#recordOf(origin, call, fingerprint);
    const stored = await this.#park(origin, made);
    return stored.id === made.id
      ? { kind: "parked", approval: stored }
      : await this.#outcome(stored, call.also);
  }

  /** With so few operators beside the maker nobody could ever bring the request to its end. */
  #refuseUnreachable({ principal }: Origin, of: ApprovalClass): void {
    const { settings } = this.#deps;
    const required = thresholdOf(settings, of);
    const operators = operatorsBeside(settings, of, principal.person);
    if (operators === undefined || operators >= required) return;
    throw refuse("approval_unreachable", { required_approvals: required, operators });
  }

  async #named(origin: Origin, fingerprint: string, id: string): Promise<ApprovalRecord> {
    const found = await this.#deps.store.read.approvals.byId(id);
    const same =
      found?.fingerprint === fingerprint &&
      isSamePerson(found.maker.person, origin.principal.person);
    if (found === undefined || !same) throw refuse("not_found");
    return found;
  }

  /** The open request of this call; one past its time is none. */
  async #known(origin: Origin, fingerprint: string): Promise<ApprovalRecord | undefined> {
    const now = this.#deps.clock.now();
    return await this.#deps.store.atomically((tx) => openRequest(tx, origin, fingerprint, now));
  }

  /**
   * Units come one after the other, so of two identical calls the second finds the request of the
   * first.
   */
  async #park(origin: Origin, made: ApprovalRecord): Promise<ApprovalRecord> {
    const { store } = this.#deps;
    return await store.atomically(async (tx) => {
      const known = await openRequest(tx, origin, made.fingerprint, made.createdAt);
      if (known !== undefined) return known;
      if (!(await tx.approvals.insert(made))) {
        throw refuse("storage_unavailable", { retry_after: 1 });
      }
      await tx.audit.appendEvent(approvalEvent("pending", origin, made), made.createdAt);
      return made;
    });
  }

  #recordOf(origin: Origin, call: ParkableCall, fingerprint: string): ApprovalRecord {
    const { clock, random, settings } = this.#deps;
    const { check: _check, also: _also, ...facts } = call;
    const { grantRoles: _grantRoles, ...maker } = origin.principal;
    const createdAt = clock.now();
    return {
      ...facts,
      id: `apr_${random.uuid()}`,
      fingerprint,
      maker,
      ip: origin.ip,
      requestId: origin.requestId,
      required: thresholdOf(settings, call.operationClass),
      status: "pending",
      attempts: 0,
      createdAt,
      decidedAt: undefined,
      executedAt: undefined,
      expiresAt: addSeconds(createdAt, settings.request_ttl_hours * 3600),
      collectedAt: undefined,
      failure: undefined,
      effect: undefined,
      answer: undefined,
      secret: "none",
      decisions: [],
    };
  }

  async #outcome(approval: ApprovalRecord, also: ParkableCall["also"]): Promise<ParkOutcome> {
    const { status } = approval;
    if (status === "failed" && isOpen(approval)) return await this.#again(approval, also);
    if (status === "failed") throw problemOf(approval);
    if (status === "rejected") throw rejectedBy(approval);
    if (status === "expired") throw expired(approval);
    if (status !== "executed") return { kind: "parked", approval };
    return await this.#collected(approval, also);
  }

  /** The maker asks again for what failed and may be tried again. */
  async #again({ id }: ApprovalRecord, also: ParkableCall["also"]): Promise<ParkOutcome> {
    const { store, executions, patience } = this.#deps;
    const { done } = await executions.claimed(id, () => this.retry(id));
    await patience.within(waitSeconds, done);
    const found = await store.read.approvals.byId(id);
    if (found === undefined) throw refuse("not_found");
    if (found.status === "failed") throw problemOf(found);
    return await this.#outcome(found, also);
  }

  /** Marks a failed request executing. Refuses `approval_not_retryable`, `approval_expired`. */
  async retry(id: string): Promise<ApprovalRecord> {
    const now = this.#deps.clock.now();
    const found = await this.#deps.store.atomically(async (tx) => {
      const locked = await tx.approvals.lock(id);
      const current = locked && (await expireIfDue(tx, locked, now));
      if (current?.status !== "failed" || !isOpen(current)) return current;
      const claimed: ApprovalRecord = {
        ...current,
        status: "executing",
        attempts: current.attempts + 1,
        failure: undefined,
      };
      await tx.approvals.save(claimed);
      return claimed;
    });
    if (found === undefined) throw refuse("not_found");
    if (found.status === "expired") throw expired(found);
    if (found.status !== "executing" || found.failure !== undefined) {
      throw refuse("approval_not_retryable", { status: found.status });
    }
    return found;
  }

  async #collected(approval: ApprovalRecord, also: ParkableCall["also"]): Promise<ParkOutcome> {
    const { store, executions, clock } = this.#deps;
    // The answer follows the effect.
    await executions.settled(approval.id);
    const found = (await store.read.approvals.byId(approval.id)) ?? approval;
    const now = clock.now();
    if (found.answer === undefined && now < addSeconds(found.executedAt ?? now, finishingSeconds)) {
      return { kind: "parked", approval: found };
    }
    if (found.secret === "shown") throw refuse("secret_already_shown");
    const secret = found.secret === "sealed" ? await this.#opened(found) : undefined;
    const collected = await store.atomically((tx) => collect(tx, found.id, now, also));
    const answer = collected.answer ?? lostAnswer(collected);
    return { kind: "done", approval: collected, answer, ...(secret && { secret }) };
  }

  /** Marks a result read by its maker. */
  async collect(id: string): Promise<void> {
    const now = this.#deps.clock.now();
    await this.#deps.store.atomically((tx) => collect(tx, id, now));
  }

  async #opened({ id }: ApprovalRecord): Promise<string> {
    const { store, envelopes } = this.#deps;
    const value = await store.read.envelopes.at(placeOf("approval", id));
    if (value === undefined) throw refuse("secret_already_shown");
    return new TextDecoder().decode(await envelopes.open(value));
  }
}

/** The request past its time is expired, checked at every touch and not only by the sweep. */
export async function expireIfDue(
  tx: Unit,
  approval: ApprovalRecord,
  now: Instant,
): Promise<ApprovalRecord> {
  if (!isDue(approval, now)) return approval;
  const over: ApprovalRecord = { ...approval, status: "expired" };
  await tx.approvals.save(over);
  return over;
}

/** True past the time of a request that waits or may be tried again. */
export function isDue(approval: ListedApproval, now: Instant): boolean {
  const { status, expiresAt } = approval;
  if (now < expiresAt) return false;
  return status === "pending" || (status === "failed" && isOpen(approval));
}

async function openRequest(
  tx: Unit,
  { principal }: Origin,
  fingerprint: string,
  now: Instant,
): Promise<ApprovalRecord | undefined> {
  for (const found of await tx.approvals.open(fingerprint)) {
    if (!isSamePerson(found.maker.person, principal.person)) continue;
    const current = await expireIfDue(tx, found, now);
    if (isOpen(current)) return current;
  }
  return undefined;
}

/** What is answered is erased with the answer: of two that ask at once one gets the secret. */
async function collect(
  tx: Unit,
  id: string,
  at: Instant,
  also?: ParkableCall["also"],
): Promise<ApprovalRecord> {
  const found = await tx.approvals.lock(id);
  if (found === undefined) throw refuse("not_found");
  if (found.effect !== undefined) await also?.(tx, found.effect);
  if (found.secret === "shown") throw refuse("secret_already_shown");
  if (found.secret === "none" && found.collectedAt !== undefined) return found;
  const sealed = found.secret === "sealed";
  const collected: ApprovalRecord = {
    ...found,
    collectedAt: found.collectedAt ?? at,
    ...(sealed ? { secret: "shown" as const } : {}),
  };
  if (sealed) await tx.envelopes.remove(placeOf("approval", id));
  await tx.approvals.save(collected);
  return collected;
}

/**
 * After a crash between the effect and its answer: what is known is where the effect can be found.
 */
function lostAnswer({ effect }: ApprovalRecord): KeptAnswer {
  const { action = "", target = "", caId, serial } = effect ?? {};
  const found = { ...(caId === undefined ? {} : { ca_id: caId }), ...(serial && { serial }) };
  return { made: false, output: { status: "executed", action, target, ...found } };
}

/** The refusal the execution met, as the maker would have met it. */
export function problemOf({ failure }: ApprovalRecord): Problem {
  const code = failure?.code ?? "internal";
  if (!Object.hasOwn(problems, code)) return refuse("internal");
  // A key of the table, as just seen.
  return new Problem(code as ProblemCode, failure?.facts ?? {});
}

export const rejectedBy = ({ decisions }: ApprovalRecord): Problem =>
  refuse("approval_rejected", {
    comment: decisions.findLast(({ decision }) => decision === "reject")?.comment,
  });

export const expired = ({ expiresAt }: ListedApproval): Problem =>
  refuse("approval_expired", { expires_at: timestamp(expiresAt) });

/** `<class>.<what>` in the request's tenant. */
export function approvalEvent(
  what: "pending" | "approved" | "rejected",
  { principal, ip, requestId }: Origin,
  approval: ApprovalRecord,
  more: { readonly comment?: string | undefined; readonly withdrawn?: true | undefined } = {},
) {
  const { id, operationClass, resourceKey, resourceName, required, tenant } = approval;
  const action: Action = `${operationClass}.${what}`;
  return {
    action,
    result: "success" as const,
    actor: principal.subject,
    actorName: principal.name,
    actorRoles: effectiveRoles(principal, tenant),
    tenant,
    target: id,
    ip,
    requestId,
    targetName: resourceName,
    detail: {
      resource: resourceKey,
      required,
      approvals: approvalsOf(approval),
      comment: more.comment || undefined,
      withdrawn: more.withdrawn,
    },
  };
}

/** How long a caller waits for an execution (APR-2). */
export const waitSeconds = 25;
/** How long an executed request may lack its answer before that counts as lost. */
const finishingSeconds = 60;
