/**
 * Sheds new connections while most file descriptors are in use. The runtime accepts every client,
 * and a process without descriptors can open neither files nor threads.
 */

import type { Log, Stopwatch } from "#domain/ports.ts";

/** Control over the listening sockets of this process. */
export interface Acceptance {
  /** Reads the sockets again, after they were opened or replaced. */
  refresh(): void;
  /** Ends accepting by the runtime. */
  pause(): void;
  /** Accepts and resets up to `max` waiting connections per socket; returns how many. */
  shed(max: number): number;
  /** Allows the runtime to accept again. */
  resume(): void;
  /** Makes the system refuse to open a file, or accept a connection, above this number. */
  limitOpenFiles(max: number): void;
}

export interface ConnectionGateDeps {
  readonly acceptance: Acceptance;
  /** Number of files that the system allows this process to open. */
  readonly limit: number;
  /** Returns the number of open files of this process. */
  readonly countOpenFiles: () => number;
  readonly stopwatch: Stopwatch;
  readonly log: Log;
}

/** Keeps the connections of all TCP listeners below a number of open files. */
export class ConnectionGate {
  readonly #deps: ConnectionGateDeps;
  /** Number of open files above which connections are shed. */
  readonly #openFilesMax: number;
  #closed = false;
  #isStale = true;
  #shed = 0;
  #loggedAt = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;

  constructor(deps: ConnectionGateDeps) {
    this.#deps = deps;
    this.#openFilesMax = computeOpenFilesMax(deps.limit);
  }

  /** Begins to count; returns the function that ends it and lets all listeners accept. */
  start(): () => void {
    const { acceptance, limit } = this.#deps;
    acceptance.limitOpenFiles(computeAcceptedFilesMax(limit));
    const next = () => {
      this.#timer = setTimeout(next, this.check());
      this.#timer.unref();
    };
    next();
    return () => {
      clearTimeout(this.#timer);
      if (this.#closed) this.#open();
      acceptance.limitOpenFiles(limit);
    };
  }

  /** Requests that the listening sockets are read again, after a rotation. */
  refresh(): void {
    this.#isStale = true;
  }

  /**
   * Counts the open files once, and closes or opens the gate.
   *
   * @returns milliseconds until the next count, fewer if fewer descriptors are left
   */
  check(): number {
    const { acceptance, countOpenFiles } = this.#deps;
    const openFilesMax = this.#openFilesMax;
    const open = countOpenFiles();
    // Reading the sockets reads all open files, and takes long if there are many.
    if (this.#isStale && open < readableFilesMax) {
      this.#isStale = false;
      acceptance.refresh();
      if (this.#closed) acceptance.pause();
    }
    if (!this.#closed && open >= openFilesMax) this.#close(open);
    if (!this.#closed) return Math.min(everyMsMax, (openFilesMax - open) / acceptedPerMsMax);
    this.#shed += acceptance.shed(shedPerCheck);
    if (open < openFilesMax - hysteresis) this.#open();
    return 1;
  }

  #close(open: number): void {
    const { acceptance, limit, stopwatch, log } = this.#deps;
    this.#closed = true;
    acceptance.pause();
    // The listeners are paused, so only files, keys and jobs use the reserve.
    acceptance.limitOpenFiles(limit);
    // An attack closes the gate many times in a second; one line a minute is enough.
    const now = stopwatch.elapsedMs();
    if (now - this.#loggedAt < logEveryMs) return;
    this.#loggedAt = now;
    log.write("warn", "connections_shed", {
      open_files: open,
      open_files_max: this.#openFilesMax,
      shed: this.#shed,
    });
    this.#shed = 0;
  }

  #open(): void {
    const { acceptance, limit } = this.#deps;
    this.#closed = false;
    acceptance.limitOpenFiles(computeAcceptedFilesMax(limit));
    acceptance.resume();
  }
}

/** Returns how many files may be open while connections are accepted, by the system limit. */
export const computeOpenFilesMax = (limit: number): number =>
  limit - Math.min(1024, Math.max(128, Math.floor(limit / 4)));

/**
 * Returns how many files may be open while the listeners accept. The runtime accepts without end in
 * one tick of the event loop if clients connect as fast, so only the system can stop it.
 */
export const computeAcceptedFilesMax = (limit: number): number =>
  computeOpenFilesMax(limit) + computeOvershoot(limit);

/**
 * Returns the length of the queue of a listening socket. The runtime accepts the whole queue in one
 * tick of the event loop, between two counts. Returns undefined if the usual length does no harm.
 */
export function computeBacklog(limit: number): number | undefined {
  const backlog = computeOvershoot(limit);
  return backlog < usualBacklog ? backlog : undefined;
}

/** Returns the half of the reserve that connections may use between two counts. */
const computeOvershoot = (limit: number): number =>
  Math.floor((limit - computeOpenFilesMax(limit)) / 2);

/** The runtime's own. */
const usualBacklog = 512;
const everyMsMax = 25;
/** More connections than the runtime accepts in a millisecond. */
const acceptedPerMsMax = 64;
const shedPerCheck = 256;
/** Descriptors that must become free before the gate opens again. */
const hysteresis = 16;
const readableFilesMax = 4000;
const logEveryMs = 60_000;
