/** What the certificate of a new CA will say, beside the form that asks for it. */

import { Fragment } from "preact";
import type { Ca } from "./ca.ts";
import type { TypedCa } from "./ca-form.ts";
import { plannedFields } from "./planned.ts";
import { serverNow } from "#web/server-clock.ts";

interface PreviewProps {
  readonly typed: TypedCa;
  readonly parent: Ca | undefined;
}

/** Follows what is typed. */
export const Preview = ({ typed, parent }: PreviewProps) => (
  <section class="card" aria-label="Preview of the certificate">
    <h3>The certificate</h3>
    <p class="quiet small">
      Worked out in this page from what is typed. The server decides when it signs, by its own
      rules.
    </p>
    <dl>
      {plannedFields(typed, parent, serverNow()).map(({ name, value, critical }) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd>
            {value}
            {critical && <span class="quiet small"> critical</span>}
          </dd>
        </Fragment>
      ))}
    </dl>
  </section>
);
