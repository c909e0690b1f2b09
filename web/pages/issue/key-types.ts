/** The kinds of keys a browser makes for a certificate, and how WebCrypto calls them. */

export interface KeyKind {
  readonly label: string;
  /** What the key is made and read with. */
  readonly algorithm: EcKeyGenParams | RsaHashedKeyGenParams | { readonly name: "Ed25519" };
  /** What a request is signed with. */
  readonly signing: EcdsaParams | { readonly name: string };
}

const rsa = (bits: number): KeyKind => ({
  label: `RSA ${bits}`,
  algorithm: {
    name: "RSASSA-PKCS1-v1_5",
    modulusLength: bits,
    publicExponent: Uint8Array.of(1, 0, 1),
    hash: "SHA-256",
  },
  signing: { name: "RSASSA-PKCS1-v1_5" },
});

const ecdsa = (namedCurve: string, hash: string): KeyKind => ({
  label: `ECDSA ${namedCurve}`,
  algorithm: { name: "ECDSA", namedCurve },
  signing: { name: "ECDSA", hash },
});

/** By the words pkid has for them; the first is made where nothing is chosen. */
export const keyKinds = {
  "ecdsa-p256": ecdsa("P-256", "SHA-256"),
  "ecdsa-p384": ecdsa("P-384", "SHA-384"),
  "rsa-2048": rsa(2048),
  "rsa-3072": rsa(3072),
  "rsa-4096": rsa(4096),
  ed25519: { label: "Ed25519", algorithm: { name: "Ed25519" }, signing: { name: "Ed25519" } },
} as const satisfies Record<string, KeyKind>;

export type KeyType = keyof typeof keyKinds;

export const keyTypes = Object.keys(keyKinds) as readonly KeyType[]; // Keys of the table.

/** A word for one, from an address or a file; undefined for any other word. */
export const parseKeyType = (word: string | undefined): KeyType | undefined =>
  keyTypes.find((known) => known === word);

/** Those this browser makes: Ed25519 came to browsers one after the other. */
export async function keyTypesHere(): Promise<readonly KeyType[]> {
  try {
    await crypto.subtle.generateKey(keyKinds.ed25519.algorithm, false, ["sign", "verify"]);
    return keyTypes;
  } catch {
    // The browser says of what it does not know only that it is not supported.
    return keyTypes.filter((type) => type !== "ed25519");
  }
}
