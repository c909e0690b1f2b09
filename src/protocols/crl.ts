/** GET /api/ca/{id}/crl: the published CRL as DER or PEM, with validators that agree on every replica. */

import { sha256Hex } from "#core/crypto.ts";
import { encodePem } from "#core/asn1/pem.ts";
import { caId } from "#core/ids.ts";
import { refuse } from "#core/problems.ts";
import type { Clock } from "#domain/ports.ts";
import type { CrlPublisher } from "#domain/revocation/crl.ts";
import type { CrlRecord } from "#domain/revocation/store.ts";
import type { Store } from "#domain/store.ts";
import type { PublicHandler } from "#http/public.ts";
import { artefact, cacheable, type TimedContent } from "#http/validators.ts";

interface Deps {
  readonly store: Store;
  readonly clock: Clock;
  readonly publisher: Pick<CrlPublisher, "current">;
  /** `crl.http_max_age_seconds`; 0 means until nextUpdate. */
  readonly httpMaxAgeSeconds: number;
}

/**
 * Serves the full base CRL. Refuses `not_found` for an unknown CA, `bad_query` for another `format` than `der` and `pem`,
 * `crl_unavailable` when none is unexpired and none can be signed.
 */
export function crlRead(deps: Deps): PublicHandler {
  const maxAgeSeconds =
    deps.httpMaxAgeSeconds === 0 ? week : Math.min(deps.httpMaxAgeSeconds, week);
  return async ({ request, path, query }) => {
    const pem = wantsPem(query);
    const ca = await deps.store.read.cas.byId(caId(path.id ?? ""));
    if (ca === undefined) throw refuse("not_found");
    const crl = await deps.publisher.current(ca);
    const rendered = artefact({ ...(pem ? asPem(crl) : asDer(crl)), maxAgeSeconds });
    return cacheable(request, rendered, deps.clock.now());
  };
}

function wantsPem(query: string): boolean {
  const format = query === "" ? null : new URLSearchParams(query).get("format");
  if (format === null || format === "der") return false;
  if (format === "pem") return true;
  throw refuse("bad_query", { parameter: "format", reason: "must be der or pem" });
}

type Rendered = Omit<TimedContent, "maxAgeSeconds">;

const asDer = (crl: CrlRecord): Rendered => ({
  ...{ body: crl.der, contentType: "application/pkix-crl", sha256: crl.sha256 },
  ...{ lastModified: crl.thisUpdate, expires: crl.nextUpdate },
  disposition: 'attachment; filename="crl.der"',
});

function asPem(crl: CrlRecord): Rendered {
  const body = encodePem("X509 CRL", crl.der);
  return {
    ...{ body, contentType: "application/x-pem-file", sha256: sha256Hex(Buffer.from(body)) },
    ...{ lastModified: crl.thisUpdate, expires: crl.nextUpdate },
    disposition: 'attachment; filename="crl.pem"',
  };
}

const week = 604_800;
