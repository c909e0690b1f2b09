/** The catalogue of a whole instance without one: what is described, and nothing that runs. */

import { handlersOf } from "#app/handlers.ts";
import { Catalog } from "#http/catalog.ts";
import { operations } from "#operations";

/** Every operation with its shapes; whoever runs one is answered nonsense. */
export function describedCatalog(): Catalog {
  const catalog: Catalog = new Catalog(
    operations,
    // Factories look at no dependency before one of their operations runs.
    handlersOf(nothing as never, () => catalog),
  );
  return catalog;
}

/** Has every member, and each of them is the same again. */
const nothing: unknown = new Proxy(() => nothing, {
  get: (_, key) => (key === Symbol.toPrimitive ? () => "" : nothing),
  apply: () => nothing,
});
