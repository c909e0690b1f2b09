/**
 * Looks for the proofs that accounts say are there: at once, then again after a while, until it is
 * found or given up (CHA-1 to CHA-4).
 */

import { type ChallengeType, keyAuthorization } from "#core/acme/challenges.ts";
import type { StoredProblem } from "#core/acme/problems.ts";
import { Recent } from "#core/recent.ts";
import { addSeconds, type Instant, instant } from "#core/time.ts";
import type { PageKey } from "#domain/page.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import { AttemptPlaces, type Closed } from "./attempt-places.ts";
import type { Directories } from "./directories.ts";
import type { AcmeSections } from "./sections.ts";
import type { Spend } from "./nonces.ts";
import type {
  AttemptResult,
  ChallengeClaim,
  ChallengeSource,
  DueChallenge,
  ValidationJob,
} from "./store.ts";
import type { ValidationOutcome, ValidationProblem, Validators } from "./validators.ts";
import { type ChallengeAttempt, WaitingChallenges } from "./waiting-challenges.ts";

/** How an attempt ended: who was asked says no (`denied`), or nobody says anything (`error`). */
export type AttemptWord = "success" | "denied" | "error";

export interface ValidationDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly config: () => AcmeSections;
  readonly directories: Directories;
  readonly validators: Validators;
  /** Told of every attempt; metrics are its only use. */
  readonly onAttempt: (type: ChallengeType, result: AttemptWord) => void;
  readonly onFault: (error: unknown) => void;
}

/**
 * Works on challenges that are due, of any replica's accounts. A challenge is taken, and its
 * attempt counted, when it has a place to run at once and not before: those that wait hold no
 * lease, which could end while they do, and no place.
 */
export class Validation {
  readonly #deps: ValidationDeps;
  /** Attempts under way, by challenge. */
  readonly #underWay = new Map<string, Promise<void>>();
  readonly #places = new AttemptPlaces();
  /** Tenants and addresses of accounts at their last request. */
  readonly #sources = new Recent<string, ChallengeSource>(sourcesMax);
  readonly #waiting = new WaitingChallenges();
  /** Who could have no place when somebody was last left waiting; undefined when nobody is. */
  #closed: Closed | undefined;
  /** The look for what is due that is under way, and whether there is to be another behind it. */
  #looking: Promise<void> | undefined;
  #lookAgain = false;
  /**
   * When this process knows of work, in whole seconds, so that there are few of them; what others
   * have left is looked for now and then.
   */
  readonly #due = new Set<number>();
  #sweptAt: Instant | undefined;
  #halted = false;

  constructor(deps: ValidationDeps) {
    this.#deps = deps;
  }

