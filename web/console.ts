/** What every part of the console knows: who is there, how to ask, what is live, where one is. */

import { createContext } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import type { Answers } from "#api/answers.ts";
import type { Address } from "./address.ts";
import type { Credential } from "./api.ts";
import type { Feed, FeedEvent, FeedState } from "./feed.ts";
import type { Caller } from "./login.ts";
import type { StaleReads } from "./stale.ts";

export type Tenant = Answers["tenant.list"]["items"][number];

export interface Console {
  readonly caller: Caller;
  readonly credential: Credential;
  readonly feed: Feed;
  readonly address: Address;
  /**
   * Those the caller has a role in, newest first, and the one that the address names; empty until
   * they are known.
   */
  readonly tenants: readonly Tenant[];
  /** There are others beside them, which a search finds. */
  readonly moreTenants: boolean;
  /**
   * Shows what nobody can show again, until the person says that they have kept it. That leads to
   * what it belongs to, unless another page is open by then than the one this was taken on.
   */
  readonly showOnce: (secret: OnceShown) => void;
  /** What is shown could not be read again. */
  readonly stale: StaleReads;
  readonly logOut: () => void;
}

/** A secret that the server has answered once. */
export interface OnceShown {
  readonly title: string;
  /** What it belongs to and the secret itself, each by its name. */
  readonly parts: Readonly<Record<string, string>>;
  /** How it is presented. */
  readonly use?: string;
  /** What it belongs to is shown there afterwards. */
  readonly href: string;
}

export const ConsoleContext = createContext<Console | undefined>(undefined);

/** For whatever is drawn within the frame, where somebody is logged in. */
export function useConsole(): Console {
  const known = useContext(ConsoleContext);
  if (known === undefined) throw new Error("nobody is logged in here");
  return known;
}

export const useAddress = (): Address => useConsole().address;

/** How the feed is. */
export function useFeedState(): FeedState {
  const { feed } = useConsole();
  const [state, setState] = useState(feed.state);
  useEffect(() => feed.listen({ onState: setState }), [feed]);
  return state;
}

/** Calls back when the feed is live after it was not, as long as something waits for the server. */
export function useBackAgain(waits: boolean, again: () => void): void {
  const { feed } = useConsole();
  useEffect(() => {
    if (!waits) return;
    let last = feed.state;
    return feed.listen({
      onState: (state) => {
        if (state === "live" && last !== "live") again();
        last = state;
      },
    });
  }, [feed, waits, again]);
}

/**
 * Calls back when events come that `concerns` or some may have been missed (`heard`), and when this
 * page has changed something itself (`own`); many at a time are one call, at most twice a second.
 * Whoever may not read events is called back from time to time, while the window is seen.
 */
export function useLive(
  concerns: ((event: FeedEvent) => boolean) | undefined,
  onChange: (why: "heard" | "own" | "polled") => void,
): void {
  const { feed } = useConsole();
  const latest = useRef({ concerns, onChange });
  latest.current = { concerns, onChange };
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const soon = () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        latest.current.onChange("heard");
      }, 500);
    };
    const leave = feed.listen({
      onEvents: (events) => {
        const { concerns } = latest.current;
        if (concerns !== undefined && events.some(concerns)) soon();
      },
      onGap: soon,
    });
    const tell = (why: "own" | "polled") => {
      if (latest.current.concerns !== undefined) latest.current.onChange(why);
    };
    const own = () => tell("own");
    const unfed = () => {
      if (feed.state === "off" && !document.hidden) tell("polled");
    };
    const poll = setInterval(unfed, pollMs);
    document.addEventListener("visibilitychange", unfed);
    addEventListener(changed, own);
    return () => {
      clearTimeout(timer);
      clearInterval(poll);
      document.removeEventListener("visibilitychange", unfed);
      removeEventListener(changed, own);
      leave();
    };
  }, [feed]);
}

/**
 * Says that this page has changed something, so that what is shown is asked for again: not
 * everybody may read the feed, and nobody waits for it to tell what they have just done.
 */
export function tellChange(): void {
  dispatchEvent(new Event(changed));
}

const changed = "pkid-changed";
/** Soon enough for whoever waits for a decision, and little beside what a page asks for itself. */
const pollMs = 15_000;

/** Events whose action is one of these or stands in one of these groups (`cert.*`). */
export const actionsIn =
  (actions: readonly string[]) =>
  ({ action }: FeedEvent): boolean =>
    actions.some((one) =>
      one.endsWith("*") ? action.startsWith(one.slice(0, -1)) : action === one,
    );
