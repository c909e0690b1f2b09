/** THE OBJECT IDENTIFIERS pkid writes and reads, by name; each encoded once. */

import { encodeOid } from "./oid-octets.ts";

export const oids = {
  // Public keys: RFC 3279, RFC 5480, RFC 8410, RFC 9881, RFC 9909.
  rsaEncryption: "1.2.840.113549.1.1.1",
  mgf1: "1.2.840.113549.1.1.8",
  rsassaPss: "1.2.840.113549.1.1.10",
  ecPublicKey: "1.2.840.10045.2.1",
  p256: "1.2.840.10045.3.1.7",
  p384: "1.3.132.0.34",
  p521: "1.3.132.0.35",
  ed25519: "1.3.101.112",
  mlDsa44: "2.16.840.1.101.3.4.3.17",
  mlDsa65: "2.16.840.1.101.3.4.3.18",
  mlDsa87: "2.16.840.1.101.3.4.3.19",
  slhDsa128s: "2.16.840.1.101.3.4.3.20",
  slhDsa192s: "2.16.840.1.101.3.4.3.22",
  slhDsa256s: "2.16.840.1.101.3.4.3.24",
  // Digests: RFC 4055 §2.1.
  sha1: "1.3.14.3.2.26",
  sha256: "2.16.840.1.101.3.4.2.1",
  sha384: "2.16.840.1.101.3.4.2.2",
  sha512: "2.16.840.1.101.3.4.2.3",
  // Extensions: RFC 5280 §4.2, §5.2, §5.3; RFC 7633; RFC 6960 §4.4; X.509 (2019) §9.8.
  subjectKeyIdentifier: "2.5.29.14",
  keyUsage: "2.5.29.15",
  subjectAltName: "2.5.29.17",
  basicConstraints: "2.5.29.19",
  crlNumber: "2.5.29.20",
  reasonCode: "2.5.29.21",
  invalidityDate: "2.5.29.24",
  deltaCrlIndicator: "2.5.29.27",
  issuingDistributionPoint: "2.5.29.28",
  nameConstraints: "2.5.29.30",
  crlDistributionPoints: "2.5.29.31",
  certificatePolicies: "2.5.29.32",
  policyMappings: "2.5.29.33",
  authorityKeyIdentifier: "2.5.29.35",
  policyConstraints: "2.5.29.36",
  extKeyUsage: "2.5.29.37",
  freshestCrl: "2.5.29.46",
  inhibitAnyPolicy: "2.5.29.54",
  expiredCertsOnCrl: "2.5.29.60",
  subjectAltPublicKeyInfo: "2.5.29.72",
  altSignatureAlgorithm: "2.5.29.73",
  altSignatureValue: "2.5.29.74",
  authorityInfoAccess: "1.3.6.1.5.5.7.1.1",
  tlsFeature: "1.3.6.1.5.5.7.1.24",
  acmeIdentifier: "1.3.6.1.5.5.7.1.31",
  // Certificate transparency: RFC 6962 §3.1, §3.3.
  sctList: "1.3.6.1.4.1.11129.2.4.2",
  precertificatePoison: "1.3.6.1.4.1.11129.2.4.3",
  accessOcsp: "1.3.6.1.5.5.7.48.1",
  accessCaIssuers: "1.3.6.1.5.5.7.48.2",
  ocspBasic: "1.3.6.1.5.5.7.48.1.1",
  ocspNonce: "1.3.6.1.5.5.7.48.1.2",
  ocspNoCheck: "1.3.6.1.5.5.7.48.1.5",
  policyCps: "1.3.6.1.5.5.7.2.1",
  serverAuth: "1.3.6.1.5.5.7.3.1",
  clientAuth: "1.3.6.1.5.5.7.3.2",
  ocspSigning: "1.3.6.1.5.5.7.3.9",
  // Attributes of certification requests: RFC 2985 §5.4.
  challengePassword: "1.2.840.113549.1.9.7",
  extensionRequest: "1.2.840.113549.1.9.14",
} as const;

/** The OBJECT IDENTIFIER elements of the table, by dotted text. */
export const encodedOids: ReadonlyMap<string, Uint8Array> = new Map(
  Object.values(oids).map((dotted) => [dotted, encodeOid(dotted)]),
);
