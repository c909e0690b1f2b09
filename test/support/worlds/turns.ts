/** A queue of those who present passwords, under a clock of its own. */

import { Problem } from "#core/problems.ts";
import { type FailureRations, FairTurns, type TurnLimits } from "#domain/access/fair-turns.ts";
import { AttemptKeys } from "#domain/access/login-attempt.ts";
import { PasswordMemory } from "#domain/access/password-memory.ts";
import type { Later } from "#domain/ports.ts";
import { seededRandom } from "#test/support/ports.ts";

/** Timers that go off when a test lets time pass. */
export function handClock() {
  const time = { ms: 0 };
  const timers = new Set<{ readonly at: number; readonly act: () => void }>();
  const later: Later = (ms, act) => {
    const timer = { at: time.ms + ms, act };
    timers.add(timer);
    return () => timers.delete(timer);
  };
  /** Lets so many milliseconds pass, every timer at its moment. */
  const pass = async (ms: number) => {
    const end = time.ms + ms;
    for (;;) {
      await Bun.sleep(0);
      const [next] = [...timers].sort((a, b) => a.at - b.at);
      if (next === undefined || next.at > end) break;
      timers.delete(next);
      time.ms = Math.max(time.ms, next.at);
      next.act();
    }
    time.ms = end;
  };
  return { time, later, elapsedMs: () => time.ms, pass };
}

/** No ration that any test but its own would use up. */
const plenty = { rate: 1000, burst: 100_000 };

export interface TurnOptions extends Partial<Omit<TurnLimits, "failures">> {
  readonly failures?: Partial<FailureRations>;
}

/** Who asks: from an address, as somebody; root where nothing is said. */
export interface Asker {
  readonly from: string;
  readonly as?: string;
  readonly exempt?: boolean;
}

/**
 * A queue, what it has begun to look at, and how to end that. A password that begins with `right`
 * is.
 */
export function turnWorld({ failures, ...wanted }: TurnOptions = {}) {
  const clock = handClock();
  const keys = new AttemptKeys(seededRandom());
  const memory = new PasswordMemory(clock);
  const rations = { known: plenty, address: plenty, account: plenty, accountToRevoke: plenty };
  const standard = { atOnce: 2, atOncePerAddress: 2, atOnceStrangers: 2 };
  const room = { waitingPerAddress: 100, waitingMax: 1000, longestMs: 600_000 };
  const limits = { ...standard, ...room, ...wanted, failures: { ...rations, ...failures } };
  const turns = new FairTurns({ limits, ...clock });
  const begun: string[] = [];
  const looks: (() => void)[] = [];
  /** What comes of it: `right`, `wrong`, or the code it was refused with. */
  const ask = ({ from, as = "root", exempt = false }: Asker, password: string): Promise<string> => {
    const attempt = keys.of(as, password, { ip: from, exempt });
    const right = password.startsWith("right");
    const asked = turns.run<boolean>({
      attempt,
      recall: () => memory.isRight(attempt.digest) || undefined,
      look: () =>
        new Promise((seen) => {
          begun.push(`${as}@${from} ${password}`);
          looks.push(() => {
            if (right) memory.keep(attempt.digest, true);
            seen(right);
          });
        }),
      verdict: (seen) => (seen ? "right" : "wrong"),
      wrong: false,
    });
    return asked.then(
      (seen) => (seen ? "right" : "wrong"),
      (error: unknown) => (error instanceof Problem ? error.code : String(error)),
    );
  };
  /** Ends the oldest look. */
  const end = async () => {
    await Bun.sleep(0);
    looks.shift()?.();
    await Bun.sleep(0);
  };
  /** Ends looks until none is left. */
  const endAll = async () => {
    await Bun.sleep(0);
    while (looks.length > 0) await end();
  };
  /** Makes an address known at root's account, or another one. */
  const makeKnown = async (asker: Asker) => {
    const asked = ask(asker, `right ${asker.as ?? "root"}`);
    await endAll();
    await asked;
  };
  return { turns, keys, begun, looks, ask, end, endAll, makeKnown, ...clock };
}
