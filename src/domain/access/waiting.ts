/**
 * Who waits to have a password looked at: by group, by address and by account, within the room
 * there is.
 */

import type { LoginAttempt } from "./login-attempt.ts";
import type { Ration } from "./rations.ts";

/** How many may wait: of one address, and of all addresses together, of each group. */
export interface Room {
  readonly waitingPerAddress: number;
  readonly waitingMax: number;
}

/** One attempt that waits. */
export interface Entry {
  readonly attempt: LoginAttempt;
  readonly lane: Lane;
  /** Grows with every one that came. */
  readonly order: number;
  readonly sinceMs: number;
  /** True when it was answered with what is remembered. */
  readonly recall: () => boolean;
  readonly look: () => Promise<Verdict>;
  readonly isWrong: () => void;
  readonly refuse: (error: unknown) => void;
}

/** What a look has said of a password; nothing, when nobody could tell. */
export type Verdict = "right" | "wrong" | "nothing";

/** The attempts of one address at one account. */
export interface Lane {
  readonly key: string;
  readonly source: Source;
  readonly account: string;
  /** What an attempt takes a token of before it is compared with anything. */
  readonly rations: readonly Ration[];
  /** Without their tokens, the oldest first. */
  readonly unpaid: Entry[];
  /** With their tokens, in the order in which they got them. */
  readonly paid: Entry[];
  /**
   * Whose is the next token: by turns the newest's, whom no flood before him may shut out, and the
   * oldest's.
   */
  newestNext: boolean;
  /** How many tokens are taken for the next of them. */
  taken: number;
  /** Stands in line for the next token. */
  inLine: boolean;
  active: number;
  /** The number of the turn it had last. */
  turn: number;
}

/** All attempts of one address and one group. */
export interface Source {
  readonly key: string;
  readonly address: string;
  readonly group: Group;
  readonly lanes: Set<Lane>;
  active: number;
  waiting: number;
  turn: number;
}

/**
 * Those who know the password or do not, and who revoke or do not: each has room and turns of its
 * own.
 */
export interface Group {
  readonly known: boolean;
  readonly exempt: boolean;
  waiting: number;
  turn: number;
}

