/** The to-be-signed part of a certification request pkid makes itself (RFC 2986 §4.1). */

import { explicit, integer, oid, sequence, setOf } from "#core/asn1/der.ts";
import { oids } from "#core/asn1/oids.ts";

import { encodeExtensions, type Extension } from "./extensions.ts";

/** DER of a CertificationRequestInfo that asks for the extensions; at least one. */
export function encodeRequestInfo(request: {
  /** DER of the subject. */
  readonly subject: Uint8Array;
  readonly spki: Uint8Array;
  readonly extensions: readonly Extension[];
}): Uint8Array {
  const wanted = setOf([encodeExtensions(request.extensions)]);
  const attributes = explicit(0, sequence(oid(oids.extensionRequest), wanted));
  return sequence(integer(0), request.subject, request.spki, attributes);
}
