/** Asks again while the page is shown, for what no event tells of. */

import { useEffect, useRef } from "preact/hooks";

/** Calls `again` every so many seconds, and at once when a hidden tab is shown again. */
export function usePolled(again: () => void, everySeconds: number): void {
  const latest = useRef(again);
  latest.current = again;
  useEffect(() => {
    let due = Date.now() + everySeconds * 1000;
    const look = () => {
      if (document.hidden || Date.now() < due) return;
      due = Date.now() + everySeconds * 1000;
      latest.current();
    };
    const timer = setInterval(look, 1000);
    document.addEventListener("visibilitychange", look);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }, [everySeconds]);
}
