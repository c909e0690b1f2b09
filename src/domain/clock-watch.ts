/**
 * Watches the clock for steps: one back pauses issuance, one far ahead pauses what judges many
 * things by their age (PRC-4).
 */

import { effectiveRoles } from "#core/access/principal.ts";
import { refuse } from "#core/problems.ts";
import { type Instant, instant, parseTimestamp, timestamp } from "#core/time.ts";
import type { Origin } from "./actor.ts";
import type { Clock, Stopwatch } from "./ports.ts";
import type { Store } from "./store.ts";

/** What a step of the clock has paused; both may be. */
export interface ClockPause {
  /**
   * Issuance waits until the clock has passed this moment, the time of the last event before the
   * step.
   */
  readonly behindUntil: Instant | undefined;
  /**
   * What acts on many things by their age waits until an operator has confirmed the time after this
   * step.
   */
  readonly ahead: { readonly from: Instant; readonly to: Instant } | undefined;
}

export interface ClockWatchDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly stopwatch: Stopwatch;
  /** Told once of each pause that begins. */
  readonly onPause: (pause: ClockPause) => void;
  /** Called once when the clocks of host and database are too far apart, with the seconds. */
  readonly onSkew: (seconds: number) => void;
}

/** What one confirmation let go on. */
export type Resumed = "issuance" | "mass_actions";

/**
 * The watch of one process; pauses are facts of the instance, so they outlast a restart and hold on
 * every replica.
 */
export class ClockWatch {
  readonly #deps: ClockWatchDeps;
  #pause: ClockPause = none;
  /** The latest time an event of this instance carries. */
  #latest: Instant | undefined;
  /** Both clocks at the last look. */
  #mark: { readonly wall: Instant; readonly steady: number };
  /** What the store says of the pause, as far as this process knows. */
  #kept = "";
  #isSkewReported = false;

  constructor(deps: ClockWatchDeps) {
    this.#deps = deps;
    this.#mark = { wall: deps.clock.now(), steady: deps.stopwatch.elapsedMs() };
  }

  /**
   * Compares the clock with what was committed last, which a clock set wrong while pkid was down
   * cannot have changed.
   */
  async open(): Promise<void> {
    const { store } = this.#deps;
    this.#reportSkew();
    store.onEvents((events) => {
      for (const { timestamp: text } of events) this.#saw(parseTimestamp(text));
    });
    await this.#adopt();
    const last = await lastEventTime(store);
    this.#saw(last);
    if (last === undefined) return;
    const now = this.#deps.clock.now();
    const seen = instantOf((await store.read.instance.value(seenName)) ?? "");
    // A time seen while the clock was wrong says nothing about how long pkid was down.
    const latest = instant(Math.max(last, seen !== undefined && seen <= now ? seen : last));
    this.#judge(now, latest - now > backMsMax, now - latest > aheadMsMax ? latest : undefined);
    await this.#keep();
  }

  /**
   * Clock of the database minus clock of this host, in seconds; undefined if they differ by 60
   * seconds or less. Only this process is paused, so a replica with a right clock cannot end it.
   */
  get skewSeconds(): number | undefined {
    const milliseconds = this.#deps.store.databaseClockOffsetMs() ?? 0;
    return Math.abs(milliseconds) > skewMsMax ? Math.round(milliseconds / 1000) : undefined;
  }

  /** Reason why this process issues no certificates, for clients; undefined if it does. */
  get issuancePause(): string | undefined {
    if (this.skewSeconds !== undefined) return skewMessage;
    return this.pause.behindUntil === undefined ? undefined : behindSentence;
  }

