/** Static publishing in JSON: a snapshot on demand. */

import { caId } from "#core/ids.ts";
import { refuse } from "#core/problems.ts";
import { flag, oneOf, optional, otherwise, shape, text } from "#core/shape.ts";
import { timestamp } from "#core/time.ts";
import { type Definition, operation } from "#domain/access/operation.ts";
import { thePlatform } from "#domain/access/targets.ts";
import type { Publishing } from "#domain/publishing/publish.ts";
import type { Store } from "#domain/store.ts";
import type { OperationName } from "#operations";
import { count, time } from "./shapes.ts";

/** Handler for `publish.run`. */
export function publishHandlers(deps: {
  readonly store: Store;
  readonly publishing: Pick<Publishing, "run">;
}) {
  return {
    "publish.run": operation({
      summary: "Publish a snapshot of certificates, CRLs and OCSP answers now.",
      target: thePlatform,
      input: {
        ca_id: optional(text({ min: 1, max: 64 })),
        out: optional(text({ min: 1, max: 1024, pattern: /^\//, example: "/srv/pki" })),
        skip_ocsp: otherwise(flag(), false),
      },
      output: reportShape,
      run: async ({ input, origin }) => {
        // A path of this host is for whoever is on this host.
        if (input.out !== undefined && origin.principal.mechanism !== "local") {
          throw refuse("invalid_field", {
            field: "out",
            reason: "is taken from local callers only",
          });
        }
        const ca = input.ca_id === undefined ? undefined : caId(input.ca_id);
        const known = ca === undefined ? undefined : await deps.store.read.cas.byId(ca);
        if (ca !== undefined && (known === undefined || known.internal)) throw refuse("not_found");
        const request = { ca, out: input.out, skipOcsp: input.skip_ocsp };
        const { target, artefacts, earliestExpiry } = await deps.publishing.run(origin, request);
        const expiry =
          earliestExpiry === undefined ? {} : { earliest_expiry: timestamp(earliestExpiry) };
        return { target, artifacts: artefacts, ...expiry };
      },
    }),
  } satisfies Partial<Record<OperationName, Definition>>;
}

const reportShape = shape({
  target: oneOf(["dir", "s3"]),
  artifacts: count,
  earliest_expiry: optional(time),
});
