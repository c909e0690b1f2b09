/** Logs a failure that repeats once, then at growing intervals, and once when it has ended. */

import { systemStopwatch } from "#adapters/system.ts";
import type { Log, Stopwatch } from "#domain/ports.ts";
import { describe } from "./describe.ts";

/** Returns a function that logs failures under this message, see `FailureLog.fail`. */
export function createFailureHandler(log: Log, message: string): (error: unknown) => void {
  const failures = new FailureLog(log, systemStopwatch);
  return (error) => failures.fail(message, error);
}

/** Fields that identify what failed: the name of a job, the id of a CA. */
type Subject = Readonly<Record<string, string | undefined>>;

/** Consecutive failures of one subject. */
interface Series {
  readonly startedAt: number;
  lastAt: number;
  failures: number;
  readonly lines: Map<string, Line>;
}

/** Time of the next line about one kind of error, in milliseconds of the stopwatch. */
interface Line {
  nextAt: number;
  intervalMs: number;
}

/** Log of failures that may repeat many times per second. */
export class FailureLog {
  readonly #log: Log;
  readonly #stopwatch: Stopwatch;
  readonly #series = new Map<string, Series>();

  constructor(log: Log, stopwatch: Stopwatch) {
    this.#log = log;
    this.#stopwatch = stopwatch;
  }

  /**
   * Logs a failure, unless the same kind of error of this subject was logged recently. Errors that
   * differ in numbers only are of the same kind.
   */
  fail(message: string, error: unknown, subject: Subject = {}): void {
    const now = this.#stopwatch.elapsedMs();
    const series = this.#findSeries(formatKey(message, subject), now);
    series.failures += 1;
    series.lastAt = now;
    const text = describe(error);
    const line = findLine(series, text);
    if (now < line.nextAt) return;
    line.nextAt = now + line.intervalMs;
    line.intervalMs = Math.min(intervalMsMax, line.intervalMs * 2);
    const failures = series.failures > 1 ? series.failures : undefined;
    this.#log.write("error", message, { ...subject, error: text, failures });
  }

  /** Logs the end of the failures of this subject, if there were any since the last call. */
  recover(message: string, recovered: string, subject: Subject = {}): void {
    const key = formatKey(message, subject);
    const series = this.#series.get(key);
    if (series === undefined) return;
    this.#series.delete(key);
    const seconds = Math.round((this.#stopwatch.elapsedMs() - series.startedAt) / 1000);
    this.#log.write("info", recovered, { ...subject, failures: series.failures, seconds });
  }

  #findSeries(key: string, now: number): Series {
    const existing = this.#series.get(key);
    if (existing !== undefined && now - existing.lastAt < intervalMsMax) return existing;
    const [oldest] = this.#series.keys();
    if (this.#series.size >= seriesMax && oldest !== undefined) this.#series.delete(oldest);
    const series = { startedAt: now, lastAt: now, failures: 0, lines: new Map<string, Line>() };
    this.#series.set(key, series);
    return series;
  }
}

function findLine({ lines }: Series, text: string): Line {
  const kind =
    lines.size < kindsMax ? (text.split("\n")[0] ?? "").replaceAll(/\d[\d.:,]*/g, "#") : "";
  const existing = lines.get(kind);
  if (existing !== undefined) return existing;
  const line = { nextAt: 0, intervalMs: intervalMsMin };
  lines.set(kind, line);
  return line;
}

const formatKey = (message: string, subject: Subject): string => message + JSON.stringify(subject);

const intervalMsMin = 60_000;
const intervalMsMax = 900_000;
const seriesMax = 1000;
/** Kinds of errors of one subject; others share one line. */
const kindsMax = 8;
