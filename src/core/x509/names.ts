/** Distinguished names: parse, re-encode in pkid's form, and print (RFC 5280 §4.1.2.4, RFC 4514). */

/** One attribute of a name; `type` is the short name (CN, O, OU, C, ST, L, …) or a dotted OID. */
export interface NameAttribute {
  readonly type: string;
  readonly value: string;
}

/** A distinguished name in the order of its DER, one attribute per RDN in what pkid makes. */
export interface Name {
  readonly attributes: readonly NameAttribute[];
  /** DER of the RDNSequence, byte for byte as found or as encoded. */
  readonly der: Uint8Array;
}

/** Encodes attributes in pkid's form: UTF8String, except C and serialNumber PrintableString, DC and emailAddress IA5String. */
export declare function encodeName(attributes: readonly NameAttribute[]): Name;
/** Reads a DER Name; throws DerError. */
export declare function parseName(der: Uint8Array): Name;
/** RFC 4514 text, most specific attribute first as openssl `-nameopt RFC2253` prints it. */
export declare function nameText(name: Name): string;
/** The last commonName, or empty text. */
export declare function commonName(name: Name): string;
