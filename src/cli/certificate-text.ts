/**
 * Shows a certificate to people: its fields, and its extensions by name with what they say (RFC
 * 5280 §4.1, §4.2).
 */

import { type Cursor, DerError, openSequence } from "#core/asn1/cursor.ts";
import { oids } from "#core/asn1/oids.ts";
import { decodePem } from "#core/asn1/pem.ts";
import { contextualConstructed, tags } from "#core/asn1/tags.ts";
import { timestamp } from "#core/time.ts";
import { readAltSignatureAlgorithm, readAltSignatureValue } from "#core/x509/alternative.ts";
import { type ParsedCertificate, parseCertificate } from "#core/x509/certificate.ts";
import * as extensions from "#core/x509/extensions.ts";
import { generalNameText, parseGeneralNames, readGeneralName } from "#core/x509/general-names.ts";
import { parseNameConstraints, type Subtrees } from "#core/x509/name-constraints.ts";
import { nameText } from "#core/x509/names.ts";
import { parsePublicKey } from "#core/x509/public-keys.ts";

import { certificateFingerprint } from "./fingerprints.ts";
import { facts, namesOf, table } from "./rows.ts";

/** Fields and extensions of a certificate in PEM, as lines; what cannot be read is said instead. */
export function certificateText(pem: string): string {
  const der = decodePem(pem, ["CERTIFICATE"]);
  if (der === undefined) return "";
  try {
    return fieldsAndExtensions(parseCertificate(der));
  } catch (error) {
    if (error instanceof DerError) return facts({ unreadable: error.message }, ["unreadable"]);
    throw error;
  }
}

function fieldsAndExtensions(certificate: ParsedCertificate): string {
  const { version, subject, issuer, notBefore, notAfter, spki } = certificate;
  const fields = {
    version,
    subject: nameText(subject),
    issuer: nameText(issuer),
    not_before: timestamp(notBefore),
    not_after: timestamp(notAfter),
    key: keyText(spki),
    signature: certificate.signatureName ?? certificate.signatureOid,
    sha256: certificateFingerprint(certificate.der),
  };
  const rows = certificate.extensions.map((extension) => [
    nameOf(extension.oid),
    extension.critical ? "yes" : "no",
    valueText(extension),
  ]);
  const listed = rows.length === 0 ? "" : `\n${table(["extension", "critical", "value"], rows)}`;
  return facts(fields, namesOf(fields)) + listed;
}

function valueText({ oid, value }: extensions.Extension): string {
  try {
    return values[oid]?.(value) ?? value.toHex();
  } catch (error) {
    // Said by somebody else in a way of their own.
    if (error instanceof DerError) return value.toHex();
    throw error;
  }
}

function keyText(spki: Uint8Array): string {
  const key = parsePublicKey(spki);
  return key.keyType ?? (key.family === "unknown" ? key.oid : key.family);
}

/** What `read` makes of each SEQUENCE in a SEQUENCE. */
function each(value: Uint8Array, read: (item: Cursor) => string): string {
  const list = openSequence(value);
  const texts: string[] = [];
  while (!list.finished) texts.push(read(list.enter(tags.sequence)));
  return texts.join(", ");
}

function namesLeft(cursor: Cursor): string {
  const texts: string[] = [];
  while (!cursor.finished) {
    const name = readGeneralName(cursor);
    texts.push(typeof name === "string" ? name : generalNameText(name));
  }
  return texts.join(", ");
}

const subtreeTexts = (word: string, { dirNames, ...texts }: Subtrees): readonly string[] => [
  ...Object.entries(texts).flatMap(([kind, names]) =>
    names.map((name: string) => `${word} ${kind}:${name}`),
  ),
  ...dirNames.map((der) => `${word} dirname:${der.toHex()}`),
];

const nameOf = (oid: string): string => names.get(oid) ?? oid;

/** What the extensions say, by OID. */
const values: Readonly<Record<string, (value: Uint8Array) => string>> = {
  [oids.subjectKeyIdentifier]: (value) => extensions.parseSubjectKeyIdentifier(value).toHex(),
  [oids.authorityKeyIdentifier]: (value) =>
    extensions.parseAuthorityKeyIdentifier(value)?.toHex() ?? "",
  [oids.keyUsage]: (value) => extensions.parseKeyUsage(value).join(", "),
  [oids.extKeyUsage]: (value) => extensions.parseExtendedKeyUsage(value).map(nameOf).join(", "),
  [oids.tlsFeature]: (value) =>
    extensions
      .parseTlsFeatures(value)
      .map((one) => (one === 5 ? "status_request" : one))
      .join(", "),
  [oids.basicConstraints]: (value) => {
    const { ca, pathLength } = extensions.parseBasicConstraints(value);
    return `${ca ? "CA" : "no CA"}${pathLength === undefined ? "" : `, path length ${pathLength}`}`;
  },
  [oids.subjectAltName]: (value) => {
    const { names, unsupported } = parseGeneralNames(value);
    return [...names.map(generalNameText), ...unsupported].join(", ");
  },
  [oids.nameConstraints]: (value) => {
    const { permitted, excluded } = parseNameConstraints(value);
    return [...subtreeTexts("permitted", permitted), ...subtreeTexts("excluded", excluded)].join(
      ", ",
    );
  },
  [oids.subjectAltPublicKeyInfo]: keyText,
  [oids.altSignatureAlgorithm]: (value) =>
    readAltSignatureAlgorithm(value) ?? openSequence(value).oid(),
  [oids.altSignatureValue]: (value) => `${readAltSignatureValue(value).length} octets`,
  [oids.certificatePolicies]: (value) => each(value, (policy) => policy.oid()),
  [oids.authorityInfoAccess]: (value) =>
    each(value, (place) => `${nameOf(place.oid())} ${namesLeft(place)}`),
  [oids.crlDistributionPoints]: (value) =>
    each(value, (point) => namesLeft(point.enter(explicit0).enter(explicit0))),
};

const names: ReadonlyMap<string, string> = new Map(
  [...Object.entries(oids), ...Object.entries(extensions.extendedKeyUsages)].map(
    ([name, oid]): [string, string] => [oid, name],
  ),
);
const explicit0 = contextualConstructed(0);
