/** A sentence of the server, in which code stands between back quotes. */

import { spansOf } from "#core/manual/markdown.ts";

export const Said = ({ text }: { readonly text: string }) => (
  <>
    {spansOf(text).map((span, index) =>
      span.code ? <code key={String(index)}>{span.text}</code> : span.text,
    )}
  </>
);
