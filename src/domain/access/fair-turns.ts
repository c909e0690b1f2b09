/**
 * Lets those who present passwords have their turn: whoever guesses waits for himself, and nobody
 * waits for him.
 *
 * Failures are rationed, and never by a lock: who knows a name must not be able to keep its owner
 * out (OWASP, "Device cookies"). An address from which an account's password was right of late is
 * known at that account, and what fails there is rationed there alone: strangers cannot make it
 * wait, however many they are. From every other address failures count twice, for the address and
 * for the account, so that an account's strangers together guess only so often; a stranger whose
 * ration is used up is not refused but stands in line, one line of addresses, in which an address
 * that asks a thousand times stands once.
 *
 * Nothing is compared before its ration is taken, not even with what is remembered as right: to be
 * told at once would be to guess as fast as one can send. Only where an address is known is it
 * compared on credit: at once, and what is not right takes up room until it has its token. So what
 * is right is not delayed before the room of its own address is full of guesses at it. From then on
 * it cannot be told from them, and tokens go by turns to the newest and to the oldest: neither a
 * flood that came before nor one that comes after shuts anybody out. What is right gives its tokens
 * back; what one look finds wrong is wrong for all who wait with the same.
 */

import { refuse } from "#core/problems.ts";
import type { Filling } from "#core/token-bucket.ts";
import type { Later } from "#domain/ports.ts";
import { KnownAddresses } from "./known-addresses.ts";
import type { LoginAttempt } from "./login-attempt.ts";
import { type Ration, Rations } from "./rations.ts";
import { type Entry, type Lane, type Room, type Verdict, Waiting } from "./waiting.ts";

/**
 * The values of one queue; who is known, and who revokes, has room and turns apart from the others.
 */
export interface TurnLimits extends Room {
  /** Looks at once: each takes a core, or a connection. */
  readonly atOnce: number;
  readonly atOncePerAddress: number;
  /** Of those at once, what addresses may have at accounts where they are not known. */
  readonly atOnceStrangers: number;
  /** Whoever has waited this long is refused. */
  readonly longestMs: number;
  readonly failures: FailureRations;
}

/** How often looks may come to nothing: so many at once, and so many a second after that. */
export interface FailureRations {
  /** Of an address at an account where it is known. */
  readonly known: Filling;
  /** Of an address at all accounts where it is not. */
  readonly address: Filling;
  /** Of all addresses at an account where they are not known. */
  readonly account: Filling;
  /** The same of those who revoke. */
  readonly accountToRevoke: Filling;
}

export interface FairTurnsDeps {
  readonly limits: TurnLimits;
  readonly elapsedMs: () => number;
  readonly later: Later;
}

/** What is to be looked at. */
export interface Look<T> {
  readonly attempt: LoginAttempt;
  /** What is known to be right, without a look; undefined where that has to be looked at. */
  readonly recall?: () => T | undefined;
  /** Throws when nobody could tell. */
  readonly look: () => Promise<T>;
  readonly verdict: (seen: T) => Verdict;
  /** What is seen of a wrong password. */
  readonly wrong: T;
}

/** The queue of one place where passwords are checked. */
export class FairTurns {
  readonly #deps: FairTurnsDeps;
  readonly #known = new KnownAddresses();
  readonly #rations: Rations<Lane>;
  readonly #waiting: Waiting;
  /** Those with somebody who has his tokens and waits for a look to end. */
  readonly #ready = new Set<Lane>();
  /** What is looked at now, by digest. */
  readonly #looks = new Map<string, Promise<Verdict>>();
  #came = 0;
  #turn = 0;
  #active = 0;
  #activeStrangers = 0;
  #watching = false;

