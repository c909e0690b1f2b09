/** The way through a list in its address: cursors lead on, and those of earlier pages lead back. */

import type { Address, QueryChange } from "#web/address.ts";

/** What the address changes to go on from this page. */
export function pageAfter(query: Address["query"], page: number, next: string): QueryChange {
  const { cursor } = query;
  // The first page has no cursor, and the oldest of a long way are let go: addresses have an end.
  const earlier = cursor === undefined ? [] : [...earlierIn(query), cursor].slice(-earlierMax);
  return { cursor: next, page: page + 1, earlier: earlier.join(separator) };
}

/** And to go back: to the first page where the address does not know the one before. */
export function pageBefore(query: Address["query"], page: number): QueryChange {
  const earlier = earlierIn(query);
  const cursor = earlier.pop();
  if (cursor === undefined || page <= 2) {
    return { cursor: undefined, page: undefined, earlier: undefined };
  }
  return { cursor, page: page - 1, earlier: earlier.join(separator) };
}

const earlierIn = ({ earlier = "" }: Address["query"]): string[] =>
  earlier.split(separator).filter((cursor) => cursor !== "");

/** Stands in no cursor, which are base64url, and needs no escape in an address. */
const separator = ".";
/** Some 2,000 characters. */
const earlierMax = 12;
