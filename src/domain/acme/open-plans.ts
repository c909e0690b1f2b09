/** What the plans that are open mean to an order: whom it replaces, and how fast. */

import { shareOf } from "#core/acme/spread.ts";
import { refuse } from "#core/problems.ts";
import { addSeconds, type Instant } from "#core/time.ts";
import type { Clock, Later } from "#domain/ports.ts";
import type { Standing, Store } from "#domain/store.ts";
import { Pace } from "./pace.ts";
import type { ReplacementRecord } from "./replacement-store.ts";
import type { CertificateName, OrderRecord } from "./store.ts";

export interface OpenPlanDeps {
  readonly store: Pick<Store, "read">;
  readonly clock: Clock;
  readonly later: Later;
}

/** An order, as far as plans are concerned. */
export type Coming = Pick<OrderRecord, "account" | "identifiers" | "replaces">;

/** The plans as finalizing orders asks about them: nearly always, there is none. */
export class OpenPlans {
  readonly #deps: OpenPlanDeps;
  readonly #pace: Pace;
  readonly #since: Instant;
  #any = false;
  #standing: Standing = { place: 0, count: 1 };
  #lookedUntil: Instant | undefined;
  #looking: Promise<void> | undefined;

  constructor(deps: OpenPlanDeps) {
    this.#deps = deps;
    this.#pace = new Pace(deps.later);
    this.#since = deps.clock.now();
  }

  /**
   * Does the work, at the pace of a running plan that has what the order replaces, whether it says
   * so or not. The bound of a plan is divided among the processes at work. Refuses `rate_limited`
   * as `Pace` does, and while a process that has just begun is not known to all of them.
   */
  async paced<T>(order: Coming, work: () => Promise<T>): Promise<T> {
    const plan = (await this.#isAnyOpen()) ? await this.#planOf(order) : undefined;
    if (plan === undefined) return await work();
    this.#refuseWhileNew();
    const perSecond = () => this.#shareOf(plan);
    return await this.#pace.within({ id: plan.id, perSecond }, work);
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

  /** Knows of a plan that this process has just made from now on. */
  async lookAgain(): Promise<void> {
    // One that is under way may have begun before there was a plan.
    await this.#looking?.catch(() => {});
    await this.#look();
  }

  /** Lets no order wait any more. */
  halt(): void {
    this.#pace.halt();
  }

  /** Of what the order names, else of the first one it covers. */
  async #planOf({ replaces, ...names }: Coming): Promise<ReplacementRecord | undefined> {
    const { replacements } = this.#deps.store.read;
    const named = replaces && (await replacements.plannedFor(replaces));
    if (named !== undefined) return await replacements.replacement(named.replacement);
    for (const one of await replacements.covered(names)) {
      const item = await replacements.plannedFor(one);
      if (item !== undefined) return await replacements.replacement(item.replacement);
    }
    return undefined;
  }

  /** The others divide the bound among themselves until they have looked. */
  #refuseWhileNew(): void {
    const alone = this.#standing.count === 1;
    if (alone || this.#deps.clock.now() >= addSeconds(this.#since, unknownSeconds)) return;
    throw refuse("rate_limited", { tier: "replacement", retry_after: unknownSeconds });
  }

  /** As of the last look; one that is due goes on beside those who wait for their turn. */
  #shareOf({ perSecond }: ReplacementRecord): number {
    // Who comes next is told why it failed.
    if (this.#isDue()) this.#look().catch(() => {});
    return shareOf(perSecond, this.#standing);
  }

  async #isAnyOpen(): Promise<boolean> {
    if (this.#isDue()) await this.#look();
    return this.#any;
  }

  #isDue(): boolean {
    const now = this.#deps.clock.now();
    const until = this.#lookedUntil;
    return until === undefined || now >= until || addSeconds(now, lookSeconds) < until;
  }

  /** One look for all who want one. */
  #look(): Promise<void> {
    this.#looking ??= this.#looked().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #looked(): Promise<void> {
    const { store, clock } = this.#deps;
    const { replacements, instance } = store.read;
    const any = await replacements.any();
    if (any) this.#standing = await instance.standing();
    this.#any = any;
    this.#lookedUntil = addSeconds(clock.now(), lookSeconds);
  }
}

/** How late a replica learns of a plan of others; what an order itself replaces is always noted. */
const lookSeconds = 2;
/** Each of the others has looked by then, and what it did before that is more than a second ago. */
const unknownSeconds = 6;
