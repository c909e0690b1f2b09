/** The operator's manual as it is written, for those who show it in their own way. */

import type { Chapter } from "#core/manual/markdown.ts";
import { many, shape, words } from "#core/shape.ts";
import { type Definition, operation } from "#domain/access/operation.ts";
import { noTarget } from "#domain/access/targets.ts";
import type { OperationName } from "#operations";

/** Handler for `manual.read`. */
export function manualHandlers(chapters: () => readonly Chapter[]) {
  return {
    "manual.read": operation({
      summary: "The chapters of the operator's manual, in the little Markdown they are written in.",
      target: noTarget,
      output: shape({
        chapters: many(shape({ name: words(), title: words(), markdown: words() })),
      }),
      run: async () => ({ chapters: chapters() }),
    }),
  } satisfies Partial<Record<OperationName, Definition>>;
}