/** Everybody who waits. */
export class Waiting {
  readonly #room: Room;
  readonly #rationsOf: (attempt: LoginAttempt, known: boolean) => readonly Ration[];
  readonly #groups: readonly Group[] = [true, false].flatMap((known) =>
    [true, false].map((exempt) => ({ known, exempt, waiting: 0, turn: 0 })),
  );
  readonly #sources = new Map<string, Source>();
  readonly #lanes = new Map<string, Lane>();
  /** In the order in which they came. */
  readonly #entries = new Set<Entry>();
  readonly #byDigest = new Map<string, Set<Entry>>();

  constructor(room: Room, rationsOf: (attempt: LoginAttempt, known: boolean) => readonly Ration[]) {
    this.#room = room;
    this.#rationsOf = rationsOf;
  }

  /** Where this attempt waits. */
  laneOf(attempt: LoginAttempt, known: boolean): Lane {
    const { address, account, exempt } = attempt;
    const sourceKey = JSON.stringify([known, exempt, address]);
    const source = this.#sources.get(sourceKey) ?? this.#newSource(sourceKey, attempt, known);
    const key = JSON.stringify([known, exempt, address, account]);
    const lane = this.#lanes.get(key);
    if (lane !== undefined) return lane;
    const made: Lane = {
      key,
      source,
      account,
      rations: this.#rationsOf(attempt, known),
      unpaid: [],
      paid: [],
      newestNext: true,
      taken: 0,
      inLine: false,
      active: 0,
      turn: 0,
    };
    this.#lanes.set(key, made);
    source.lanes.add(made);
    return made;
  }

  /** Begins to wait in its lane. */
  add(entry: Entry): void {
    const { lane, attempt } = entry;
    lane.unpaid.push(entry);
    lane.source.waiting += 1;
    lane.source.group.waiting += 1;
    this.#entries.add(entry);
    const same = this.#byDigest.get(attempt.digest) ?? new Set();
    this.#byDigest.set(attempt.digest, same.add(entry));
  }

  /** Waits no longer. */
  remove(entry: Entry): void {
    const { lane, attempt } = entry;
    const among = lane.paid.includes(entry) ? lane.paid : lane.unpaid;
    among.splice(among.indexOf(entry), 1);
    lane.source.waiting -= 1;
    lane.source.group.waiting -= 1;
    this.#entries.delete(entry);
    const same = this.#byDigest.get(attempt.digest);
    same?.delete(entry);
    if (same?.size === 0) this.#byDigest.delete(attempt.digest);
  }

  /** True while an address of this group has room for another one. */
  hasRoom({ source }: Lane): boolean {
    return source.waiting < this.#room.waitingPerAddress;
  }

  /** Those who wait with the same name and password. */
  alike(digest: string): readonly Entry[] {
    return [...(this.#byDigest.get(digest) ?? [])];
  }

  /** Lanes in which anybody is. */
  get lanes(): number {
    return this.#lanes.size;
  }

  /** Who has waited longest. */
  get oldest(): Entry | undefined {
    const [first] = this.#entries;
    return first;
  }

  /**
   * Who gives way so that there is room again after `entry` came: of an address with too many its
   * oldest, since a flood that came first must not keep out what comes after; with too many of all,
   * the oldest of the address with most, or, where no address has two, the newest at the account
   * with most.
   */
  tooMany({ lane }: Entry): Entry | undefined {
    const { source } = lane;
    if (source.waiting > this.#room.waitingPerAddress) return oldestOf(source);
    if (source.group.waiting <= this.#room.waitingMax) return undefined;
    const sources = [...this.#sources.values()].filter(({ group }) => group === source.group);
    const longest = sources.reduce((most, one) => (one.waiting > most.waiting ? one : most));
    if (longest.waiting > 1) return oldestOf(longest);
    const [account, count] = this.#fullestAccount(sources);
    return this.#newestAt(source.group, count > 1 ? account : lane.account);
  }

  #fullestAccount(sources: readonly Source[]): readonly [string, number] {
    const counts = new Map<string, number>();
    for (const { lanes } of sources) {
      for (const lane of lanes) {
        counts.set(lane.account, (counts.get(lane.account) ?? 0) + waitingIn(lane));
      }
    }
    return [...counts].reduce((most, one) => (one[1] > most[1] ? one : most), ["", 0] as const);
  }

  #newestAt(group: Group, account: string): Entry | undefined {
    let newest: Entry | undefined;
    for (const entry of this.#entries) {
      if (entry.lane.source.group === group && entry.lane.account === account) newest = entry;
    }
    return newest;
  }

  #newSource(key: string, { address, exempt }: LoginAttempt, known: boolean): Source {
    // There is one for every pair.
    const group = this.#groups.find((one) => one.known === known && one.exempt === exempt) as Group;
    const source = { key, address, group, lanes: new Set<Lane>(), active: 0, waiting: 0, turn: 0 };
    this.#sources.set(key, source);
    return source;
  }

  /** Keeps nothing of a lane in which nobody is. */
  forget(lane: Lane): void {
    if (waitingIn(lane) > 0 || lane.active > 0) return;
    this.#lanes.delete(lane.key);
    lane.source.lanes.delete(lane);
    if (lane.source.lanes.size === 0) this.#sources.delete(lane.source.key);
  }
}

const waitingIn = ({ unpaid, paid }: Lane): number => unpaid.length + paid.length;

/** Of the lane with most. */
function oldestOf({ lanes }: Source): Entry | undefined {
  const longest = [...lanes].reduce((most, one) => (waitingIn(one) > waitingIn(most) ? one : most));
  let oldest: Entry | undefined;
  for (const entries of [longest.paid, longest.unpaid]) {
    for (const entry of entries) {
      if (oldest === undefined || entry.order < oldest.order) oldest = entry;
    }
  }
  return oldest;
}
