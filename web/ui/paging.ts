/** The way through a list in its address: cursors lead on, and those of earlier pages lead back. */

import type { Address, QueryChange } from "#web/address.ts";

/** The members by which an address keeps a way: lists beside each other have one each. */
export interface Way {
  readonly cursor: string;
  readonly page: string;
  readonly earlier: string;
}

/** Through the list of the page. */
export const pageWay: Way = { cursor: "cursor", page: "page", earlier: "earlier" };
/** Through a list in the panel beside that one. */
export const panelWay: Way = {
  cursor: "panel_cursor",
  page: "panel_page",
  earlier: "panel_earlier",
};
/** What the address changes for another panel, or none: the way through a list in it ends there. */
export const withoutPanelWay: QueryChange = toFirst(panelWay);

/** What the address changes to go on from this page. */
export function pageAfter(
  query: Address["query"],
  page: number,
  next: string,
  way = pageWay,
): QueryChange {
  const cursor = query[way.cursor];
  // The first page has no cursor, and the oldest of a long way are let go: addresses have an end.
  const earlier = cursor === undefined ? [] : [...earlierIn(query, way), cursor].slice(-earlierMax);
  return {
    [way.cursor]: next,
    [way.page]: page + 1,
    [way.earlier]: earlier.join(separator),
  };
}

/** And to go back: to the first page where the address does not know the one before. */
export function pageBefore(query: Address["query"], page: number, way = pageWay): QueryChange {
  const earlier = earlierIn(query, way);
  const cursor = earlier.pop();
  if (cursor === undefined || page <= 2) return toFirst(way);
  return {
    [way.cursor]: cursor,
    [way.page]: page - 1,
    [way.earlier]: earlier.join(separator),
  };
}

function toFirst({ cursor, page, earlier }: Way): QueryChange {
  return { [cursor]: undefined, [page]: undefined, [earlier]: undefined };
}

const earlierIn = (query: Address["query"], { earlier }: Way): string[] =>
  (query[earlier] ?? "").split(separator).filter((cursor) => cursor !== "");

/** Stands in no cursor, which are base64url, and needs no escape in an address. */
const separator = ".";
/** Some 2,000 characters. */
const earlierMax = 12;
