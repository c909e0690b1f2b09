/** Waits with a text until nobody has changed it for a moment, so that not every key asks. */

import { useEffect, useState } from "preact/hooks";

/** The text as it was when it last stood still. */
export function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), pauseMs);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

/** After the last keystroke. */
const pauseMs = 300;
