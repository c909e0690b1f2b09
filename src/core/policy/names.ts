/** Which names of a request go into a certificate, and in which form (PRO-4, PRO-5). */

import { type Problem, refuse } from "#core/problems.ts";
import type { attributeTypes } from "#core/x509/attribute-types.ts";
import { endsInNumber } from "#core/x509/addresses.ts";
import type { CertificationRequest } from "#core/x509/csr.ts";
import type { GeneralName } from "#core/x509/general-names.ts";
import { commonName, encodeName, type Name } from "#core/x509/names.ts";

export interface RequestedNames {
  readonly subject: Name;
  readonly sans: readonly GeneralName[];
}

/**
 * Re-encodes the subject and merges the SANs; gives the refusal for what this service never issues.
 */
export function namesOf(
  csr: Pick<CertificationRequest, "subject" | "sans" | "unsupportedNames">,
): RequestedNames | { readonly refusal: Problem } {
  const foreign = csr.subject.attributes.find(({ type }) => !subjectAttributes.has(type));
  if (foreign !== undefined) {
    return { refusal: refuse("bad_csr", { reason: `unsupported_attribute ${foreign.type}` }) };
  }
  if (csr.unsupportedNames.length > 0) {
    return { refusal: refuse("unsupported_name", { names: csr.unsupportedNames }) };
  }
  const sans = merged(csr.sans);
  // It would escape every constraint on addresses, and be one to the software that connects.
  const number = sans.find(({ kind, value }) => kind === "dns" && endsInNumber(value));
  if (number !== undefined) {
    return { refusal: refuse("bad_csr", { reason: `the DNS name ${number.value} is a number` }) };
  }
  if (sans.length === 0 && commonName(csr.subject) === "") {
    return { refusal: refuse("bad_csr", { reason: "no_name" }) };
  }
  return { subject: encodeName(csr.subject.attributes), sans };
}

/** The same name twice is one name; the first place counts. */
function merged(names: readonly GeneralName[]): readonly GeneralName[] {
  if (names.length < 2) return names;
  const seen = new Map<string, GeneralName>();
  for (const name of names) {
    const key = `${name.kind}:${name.value}`;
    if (!seen.has(key)) seen.set(key, name);
  }
  return [...seen.values()];
}

/** PRO-4, by the words of `core/x509/attribute-types.ts`. */
const subjectAttributes: ReadonlySet<string> = new Set<keyof typeof attributeTypes>([
  "CN",
  "O",
  "OU",
  "C",
  "ST",
  "L",
  "street",
  "postalCode",
  "serialNumber",
  "givenName",
  "surname",
  "title",
  "UID",
  "organizationIdentifier",
  "DC",
  "emailAddress",
]);
