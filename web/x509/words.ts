/** WHAT OBJECT IDENTIFIERS MEAN to people, with a hint where the word alone says too little. */

/** Attributes of names, beside those pkid itself writes. */
export const attributeWords: Readonly<Record<string, string>> = {
  CN: "Common name",
  O: "Organisation",
  OU: "Organisational unit",
  C: "Country",
  ST: "State or province",
  L: "Locality",
  DC: "Domain component",
  UID: "User id",
  emailAddress: "E-mail address",
  serialNumber: "Serial number of the subject",
  organizationIdentifier: "Organisation identifier",
  givenName: "Given name",
  surname: "Surname",
  businessCategory: "Business category",
  jurisdictionC: "Jurisdiction: country",
  jurisdictionST: "Jurisdiction: state",
  jurisdictionL: "Jurisdiction: locality",
};

/** Columns: the word, what it allows; in the order of the bits. */
export const keyUsageWords: readonly (readonly [word: string, does: string])[] = [
  ["digital signature", "signs messages and handshakes"],
  ["non-repudiation", "signs what the signer is held to"],
  ["key encipherment", "encrypts keys, as RSA key exchange does"],
  ["data encipherment", "encrypts messages directly"],
  ["key agreement", "agrees on keys, as ECDH does"],
  ["certificate signing", "signs certificates: a CA"],
  ["CRL signing", "signs revocation lists"],
  ["encipher only", "of an agreed key"],
  ["decipher only", "of an agreed key"],
];

export const purposeWords: Readonly<Record<string, string>> = {
  "1.3.6.1.5.5.7.3.1": "TLS server",
  "1.3.6.1.5.5.7.3.2": "TLS client",
  "1.3.6.1.5.5.7.3.3": "code signing",
  "1.3.6.1.5.5.7.3.4": "e-mail protection",
  "1.3.6.1.5.5.7.3.8": "time stamping",
  "1.3.6.1.5.5.7.3.9": "OCSP signing",
  "1.3.6.1.5.5.7.3.17": "IPsec (IKE)",
  "1.3.6.1.5.5.7.3.21": "SSH client",
  "1.3.6.1.5.5.7.3.22": "SSH server",
  "1.3.6.1.5.5.7.3.36": "document signing",
  "1.3.6.1.4.1.311.20.2.2": "smart card logon",
  "1.3.6.1.5.2.3.4": "Kerberos client",
  "1.3.6.1.5.2.3.5": "Kerberos KDC",
  "2.5.29.37.0": "any purpose",
};

export const policyWords: Readonly<Record<string, string>> = {
  "2.5.29.32.0": "any policy",
  "2.23.140.1.1": "extended validation (CA/Browser Forum)",
  "2.23.140.1.2.1": "domain validated (CA/Browser Forum)",
  "2.23.140.1.2.2": "organisation validated (CA/Browser Forum)",
  "2.23.140.1.2.3": "individual validated (CA/Browser Forum)",
};

export const accessWords: Readonly<Record<string, string>> = {
  "1.3.6.1.5.5.7.48.1": "OCSP",
  "1.3.6.1.5.5.7.48.2": "CA certificate",
  "1.3.6.1.5.5.7.48.3": "Time stamping",
  "1.3.6.1.5.5.7.48.5": "CA repository",
};

export const curveWords: Readonly<Record<string, string>> = {
  "1.2.840.10045.3.1.7": "P-256",
  "1.3.132.0.34": "P-384",
  "1.3.132.0.35": "P-521",
  "1.3.132.0.10": "secp256k1",
  "1.3.36.3.3.2.8.1.1.7": "brainpoolP256r1",
  "1.3.36.3.3.2.8.1.1.11": "brainpoolP384r1",
  "1.3.36.3.3.2.8.1.1.13": "brainpoolP512r1",
};

/** Of keys and of signatures. */
export const algorithmWords: Readonly<Record<string, string>> = {
  "1.2.840.113549.1.1.1": "RSA",
  "1.2.840.113549.1.1.4": "RSA with MD5",
  "1.2.840.113549.1.1.5": "RSA with SHA-1",
  "1.2.840.113549.1.1.10": "RSA-PSS",
  "1.2.840.113549.1.1.11": "RSA with SHA-256",
  "1.2.840.113549.1.1.12": "RSA with SHA-384",
  "1.2.840.113549.1.1.13": "RSA with SHA-512",
  "1.2.840.10045.2.1": "elliptic curve",
  "1.2.840.10045.4.1": "ECDSA with SHA-1",
  "1.2.840.10045.4.3.2": "ECDSA with SHA-256",
  "1.2.840.10045.4.3.3": "ECDSA with SHA-384",
  "1.2.840.10045.4.3.4": "ECDSA with SHA-512",
  "1.3.101.112": "Ed25519",
  "1.3.101.113": "Ed448",
  "2.16.840.1.101.3.4.3.17": "ML-DSA-44",
  "2.16.840.1.101.3.4.3.18": "ML-DSA-65",
  "2.16.840.1.101.3.4.3.19": "ML-DSA-87",
  "2.16.840.1.101.3.4.3.20": "SLH-DSA-SHA2-128s",
  "2.16.840.1.101.3.4.3.22": "SLH-DSA-SHA2-192s",
  "2.16.840.1.101.3.4.3.24": "SLH-DSA-SHA2-256s",
};

/** The word with its dotted text; that alone where nobody knows it. */
export function named(words: Readonly<Record<string, string>>, oid: string): string {
  const word = Object.hasOwn(words, oid) ? words[oid] : undefined;
  return word === undefined ? oid : `${word} (${oid})`;
}
