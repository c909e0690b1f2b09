/**
 * The connections that read: made when they are wanted, lent to one caller at a time, replaced when
 * old or broken.
 */

import { unreachableDatabase } from "./faults.ts";
import type { Link } from "./postgres-link.ts";

export interface LinksOptions {
  readonly open: () => Promise<Link>;
  /** Most connections at a time. */
  readonly max: number;
  /** Age in milliseconds after which a connection is replaced. */
  readonly lifetimeMs: number;
  /** Milliseconds after which one that nobody used is closed. */
  readonly idleMs: number;
  /** Milliseconds to wait for one while all are lent. */
  readonly waitMs: number;
}

/** A bounded number of connections and those who wait for one, first come first served. */
export class Links {
  readonly #options: LinksOptions;
  readonly #open = new Set<Link>();
  /** The one used last is lent first, so that those too many grow old. */
  #idle: Link[] = [];
  #opening = 0;
  readonly #waiting = new Set<Waiter>();
  #closed = false;

  constructor(options: LinksOptions) {
    this.#options = options;
  }

  /**
   * Lends a connection to `work`. Throws the fault of an unreachable database when none is to be
   * had in time.
   */
  async use<T>(work: (link: Link) => Promise<T>): Promise<T> {
    const link = await this.#take();
    try {
      return await work(link);
    } finally {
      this.#giveBack(link);
    }
  }

  /** Gives up every connection, lent or not, and refuses those who wait. */
  giveUp(): void {
    for (const link of this.#open) link.giveUp();
    this.#open.clear();
    this.#idle = [];
    for (const waiter of this.#waiting) waiter.refuse();
    this.#waiting.clear();
  }

  /** Closes those that nobody used for long; called from time to time. */
  sweep(): void {
    const now = performance.now();
    const { idleMs } = this.#options;
    const stale = this.#idle.filter((link) => link.broken || now - link.idleSince > idleMs);
    for (const link of stale) this.#discard(link);
    this.#idle = this.#idle.filter((link) => !stale.includes(link));
  }

  /** Gives up everything for good. */
  close(): void {
    this.#closed = true;
    this.giveUp();
  }

  async #take(): Promise<Link> {
    for (;;) {
      if (this.#closed) throw unreachableDatabase();
      const idle = this.#idle.pop();
      if (idle !== undefined && !this.#worn(idle)) return idle;
      if (idle !== undefined) this.#discard(idle);
      else if (this.#open.size + this.#opening < this.#options.max) return await this.#make();
      else {
        const given = await this.#wait();
        if (given !== undefined) return given;
      }
    }
  }

  async #make(): Promise<Link> {
    this.#opening++;
    try {
      const link = await this.#options.open();
      if (this.#closed) {
        link.giveUp();
        throw unreachableDatabase();
      }
      this.#open.add(link);
      return link;
    } catch (error) {
      this.#callNext();
      throw error;
    } finally {
      this.#opening--;
    }
  }

  #giveBack(link: Link): void {
    if (this.#worn(link) || !this.#open.has(link)) {
      this.#discard(link);
      this.#callNext();
      return;
    }
    link.idleSince = performance.now();
    const [next] = this.#waiting;
    if (next === undefined) this.#idle.push(link);
    else this.#answer(next, link);
  }

  #worn(link: Link): boolean {
    return link.broken || performance.now() - link.openedAt > this.#options.lifetimeMs;
  }

  #discard(link: Link): void {
    this.#open.delete(link);
    link.giveUp();
  }

  /** Resolves with a connection, or with nothing when there is room to make one. */
  #wait(): Promise<Link | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<Link | undefined>();
    const refuse = () => {
      clearTimeout(timer);
      this.#waiting.delete(waiter);
      reject(unreachableDatabase());
    };
    const timer = setTimeout(refuse, this.#options.waitMs);
    const waiter: Waiter = {
      refuse,
      give: (link) => {
        clearTimeout(timer);
        resolve(link);
      },
    };
    this.#waiting.add(waiter);
    return promise;
  }

  /** Whoever waits longest may make the connection that one less now leaves room for. */
  #callNext(): void {
    const [next] = this.#waiting;
    if (next !== undefined) this.#answer(next, undefined);
  }

  #answer(waiter: Waiter, link: Link | undefined): void {
    this.#waiting.delete(waiter);
    waiter.give(link);
  }
}

interface Waiter {
  readonly refuse: () => void;
  readonly give: (link: Link | undefined) => void;
}
