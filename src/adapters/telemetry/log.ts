/** Writes the process log: one line per event, JSON for machines or text for a terminal. */

import type { Clock, Log, LogLevel } from "#domain/ports.ts";

export interface LogOptions {
  /** Lines below this level are dropped. */
  readonly level: LogLevel;
  readonly format: "json" | "text";
  readonly clock: Clock;
  /**
   * Takes whole lines as UTF-8; standard error in the server. The octets are lent for the call
   * only.
   */
  readonly write: (lines: Uint8Array) => void;
}

/**
 * A log that gathers lines for a moment and writes them at once, so that a request costs no system
 * call of its own. Warnings and errors are written at once, with everything gathered before them.
 */
export class ProcessLog implements Log {
  readonly #options: LogOptions;
  readonly #rankMin: number;
  readonly #gathered = Buffer.allocUnsafe(gatheredMax);
  #length = 0;
  #timer: Timer | undefined;
  #head: LineHead = { time: "", level: "debug", message: "", text: "" };
  /** The time of the last line; many lines share a millisecond. */
  #time = { at: -1, text: "" };

  constructor(options: LogOptions) {
    this.#options = options;
    this.#rankMin = rank[options.level];
  }

  write(level: LogLevel, message: string, facts: Readonly<Record<string, unknown>> = {}): void {
    if (rank[level] < this.#rankMin) return;
    if (this.#options.format === "json") this.#json(level, message, facts);
    else
      this.#gather(
        `${this.#now()} ${level.toUpperCase().padEnd(5)} ${message}${textFacts(facts)}\n`,
      );
    if (rank[level] >= rank.warn) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), gatherMs);
  }

  /** Writes what was gathered; called before the process ends. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#length === 0) return;
    const lines = this.#gathered.subarray(0, this.#length);
    this.#length = 0;
    this.#options.write(lines);
  }

  /**
   * The facts are written as the object they are, whose brace then becomes the comma: no string is
   * copied twice.
   */
  #json(level: LogLevel, message: string, facts: Readonly<Record<string, unknown>>): void {
    const head = this.#headOf(level, message);
    const members = JSON.stringify(facts);
    if (members === "{}" || !this.#room(head.length + members.length + 1)) {
      this.#gather(members === "{}" ? `${head}}\n` : `${head},${members.slice(1)}\n`);
      return;
    }
    this.#put(head);
    const brace = this.#length;
    this.#put(members);
    this.#gathered[brace] = comma;
    this.#gathered[this.#length++] = lineFeed;
  }

  /** Many lines share level, message and millisecond. */
  #headOf(level: LogLevel, message: string): string {
    const time = this.#now();
    const last = this.#head;
    if (last.time === time && last.message === message && last.level === level) return last.text;
    const text = `{"time":"${time}","level":"${level}","msg":${JSON.stringify(message)}`;
    this.#head = { time, level, message, text };
    return text;
  }

  /** A line longer than the whole buffer is written by itself. */
  #gather(line: string): void {
    if (this.#room(line.length)) this.#put(line);
    else this.#options.write(Buffer.from(line, "utf8"));
  }

  /**
   * Empties the buffer unless it can take so many UTF-16 units, of at most three octets each; false
   * when it never can.
   */
  #room(units: number): boolean {
    if (this.#length + units * 3 > gatheredMax) this.flush();
    return units * 3 <= gatheredMax;
  }

  #put(text: string): void {
    this.#length += this.#gathered.write(text, this.#length, "utf8");
  }

  #now(): string {
    const at = this.#options.clock.now();
    if (at !== this.#time.at) this.#time = { at, text: new Date(at).toISOString() };
    return this.#time.text;
  }
}

/** The beginning of a line, with what it was made of. */
interface LineHead {
  readonly time: string;
  readonly level: LogLevel;
  readonly message: string;
  readonly text: string;
}

/**
 * Control characters are written as JSON escapes, so that no fact can forge a line or drive a
 * terminal.
 */
function textFacts(facts: Readonly<Record<string, unknown>>): string {
  return Object.entries(facts)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` ${name}=${textValue(value)}`)
    .join("");
}

function textValue(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return /^[\x21\x23-\x7e]+$/.test(text)
    ? text
    : JSON.stringify(text).replace(
        driving,
        (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`,
      );
}

/**
 * What JSON leaves as it is and a terminal obeys: the C1 controls, ends of line, and turns of
 * direction.
 */
const driving = /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;

const rank: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3 };
/** How long a line may wait, and how many octets may. */
const gatherMs = 50;
const gatheredMax = 65_536;
const comma = 0x2c;
const lineFeed = 0x0a;
