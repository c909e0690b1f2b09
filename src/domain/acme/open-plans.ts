/** What the plans that are open mean to an order: whom it replaces, and how fast. */

import { addSeconds, type Instant } from "#core/time.ts";
import type { Clock, Later } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import { Pace } from "./pace.ts";
import type { CertificateName, OrderRecord } from "./store.ts";

export interface OpenPlanDeps {
  readonly store: Pick<Store, "read">;
  readonly clock: Clock;
  readonly later: Later;
}

/** The plans as finalizing orders asks about them: nearly always, there is none. */
export class OpenPlans {
  readonly #deps: OpenPlanDeps;
  readonly #pace: Pace;
  #any = false;
  #lookedUntil: Instant | undefined;

  constructor(deps: OpenPlanDeps) {
    this.#deps = deps;
    this.#pace = new Pace(deps.later);
  }

  /** Does the work, at the pace of the newest running plan that has what the order replaces. */
  async paced<T>({ replaces }: Pick<OrderRecord, "replaces">, work: () => Promise<T>): Promise<T> {
    const { replacements } = this.#deps.store.read;
    if (replaces === undefined || !(await this.#isAnyOpen())) return await work();
    const item = await replacements.plannedFor(replaces);
    const plan = item && (await replacements.replacement(item.replacement));
    return plan === undefined ? await work() : await this.#pace.within(plan, work);
  }

  /**
   * The certificates of open plans whose clients have come with this order though it names none of
   * them: those of the same account with no other names than the order's.
   */
  async alsoReplacedBy(
    order: Pick<OrderRecord, "account" | "identifiers">,
  ): Promise<readonly CertificateName[]> {
    if (!(await this.#isAnyOpen())) return [];
    return await this.#deps.store.read.replacements.covered(order);
  }

  /** Lets no order wait any more. */
  halt(): void {
    this.#pace.halt();
  }

  async #isAnyOpen(): Promise<boolean> {
    const { store, clock } = this.#deps;
    const now = clock.now();
    const until = this.#lookedUntil;
    if (until === undefined || now >= until || addSeconds(now, lookSeconds) < until) {
      this.#any = await store.read.replacements.any();
      this.#lookedUntil = addSeconds(now, lookSeconds);
    }
    return this.#any;
  }
}

/** How late this replica may learn of a plan; what an order itself replaces is always noted. */
const lookSeconds = 2;
