/**
 * The address is the state of the console: pages read from it what they show, and change it instead
 * of keeping anything, so that back, reload and a copied link show the same.
 */

import { useEffect, useState } from "preact/hooks";

export interface Address {
  /** The segments behind `/console/`, decoded; none on the first page. */
  readonly path: readonly string[];
  readonly query: Readonly<Record<string, string>>;
}

/** What a link changes of the query; `undefined` takes the member away. */
export type QueryChange = Readonly<Record<string, string | number | boolean | undefined>>;

/** Reads a location; a broken escape stands for itself. */
export function parseAddress(pathname: string, search: string): Address {
  const path = pathname
    .replace(/^\/console\/?/, "")
    .split("/")
    .filter((segment) => segment !== "")
    .map(decoded);
  return { path, query: Object.fromEntries(new URLSearchParams(search)) };
}

/** The address of a page, for links: segments and query are escaped here and nowhere else. */
export function hrefOf(path: readonly string[], query: QueryChange = {}): string {
  const members = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === "" ? [] : [[name, String(value)]],
  );
  const search = new URLSearchParams(members).toString();
  return `/console/${path.map(encodeURIComponent).join("/")}${search === "" ? "" : `?${search}`}`;
}

/**
 * The same page with a changed query. What selects rows starts at the first page again, unless the
 * change itself says which page.
 */
export function hrefWith({ path, query }: Address, change: QueryChange): string {
  const { cursor: _cursor, page: _page, earlier: _earlier, ...kept } = query;
  const stays = Object.keys(change).every((name) => panelMembers.has(name));
  return hrefOf(path, { ...(stays ? query : kept), ...change });
}

/** Goes to an address of the console without loading anything anew. */
export function visit(href: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, "", href);
  else history.pushState(null, "", href);
  dispatchEvent(new Event(moved));
}

/** Follows the address wherever it is changed: by links, by back and forward, by pages. */
export function useLocation(): Address {
  const [address, setAddress] = useState(here);
  useEffect(() => {
    const follow = () => setAddress(here());
    addEventListener("popstate", follow);
    addEventListener(moved, follow);
    return () => {
      removeEventListener("popstate", follow);
      removeEventListener(moved, follow);
    };
  }, []);
  return address;
}

/**
 * Takes clicks on links of the console away from the browser, which would load everything again;
 * those that mean another window or a file stay its own.
 */
export function followLinks(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = event.target instanceof Element ? event.target.closest("a") : null;
  if (link === null || link.target !== "" || link.hasAttribute("download")) return;
  if (link.origin !== location.origin || !link.pathname.startsWith("/console/")) return;
  event.preventDefault();
  visit(link.pathname + link.search + link.hash);
}

/** The address that is open. */
export const here = (): Address => parseAddress(location.pathname, location.search);

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    // A broken escape in an address somebody typed names nothing; the page says so.
    return segment;
  }
}

/**
 * These say how something is shown, or what stands over or beside a list, and leave the list where
 * it is.
 */
const panelMembers = new Set([
  "dialog",
  "tab",
  "panel",
  "panel_cursor",
  "panel_page",
  "panel_earlier",
  "cursor",
  "page",
  "earlier",
  "view",
]);
const moved = "pkid-moved";
