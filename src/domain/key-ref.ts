/** The name of a private key: what everybody who speaks of one says. */

/** Who holds a key. */
export type ProviderName = "pkcs11" | "software";

/** Names one private key; found by provider and id, the label is for people. */
export interface KeyRef {
  readonly provider: ProviderName;
  readonly label: string;
  /**
   * Lower hex of the first 20 octets of SHA-256 over the SubjectPublicKeyInfo; CKA_ID on a token.
   */
  readonly id: string;
}