  /**
   * Has the proof of a pending challenge looked for, at once where there is room; one that is under
   * way or decided is left alone (CHA-2). True when this call has begun it. Nobody waits for the
   * attempt.
   */
  async begin(challenge: ChallengeAttempt, spend: Spend): Promise<boolean> {
    const { store, clock } = this.#deps;
    const now = clock.now();
    const { account, source } = challenge;
    if (source !== undefined) this.#sources.set(account, source);
    // While a look is under way older challenges come first, except before an address without a
    // slot: an attacker keeps many challenges waiting.
    const isFirst = source !== undefined && this.#places.countOfBlock(challenge) === 0;
    const placed = (this.#looking === undefined || isFirst) && this.#reserve(challenge);
    const { begun, jobs } = await store
      .atomically(async (tx) => {
        await spend(tx);
        const begun = await tx.acme.beginChallenge(challenge.id, now);
        const claim = begun && placed ? this.#claim([challenge], now) : undefined;
        return { begun, jobs: claim === undefined ? [] : await tx.acme.claimChallenges(claim) };
      })
      .catch((error: unknown) => {
        if (placed) this.#work([challenge], []);
        throw error;
      });
    if (placed) this.#work([challenge], jobs);
    else if (begun) {
      this.#waiting.add(challenge);
      this.#leaveWaiting(challenge);
    }
    return begun;
  }

  /** Takes what is due; the schedule calls it every second. */
  async run(): Promise<void> {
    const now = this.#deps.clock.now();
    const due = [...this.#due].filter((at) => at <= now);
    if (due.length === 0 && !this.#isSweepDue(now)) return;
    this.#sweptAt = now;
    // Others stay: what is to be tried again later is due later.
    for (const at of due) this.#due.delete(at);
    await this.#look();
  }

  /** Begins nothing more, and waits for what is under way. */
  async halt(): Promise<void> {
    this.#halted = true;
    // Whoever asked for the look is told of its faults.
    await Promise.allSettled([this.#looking]);
    await Promise.all(this.#underWay.values());
  }

  /** What others have left is looked for now and then, and when the clock was set back. */
  #isSweepDue(now: Instant): boolean {
    const at = this.#sweptAt;
    return at === undefined || now < at || now >= addSeconds(at, sweepSeconds);
  }

  #note(at: Instant): void {
    this.#due.add(Math.ceil(at / 1000) * 1000);
  }

  /** One look at a time; what was asked for meanwhile is looked for behind it. */
  #look(): Promise<void> {
    this.#lookAgain = true;
    this.#looking ??= this.#looks();
    return this.#looking;
  }

  async #looks(): Promise<void> {
    try {
      do {
        this.#lookAgain = false;
        await this.#takeDue();
      } while (this.#lookAgain && !this.#halted);
    } finally {
      // With the last question whether to look again: nobody asks in between and is not heard.
      this.#looking = undefined;
    }
  }

  /** Takes what is due and has a place, oldest first; who has none is passed over. */
  async #takeDue(): Promise<void> {
    const { store, clock } = this.#deps;
    const at = clock.now();
    const first = this.#waiting.take({
      reserve: (challenge) => this.#reserve(challenge),
      count: (challenge) => this.#places.countOfBlock(challenge),
      isBusy: ({ id }) => this.#underWay.has(id),
    });
    if (first.length > 0) await this.#takePlaced(first);
    // Accounts of tenants and addresses that have all their slots.
    const passedOver = new Set<string>();
    let after: PageKey | undefined;
    do {
      this.#closed = this.#places.closed();
      if (this.#closed.all || this.#halted) return;
      const { accounts, hosts } = this.#closed;
      const filter = { at, exceptAccounts: [...accounts, ...passedOver], exceptHosts: hosts };
      const page = await store.read.acme.dueChallenges(filter, lookedAtOnce, after);
      const placed = this.#reserveFairly(page.items, passedOver);
      this.#closed = this.#places.closed();
      if (placed.length > 0) await this.#takePlaced(placed);
      after = page.next;
    } while (after !== undefined);
  }

  /** Reserves one by one, each for the address with the fewest attempts; of several the oldest. */
  #reserveFairly(due: readonly DueChallenge[], passedOver: Set<string>): ChallengeAttempt[] {
    const waiting: ChallengeAttempt[] = due.map((challenge) => ({
      ...challenge,
      source: this.#sources.get(challenge.account),
    }));
    const reserved: ChallengeAttempt[] = [];
    while (waiting.length > 0) {
      const counts = waiting.map((one) => this.#places.countOfBlock(one));
      const [next] = waiting.splice(counts.indexOf(Math.min(...counts)), 1);
      if (next === undefined) break;
      if (this.#reserve(next)) reserved.push(next);
      else if (this.#places.isSourceFull(next) && passedOver.size < passedOverMax) {
        passedOver.add(next.account);
      }
    }
    return reserved;
  }

  async #takePlaced(placed: readonly ChallengeAttempt[]): Promise<void> {
    const { store, clock } = this.#deps;
    let jobs: readonly ValidationJob[] = [];
    try {
      const claim = this.#claim(placed, clock.now());
      jobs = await store.atomically((tx) => tx.acme.claimChallenges(claim));
    } finally {
      this.#work(placed, jobs);
    }
  }

  #claim(placed: readonly DueChallenge[], at: Instant): ChallengeClaim {
    const { validation_timeout_seconds: seconds } = this.#deps.config().acme;
    // From here on nobody waits but for the network, which has its bound, and for the database.
    const leaseUntil = addSeconds(at, seconds + leaseSeconds);
    return { ids: placed.map(({ id }) => id), at, leaseUntil };
  }

  /** A place for a challenge; one that is under way has its own, whatever became of its lease. */
  #reserve(challenge: ChallengeAttempt): boolean {
    if (this.#halted || this.#underWay.has(challenge.id)) return false;
    return this.#places.take(challenge);
  }

