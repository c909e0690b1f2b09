/**
 * Looks for the proofs that accounts say are there: at once, then again after a while, until it is
 * found or given up (CHA-1 to CHA-4).
 */

import { keyAuthorization } from "#core/acme/challenges.ts";
import type { StoredProblem } from "#core/acme/problems.ts";
import { addSeconds, type Instant, instant } from "#core/time.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import type { Directories } from "./directories.ts";
import type { AcmeSections } from "./sections.ts";
import type { Spend } from "./nonces.ts";
import type { AttemptResult, ChallengeClaim, ValidationJob } from "./store.ts";
import type { ValidationOutcome, Validators } from "./validators.ts";

export interface ValidationDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly config: () => AcmeSections;
  readonly directories: Directories;
  readonly validators: Validators;
  /** Told of every attempt; metrics are its only use. */
  readonly onAttempt: (type: string, proved: boolean) => void;
  readonly onFault: (error: unknown) => void;
}

/** Works on challenges that are due, of any replica's accounts. */
export class Validation {
  readonly #deps: ValidationDeps;
  /** Attempts under way or waiting for their turn, by challenge. */
  readonly #underWay = new Map<string, Promise<void>>();
  readonly #accounts = new Slots(perAccount);
  readonly #hosts = new Slots(perHost);
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
  async begin(challenge: string, spend: Spend): Promise<boolean> {
    const { store, clock } = this.#deps;
    const now = clock.now();
    const claim = this.#free() > 0 ? this.#claim(1, now, challenge) : undefined;
    const { begun, jobs } = await store.atomically(async (tx) => {
      await spend(tx);
      const begun = await tx.acme.beginChallenge(challenge, now);
      const taken = begun && claim !== undefined;
      return { begun, jobs: taken ? await tx.acme.claimChallenges(claim) : [] };
    });
    if (begun && jobs.length === 0) this.#note(now);
    this.#work(jobs);
    return begun;
  }

  /** Takes what is due; the schedule calls it every second. */
  async run(): Promise<void> {
    const now = this.#deps.clock.now();
    const due = [...this.#due].filter((at) => at <= now);
    if (this.#free() <= 0 || (due.length === 0 && !this.#isSweepDue(now))) return;
    this.#sweptAt = now;
    // Others stay: what is to be tried again later is due later.
    for (const at of due) this.#due.delete(at);
    await this.#take(this.#free());
  }

  /** Begins nothing more, and waits for what is under way. */
  async halt(): Promise<void> {
    this.#halted = true;
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

  #free(): number {
    return this.#halted ? 0 : altogether - this.#underWay.size;
  }

  async #take(limit: number): Promise<void> {
    const { store, clock } = this.#deps;
    const now = clock.now();
    const claim = this.#claim(limit, now);
    const jobs = await store.atomically((tx) => tx.acme.claimChallenges(claim));
    this.#work(jobs);
    if (jobs.length === limit) this.#note(now);
  }

  #claim(limit: number, at: Instant, only?: string): ChallengeClaim {
    const { validation_timeout_seconds: seconds } = this.#deps.config().acme;
    // Long enough for those who wait their turn behind others of the same account.
    const leaseUntil = addSeconds(at, seconds * turnsAhead + leaseSeconds);
    return { at, leaseUntil, limit, only, exceptAccounts: this.#accounts.full() };
  }

  #work(jobs: readonly ValidationJob[]): void {
    const { onFault } = this.#deps;
    for (const job of jobs) {
      const { id } = job.challenge;
      const work = this.#attempt(job)
        .catch(onFault)
        .finally(() => this.#underWay.delete(id));
      this.#underWay.set(id, work);
    }
  }

  async #attempt(job: ValidationJob): Promise<void> {
    const { account, authorization, challenge } = job;
    const host = authorization.identifier.value;
    const outcome = await this.#accounts.within(account.id, () =>
      this.#hosts.within(host, () => this.#tried(job)),
    );
    this.#deps.onAttempt(challenge.type, outcome.proved);
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
          thumbprints: await store.read.acme.thumbprints(account.id),
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
    const error: StoredProblem = { type, detail, status: statusOf[type], identifier };
    const { attempts } = job.challenge;
    if (attempts >= validation_attempts) return { kind: "failed", error, at };
    const wait = waits[Math.min(attempts, waits.length) - 1] ?? 2;
    return { kind: "again", error, at: addSeconds(at, wait) };
  }
}

/** How many may do something for each of many at a time; others wait, first come first served. */
class Slots {
  readonly #each: number;
  readonly #taken = new Map<string, { running: number; readonly waiting: (() => void)[] }>();

  constructor(each: number) {
    this.#each = each;
  }

  /** Those that have none left. */
  full(): readonly string[] {
    return [...this.#taken].filter(([, { running }]) => running >= this.#each).map(([key]) => key);
  }

  async within<T>(key: string, work: () => Promise<T>): Promise<T> {
    const slot = this.#taken.get(key) ?? { running: 0, waiting: [] };
    this.#taken.set(key, slot);
    if (slot.running >= this.#each) {
      await new Promise<void>((resume) => slot.waiting.push(resume));
    } else {
      slot.running++;
    }
    try {
      return await work();
    } finally {
      const next = slot.waiting.shift();
      // Whoever waited longest takes the place over.
      if (next !== undefined) next();
      else if (--slot.running === 0) this.#taken.delete(key);
    }
  }
}

/** RFC 8555 §6.7: what the server of the applicant says wrong is the applicant's to mend. */
const statusOf = {
  connection: 400,
  dns: 400,
  tls: 400,
  unauthorized: 403,
  incorrectResponse: 403,
  rejectedIdentifier: 400,
} as const satisfies Record<
  Extract<ValidationOutcome, { readonly proved: false }>["problem"]["type"],
  number
>;

/** Seconds before the second, third and every further attempt (CHA-1). */
const waits: readonly number[] = [2, 10, 30];
const altogether = 64;
const perAccount = 16;
const perHost = 4;
/** Attempts that may come before one that was claimed. */
const turnsAhead = 5;
const leaseSeconds = 30;
const sweepSeconds = 15;
