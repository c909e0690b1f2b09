/** Finds where a text stops being YAML, because the parser of the runtime does not say it. */

/** A place in a text, both counted from 1. */
export interface TextPlace {
  readonly line: number;
  readonly column: number;
}

/**
 * The place after the longest beginning of `text` that `parses`: of an unclosed bracket or quote
 * the place where it stands. Undefined for a long text, in which looking would take too long.
 */
export function faultPlace(
  text: string,
  parses: (beginning: string) => boolean,
): TextPlace | undefined {
  if (text.length > lengthMax) return undefined;
  const ends = [...text.matchAll(/\n/g)].map(({ index }) => index + 1);
  const whole = longest([0, ...ends, text.length], (end) => parses(text.slice(0, end)));
  const lineEnd = ends.find((end) => end > whole) ?? text.length;
  const columns = Array.from(
    { length: Math.min(lineEnd - whole, columnsMax) },
    (_, at) => whole + at,
  );
  const good = longest(columns, (end) => parses(text.slice(0, end)));
  return { line: ends.filter((end) => end <= whole).length + 1, column: good - whole + 1 };
}

/**
 * The largest of these ends that is good, where the first is: looked for by halves, and then over a
 * few that are not, for a bracket that is open for some lines is no fault.
 */
function longest(ends: readonly number[], good: (end: number) => boolean): number {
  let [low, high] = [0, ends.length];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    const found = goodFrom(ends, middle, Math.min(high, middle + aheadMax), good);
    if (found === undefined) high = middle;
    else low = found;
  }
  return ends[low] ?? 0;
}

function goodFrom(
  ends: readonly number[],
  from: number,
  to: number,
  good: (end: number) => boolean,
): number | undefined {
  for (let at = from; at < to; at++) if (good(ends[at] ?? 0)) return at;
  return undefined;
}

const lengthMax = 65_536;
const columnsMax = 500;
const aheadMax = 32;
