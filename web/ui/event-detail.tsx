/** The detail of an audit event as names and values. */

import { Fragment } from "preact";
import { plainText } from "./plain.ts";
import { Value } from "./value.tsx";

interface EventDetailProps {
  readonly text: string;
  /** Stands beside it already, and is not said twice. */
  readonly serial: string | undefined;
}

/** The pairs of the detail; a value in quotes is a JSON text. What is no pair stays a line. */
export function EventDetail({ text, serial }: EventDetailProps) {
  const pairs = [...text.matchAll(/([a-z0-9_]+)=("(?:[^"\\]|\\.)*"|\S*)/g)];
  if (pairs.length === 0) return <p>{plainText(text)}</p>;
  return (
    <dl>
      {pairs.map(([, name = "", value = ""], index) => {
        const shown = plain(value);
        if (shown === "" || (name === "serial" && shown === serial)) return null;
        const words = name.replaceAll("_", " ");
        return (
          // A name may come twice, and the order is that of the text.
          <Fragment key={String(index)}>
            <dt>{words}</dt>
            <dd>
              <Value text={plainText(shown)} name={words} />
            </dd>
          </Fragment>
        );
      })}
    </dl>
  );
}

function plain(value: string): string {
  try {
    const text: unknown = value.startsWith('"') ? JSON.parse(value) : value;
    return String(text);
  } catch {
    // A text that only looks quoted is shown as it stands.
    return value;
  }
}
