/** Bodies that are made while they are sent. */

import type { Source } from "#domain/access/outcome.ts";

/** Reads one piece whenever the receiver has taken the last. */
export function streamOf(pieces: AsyncGenerator<Uint8Array>): ReadableStream {
  return new ReadableStream({
    pull: async (controller) => {
      const { value, done } = await pieces.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
    cancel: async () => void (await pieces.return(undefined)),
  });
}

/**
 * The same of what goes on for as long as somebody reads it: nothing is asked for before, and a
 * source that gives its receiver up breaks the connection off.
 */
export function lastingStreamOf(
  source: Source<unknown>,
  octets: Pick<Source<Uint8Array>, "next">,
): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        source.onCut(() => controller.error(new Error("its receiver takes nothing")));
      },
      pull: async (controller) => {
        const piece = await octets.next();
        if (piece === undefined) controller.close();
        else controller.enqueue(piece);
      },
      cancel: () => source.close(),
    },
    { highWaterMark: 0 },
  );
}
