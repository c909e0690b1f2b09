/** Times as people read them: local, with UTC and the exact second on hover. */

import { serverNow } from "#web/server-clock.ts";

interface TimeProps {
  readonly at: string | undefined;
  /** To the second, where the order of things matters. */
  readonly exact?: boolean;
}

/** A time of an answer; a dash where there is none. */
export function Time({ at, exact = false }: TimeProps) {
  if (at === undefined) return <span aria-hidden="true">–</span>;
  const moment = new Date(at);
  const minute = `${two(moment.getHours())}:${two(moment.getMinutes())}`;
  return (
    <time dateTime={at} title={utc(at)}>
      <span class="whole">{localDay(moment)}</span>{" "}
      <span class="whole">{exact ? `${minute}:${two(moment.getSeconds())}` : minute}</span>
    </time>
  );
}

/** The day alone, where the minute says nothing. */
export function Day({ at }: { readonly at: string | undefined }) {
  if (at === undefined) return <span aria-hidden="true">–</span>;
  return (
    <time class="whole" dateTime={at} title={utc(at)}>
      {localDay(new Date(at))}
    </time>
  );
}

/** How far a time is from now, in words: "in 31 days", "4 hours ago". */
export function Distance({ at }: { readonly at: string | undefined }) {
  if (at === undefined) return <span aria-hidden="true">–</span>;
  return (
    <time dateTime={at} title={utc(at)}>
      {distance(Date.parse(at) - serverNow())}
    </time>
  );
}

/** Milliseconds from now in words. */
export function distance(ms: number): string {
  const [unit, length] = units.find(([, length]) => Math.abs(ms) >= length) ?? ["second", 1_000];
  return new Intl.RelativeTimeFormat("en", { numeric: "auto" }).format(
    Math.trunc(ms / length),
    unit,
  );
}

const units = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
] as const;

const utc = (at: string): string => `${at.slice(0, 19).replace("T", " ")} UTC`;
const two = (count: number): string => String(count).padStart(2, "0");
const localDay = (moment: Date): string =>
  `${moment.getFullYear()}-${two(moment.getMonth() + 1)}-${two(moment.getDate())}`;
