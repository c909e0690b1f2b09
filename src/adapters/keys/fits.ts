/** Which signature a key can make. */

import { type KeyType, keyTypes, type SignatureName } from "#core/x509/algorithms.ts";

/** Throws when a key of this type cannot make this signature: only a bug asks for that. */
export function checkFits(keyType: KeyType, algorithm: SignatureName): void {
  const [family] = keyTypes[keyType];
  const fitting =
    family === "ml-dsa" || family === "slh-dsa"
      ? algorithm === keyType
      : algorithm.startsWith(prefixes[family]);
  if (!fitting) throw new Error(`a key of type ${keyType} cannot sign with ${algorithm}`);
}

const prefixes = { rsa: "rsa-", ec: "ecdsa-", ed25519: "ed25519" } as const;
