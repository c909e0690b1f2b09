/**
 * The addresses a certificate names: where its issuer says what became of it (RFC 5280
 * §4.2.2.1, §4.2.1.13).
 */

import { type Cursor, DerError, openSequence } from "#core/asn1/cursor.ts";
import { oids } from "#core/asn1/oids.ts";
import { decodePem } from "#core/asn1/pem.ts";
import { contextualConstructed, tags } from "#core/asn1/tags.ts";
import { extensionOf, parseCertificate } from "#core/x509/certificate.ts";
import { readGeneralName } from "#core/x509/general-names.ts";

/** Lists of URLs, each empty when there is none. */
export interface PointerUrls {
  readonly ocsp: readonly string[];
  readonly ca_issuers: readonly string[];
  readonly crl: readonly string[];
}

/** Those of a certificate in PEM; undefined for what is none or cannot be read. */
export function pointerUrls(pem: string): PointerUrls | undefined {
  const der = decodePem(pem, ["CERTIFICATE"]);
  if (der === undefined) return undefined;
  try {
    const certificate = parseCertificate(der);
    const access = extensionOf(certificate, oids.authorityInfoAccess)?.value;
    const points = extensionOf(certificate, oids.crlDistributionPoints)?.value;
    const places = access === undefined ? [] : each(access, (place) => [place.oid(), urls(place)]);
    const of = (method: string) =>
      places.flatMap(([oid, found]) => (oid === method && Array.isArray(found) ? found : []));
    return {
      ocsp: of(oids.accessOcsp),
      ca_issuers: of(oids.accessCaIssuers),
      crl: points === undefined ? [] : each(points, fullName).flat(),
    };
  } catch (error) {
    if (error instanceof DerError) return undefined;
    throw error;
  }
}

const fullName = (point: Cursor): readonly string[] =>
  urls(point.enter(explicit0).enter(explicit0));

function urls(names: Cursor): readonly string[] {
  const found: string[] = [];
  while (!names.finished) {
    const name = readGeneralName(names);
    if (typeof name !== "string" && name.kind === "uri") found.push(name.value);
  }
  return found;
}

/** What `read` makes of each SEQUENCE in a SEQUENCE. */
function each<T>(value: Uint8Array, read: (item: Cursor) => T): readonly T[] {
  const list = openSequence(value);
  const found: T[] = [];
  while (!list.finished) found.push(read(list.enter(tags.sequence)));
  return found;
}

const explicit0 = contextualConstructed(0);
