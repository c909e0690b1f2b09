/** Remembers rows that every request asks for, until a commit may have changed them. */

/** Which version of the rows that may be remembered is the committed one. */
export interface Versions {
  /** Never older than the question; at once where nobody else commits. */
  current(): number | Promise<number>;
  /**
   * The batch under way, an object of its own, and the version it began with: while its transaction
   * holds the head row nobody else moves it.
   */
  begun(): { readonly batch: object; readonly version: number };
  /** A batch has committed that may have changed such rows; gives the version where it counts. */
  moved(): number | undefined;
}

/** Of a database that one process writes: it counts its own commits. */
export function ownVersions(batch: () => object): Versions {
  let count = 0;
  return {
    current: () => count,
    begun: () => ({ batch: batch(), version: count }),
    moved: () => {
      count += 1;
      return count;
    },
  };
}

/**
 * Rows of one version at a time. Whoever asks learns the committed version first, and a row that is
 * remembered was read when that version was committed already: so no answer is older than its
 * question, whichever process has changed the row. Within a unit the version is the one its batch
 * has locked; once a unit of the batch has touched such rows, the database is asked again.
 */
export class Memo {
  readonly #versions: Versions;
  readonly #rows = new Map<string, unknown>();
  /** Reads under way at this version, which others of the same version join. */
  readonly #reading = new Map<string, Promise<unknown>>();
  /** The keys of rows by another name of theirs. */
  readonly #also = new Map<string, string>();
  readonly #changed: string[] = [];
  #weight = 0;
  #version = 0;
  /** The batch, not yet committed as far as known here, in which such rows were touched. */
  #touched: object | undefined;

  constructor(versions: Versions) {
    this.#versions = versions;
  }

  /** The method, asked once per argument between two changes; what is absent is not remembered. */
  remembering<A, R>(
    name: string,
    method: (argument: A) => Promise<R | undefined>,
    { keyOf = String, alsoBy }: Naming<A, R> = {},
  ): (argument: A) => Promise<R | undefined> {
    return async (argument) => {
      const current = this.#versions.current();
      this.#at(typeof current === "number" ? current : await current);
      const key = `${name}/${keyOf(argument)}`;
      // Only this method writes under its own name.
      const known = this.#rows.get(key) as R | undefined;
      if (known !== undefined) return known;
      const joined = this.#reading.get(key) as Promise<R | undefined> | undefined;
      if (joined !== undefined) return await joined;
      const row = await this.#read(key, method(argument));
      if (row !== undefined && alsoBy !== undefined && this.#rows.get(key) === row) {
        this.#also.set(`${name}/${alsoBy(row)}`, key);
      }
      return row;
    };
  }

  /** The same for a method that gives a list. */
  rememberingList<A, R>(
    name: string,
    method: (argument: A) => Promise<readonly R[]>,
    naming: Naming<A, readonly R[]> = {},
  ): (argument: A) => Promise<readonly R[]> {
    const remembered = this.remembering(name, method, naming);
    return async (argument) => (await remembered(argument)) ?? [];
  }

  /** The same for a method of a unit, which sees what its batch has changed. */
  rememberingWithin<A extends string, R>(
    name: string,
    method: (argument: A) => Promise<R | undefined>,
  ): (argument: A) => Promise<R | undefined> {
    return async (argument) => {
      const { batch, version } = this.#versions.begun();
      if (this.#touched === batch) return await method(argument);
      this.#at(version);
      const key = `${name}/${argument}`;
      const known = this.#rows.get(key) as R | undefined; // As above.
      if (known !== undefined) return known;
      const row = await method(argument);
      if (row !== undefined && this.#touched !== batch && this.#version === version) {
        this.#keep(key, row);
      }
      return row;
    };
  }

  /** The method of a unit, which changes rows that may be remembered. */
  touching<A extends unknown[], R>(method: (...given: A) => R): (...given: A) => R {
    return (...given) => {
      this.touch();
      return method(...given);
    };
  }

  /** The unit under way changes rows that may be remembered. */
  touch(): void {
    this.#touched = this.#versions.begun().batch;
  }

  /**
   * The unit under way changes one row, found by its other name, in nothing that any process goes
   * by but to change it again: it alone is read anew.
   */
  changing(name: string, other: string): void {
    const key = this.#also.get(`${name}/${other}`);
    if (key !== undefined) this.#changed.push(key);
  }

  /** A batch has committed: what it may have changed is forgotten. */
  committed(): void {
    for (const key of this.#changed.splice(0)) this.#forget(key);
    if (this.#touched === undefined) return;
    this.#touched = undefined;
    const version = this.#versions.moved();
    if (version !== undefined) this.#at(version);
  }

  /** Every row is of this version from here on. */
  #at(version: number): void {
    if (version === this.#version) return;
    this.#version = version;
    this.#clear();
    this.#reading.clear();
  }

  async #read<R>(key: string, asked: Promise<R | undefined>): Promise<R | undefined> {
    const version = this.#version;
    this.#reading.set(key, asked);
    try {
      const row = await asked;
      // A commit while the row was being read may have made it old.
      if (row !== undefined && this.#version === version) this.#keep(key, row);
      return row;
    } finally {
      if (this.#reading.get(key) === asked) this.#reading.delete(key);
    }
  }

  #keep(key: string, row: unknown): void {
    this.#forget(key);
    const weight = weightOf(key, row);
    if (weight > weightMax) return;
    if (this.#weight + weight > weightMax) this.#clear();
    this.#rows.set(key, row);
    this.#weight += weight;
  }

  #forget(key: string): void {
    const row = this.#rows.get(key);
    if (row === undefined) return;
    this.#rows.delete(key);
    this.#weight -= weightOf(key, row);
  }

  #clear(): void {
    this.#rows.clear();
    this.#also.clear();
    this.#weight = 0;
  }
}

/** What a row is remembered under; its argument as text unless said. */
interface Naming<A, R> {
  readonly keyOf?: (argument: A) => string;
  /** Another name of a row, for `changing`. */
  readonly alsoBy?: (row: R) => string;
}

/** A row weighs one, a list as many as it has, and a long key what it takes. */
const weightOf = (key: string, row: unknown): number =>
  1 + Math.floor(key.length / keyLength) + entriesOf(row);

function entriesOf(row: unknown): number {
  if (Array.isArray(row)) return row.length;
  return row instanceof Map ? row.size : 0;
}

const weightMax = 10_000;
const keyLength = 256;
