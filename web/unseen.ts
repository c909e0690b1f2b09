/**
 * Lets the feed's connection go in a tab that nobody sees: a browser has six connections to a host,
 * and the seventh tab would wait for ever.
 */

import type { Feed } from "./feed.ts";

/** Until the function that is given back is called. */
export function pauseUnseen(feed: Feed): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const follow = () => {
    clearTimeout(timer);
    if (document.visibilityState === "visible") feed.resume();
    else timer = setTimeout(() => feed.pause(), unseenMs);
  };
  document.addEventListener("visibilitychange", follow);
  // A link may be opened in a tab behind this one.
  follow();
  return () => {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", follow);
  };
}

/** Ends the connection when the browser is cut off, and asks for another when it is back. */
export function followLine(feed: Feed): () => void {
  const cut = () => feed.cut();
  const hurry = () => feed.hurry();
  addEventListener("offline", cut);
  addEventListener("online", hurry);
  return () => {
    removeEventListener("offline", cut);
    removeEventListener("online", hurry);
  };
}

/** Whoever only looks at another tab for a moment comes back to a page that is live. */
const unseenMs = 3_000;
