/** How long lists are read: page by page, newest first. */

/** Position of a row in a list ordered newest first, ties broken by id. */
export interface PageKey {
  readonly at: number;
  readonly id: string;
}

/** One page of a list; `next` is absent on the last one. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly next: PageKey | undefined;
  readonly total: number;
}
