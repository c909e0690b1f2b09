/**
 * THE ATTRIBUTES OF NAMES pkid knows, one row each (RFC 5280 appendix A.1, RFC 4519, ETSI EN 319
 * 412-1).
 */

import { encodeOid } from "#core/asn1/oid-octets.ts";

export type AttributeString = "utf8" | "printable" | "ia5";

/** Columns: OID, the short name openssl prints, the string type pkid writes. */
export const attributeTypes = {
  CN: ["2.5.4.3", "CN", "utf8"],
  O: ["2.5.4.10", "O", "utf8"],
  OU: ["2.5.4.11", "OU", "utf8"],
  C: ["2.5.4.6", "C", "printable"],
  ST: ["2.5.4.8", "ST", "utf8"],
  L: ["2.5.4.7", "L", "utf8"],
  street: ["2.5.4.9", "street", "utf8"],
  postalCode: ["2.5.4.17", "postalCode", "utf8"],
  serialNumber: ["2.5.4.5", "serialNumber", "printable"],
  givenName: ["2.5.4.42", "GN", "utf8"],
  surname: ["2.5.4.4", "SN", "utf8"],
  title: ["2.5.4.12", "title", "utf8"],
  UID: ["0.9.2342.19200300.100.1.1", "UID", "utf8"],
  organizationIdentifier: ["2.5.4.97", "organizationIdentifier", "utf8"],
  DC: ["0.9.2342.19200300.100.1.25", "DC", "ia5"],
  emailAddress: ["1.2.840.113549.1.9.1", "emailAddress", "ia5"],
  initials: ["2.5.4.43", "initials", "utf8"],
  generationQualifier: ["2.5.4.44", "generationQualifier", "utf8"],
  dnQualifier: ["2.5.4.46", "dnQualifier", "printable"],
  pseudonym: ["2.5.4.65", "pseudonym", "utf8"],
  name: ["2.5.4.41", "name", "utf8"],
  description: ["2.5.4.13", "description", "utf8"],
  businessCategory: ["2.5.4.15", "businessCategory", "utf8"],
  telephoneNumber: ["2.5.4.20", "telephoneNumber", "printable"],
  unstructuredName: ["1.2.840.113549.1.9.2", "unstructuredName", "ia5"],
  unstructuredAddress: ["1.2.840.113549.1.9.8", "unstructuredAddress", "utf8"],
  jurisdictionL: ["1.3.6.1.4.1.311.60.2.1.1", "jurisdictionL", "utf8"],
  jurisdictionST: ["1.3.6.1.4.1.311.60.2.1.2", "jurisdictionST", "utf8"],
  jurisdictionC: ["1.3.6.1.4.1.311.60.2.1.3", "jurisdictionC", "printable"],
} as const satisfies Record<string, readonly [oid: string, text: string, string: AttributeString]>;

interface AttributeType {
  /** The word of the table. */
  readonly type: string;
  readonly text: string;
  readonly string: AttributeString;
  /** The OBJECT IDENTIFIER element. */
  readonly oid: Uint8Array;
}

/** The rows by the word of the table. */
export const attributeTypesByWord: ReadonlyMap<string, AttributeType> = new Map(
  Object.entries(attributeTypes).map(([type, [dotted, text, string]]) => [
    type,
    { type, text, string, oid: encodeOid(dotted) },
  ]),
);

/** The rows by dotted OID. */
export const attributeTypesByOid: ReadonlyMap<string, AttributeType> = new Map(
  Object.entries(attributeTypes).flatMap(([type, [dotted]]) => {
    const row = attributeTypesByWord.get(type);
    return row ? [[dotted, row] as const] : [];
  }),
);
