/**
 * The extensions of partitioned and delta CRLs: what a list covers, and what completes it (RFC 5280
 * §5.2).
 */

import { openSequence, readWhole } from "#core/asn1/cursor.ts";
import { element, explicit, generalizedTime, implicit, integer, sequence } from "#core/asn1/der.ts";
import { oids } from "#core/asn1/oids.ts";
import { contextual, contextualConstructed } from "#core/asn1/tags.ts";
import type { Instant } from "#core/time.ts";

import { crlDistributionPoints, type Extension } from "./extensions.ts";
import { encodeGeneralName, readGeneralName } from "./general-names.ts";

/**
 * The partition a list covers: every URL a certificate may have been told to find it at, and
 * end-entity certificates only (RFC 5280 §5.2.5). A verifier matches one of the URLs with the
 * certificate's distribution point, octet by octet.
 */
export function issuingDistributionPoint(urls: readonly string[]): Extension {
  const names = urls.map((value) => encodeGeneralName({ kind: "uri", value }));
  const fullName = element(contextualConstructed(0), ...names);
  const userCertificatesOnly = implicit(1, Uint8Array.of(0xff));
  const value = sequence(explicit(0, fullName), userCertificatesOnly);
  return { oid: oids.issuingDistributionPoint, critical: true, value };
}

/** Reads the URLs of what `issuingDistributionPoint` writes; any other form throws DerError. */
export function parseIssuingDistributionPoint(value: Uint8Array): readonly string[] {
  const point = openSequence(value);
  const names = point.enter(contextualConstructed(0)).enter(contextualConstructed(0));
  const urls: string[] = [];
  do {
    const name = readGeneralName(names);
    if (typeof name !== "string") urls.push(name.value);
  } while (!names.finished);
  point.content(contextual(1));
  point.finish();
  return urls;
}

/** Where the delta of a base is found; written as a distribution point (RFC 5280 §5.2.6). */
export const freshestCrl = (url: string): Extension => ({
  ...crlDistributionPoints([url]),
  oid: oids.freshestCrl,
});

/** Says that a list is a delta, and the number of the base it completes (RFC 5280 §5.2.4). */
export const deltaCrlIndicator = (baseNumber: number): Extension => ({
  oid: oids.deltaCrlIndicator,
  critical: true,
  value: integer(baseNumber),
});

/** Reads the number of the base. */
export const parseDeltaCrlIndicator = (value: Uint8Array): number =>
  readWhole(value, (cursor) => cursor.small());

/** No entry has left the list whose certificate expired after this time (X.509 §9.5.2.9). */
export const expiredCertsOnCrl = (since: Instant): Extension => ({
  oid: oids.expiredCertsOnCrl,
  critical: false,
  value: generalizedTime(since),
});
