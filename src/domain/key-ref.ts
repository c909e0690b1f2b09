/** The name of a private key: what everybody who speaks of one says. */

/** Who may hold keys. */
export const providerNames = ["pkcs11", "software"] as const;
export type ProviderName = (typeof providerNames)[number];

/** Names one private key; found by provider and id, the label is for people. */
export interface KeyRef {
  readonly provider: ProviderName;
  readonly label: string;
  /**
   * Lower hex of the first 20 octets of SHA-256 over the SubjectPublicKeyInfo; CKA_ID on a token.
   */
  readonly id: string;
}
