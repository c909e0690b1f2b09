/** Writes the process log: one line per event, JSON for machines or text for a terminal. */

import type { Clock, Log, LogLevel } from "#domain/ports.ts";

export interface LogOptions {
  /** Lines below this level are dropped. */
  readonly level: LogLevel;
  readonly format: "json" | "text";
  readonly clock: Clock;
  /** Takes whole lines; standard error in the server. */
  readonly write: (text: string) => void;
}

/**
 * A log that gathers lines for a moment and writes them at once, so that a request costs no system call of its own.
 * Warnings and errors are written at once, with everything gathered before them.
 */
export class ProcessLog implements Log {
  readonly #options: LogOptions;
  #waiting: string[] = [];
  #waitingLength = 0;
  #timer: Timer | undefined;

  constructor(options: LogOptions) {
    this.#options = options;
  }

  write(level: LogLevel, message: string, facts: Readonly<Record<string, unknown>> = {}): void {
    if (rank[level] < rank[this.#options.level]) return;
    const time = new Date(this.#options.clock.now()).toISOString();
    const line =
      this.#options.format === "json"
        ? `${JSON.stringify({ time, level, msg: message, ...facts })}\n`
        : `${time} ${level.toUpperCase().padEnd(5)} ${message}${textFacts(facts)}\n`;
    this.#waiting.push(line);
    this.#waitingLength += line.length;
    if (rank[level] >= rank.warn || this.#waitingLength >= waitingMax) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), gatherMs);
  }

  /** Writes what was gathered; called before the process ends. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#waiting.length === 0) return;
    const text = this.#waiting.join("");
    this.#waiting = [];
    this.#waitingLength = 0;
    this.#options.write(text);
  }
}

/** Control characters are written as JSON escapes, so that no fact can forge a line or drive a terminal. */
function textFacts(facts: Readonly<Record<string, unknown>>): string {
  return Object.entries(facts)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` ${name}=${textValue(value)}`)
    .join("");
}

function textValue(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return /^[\x21\x23-\x7e]+$/.test(text) ? text : JSON.stringify(text);
}

const rank: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3 };
/** How long a line may wait, and how many characters may. */
const gatherMs = 50;
const waitingMax = 65_536;
