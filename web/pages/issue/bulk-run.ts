/**
 * A run that issues many certificates in slices, each an operation of its own under an id that
 * never changes, so that whatever is sent twice, by a pause or a reload, is issued once.
 */

import type { Answers, Questions } from "#api/answers.ts";
import type { Refusal, Reply } from "#web/api.ts";
import type { RequestRow } from "./rows.ts";

type BulkAnswer = Answers["cert.issue_bulk"];
type BulkPlan = Extract<BulkAnswer, { readonly valid: number }>;
type BulkResult = Extract<BulkAnswer, { readonly issued: number }>;
export type PlannedItem = BulkPlan["items"][number];
export type DoneItem = BulkResult["items"][number];

export interface RunDeps {
  readonly ask: (members: Questions["cert.issue_bulk"]) => Promise<Reply<BulkAnswer>>;
  readonly caId: string;
  readonly items: readonly RunItem[];
  /** Told after every change. */
  readonly onChange: () => void;
}

/** As the operation takes it; what the page has chosen is filled in. */
export type RunItem = {
  readonly ref: string;
  readonly csr: string;
  readonly profile: string;
  readonly validity_days?: number;
};

export type RunState = "ready" | "planning" | "planned" | "running" | "pausing" | "paused" | "done";

/** Lives as long as the list it was made of. */
export class BulkRun {
  readonly #deps: RunDeps;
  #state: RunState = "ready";
  #planned: readonly PlannedItem[] = [];
  #done: readonly DoneItem[] = [];
  #refusal: Refusal | undefined;
  #operation: string | undefined;
  #closed = false;

  constructor(deps: RunDeps) {
    this.#deps = deps;
  }

  get state(): RunState {
    return this.#state;
  }

  get total(): number {
    return this.#deps.items.length;
  }

  get planned(): readonly PlannedItem[] {
    return this.#planned;
  }

  /** Row by row what became of them, as far as it has come. */
  get done(): readonly DoneItem[] {
    return this.#done;
  }

  /** What stopped it; it goes on where it stopped. */
  get refusal(): Refusal | undefined {
    return this.#refusal;
  }

  /** Asks what executing would do; writes nothing. */
  async plan(): Promise<void> {
    this.#planned = [];
    this.#turn("planning");
    while (this.#planned.length < this.total) {
      const items = this.#slice(this.#planned.length);
      const { ask, caId } = this.#deps;
      const reply = await ask({ id: caId, items, dry_run: true });
      if (this.#closed) return;
      if (reply.kind !== "answered" || !("valid" in reply.answer))
        return this.#stop(reply, "ready");
      this.#planned = this.#planned.concat(reply.answer.items);
      this.#deps.onChange();
    }
    this.#turn("planned");
  }

  /** Nothing of it was sent yet. */
  get open(): boolean {
    return this.#operation === undefined;
  }

  /**
   * Issues from where it stands until the end, a pause, or a refusal. The first id is the one for
   * good: under another one the slice that was under way would be issued again.
   */
  async go(operation: string): Promise<void> {
    this.#operation ??= operation;
    this.#turn("running");
    while (this.#done.length < this.total) {
      if (this.#state !== "running") return this.#turn("paused");
      const items = this.#slice(this.#done.length);
      const { ask, caId } = this.#deps;
      const reply = await ask({
        id: caId,
        items,
        confirm_count: items.length,
        operation_id: `${this.#operation}.${this.#done.length / sliceMax}`,
      });
      if (this.#closed) return;
      if (isStillRunning(reply)) {
        // The slice was sent before a reload, and the server is still at it.
        await new Promise((resolve) => setTimeout(resolve, 2_000));
      } else if (reply.kind === "answered" && "issued" in reply.answer) {
        this.#done = this.#done.concat(reply.answer.items);
        this.#deps.onChange();
      } else {
        return this.#stop(reply, "paused");
      }
    }
    this.#turn("done");
  }

  /** Takes hold when the slice under way is through. */
  pause(): void {
    if (this.#state === "running") this.#turn("pausing");
  }

  /** Nobody looks any more: nothing further is sent. */
  close(): void {
    this.#closed = true;
  }

  #slice(from: number): RunItem[] {
    return this.#deps.items.slice(from, from + sliceMax);
  }

  #stop(reply: Reply<BulkAnswer>, state: RunState): void {
    this.#turn(state);
    this.#refusal = reply.kind === "refused" ? reply.refusal : undefined;
    this.#deps.onChange();
  }

  #turn(state: RunState): void {
    this.#state = state;
    this.#refusal = undefined;
    this.#deps.onChange();
  }
}

/** The items of rows, the same for the same list and choice, or the ids would not fit. */
export const itemsOf = (
  rows: readonly RequestRow[],
  profile: string,
  days: number | undefined,
): readonly RunItem[] =>
  rows.map((row) => {
    const validity = row.validityDays ?? days;
    return {
      ref: row.ref,
      csr: row.csr,
      profile: row.profile ?? profile,
      ...(validity === undefined ? {} : { validity_days: validity }),
    };
  });

const isStillRunning = (reply: Reply<unknown>): boolean =>
  reply.kind === "refused" && reply.refusal.code === "operation_running";

/** Few enough that a pause takes hold soon and no answer is large. */
const sliceMax = 100;