  /** Refuses `storage_unavailable` while the clock stands before what was committed last. */
  refuseWhileBehind(): void {
    if (this.skewSeconds !== undefined) {
      throw refuse("storage_unavailable", { retry_after: skewRetrySeconds }, skewMessage);
    }
    this.#look();
    const { behindUntil } = this.#pause;
    if (behindUntil === undefined) return;
    const seconds = Math.ceil((behindUntil - this.#deps.clock.now()) / 1000);
    const retry_after = Math.min(Math.max(seconds, 1), retrySecondsMax);
    throw refuse("storage_unavailable", { retry_after }, behindSentence);
  }

  /** What is paused now. */
  get pause(): ClockPause {
    this.#look();
    return this.#pause;
  }

  /**
   * True while the clock may be believed against what says to be from its future: no step is
   * unconfirmed, or the clock leapt ahead and is back where it would have been.
   */
  get believed(): boolean {
    this.#look();
    if (this.skewSeconds !== undefined) return false;
    const { behindUntil, ahead } = this.#pause;
    if (ahead === undefined) return behindUntil === undefined;
    const now = this.#deps.clock.now();
    return now >= ahead.from - backMsMax && now < ahead.to;
  }

  /**
   * Looks at both clocks, keeps what it finds, and takes up what another replica found; runs about
   * every second.
   */
  async watch(): Promise<void> {
    this.#reportSkew();
    this.#look();
    await this.#adopt();
    await this.#keep();
  }

  /**
   * Remembers the time, so that a quiet instance is not taken for one that was down for long; or a
   * pause that began since the last watch, which whoever starts next could no longer see: events of
   * the wrong time are stored by then.
   */
  async remember(): Promise<void> {
    this.#look();
    await this.#keep();
    if (this.pause.behindUntil !== undefined || this.pause.ahead !== undefined) return;
    const now = String(this.#deps.clock.now());
    await this.#deps.store.atomically((tx) => tx.instance.setValue(seenName, now));
  }

  /**
   * Confirms the time: everything paused goes on, and an event says who said so. Gives what was
   * paused.
   */
  async accept(origin: Origin): Promise<readonly Resumed[]> {
    await this.watch();
    const { behindUntil, ahead } = this.#pause;
    const resumed: Resumed[] = [
      ...(behindUntil === undefined ? [] : ["issuance" as const]),
      ...(ahead === undefined ? [] : ["mass_actions" as const]),
    ];
    if (resumed.length === 0) return resumed;
    const now = this.#deps.clock.now();
    const { principal, ip, requestId } = origin;
    await this.#deps.store.atomically(async (tx) => {
      await tx.instance.setValue(pauseName, "");
      await tx.instance.setValue(seenName, String(now));
      await tx.audit.appendEvent(
        {
          action: "monitor.clock_accept",
          result: "success",
          ip,
          requestId,
          actor: principal.subject,
          actorName: principal.name,
          actorRoles: effectiveRoles(principal, undefined),
          detail: { resumed: resumed.join(","), ...stepFacts({ behindUntil, ahead }) },
        },
        now,
      );
    });
    this.#latest = now;
    this.#pause = none;
    this.#kept = "";
    return resumed;
  }

  #reportSkew(): void {
    const { skewSeconds } = this;
    if (skewSeconds !== undefined && !this.#isSkewReported) this.#deps.onSkew(skewSeconds);
    this.#isSkewReported = skewSeconds !== undefined;
  }

  #saw(at: Instant | undefined): void {
    if (at !== undefined && at > (this.#latest ?? at - 1)) this.#latest = at;
  }

  /** The wall clock against one nobody can set. */
  #look(): void {
    const { clock, stopwatch } = this.#deps;
    const [wall, steady] = [clock.now(), stopwatch.elapsedMs()];
    const expected = instant(this.#mark.wall + (steady - this.#mark.steady));
    this.#mark = { wall, steady };
    this.#judge(
      wall,
      wall - expected < -backMsMax,
      wall - expected > aheadMsMax ? expected : undefined,
    );
  }

  /** `ahead` is where the clock stood before it went ahead. */
  #judge(now: Instant, back: boolean, ahead: Instant | undefined): void {
    const before = this.#pause;
    const latest = this.#latest;
    const until = back && latest !== undefined ? latest : before.behindUntil;
    const behindUntil = until !== undefined && now <= until ? until : undefined;
    const stepped = ahead === undefined ? undefined : { from: ahead, to: now };
    if (behindUntil === before.behindUntil && stepped === undefined) return;
    this.#pause = { behindUntil, ahead: before.ahead ?? stepped };
    const begun = behindUntil !== undefined || (stepped !== undefined && !before.ahead);
    if (begun) this.#deps.onPause(this.#pause);
  }

  /** Takes up the pause in the store when somebody else has changed it. */
  async #adopt(): Promise<void> {
    const before = this.#kept;
    const stored = (await this.#deps.store.read.instance.value(pauseName)) ?? "";
    // What this process has kept since the read began, an acceptance above all, is newer.
    if (this.#kept !== before || stored === before) return;
    this.#kept = stored;
    this.#pause = parsePause(stored);
    this.#judge(this.#deps.clock.now(), false, undefined);
    if (stored !== "") this.#deps.onPause(this.#pause);
  }

  async #keep(): Promise<void> {
    const text = pauseText(this.#pause);
    if (text === this.#kept || this.#deps.store.rollback() !== undefined) return;
    await this.#deps.store.atomically((tx) => tx.instance.setValue(pauseName, text));
    this.#kept = text;
  }
}

/** The time of the last event; undefined while there is none. */
export async function lastEventTime({ read }: Pick<Store, "read">): Promise<Instant | undefined> {
  const { seq } = await read.audit.eventHead();
  const [last] = seq === 0 ? [] : await read.audit.eventsAfter(seq - 1, 1);
  return last === undefined ? undefined : parseTimestamp(last.timestamp);
}

/** `<until>|<from>|<to>` in milliseconds; empty when nothing is paused. */
function pauseText({ behindUntil, ahead }: ClockPause): string {
  if (behindUntil === undefined && ahead === undefined) return "";
  return [behindUntil, ahead?.from, ahead?.to].map((at) => at ?? "").join("|");
}

function parsePause(text: string): ClockPause {
  const [behindUntil, from, to] = text.split("|").map(instantOf);
  return {
    behindUntil,
    ahead: from === undefined || to === undefined ? undefined : { from, to },
  };
}

const instantOf = (text: string): Instant | undefined =>
  /^\d{1,15}$/.test(text) ? instant(Number(text)) : undefined;

/** The step as an event and the log tell it. */
export const stepFacts = ({ behindUntil, ahead }: ClockPause) => ({
  last_event: behindUntil === undefined ? undefined : timestamp(behindUntil),
  from: ahead === undefined ? undefined : timestamp(ahead.from),
  to: ahead === undefined ? undefined : timestamp(ahead.to),
});

/** Told to whoever asks for a certificate, and by the readiness of the instance. */
export const behindSentence =
  "The clock stands before the last event; issuance waits until it has passed it.";

/** Message of the pause by `skewSeconds`. */
export const skewMessage =
  "The clocks of host and database differ by more than 60 seconds; issuance is paused.";

const none: ClockPause = { behindUntil: undefined, ahead: undefined };
const backMsMax = 5_000;
const aheadMsMax = 86_400_000;
const retrySecondsMax = 3600;
const skewMsMax = 60_000;
const skewRetrySeconds = 60;
const pauseName = "clock_pause";
const seenName = "clock_seen";