  /** Works on what was taken, and gives the places of the others back. */
  #work(placed: readonly ChallengeAttempt[], jobs: readonly ValidationJob[]): void {
    for (const challenge of placed) {
      const job = jobs.find((one) => one.challenge.id === challenge.id);
      if (job !== undefined) {
        this.#underWay.set(challenge.id, this.#worked(challenge, job));
        continue;
      }
      this.#places.give(challenge);
      // Not at once: what nobody can take would be looked for without end.
      this.#note(this.#deps.clock.now());
    }
  }

  async #worked(challenge: ChallengeAttempt, job: ValidationJob): Promise<void> {
    try {
      await this.#attempt(job);
    } catch (error) {
      this.#deps.onFault(error);
    }
    this.#underWay.delete(challenge.id);
    this.#places.give(challenge);
    if (this.#closed === undefined || !this.#places.opened(this.#closed)) return;
    this.#closed = undefined;
    this.#look().catch(this.#deps.onFault);
  }

  /** One that had no place may have one by now; else it has one when somebody gives one back. */
  #leaveWaiting(challenge: ChallengeAttempt): void {
    if (this.#places.isOpen(challenge)) this.#look().catch(this.#deps.onFault);
    else if (this.#looking === undefined) this.#closed = this.#places.closed();
  }

  async #attempt(job: ValidationJob): Promise<void> {
    const { challenge } = job;
    const outcome = await this.#tried(job);
    const word = outcome.proved ? "success" : meanings[outcome.problem.type].word;
    this.#deps.onAttempt(challenge.type, word);
    const result = this.#resultOf(job, outcome);
    await this.#deps.store.atomically((tx) =>
      tx.acme.settleChallenge(challenge.id, challenge.attempts, result),
    );
    if (result.kind === "again") this.#note(result.at);
  }

  async #tried({ challenge, authorization, account }: ValidationJob): Promise<ValidationOutcome> {
    const { directories, validators, config, store } = this.#deps;
    const directory = directories.named(authorization.directory);
    if (directory === undefined) {
      const detail = "The directory of this account is not served any more.";
      return { proved: false, problem: { type: "unauthorized", detail } };
    }
    const { identifier } = config().caa;
    return await validators.attempt({
      type: challenge.type,
      identifier: authorization.identifier,
      wildcard: authorization.wildcard,
      token: challenge.token,
      keyAuthorization: keyAuthorization(challenge.token, account.thumbprint),
      accountUrl: directory.url(`/acct/${account.id}`),
      ...(challenge.type === "dns-persist-01" && {
        persist: {
          accountHashPrefix: directory.url("/account-hash/"),
          issuerDomainNames: identifier === undefined ? [] : [identifier],
          thumbprints: await store.read.acme.thumbprints(
            account.id,
            authorization.identifier.value,
          ),
        },
      }),
    });
  }

  #resultOf(job: ValidationJob, outcome: ValidationOutcome): AttemptResult {
    const { clock, config } = this.#deps;
    const { validation_attempts, authz_validity_hours } = config().acme;
    const at = clock.now();
    if (outcome.proved) {
      const usual = addSeconds(at, authz_validity_hours * 3600);
      const { until = usual } = outcome;
      return { kind: "proved", at, validUntil: instant(Math.min(until, usual)) };
    }
    const { type, detail } = outcome.problem;
    const { identifier } = job.authorization;
    const error: StoredProblem = { type, detail, status: meanings[type].status, identifier };
    const { attempts } = job.challenge;
    if (attempts >= validation_attempts) return { kind: "failed", error, at };
    const wait = waits[Math.min(attempts, waits.length) - 1] ?? 2;
    return { kind: "again", error, at: addSeconds(at, wait) };
  }
}

/** RFC 8555 §6.7: what the server of the applicant says wrong is the applicant's to mend. */
// biome-ignore format: the table is read by column.
const meanings = {
  connection:         { status: 400, word: "error" },
  dns:                { status: 400, word: "error" },
  tls:                { status: 400, word: "error" },
  unauthorized:       { status: 403, word: "denied" },
  incorrectResponse:  { status: 403, word: "denied" },
  rejectedIdentifier: { status: 400, word: "denied" },
} as const satisfies Record<ValidationProblem["type"], { status: number; word: AttemptWord }>;

/** Seconds before the second, third and every further attempt (CHA-1). */
const waits: readonly number[] = [2, 10, 30];
/** For what an attempt does beside the network, on a database that is slow. */
const leaseSeconds = 60;
const sweepSeconds = 15;
const lookedAtOnce = 64;
const sourcesMax = 10_000;
/** Accounts that one query excludes by name. */
const passedOverMax = 500;
