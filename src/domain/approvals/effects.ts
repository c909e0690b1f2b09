/**
 * Exactly once: the unit that does an approved operation takes the approval's id into a unique
 * column.
 */

import { effectActions } from "#core/approvals/effects.ts";
import type { EventDraft } from "#core/audit/actions.ts";
import { refuse } from "#core/problems.ts";
import type { Instant } from "#core/time.ts";
import type { Store, Unit } from "#domain/store.ts";

/**
 * The same store, whose units see to approved operations: events made under an approval say so, and
 * the one that tells of the operation itself marks the request executed in its own transaction. A
 * second effect of one approval refuses `approval_not_pending`, and nothing of its unit remains.
 */
export function recordingEffects<S extends Store>(store: S): S {
  // Stores hand out few unit objects, most of them one for ever.
  const seen = new WeakMap<Unit, Unit>();
  const wrapped = (tx: Unit): Unit => {
    const known = seen.get(tx);
    if (known !== undefined) return known;
    const made: Unit = { ...tx, audit: watched(tx) };
    seen.set(tx, made);
    return made;
  };
  const atomically: Store["atomically"] = (unit, foreseen) =>
    store.atomically((tx) => unit(wrapped(tx)), foreseen);
  return { ...store, atomically };
}

function watched(tx: Unit): Unit["audit"] {
  return {
    appendLedger: (draft) => tx.audit.appendLedger(draft),
    appendEvent: async (draft, at) => {
      const { approval } = draft;
      if (approval === undefined) return await tx.audit.appendEvent(draft, at);
      if (draft.result === "success" && effectActions.has(draft.action)) await mark(tx, draft, at);
      return await tx.audit.appendEvent({ ...draft, detail: { ...draft.detail, approval } }, at);
    },
  };
}

async function mark(tx: Unit, draft: EventDraft, at: Instant): Promise<void> {
  const { approval: id = "", action, target = "", caId, serial } = draft;
  const found = await tx.approvals.lock(id);
  const first = found !== undefined && (await tx.approvals.take(id));
  if (!first) throw refuse("approval_not_pending", { status: found?.status ?? "absent" });
  const effect = { action, target, caId, serial };
  await tx.approvals.save({
    ...found,
    status: "executed",
    executedAt: at,
    effect,
    failure: undefined,
  });
}
