/** Keys and certificates for tests of encodings, signed with the runtime's own cryptography. */

import * as nodeCrypto from "node:crypto";

import { instant } from "#core/time.ts";
import { parseSerial } from "#core/ids.ts";
import { type KeyType, keyTypes, type SignatureName, schemeOf } from "#core/x509/algorithms.ts";
import {
  assembleSigned,
  encodeTbsCertificate,
  type TbsCertificate,
} from "#core/x509/certificate.ts";
import {
  basicConstraints,
  keyUsage,
  subjectKeyId,
  subjectKeyIdentifier,
} from "#core/x509/extensions.ts";
import { encodeName } from "#core/x509/names.ts";

export interface TestKey {
  readonly privateKey: nodeCrypto.KeyObject;
  readonly spki: Uint8Array;
}

/** A fresh software key of this type. */
export function makeKey(type: KeyType): TestKey {
  const { privateKey, publicKey } = keyPair(type);
  const der = publicKey.export({ format: "der", type: "spki" });
  return { privateKey, spki: new Uint8Array(der) };
}

/** Signs as X.509 wants it. */
export function signWith(key: TestKey, name: SignatureName, message: Uint8Array): Uint8Array {
  const scheme = schemeOf(name);
  const { constants } = nodeCrypto;
  const signer =
    scheme.padding === "pss"
      ? {
          key: key.privateKey,
          padding: constants.RSA_PKCS1_PSS_PADDING,
          saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
        }
      : key.privateKey;
  return new Uint8Array(nodeCrypto.sign(scheme.hash ?? null, message, signer));
}

/** The fields of a self-signed CA certificate, to be changed by the test. */
export function rootFields(key: TestKey, signature: SignatureName): TbsCertificate {
  const name = encodeName([
    { type: "C", value: "DE" },
    { type: "O", value: "Example" },
    { type: "CN", value: "Test Root" },
  ]);
  return {
    serial: parseSerial("0x6b1d2c3b4a59687786a5b4c3d2e1f001"),
    signature,
    issuer: name.der,
    notBefore: instant(Date.UTC(2025, 0, 1)),
    notAfter: instant(Date.UTC(2051, 0, 1)),
    subject: name.der,
    spki: key.spki,
    extensions: [
      basicConstraints(true, undefined),
      keyUsage(["digitalSignature", "keyCertSign", "cRLSign"]),
      subjectKeyIdentifier(subjectKeyId(key.spki, "rfc7093")),
    ],
  };
}

/** A certificate with these fields, signed by `key`. */
export function certify(key: TestKey, fields: TbsCertificate): Uint8Array {
  const tbs = encodeTbsCertificate(fields);
  return assembleSigned(tbs, fields.signature, signWith(key, fields.signature, tbs));
}

/** A key pair of a type of the table. */
export function keyPair(type: KeyType): {
  readonly privateKey: nodeCrypto.KeyObject;
  readonly publicKey: nodeCrypto.KeyObject;
} {
  const [family, size] = keyTypes[type];
  switch (family) {
    case "rsa":
      return nodeCrypto.generateKeyPairSync("rsa", { modulusLength: size });
    case "ec":
      return nodeCrypto.generateKeyPairSync("ec", { namedCurve: `P-${size}` });
    case "ed25519":
      return nodeCrypto.generateKeyPairSync("ed25519");
    case "ml-dsa":
      // The type is the name node:crypto knows the algorithm by; its declarations lag behind the
      // runtime.
      return nodeCrypto.generateKeyPairSync(type as "ed25519");
    case "slh-dsa":
      throw new Error("the runtime makes no SLH-DSA keys");
    default:
      return family satisfies never;
  }
}
