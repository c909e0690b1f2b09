/**
 * Octets that somebody else encoded: what cannot be read is the sender's fault and is refused,
 * wherever it is found out.
 */

import { DerError } from "#core/asn1/cursor.ts";
import { oids } from "#core/asn1/oids.ts";
import { type ProblemCode, refuse } from "#core/problems.ts";

import { extensionOf, type ParsedCertificate } from "./certificate.ts";
import {
  parseAuthorityKeyIdentifier,
  parseBasicConstraints,
  parseExtendedKeyUsage,
  parseKeyUsage,
  parseSubjectKeyIdentifier,
} from "./extensions.ts";
import { parseNameConstraints } from "./name-constraints.ts";
import { policyFactsOf } from "./path-policies.ts";

/**
 * What `read` gives; a DerError it throws becomes the refusal, with what is wrong as its `reason`.
 */
export function readOrRefuse<T>(code: ProblemCode, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof DerError) throw refuse(code, { reason: error.message });
    throw error;
  }
}

/**
 * Reads every extension a CA certificate is later used by, so that none is found unreadable when it
 * signs. Refuses `bad_certificate`, also for name constraints that could not be enforced (NC-1).
 */
export function refuseUnreadableCa(certificate: ParsedCertificate): void {
  for (const [oid, read] of caExtensionReaders) {
    const found = extensionOf(certificate, oid);
    if (found !== undefined) readOrRefuse("bad_certificate", () => read(found.value));
  }
  readOrRefuse("bad_certificate", () => policyFactsOf(certificate));
}

const caExtensionReaders: readonly (readonly [string, (value: Uint8Array) => unknown])[] = [
  [oids.subjectKeyIdentifier, parseSubjectKeyIdentifier],
  [oids.authorityKeyIdentifier, parseAuthorityKeyIdentifier],
  [oids.basicConstraints, parseBasicConstraints],
  [oids.keyUsage, parseKeyUsage],
  [oids.extKeyUsage, parseExtendedKeyUsage],
  [oids.nameConstraints, parseNameConstraints],
];
