/**
 * Asks of a recorded concurrent history whether one order of its calls explains every answer (Wing
 * and Gong, 1993).
 */

/** One call as its caller saw it; both times from one clock. */
export interface Recorded<O> {
  readonly begun: number;
  readonly ended: number;
  readonly call: O;
}

/**
 * A sequential object: the state after a call with the answer it had, or undefined when it could
 * not have answered so. States that behave alike have the same key.
 */
export interface Sequential<S, O> {
  readonly initial: S;
  apply(state: S, call: O): S | undefined;
  key(state: S): string;
}

/**
 * An order of the calls in which each comes before those that began after it had ended, and each
 * answer is what the object would have said; undefined when there is none. The memory of dead ends
 * keeps the search from repeating itself.
 */
export function linearization<S, O>(
  history: readonly Recorded<O>[],
  object: Sequential<S, O>,
): readonly O[] | undefined {
  const calls = history.toSorted((a, b) => a.begun - b.begun);
  const dead = new Set<string>();
  const order: O[] = [];
  const done = calls.map(() => false);
  const search = (state: S): boolean => {
    if (order.length === calls.length) return true;
    const place = `${done.map(Number).join("")} ${object.key(state)}`;
    if (dead.has(place)) return false;
    for (const at of candidates(calls, done)) {
      const call = calls[at]?.call;
      if (call === undefined) continue;
      const next = object.apply(state, call);
      if (next === undefined) continue;
      done[at] = true;
      order.push(call);
      if (search(next)) return true;
      done[at] = false;
      order.pop();
    }
    dead.add(place);
    return false;
  };
  return search(object.initial) ? order : undefined;
}

/** The calls that may come next: open ones that began before every other open one had ended. */
function candidates<O>(calls: readonly Recorded<O>[], done: readonly boolean[]): readonly number[] {
  const open = calls.flatMap((call, at) => (done[at] ? [] : [{ call, at }]));
  const soonest = Math.min(...open.map(({ call }) => call.ended));
  return open.filter(({ call }) => call.begun <= soonest).map(({ at }) => at);
}
