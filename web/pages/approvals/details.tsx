/** Any JSON for people: members by name, lists one below the other, long texts as they are. */

import { Fragment } from "preact";
import { Value } from "#web/ui/value.tsx";

interface DetailsProps {
  readonly value: unknown;
  /** What the value is of its record. */
  readonly name?: string | undefined;
}

/** Nothing is left out: what is not shown is not executed. */
export function Details({ value, name }: DetailsProps) {
  if (Array.isArray(value)) {
    if (value.length === 0) return <span class="quiet">none</span>;
    return (
      <ul class="bare">
        {value.map((one, index) => (
          // A list of an answer has no names for its entries, and never changes.
          <li key={String(index)}>
            <Details value={one} name={name} />
          </li>
        ))}
      </ul>
    );
  }
  if (typeof value === "object" && value !== null) {
    return (
      <dl>
        {Object.entries(value).map(([member, inner]) => {
          const words = member.replaceAll("_", " ");
          return (
            <Fragment key={member}>
              <dt>{words}</dt>
              <dd>
                <Details value={inner} name={words} />
              </dd>
            </Fragment>
          );
        })}
      </dl>
    );
  }
  const text = String(value);
  if (text.includes("\n")) return <pre>{text}</pre>;
  if (text === "") return <span class="quiet">empty</span>;
  return (
    <span>
      <Value text={text} name={name} />
    </span>
  );
}
