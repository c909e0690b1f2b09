/** Names and values below each other; what has no value is left out. */

import { type ComponentChildren, Fragment } from "preact";

interface FactsProps {
  readonly of: Readonly<Record<string, ComponentChildren>>;
}

export const Facts = ({ of }: FactsProps) => (
  <dl>
    {Object.entries(of)
      .filter(([, value]) => value !== undefined && value !== false && value !== "")
      .map(([name, value]) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </Fragment>
      ))}
  </dl>
);
