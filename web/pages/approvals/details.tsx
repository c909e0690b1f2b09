/** Any JSON for people: members by name, lists one below the other, long texts as they are. */

interface DetailsProps {
  readonly value: unknown;
}

/** Nothing is left out: what is not shown is not executed. */
export function Details({ value }: DetailsProps) {
  if (Array.isArray(value)) {
    if (value.length === 0) return <span class="quiet">none</span>;
    return (
      <ul class="bare">
        {value.map((one, index) => (
          // A list of an answer has no names for its entries, and never changes.
          <li key={String(index)}>
            <Details value={one} />
          </li>
        ))}
      </ul>
    );
  }
  if (typeof value === "object" && value !== null) {
    return (
      <dl>
        {Object.entries(value).map(([name, inner]) => (
          <>
            <dt>{name.replaceAll("_", " ")}</dt>
            <dd>
              <Details value={inner} />
            </dd>
          </>
        ))}
      </dl>
    );
  }
  const text = String(value);
  if (text.includes("\n")) return <pre>{text}</pre>;
  return <span class={text === "" ? "quiet" : undefined}>{text === "" ? "empty" : text}</span>;
}