  constructor(deps: FairTurnsDeps) {
    this.#deps = deps;
    const { elapsedMs, later, limits } = deps;
    this.#waiting = new Waiting(limits, (attempt, known) =>
      rationsOf(limits.failures, attempt, known),
    );
    const taken = (lane: Lane) => {
      lane.inLine = false;
      lane.taken += 1;
      this.#advance(lane);
      this.#serve();
    };
    this.#rations = new Rations({ elapsedMs, later, taken });
  }

  /** Addresses at accounts at which somebody waits or is looked at. */
  get lanes(): number {
    return this.#waiting.lanes;
  }

  /**
   * Looks when it is this attempt's turn, or gives `wrong` when another look has found the same to
   * be wrong meanwhile. Refuses `rate_limited` to whoever has waited too long or gives way to
   * others. What `look` throws is thrown, and is no failure.
   */
  run<T>({ attempt, recall, look, verdict, wrong }: Look<T>): Promise<T> {
    this.#came += 1;
    return new Promise<T>((resolve, refused) => {
      this.#enter({
        attempt,
        lane: this.#laneOf(attempt),
        order: this.#came,
        sinceMs: this.#deps.elapsedMs(),
        recall: () => {
          const seen = recall?.();
          if (seen !== undefined) resolve(seen);
          return seen !== undefined;
        },
        look: async () => {
          try {
            const seen = await look();
            resolve(seen);
            return verdict(seen);
          } catch (error) {
            refused(error);
            return "nothing";
          }
        },
        isWrong: () => resolve(wrong),
        refuse: refused,
      });
      this.#serve();
      this.#watch();
    });
  }

  #laneOf(attempt: LoginAttempt): Lane {
    const { account, address } = attempt;
    const known = this.#known.has(account, address, this.#deps.elapsedMs());
    return this.#waiting.laneOf(attempt, known);
  }

  #enter(entry: Entry): void {
    const { lane, attempt } = entry;
    // On credit: what is not right takes up room until it has its token.
    if (lane.source.group.known && this.#waiting.hasRoom(lane) && entry.recall()) {
      this.#known.add(attempt.account, attempt.address, this.#deps.elapsedMs());
      this.#waiting.forget(lane);
      return;
    }
    this.#waiting.add(entry);
    const one = this.#waiting.tooMany(entry);
    if (one !== undefined) this.#refuse(one);
    this.#advance(lane);
  }

  /** Takes tokens for those of a lane who have none, until none are left of either. */
  #advance(lane: Lane): void {
    while (lane.unpaid.length > 0 && !lane.inLine) {
      const ration = lane.rations[lane.taken];
      if (ration === undefined) this.#paid(lane);
      else if (this.#rations.take(ration, lane)) lane.taken += 1;
      else lane.inLine = true;
    }
    if (lane.unpaid.length === 0) this.#leaveLine(lane);
    this.#waiting.forget(lane);
  }

  /**
   * One has all its tokens: what is known to be right is answered, everything else waits for a
   * look.
   */
  #paid(lane: Lane): void {
    const entry = lane.unpaid.at(lane.newestNext ? -1 : 0);
    lane.taken = 0;
    if (entry === undefined) return;
    lane.newestNext = !lane.newestNext;
    if (entry.recall()) {
      this.#waiting.remove(entry);
      this.#isRight(lane, entry.attempt);
      return;
    }
    lane.unpaid.splice(lane.unpaid.indexOf(entry), 1);
    lane.paid.push(entry);
    this.#ready.add(lane);
  }

  /** Nobody is left in the lane whom a token could be for. */
  #leaveLine(lane: Lane): void {
    const next = lane.rations[lane.taken];
    if (lane.inLine && next !== undefined) this.#rations.leave(next, lane);
    lane.inLine = false;
    for (const ration of lane.rations.slice(0, lane.taken)) this.#rations.giveBack(ration);
    lane.taken = 0;
  }

  #serve(): void {
    while (this.#active < this.#deps.limits.atOnce) {
      const entry = this.#next()?.paid[0];
      if (entry === undefined) return;
      this.#drop(entry);
      this.#begin(entry);
    }
  }

  /**
   * Of those whose turn was longest ago: the group, in it the address with fewest looks under way,
   * and of it the account.
   */
  #next(): Lane | undefined {
    const { atOncePerAddress, atOnceStrangers } = this.#deps.limits;
    const strangers = this.#activeStrangers < atOnceStrangers;
    let next: Lane | undefined;
    for (const lane of this.#ready) {
      const { source } = lane;
      if (source.active >= atOncePerAddress || !(source.group.known || strangers)) continue;
      if (next === undefined || isBefore(lane, next)) next = lane;
    }
    return next;
  }

  #begin({ attempt, lane, look, isWrong }: Entry): void {
    const { source } = lane;
    this.#turn += 1;
    lane.turn = this.#turn;
    source.turn = this.#turn;
    source.group.turn = this.#turn;
    this.#count(lane, 1);
    const { digest } = attempt;
    // The same is looked at already: when it is wrong, one look is enough.
    const verdict = this.#looks.get(digest)?.then((seen) => {
      if (seen !== "wrong") return look();
      isWrong();
      return seen;
    });
    const looking = verdict ?? look();
    if (verdict === undefined) this.#looks.set(digest, looking);
    void looking.then((seen) => {
      if (this.#looks.get(digest) === looking) this.#looks.delete(digest);
      this.#count(lane, -1);
      this.#ended(lane, attempt, seen);
      this.#waiting.forget(lane);
      this.#serve();
    });
  }

  #count(lane: Lane, more: 1 | -1): void {
    this.#active += more;
    if (!lane.source.group.known) this.#activeStrangers += more;
    lane.source.active += more;
    lane.active += more;
  }

  #ended(lane: Lane, attempt: LoginAttempt, verdict: Verdict): void {
    if (verdict === "right") this.#isRight(lane, attempt);
    if (verdict === "nothing") this.#giveBack(lane);
    if (verdict !== "wrong") return;
    for (const entry of this.#waiting.alike(attempt.digest)) {
      this.#drop(entry, "unused");
      entry.isWrong();
    }
  }

  /** From now on the address is known at the account, also those who wait there already. */
  #isRight(lane: Lane, { account, address }: LoginAttempt): void {
    this.#giveBack(lane);
    this.#known.add(account, address, this.#deps.elapsedMs());
    if (lane.source.group.known) return;
    for (const entry of [...lane.paid, ...lane.unpaid]) {
      this.#drop(entry, "unused");
      this.#enter({ ...entry, lane: this.#laneOf(entry.attempt) });
    }
  }

  /** Waits no longer; with its tokens given back when there was no look. */
  #drop(entry: Entry, tokens?: "unused"): void {
    const { lane } = entry;
    if (tokens === "unused" && lane.paid.includes(entry)) this.#giveBack(lane);
    this.#waiting.remove(entry);
    if (lane.paid.length === 0) this.#ready.delete(lane);
    if (lane.unpaid.length === 0) this.#leaveLine(lane);
    if (tokens === "unused") this.#waiting.forget(lane);
  }

  #giveBack(lane: Lane): void {
    for (const ration of lane.rations) this.#rations.giveBack(ration);
  }

  #refuse(entry: Entry): void {
    const { taken, source } = entry.lane;
    const tier = !source.group.known && taken > 0 ? "per_account" : "per_ip";
    this.#drop(entry, "unused");
    entry.refuse(refuse("rate_limited", { tier, retry_after: 2 }));
  }

  /** Nobody waits for ever: by then the one who asked has gone. */
  #watch(): void {
    const { oldest } = this.#waiting;
    if (this.#watching || oldest === undefined) return;
    this.#watching = true;
    const { elapsedMs, later, limits } = this.#deps;
    const left = oldest.sinceMs + limits.longestMs - elapsedMs();
    later(Math.max(1, Math.ceil(left)), () => {
      this.#watching = false;
      for (let one = this.#waiting.oldest; one !== undefined; one = this.#waiting.oldest) {
        if (elapsedMs() - one.sinceMs < limits.longestMs) break;
        this.#refuse(one);
      }
      this.#watch();
    });
  }
}

/** True when the first of two lanes comes before the second. */
function isBefore(one: Lane, other: Lane): boolean {
  const a = one.source;
  const b = other.source;
  if (a.group !== b.group) return a.group.turn < b.group.turn;
  if (a !== b) return a.active === b.active ? a.turn < b.turn : a.active < b.active;
  return one.turn < other.turn;
}

function rationsOf(
  failures: FailureRations,
  { address, account, exempt }: LoginAttempt,
  known: boolean,
): readonly Ration[] {
  if (known) {
    return [{ key: JSON.stringify(["known", exempt, address, account]), filling: failures.known }];
  }
  const ofAccount = exempt ? failures.accountToRevoke : failures.account;
  return [
    { key: JSON.stringify(["address", exempt, address]), filling: failures.address },
    { key: JSON.stringify(["account", exempt, account]), filling: ofAccount },
  ];
}
