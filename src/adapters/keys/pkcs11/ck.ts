/** The PKCS#11 numbers this adapter uses (PKCS#11 3.1, including those pkcs11js does not name). */

export const ckf = {
  osLockingOk: 0x2,
  tokenPresent: 0x1,
  loginRequired: 0x4,
  userPinCountLow: 0x10000,
  userPinFinalTry: 0x20000,
  userPinLocked: 0x40000,
  rwSession: 0x2,
  serialSession: 0x4,
} as const;

export const ckoPublic = 2;
export const ckoPrivate = 3;
export const ckoSecret = 4;
export const ckuUser = 1;

export const ckk = { rsa: 0x0, ec: 0x3, aes: 0x1f, edwards: 0x40 } as const;

export const cka = {
  class: 0x0,
  token: 0x1,
  private: 0x2,
  label: 0x3,
  value: 0x11,
  keyType: 0x100,
  id: 0x102,
  sensitive: 0x103,
  encrypt: 0x104,
  decrypt: 0x105,
  wrap: 0x106,
  unwrap: 0x107,
  sign: 0x108,
  signRecover: 0x109,
  verify: 0x10a,
  verifyRecover: 0x10b,
  derive: 0x10c,
  modulus: 0x120,
  modulusBits: 0x121,
  publicExponent: 0x122,
  privateExponent: 0x123,
  valueLength: 0x161,
  extractable: 0x162,
  neverExtractable: 0x164,
  alwaysSensitive: 0x165,
  modifiable: 0x170,
  copyable: 0x171,
  ecParams: 0x180,
  ecPoint: 0x181,
} as const;

export const ckm = {
  rsaKeyPairGen: 0x0,
  rsaPkcs: 0x1,
  rsaPkcsOaep: 0x9,
  rsaPkcsPss: 0xd,
  sha256: 0x250,
  sha384: 0x260,
  sha512: 0x270,
  ecKeyPairGen: 0x1040,
  ecdsa: 0x1041,
  edwardsKeyPairGen: 0x1055,
  eddsa: 0x1057,
  aesKeyGen: 0x1080,
  aesCbcPad: 0x1085,
  aesGcm: 0x1087,
  aesKeyWrap: 0x2109,
  aesKeyWrapPad: 0x210a,
} as const;

/** Mask generation functions, by hash. */
export const ckgMgf1 = { sha256: 0x2, sha384: 0x3, sha512: 0x4 } as const;
