/**
 * Where a certificate says that its status and its issuer are found (RFC 5280 §4.2.1.13, §4.2.2.1).
 */

import { type Cursor, readWhole } from "#core/asn1/cursor.ts";
import { oids } from "#core/asn1/oids.ts";
import { contextualConstructed, tags } from "#core/asn1/tags.ts";

import { extensionOf, type ParsedCertificate } from "./certificate.ts";
import { readGeneralName } from "./general-names.ts";

/** The URLs, in the order of the certificate. */
export interface Pointers {
  readonly crls: readonly string[];
  readonly ocsp: readonly string[];
  readonly caIssuers: readonly string[];
}

/**
 * Reads them; a certificate may have none. Throws DerError for an extension that is not what it
 * says.
 */
export function pointersOf(certificate: Pick<ParsedCertificate, "extensions">): Pointers {
  const points = extensionOf(certificate, oids.crlDistributionPoints);
  const access = extensionOf(certificate, oids.authorityInfoAccess);
  const described = access === undefined ? [] : parseAccess(access.value);
  const of = (method: string) =>
    described.filter((one) => one.method === method).map(({ url }) => url);
  return {
    crls: points === undefined ? [] : parseDistributionPoints(points.value),
    ocsp: of(oids.accessOcsp),
    caIssuers: of(oids.accessCaIssuers),
  };
}

/** The URIs of every distribution point; other forms of names are passed over. Throws DerError. */
export function parseDistributionPoints(value: Uint8Array): readonly string[] {
  return readWhole(value, (cursor) => {
    const urls: string[] = [];
    const points = cursor.enter(tags.sequence);
    do {
      const point = points.enter(tags.sequence);
      const name = point.enterOptional(contextualConstructed(0));
      const full = name?.enterOptional(contextualConstructed(0));
      if (full !== undefined) for (const url of uris(full)) urls.push(url);
      // Names relative to an issuer, reasons and indirect issuers name no place.
      while (name !== undefined && !name.finished) name.element();
      while (!point.finished) point.element();
    } while (!points.finished);
    return urls;
  });
}

/** Every description of an access method with a URI. Throws DerError. */
export function parseAccess(
  value: Uint8Array,
): readonly { readonly method: string; readonly url: string }[] {
  return readWhole(value, (cursor) => {
    const found: { method: string; url: string }[] = [];
    const descriptions = cursor.enter(tags.sequence);
    do {
      const description = descriptions.enter(tags.sequence);
      const method = description.oid();
      for (const url of uris(description)) found.push({ method, url });
    } while (!descriptions.finished);
    return found;
  });
}

/** The rest of the cursor as general names, of which those that are URIs. */
function uris(names: Cursor): readonly string[] {
  const found: string[] = [];
  while (!names.finished) {
    const name = readGeneralName(names);
    if (typeof name !== "string" && name.kind === "uri") found.push(name.value);
  }
  return found;
}
