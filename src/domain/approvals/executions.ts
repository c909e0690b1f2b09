/**
 * The execution of approved operations: by the server, as their maker, once, whatever breaks in
 * between (APR-2, APR-4).
 */

import { isRetryable } from "#core/approvals/classes.ts";
import type { Principal } from "#core/access/principal.ts";
import { assert, Problem, refuse } from "#core/problems.ts";
import type { JsonObject } from "#core/shape.ts";
import type { Instant } from "#core/time.ts";
import type { Execution } from "#domain/actor.ts";
import { givenValues } from "#domain/access/given-values.ts";
import type { Mounted } from "#domain/access/mounted.ts";
import type { Outcome } from "#domain/access/outcome.ts";
import type { Perform } from "#domain/access/perform.ts";
import { gone, type PrincipalNow } from "#domain/access/principal-now.ts";
import { type Envelopes, keepSealed } from "#domain/envelopes/envelopes.ts";
import { placeOf } from "#domain/envelopes/places.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store, Unit } from "#domain/store.ts";
import { requireActive } from "#domain/access/suspension.ts";
import type { ApprovalRecord, Failure, KeptAnswer } from "./store.ts";

export interface ExecutionDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly envelopes: Pick<Envelopes, "seal">;
  /** The pipeline every call goes through. */
  readonly perform: Perform;
  /** The operation of this name; undefined for one that is no more. */
  readonly operation: (name: string) => Mounted | undefined;
  /** Whoever asked, with the roles of now. */
  readonly now: PrincipalNow;
  /** Told what went wrong without anybody learning why. */
  readonly onFault: (error: unknown, id: string) => void;
}

/** Executions of this process. */
export class Executions {
  readonly #deps: ExecutionDeps;
  readonly #underWay = new Map<string, Promise<void>>();
  /** Requests a unit of this process may be marking just now, with how many. */
  readonly #claiming = new Map<string, number>();
  #halted = false;

  constructor(deps: ExecutionDeps) {
    this.#deps = deps;
  }

  /**
   * Runs `claim`, a unit that may mark the request executing, and executes what it gives when it
   * did. `done` ends when what came of it is stored; no sweep of this process takes the request up
   * in between.
   */
  async claimed(
    id: string,
    claim: () => Promise<ApprovalRecord>,
  ): Promise<{ readonly approval: ApprovalRecord; readonly done: Promise<void> }> {
    this.#claiming.set(id, (this.#claiming.get(id) ?? 0) + 1);
    try {
      const approval = await claim();
      const done = approval.status === "executing" ? this.#start(approval) : Promise.resolve();
      return { approval, done };
    } finally {
      const left = (this.#claiming.get(id) ?? 1) - 1;
      if (left === 0) this.#claiming.delete(id);
      else this.#claiming.set(id, left);
    }
  }

  #start(approval: ApprovalRecord): Promise<void> {
    const { id } = approval;
    const mine = this.#run(approval).finally(() => this.#underWay.delete(id));
    this.#underWay.set(id, mine);
    return mine;
  }

  /** Ends when nothing is executed here for this request. */
  async settled(id: string): Promise<void> {
    await this.#underWay.get(id);
  }

