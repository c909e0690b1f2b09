/** Static publishing in JSON: a snapshot on demand. */

import { caId } from "#core/ids.ts";
import { refuse } from "#core/problems.ts";
import { flag, optional, otherwise, text } from "#core/shape.ts";
import { timestamp } from "#core/time.ts";
import { type Handler, handler, ok } from "#domain/access/call.ts";
import type { Publishing } from "#domain/publishing/publish.ts";
import type { Store } from "#domain/store.ts";
import type { OperationName } from "#operations";

/** Handler for `publish.run`. */
export function publishHandlers(deps: {
  readonly store: Store;
  readonly publishing: Pick<Publishing, "run">;
}) {
  return {
    "publish.run": handler({
      summary: "Publish a snapshot of certificates, CRLs and OCSP answers now.",
      body: {
        ca_id: optional(text({ min: 1, max: 64 })),
        out: optional(text({ min: 1, max: 1024, pattern: /^\// })),
        skip_ocsp: otherwise(flag(), false),
      },
      run: async ({ body, origin }) => {
        // A path of this host is for whoever is on this host.
        if (body.out !== undefined && origin.principal.mechanism !== "local") {
          throw refuse("invalid_field", {
            field: "out",
            reason: "is taken from local callers only",
          });
        }
        const ca = body.ca_id === undefined ? undefined : caId(body.ca_id);
        const known = ca === undefined ? undefined : await deps.store.read.cas.byId(ca);
        if (ca !== undefined && (known === undefined || known.internal)) throw refuse("not_found");
        const request = { ca, out: body.out, skipOcsp: body.skip_ocsp };
        const { target, artefacts, earliestExpiry } = await deps.publishing.run(origin, request);
        const expiry =
          earliestExpiry === undefined ? {} : { earliest_expiry: timestamp(earliestExpiry) };
        return ok({ target, artifacts: artefacts, ...expiry });
      },
    }),
  } satisfies Partial<Record<OperationName, Handler>>;
}
