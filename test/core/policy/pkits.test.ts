/**
 * NIST's path validation suite (PKITS), as Debian ships it: our verdict on each path is the one the
 * suite documents.
 */

import { beforeAll, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { DerError } from "#core/asn1/cursor.ts";
import { isSoundPath } from "#core/policy/validate.ts";
import { instant } from "#core/time.ts";
import { type ParsedCertificate, parseCertificate } from "#core/x509/certificate.ts";
import { findPath } from "#core/x509/path.ts";

/** Of the Debian package python3-cryptography-vectors. */
const folder = "/usr/lib/python3/dist-packages/cryptography_vectors/x509/PKITS_data/certs";

const [valid, invalid] = ["valid", "invalid"] as const;
/**
 * Invalid for what revocation lists say, or for who may sign them: no path is judged by lists of
 * other CAs here.
 */
const lists = "left to revocation lists";
/**
 * Valid, and refused here: keys of DSA, which nobody here knows, and a directory name among the
 * alternative names.
 */
const beyond = "refused here";

/**
 * The number of each test, its certificate, and what becomes of it when any policy will do and
 * nothing is inhibited from the start, which is all that anybody here asks. Not among them:
 * sections 4.4, 4.14 and 4.15, which are about revocation lists alone, and the parts of 4.8, 4.10
 * and 4.12 that ask for certain policies or inhibit some from the start (4.8.1, 4.8.13, 4.8.14,
 * 4.8.18, 4.8.20, 4.10.1, 4.10.3, 4.10.5, 4.10.6, 4.10.12 ask nothing else).
 */
// biome-ignore format: the table is read by column.
const suite: readonly (readonly [string, string, typeof valid | typeof invalid | typeof lists | typeof beyond])[] = [
  // Signatures.
  ["4.1.1", "ValidCertificatePathTest1", valid],
  ["4.1.2", "InvalidCASignatureTest2", invalid],
  ["4.1.3", "InvalidEESignatureTest3", invalid],
  ["4.1.4", "ValidDSASignaturesTest4", beyond],
  ["4.1.5", "ValidDSAParameterInheritanceTest5", beyond],
  ["4.1.6", "InvalidDSASignatureTest6", invalid],
  // Validity periods.
  ["4.2.1", "InvalidCAnotBeforeDateTest1", invalid],
  ["4.2.2", "InvalidEEnotBeforeDateTest2", invalid],
  ["4.2.3", "Validpre2000UTCnotBeforeDateTest3", valid],
  ["4.2.4", "ValidGeneralizedTimenotBeforeDateTest4", valid],
  ["4.2.5", "InvalidCAnotAfterDateTest5", invalid],
  ["4.2.6", "InvalidEEnotAfterDateTest6", invalid],
  ["4.2.7", "Invalidpre2000UTCEEnotAfterDateTest7", invalid],
  ["4.2.8", "ValidGeneralizedTimenotAfterDateTest8", valid],
  // Names that chain.
  ["4.3.1", "InvalidNameChainingTest1", invalid],
  ["4.3.2", "InvalidNameChainingOrderTest2", invalid],
  ["4.3.3", "ValidNameChainingWhitespaceTest3", valid],
  ["4.3.4", "ValidNameChainingWhitespaceTest4", valid],
  ["4.3.5", "ValidNameChainingCapitalizationTest5", valid],
  ["4.3.6", "ValidNameUIDsTest6", valid],
  ["4.3.7", "ValidRFC3280MandatoryAttributeTypesTest7", valid],
  ["4.3.8", "ValidRFC3280OptionalAttributeTypesTest8", valid],
  ["4.3.9", "ValidUTF8StringEncodedNamesTest9", valid],
  ["4.3.10", "ValidRolloverfromPrintableStringtoUTF8StringTest10", valid],
  ["4.3.11", "ValidUTF8StringCaseInsensitiveMatchTest11", valid],
  // Self-issued certificates.
  ["4.5.1", "ValidBasicSelfIssuedOldWithNewTest1", valid],
  ["4.5.2", "InvalidBasicSelfIssuedOldWithNewTest2", lists],
  ["4.5.3", "ValidBasicSelfIssuedNewWithOldTest3", valid],
  ["4.5.4", "ValidBasicSelfIssuedNewWithOldTest4", valid],
  ["4.5.5", "InvalidBasicSelfIssuedNewWithOldTest5", lists],
  ["4.5.6", "ValidBasicSelfIssuedCRLSigningKeyTest6", valid],
  ["4.5.7", "InvalidBasicSelfIssuedCRLSigningKeyTest7", lists],
  ["4.5.8", "InvalidBasicSelfIssuedCRLSigningKeyTest8", invalid],
  // Basic constraints and path lengths.
  ["4.6.1", "InvalidMissingbasicConstraintsTest1", invalid],
  ["4.6.2", "InvalidcAFalseTest2", invalid],
  ["4.6.3", "InvalidcAFalseTest3", invalid],
  ["4.6.4", "ValidbasicConstraintsNotCriticalTest4", valid],
  ["4.6.5", "InvalidpathLenConstraintTest5", invalid],
  ["4.6.6", "InvalidpathLenConstraintTest6", invalid],
  ["4.6.7", "ValidpathLenConstraintTest7", valid],
  ["4.6.8", "ValidpathLenConstraintTest8", valid],
  ["4.6.9", "InvalidpathLenConstraintTest9", invalid],
  ["4.6.10", "InvalidpathLenConstraintTest10", invalid],
  ["4.6.11", "InvalidpathLenConstraintTest11", invalid],
  ["4.6.12", "InvalidpathLenConstraintTest12", invalid],
  ["4.6.13", "ValidpathLenConstraintTest13", valid],
  ["4.6.14", "ValidpathLenConstraintTest14", valid],
  ["4.6.15", "ValidSelfIssuedpathLenConstraintTest15", valid],
  ["4.6.16", "InvalidSelfIssuedpathLenConstraintTest16", invalid],
  ["4.6.17", "ValidSelfIssuedpathLenConstraintTest17", valid],
  // Key usage.
  ["4.7.1", "InvalidkeyUsageCriticalkeyCertSignFalseTest1", invalid],
  ["4.7.2", "InvalidkeyUsageNotCriticalkeyCertSignFalseTest2", invalid],
  ["4.7.3", "ValidkeyUsageNotCriticalTest3", valid],
  ["4.7.4", "InvalidkeyUsageCriticalcRLSignFalseTest4", lists],
  ["4.7.5", "InvalidkeyUsageNotCriticalcRLSignFalseTest5", lists],
  // Policies.
  ["4.8.2", "AllCertificatesNoPoliciesTest2", valid],
  ["4.8.3", "DifferentPoliciesTest3", valid],
  ["4.8.4", "DifferentPoliciesTest4", invalid],
  ["4.8.5", "DifferentPoliciesTest5", invalid],
  ["4.8.6", "OverlappingPoliciesTest6", valid],
  ["4.8.7", "DifferentPoliciesTest7", invalid],
  ["4.8.8", "DifferentPoliciesTest8", invalid],
  ["4.8.9", "DifferentPoliciesTest9", invalid],
  ["4.8.10", "AllCertificatesSamePoliciesTest10", valid],
  ["4.8.11", "AllCertificatesanyPolicyTest11", valid],
  ["4.8.12", "DifferentPoliciesTest12", invalid],
  ["4.8.15", "UserNoticeQualifierTest15", valid],
  ["4.8.16", "UserNoticeQualifierTest16", valid],
  ["4.8.17", "UserNoticeQualifierTest17", valid],
  ["4.8.19", "UserNoticeQualifierTest19", valid],
  // requireExplicitPolicy.
  ["4.9.1", "ValidrequireExplicitPolicyTest1", valid],
  ["4.9.2", "ValidrequireExplicitPolicyTest2", valid],
  ["4.9.3", "InvalidrequireExplicitPolicyTest3", invalid],
  ["4.9.4", "ValidrequireExplicitPolicyTest4", valid],
  ["4.9.5", "InvalidrequireExplicitPolicyTest5", invalid],
  ["4.9.6", "ValidSelfIssuedrequireExplicitPolicyTest6", valid],
  ["4.9.7", "InvalidSelfIssuedrequireExplicitPolicyTest7", invalid],
  ["4.9.8", "InvalidSelfIssuedrequireExplicitPolicyTest8", invalid],
  // Policy mappings.
  ["4.10.2", "InvalidPolicyMappingTest2", invalid],
  ["4.10.4", "InvalidPolicyMappingTest4", invalid],
  ["4.10.7", "InvalidMappingFromanyPolicyTest7", invalid],
  ["4.10.8", "InvalidMappingToanyPolicyTest8", invalid],
  ["4.10.9", "ValidPolicyMappingTest9", valid],
  ["4.10.10", "InvalidPolicyMappingTest10", invalid],
  ["4.10.11", "ValidPolicyMappingTest11", valid],
  ["4.10.13", "ValidPolicyMappingTest13", valid],
  ["4.10.14", "ValidPolicyMappingTest14", valid],
  // inhibitPolicyMapping.
  ["4.11.1", "InvalidinhibitPolicyMappingTest1", invalid],
  ["4.11.2", "ValidinhibitPolicyMappingTest2", valid],
  ["4.11.3", "InvalidinhibitPolicyMappingTest3", invalid],
  ["4.11.4", "ValidinhibitPolicyMappingTest4", valid],
  ["4.11.5", "InvalidinhibitPolicyMappingTest5", invalid],
  ["4.11.6", "InvalidinhibitPolicyMappingTest6", invalid],
  ["4.11.7", "ValidSelfIssuedinhibitPolicyMappingTest7", valid],
  ["4.11.8", "InvalidSelfIssuedinhibitPolicyMappingTest8", invalid],
  ["4.11.9", "InvalidSelfIssuedinhibitPolicyMappingTest9", invalid],
  ["4.11.10", "InvalidSelfIssuedinhibitPolicyMappingTest10", invalid],
  ["4.11.11", "InvalidSelfIssuedinhibitPolicyMappingTest11", invalid],
  // inhibitAnyPolicy.
  ["4.12.1", "InvalidinhibitAnyPolicyTest1", invalid],
  ["4.12.2", "ValidinhibitAnyPolicyTest2", valid],
  ["4.12.3", "inhibitAnyPolicyTest3", valid],
  ["4.12.4", "InvalidinhibitAnyPolicyTest4", invalid],
  ["4.12.5", "InvalidinhibitAnyPolicyTest5", invalid],
  ["4.12.6", "InvalidinhibitAnyPolicyTest6", invalid],
  ["4.12.7", "ValidSelfIssuedinhibitAnyPolicyTest7", valid],
  ["4.12.8", "InvalidSelfIssuedinhibitAnyPolicyTest8", invalid],
  ["4.12.9", "ValidSelfIssuedinhibitAnyPolicyTest9", valid],
  ["4.12.10", "InvalidSelfIssuedinhibitAnyPolicyTest10", invalid],
  // Name constraints.
  ["4.13.1", "ValidDNnameConstraintsTest1", valid],
  ["4.13.2", "InvalidDNnameConstraintsTest2", invalid],
  ["4.13.3", "InvalidDNnameConstraintsTest3", invalid],
  ["4.13.4", "ValidDNnameConstraintsTest4", valid],
  ["4.13.5", "ValidDNnameConstraintsTest5", beyond],
  ["4.13.6", "ValidDNnameConstraintsTest6", valid],
  ["4.13.7", "InvalidDNnameConstraintsTest7", invalid],
  ["4.13.8", "InvalidDNnameConstraintsTest8", invalid],
  ["4.13.9", "InvalidDNnameConstraintsTest9", invalid],
  ["4.13.10", "InvalidDNnameConstraintsTest10", invalid],
  ["4.13.11", "ValidDNnameConstraintsTest11", valid],
  ["4.13.12", "InvalidDNnameConstraintsTest12", invalid],
  ["4.13.13", "InvalidDNnameConstraintsTest13", invalid],
  ["4.13.14", "ValidDNnameConstraintsTest14", valid],
  ["4.13.15", "InvalidDNnameConstraintsTest15", invalid],
  ["4.13.16", "InvalidDNnameConstraintsTest16", invalid],
  ["4.13.17", "InvalidDNnameConstraintsTest17", invalid],
  ["4.13.18", "ValidDNnameConstraintsTest18", valid],
  ["4.13.19", "ValidDNnameConstraintsTest19", valid],
  ["4.13.20", "InvalidDNnameConstraintsTest20", invalid],
  ["4.13.21", "ValidRFC822nameConstraintsTest21", valid],
  ["4.13.22", "InvalidRFC822nameConstraintsTest22", invalid],
  ["4.13.23", "ValidRFC822nameConstraintsTest23", valid],
  ["4.13.24", "InvalidRFC822nameConstraintsTest24", invalid],
  ["4.13.25", "ValidRFC822nameConstraintsTest25", valid],
  ["4.13.26", "InvalidRFC822nameConstraintsTest26", invalid],
  ["4.13.27", "ValidDNandRFC822nameConstraintsTest27", valid],
  ["4.13.28", "InvalidDNandRFC822nameConstraintsTest28", invalid],
  ["4.13.29", "InvalidDNandRFC822nameConstraintsTest29", invalid],
  ["4.13.30", "ValidDNSnameConstraintsTest30", valid],
  ["4.13.31", "InvalidDNSnameConstraintsTest31", invalid],
  ["4.13.32", "ValidDNSnameConstraintsTest32", valid],
  ["4.13.33", "InvalidDNSnameConstraintsTest33", invalid],
  ["4.13.34", "ValidURInameConstraintsTest34", valid],
  ["4.13.35", "InvalidURInameConstraintsTest35", invalid],
  ["4.13.36", "ValidURInameConstraintsTest36", valid],
  ["4.13.37", "InvalidURInameConstraintsTest37", invalid],
  ["4.13.38", "InvalidDNSnameConstraintsTest38", invalid],
  // Private extensions.
  ["4.16.1", "ValidUnknownNotCriticalCertificateExtensionTest1", valid],
  ["4.16.2", "InvalidUnknownCriticalCertificateExtensionTest2", invalid],
];

/**
 * Every CA of the suite at once, as a relying party finds them in a directory: only the right ones
 * may be followed.
 */
let authorities: readonly ParsedCertificate[] = [];
let anchor: ParsedCertificate | undefined;

beforeAll(() => {
  if (!existsSync(folder))
    throw new Error("the Debian package python3-cryptography-vectors is missing");
  const files = readdirSync(folder).filter((file) => !file.endsWith("EE.crt"));
  authorities = files.flatMap((file) => certificateIn(file) ?? []);
  anchor = certificateIn("TrustAnchorRootCertificate.crt");
});

test("every CA of the suite can be read but the one whose signature is broken", () => {
  const files = readdirSync(folder).filter((file) => !file.endsWith("EE.crt"));
  const unread = files.filter((file) => certificateIn(file) === undefined);
  expect([files.length, unread]).toEqual([182, ["BadSignedCACert.crt"]]);
});

test.each(suite.filter(([, , verdict]) => verdict !== lists))("PKITS %s %s", (_, name, verdict) => {
  expect(isValid(name)).toBe(verdict === valid);
});

function isValid(name: string): boolean {
  const certificate = certificateIn(`${name}EE.crt`);
  if (certificate === undefined || anchor === undefined) return false;
  const now = instant(Date.UTC(2020, 0, 1));
  const accept = (path: readonly ParsedCertificate[]) => isSoundPath(path, now);
  const search = { certificate, intermediates: authorities, anchors: [anchor], now, accept };
  return findPath(search)?.whole === true;
}

/** Undefined for what is no certificate to us; a file that is not there fails the test. */
function certificateIn(file: string): ParsedCertificate | undefined {
  const der = new Uint8Array(readFileSync(join(folder, file)));
  try {
    return parseCertificate(der);
  } catch (error) {
    if (error instanceof DerError) return undefined;
    throw error;
  }
}