  /** Goes on with what a crash left, also that of replicas that are gone. */
  async recover(): Promise<void> {
    const { store, clock, onFault } = this.#deps;
    for (const id of await store.read.approvals.abandoned(recoveredAtOnce)) {
      if (this.#underWay.has(id) || this.#claiming.has(id) || this.#halted) continue;
      const now = clock.now();
      const claim = () => store.atomically((tx) => claimAbandoned(tx, id, now));
      try {
        await (await this.claimed(id, claim)).done;
      } catch (error) {
        if (!(error instanceof Problem)) onFault(error, id);
      }
    }
  }

  /** No further one is taken up; resolves when those under way have ended. */
  async halt(): Promise<void> {
    this.#halted = true;
    await Promise.all(this.#underWay.values());
  }

  async #run(approval: ApprovalRecord): Promise<void> {
    const { id } = approval;
    try {
      const answer = await this.#execute(approval);
      await this.#complete(id, keptAnswer(approval, answer));
    } catch (error) {
      if (!(error instanceof Problem)) this.#deps.onFault(error, id);
      await this.#fail(id, error);
    }
  }

  async #execute(approval: ApprovalRecord): Promise<Outcome> {
    const { id, input, ip, requestId, tenant, operationClass } = approval;
    const { store, perform } = this.#deps;
    const operation = this.#deps.operation(approval.operation);
    assert(operation !== undefined, "it was a row of the table when it was parked");
    const principal = await this.#maker(approval, operation);
    // What must be possible in an emergency is, for a suspended tenant too.
    if (tenant !== undefined && operationClass !== "revocation.bulk") {
      requireActive(await store.read.tenants.named(tenant));
    }
    const execution: Execution = { id, keepSecret: (secret) => this.#keepSecret(id, secret) };
    return await perform({
      operation,
      origin: { principal, ip, requestId, approval: execution },
      given: givenValues(operation, input),
    });
  }

  /**
   * As it is now, and not as it was when it asked: the pipeline asks what it may do by now (APR-2).
   */
  async #maker({ maker }: ApprovalRecord, { row }: Mounted): Promise<Principal> {
    return (await this.#deps.now(maker)) ?? gone(maker, row.needs);
  }

  async #keepSecret(id: string, secret: string): Promise<(tx: Unit) => Promise<void>> {
    const place = placeOf("approval", id);
    const sealed = await this.#deps.envelopes.seal(place, new TextEncoder().encode(secret));
    return async (tx) => {
      await keepSealed(tx, sealed);
      const found = await tx.approvals.lock(id);
      assert(found !== undefined, "what is executed is stored");
      await tx.approvals.save({ ...found, secret: "sealed" });
    };
  }

  async #complete(id: string, answer: KeptAnswer): Promise<void> {
    const { store, clock } = this.#deps;
    const at = clock.now();
    await store.atomically(async (tx) => {
      const found = await tx.approvals.lock(id);
      assert(found !== undefined, "what is executed is stored");
      // What changed nothing, because it was as wanted already, has no effect of its own.
      const done = found.effect !== undefined || (await tx.approvals.take(id));
      if (!done) return;
      const executedAt = found.executedAt ?? at;
      await tx.approvals.save({
        ...found,
        status: "executed",
        executedAt,
        answer,
        failure: undefined,
      });
    });
  }

  async #fail(id: string, error: unknown): Promise<void> {
    try {
      await this.#deps.store.atomically(async (tx) => {
        const found = await tx.approvals.lock(id);
        // Its change committed: it was done, whatever broke afterwards.
        if (found?.status !== "executing") return;
        await tx.approvals.save({ ...found, status: "failed", failure: failureOf(error) });
      });
    } catch (fault) {
      // The database is away: the request is found executing by the next sweep.
      this.#deps.onFault(fault, id);
    }
  }
}

/**
 * Takes over what is executing and nobody executes; what was not done in its time is not done any
 * more. Refuses `approval_not_pending` when somebody else was faster.
 */
async function claimAbandoned(tx: Unit, id: string, now: Instant): Promise<ApprovalRecord> {
  const found = await tx.approvals.lock(id);
  if (found === undefined || !(await tx.approvals.abandoned(id))) {
    throw refuse("approval_not_pending", { status: found?.status ?? "absent" });
  }
  if (found.expiresAt <= now) {
    const over: ApprovalRecord = { ...found, status: "expired" };
    await tx.approvals.save(over);
    return over;
  }
  const claimed = { ...found, attempts: found.attempts + 1 };
  await tx.approvals.save(claimed);
  return claimed;
}

function keptAnswer({ operation }: ApprovalRecord, outcome: Outcome): KeptAnswer {
  const { kind, location } = outcome;
  assert(kind === "done" || kind === "made", "what was approved is not parked again");
  // Operations that take two answer JSON objects.
  const output = JSON.parse(JSON.stringify(outcome.output)) as JsonObject;
  const { secret: _secret, ...shown } = output;
  return {
    made: kind === "made",
    output: operation === "token.create" ? shown : output,
    ...(location !== undefined && { location }),
  };
}

function failureOf(error: unknown): Failure {
  const problem = error instanceof Problem ? error : refuse("internal");
  const { code, message } = problem;
  // Facts are what error bodies show.
  const facts = JSON.parse(JSON.stringify(problem.facts)) as JsonObject;
  return { code, error: sentenceOf(problem) ?? message, retryable: isRetryable(code), facts };
}

/**
 * Drift after approval needs a new request, and is told so: the count is part of what was approved.
 */
const sentenceOf = ({ code }: Problem): string | undefined =>
  code === "confirm_count_mismatch"
    ? "The live count differs from the confirm_count that was approved; nothing was changed. Make a new request."
    : undefined;

const recoveredAtOnce = 100;
