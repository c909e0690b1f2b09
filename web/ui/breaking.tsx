/** A name that is broken behind dots where there is little room, and not within a word. */

import { Fragment } from "preact";

/** The text stays what it was, for whoever copies it or has it read out. */
export const Breaking = ({ text }: { readonly text: string }) => (
  <>
    {text.split(/(?<=[.@/_])/).map((part, at) => (
      // The parts have no names of their own, and their order is that of the text.
      <Fragment key={String(at)}>
        {at > 0 && <wbr />}
        {part}
      </Fragment>
    ))}
  </>
);
