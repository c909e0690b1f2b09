/** A text of an answer for people: digests in groups to copy, times local, all else as it is. */

import { Breaking } from "./breaking.tsx";
import { Fingerprint, Serial } from "./copy.tsx";
import { recognised } from "./recognised.ts";
import { Time } from "./time.tsx";

interface ValueProps {
  readonly text: string;
  /** What it is, for those who copy it: "request id", "serial". */
  readonly name?: string | undefined;
}

export function Value({ text, name = "value" }: ValueProps) {
  switch (recognised(text, name)) {
    case "serial":
      return <Serial serial={text} />;
    case "digest":
      return <Fingerprint text={text} name={name} />;
    case "instant":
      return <Time at={text} exact />;
    case "text":
      return <Breaking text={text} />;
  }
}

/** A sentence that may name serials, in which a serial is written as everywhere else. */
export const WithSerials = ({ text, short = false }: { text: string; short?: boolean }) => (
  <>
    {text
      .split(/(?<=\bserial )(\d{12,50})\b/)
      .map((part, at) =>
        at % 2 === 1 ? (
          <Serial key={`${at} ${part}`} serial={part} short={short} />
        ) : (
          <span key={`${at} ${part}`}>{part}</span>
        ),
      )}
  </>
);
