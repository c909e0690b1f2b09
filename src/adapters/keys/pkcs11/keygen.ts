/** Makes a key on a token, and believes that it cannot leave only after having tried to take it. */

import { randomBytes } from "node:crypto";

import { refuse } from "#core/problems.ts";
import { type KeyType, keyTypes } from "#core/x509/algorithms.ts";
import { keyIdOf } from "#core/x509/public-keys.ts";
import type { KeyHandle } from "#domain/keys.ts";

import { cka, ckk, ckm, ckoPrivate, ckoPublic } from "./ck.ts";
import { waysOut } from "./extraction.ts";
import type { Handle, P11, Template } from "./module.ts";
import { curveParameters, type PublicHalf, readAttribute, readPublicHalf } from "./public-half.ts";
import { returnValueOf } from "./rv.ts";
import { findObjects } from "./objects.ts";

/** A pair just made. */
interface Pair {
  readonly privateKey: Handle;
  readonly publicKey: Handle;
}

/**
 * Makes a pair under `label` in a read-write token session. Refuses `already_exists` for a label in
 * use, and `key_type_unsupported` when the token cannot; refuses `not_supported`, with the key
 * destroyed, when its attributes are not those asked for (KEY-2).
 */
export function generateOnHsmToken(
  p11: P11,
  tokenSession: Handle,
  wanted: { readonly label: string; readonly keyType: KeyType; readonly serial: string },
): KeyHandle {
  const { label, keyType, serial } = wanted;
  const taken = [
    { type: cka.class, value: ckoPrivate },
    { type: cka.label, value: label },
  ];
  if (findObjects(p11, tokenSession, taken, 1).length > 0) {
    throw refuse("already_exists", { field: "label" });
  }
  const pair = generatePair(p11, tokenSession, label, keyType);
  try {
    const half = provePair(p11, tokenSession, pair, keyType);
    const id = keyIdOf(half.spki);
    for (const object of [pair.privateKey, pair.publicKey]) {
      p11.C_SetAttributeValue(tokenSession, object, [
        { type: cka.id, value: Buffer.from(id, "hex") },
      ]);
    }
    return { ref: { provider: "pkcs11", label, id }, ...half, deviceSerial: serial };
  } catch (fault) {
    p11.C_DestroyObject(tokenSession, pair.privateKey);
    p11.C_DestroyObject(tokenSession, pair.publicKey);
    throw fault;
  }
}

function generatePair(p11: P11, tokenSession: Handle, label: string, keyType: KeyType): Pair {
  // The id follows from the public key, so until that is known the pair bears a random one.
  const names: Template = [
    { type: cka.token, value: true },
    { type: cka.label, value: label },
    { type: cka.id, value: randomBytes(20) },
  ];
  const [mechanism, kind, size] = kindOf(keyType);
  const publicTemplate = [...names, ...publicFlags, { type: cka.keyType, value: kind }, ...size];
  const privateTemplate = [...names, ...privateFlags, { type: cka.keyType, value: kind }];
  try {
    return p11.C_GenerateKeyPair(tokenSession, { mechanism }, publicTemplate, privateTemplate);
  } catch (fault) {
    if (returnValueOf(fault)?.action !== "configuration") throw fault;
    throw refuse("key_type_unsupported", { key_type: keyType });
  }
}

function kindOf(keyType: KeyType): readonly [mechanism: number, kind: number, size: Template] {
  const [family, bits] = keyTypes[keyType];
  if (family === "rsa") {
    const exponent = { type: cka.publicExponent, value: Buffer.from([1, 0, 1]) };
    return [ckm.rsaKeyPairGen, ckk.rsa, [{ type: cka.modulusBits, value: bits }, exponent]];
  }
  const curve = curveParameters[keyType];
  if (curve === undefined) throw refuse("key_type_unsupported", { key_type: keyType });
  const size = [{ type: cka.ecParams, value: Buffer.from(curve, "hex") }];
  return family === "ed25519"
    ? [ckm.edwardsKeyPairGen, ckk.edwards, size]
    : [ckm.ecKeyPairGen, ckk.ec, size];
}

/**
 * The flags are as asked, nothing takes the key out, and both halves say the same. Nothing is
 * signed: every signature of the key is announced by a ticket, and each is held against the public
 * half before anybody sees it (KEY-4, KEY-5).
 */
function provePair(p11: P11, tokenSession: Handle, pair: Pair, keyType: KeyType): PublicHalf {
  const wrong = expectedFlags.filter(([type, value]) => {
    const octet = readAttribute(p11, tokenSession, pair.privateKey, type);
    // A usage flag the token does not know for this kind of key is a usage it does not offer.
    return octet === undefined ? value || coreFlags.has(type) : (octet[0] === 1) !== value;
  });
  const [first] = wrong;
  if (first !== undefined) throw unfit(`reports a wrong value for its flag ${first[2]}`);
  const [way] = waysOut(p11, tokenSession, pair.privateKey);
  if (way !== undefined) throw unfit(way);
  const half = readPublicHalf(p11, tokenSession, pair.publicKey);
  if (half?.keyType !== keyType) throw unfit("has a public half of another kind");
  // What the private object says of itself, where the token lets it: equal, or no signature would
  // ever verify.
  const own = readPublicHalf(p11, tokenSession, pair.privateKey);
  if (own !== undefined && !Buffer.from(own.spki).equals(half.spki)) {
    throw unfit("does not fit its public half");
  }
  return half;
}

const unfit = (what: string) =>
  refuse(
    "not_supported",
    {},
    `The new key ${what}; it was destroyed. This token keeps no CA keys.`,
  );

const publicFlags: Template = [
  { type: cka.class, value: ckoPublic },
  { type: cka.private, value: false },
  { type: cka.verify, value: true },
  { type: cka.verifyRecover, value: false },
  { type: cka.encrypt, value: false },
  { type: cka.wrap, value: false },
];

/**
 * CKA_MODIFIABLE stays, because the id is set after the fact; the flags below are one-way in any
 * case.
 */
const privateFlags: Template = [
  { type: cka.class, value: ckoPrivate },
  { type: cka.private, value: true },
  { type: cka.sensitive, value: true },
  { type: cka.extractable, value: false },
  { type: cka.sign, value: true },
  { type: cka.signRecover, value: false },
  { type: cka.decrypt, value: false },
  { type: cka.unwrap, value: false },
  { type: cka.derive, value: false },
];

/** CKA_LOCAL is not among them: NSS reports it wrong for keys it made. */
const expectedFlags = [
  [cka.token, true, "CKA_TOKEN"],
  [cka.private, true, "CKA_PRIVATE"],
  [cka.sensitive, true, "CKA_SENSITIVE"],
  [cka.alwaysSensitive, true, "CKA_ALWAYS_SENSITIVE"],
  [cka.extractable, false, "CKA_EXTRACTABLE"],
  [cka.neverExtractable, true, "CKA_NEVER_EXTRACTABLE"],
  [cka.sign, true, "CKA_SIGN"],
  [cka.signRecover, false, "CKA_SIGN_RECOVER"],
  [cka.decrypt, false, "CKA_DECRYPT"],
  [cka.unwrap, false, "CKA_UNWRAP"],
  [cka.derive, false, "CKA_DERIVE"],
] as const;
const coreFlags: ReadonlySet<number> = new Set([cka.sensitive, cka.extractable]);
