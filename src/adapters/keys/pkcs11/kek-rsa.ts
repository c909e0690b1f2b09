/**
 * An RSA key-encryption key on a token, used with RSAES-OAEP, SHA-256 and MGF1-SHA-256 (RFC 8017
 * §7.1), nothing else.
 */

import { constants, createPublicKey, publicEncrypt, randomBytes } from "node:crypto";

import { type Problem, refuse } from "#core/problems.ts";
import { keyIdOf } from "#core/x509/public-keys.ts";
import type { HeldKek } from "#domain/keys.ts";

import { cka, ckgMgf1, ckk, ckm, ckoPrivate, ckoPublic } from "./ck.ts";
import { opening, proveKept, proveRoundTrip } from "./kek-proof.ts";
import type { Handle, P11, Template } from "./module.ts";
import { readPublicHalf } from "./public-half.ts";
import { returnValueOf } from "./rv.ts";

/** A new pair, proven. */
interface Made extends Pick<HeldKek, "spki"> {
  readonly id: string;
  readonly keyType: "rsa-3072" | "rsa-4096";
}

/**
 * Makes and proves one; refuses `not_supported`, with the pair destroyed, or with `otherwise` when
 * there is no RSA.
 */
export function generateRsaKek(
  p11: P11,
  tokenSession: Handle,
  label: string,
  otherwise: Problem,
): Made & { readonly spki: Uint8Array } {
  const pair = generatePair(p11, tokenSession, label);
  if (pair === undefined) throw otherwise;
  try {
    proveKept(p11, tokenSession, pair.privateKey, usage);
    const half = readPublicHalf(p11, tokenSession, pair.publicKey);
    if (half?.keyType !== "rsa-3072" && half?.keyType !== "rsa-4096") throw otherwise;
    const { keyType, spki } = half;
    const [dek, context] = [randomBytes(32), Buffer.from("pkid/wrap-proof/1")];
    const unwrap = (octets: Uint8Array) =>
      unwrapRsa(p11, tokenSession, pair.privateKey, { octets, context });
    proveRoundTrip(dek, () => wrapRsa(spki, dek, context), unwrap);
    const id = keyIdOf(spki);
    for (const object of [pair.privateKey, pair.publicKey]) {
      p11.C_SetAttributeValue(tokenSession, object, [
        { type: cka.id, value: Buffer.from(id, "hex") },
      ]);
    }
    return { id, keyType, spki };
  } catch (fault) {
    p11.C_DestroyObject(tokenSession, pair.privateKey);
    p11.C_DestroyObject(tokenSession, pair.publicKey);
    throw fault;
  }
}

/**
 * Wraps a data key with the public key, which needs no token. What it is for goes before it into
 * what is encrypted, because not every token takes a label.
 */
export function wrapRsa(spki: Uint8Array, dek: Uint8Array, context: Buffer): Uint8Array {
  const key = createPublicKey({ key: Buffer.from(spki), format: "der", type: "spki" });
  const padding = constants.RSA_PKCS1_OAEP_PADDING;
  const content = Buffer.concat([context, dek]);
  const wrapped = publicEncrypt({ key, padding, oaepHash: "sha256" }, content);
  content.fill(0);
  return new Uint8Array(wrapped);
}

/**
 * The data key; refuses `key_unavailable` for whatever the token does not open, or was wrapped for
 * another use.
 */
export function unwrapRsa(
  p11: P11,
  tokenSession: Handle,
  kek: Handle,
  { octets, context }: { readonly octets: Uint8Array; readonly context: Buffer },
): Uint8Array {
  // What is no ciphertext of RSA-3072 or RSA-4096 is kept from the token, which might name it a
  // wrong call.
  if (octets.length !== 384 && octets.length !== 512) {
    throw refuse("key_unavailable", { retry_after: 2 });
  }
  p11.C_DecryptInit(tokenSession, { mechanism: ckm.rsaPkcsOaep, parameter: oaepSha256 }, kek);
  const content = opening(() =>
    p11.C_Decrypt(tokenSession, Buffer.from(octets), Buffer.alloc(outputBytes)),
  );
  const [before, dek] = [content.subarray(0, context.length), content.subarray(context.length)];
  if (!before.equals(context) || dek.length !== dekBytes) {
    throw refuse("key_unavailable", { retry_after: 2 });
  }
  return new Uint8Array(dek);
}

/** The smallest of the sizes allowed that the token makes; undefined when it makes none. */
function generatePair(p11: P11, tokenSession: Handle, label: string) {
  // The id follows from the public key, so until that is known the pair bears a random one.
  const names: Template = [
    { type: cka.token, value: true },
    { type: cka.label, value: label },
    { type: cka.id, value: randomBytes(20) },
    { type: cka.keyType, value: ckk.rsa },
  ];
  for (const bits of [3072, 4096]) {
    const size: Template = [
      { type: cka.modulusBits, value: bits },
      { type: cka.publicExponent, value: Buffer.from([1, 0, 1]) },
    ];
    try {
      const publicTemplate = [...names, ...publicFlags, ...size];
      const mechanism = { mechanism: ckm.rsaKeyPairGen };
      return p11.C_GenerateKeyPair(tokenSession, mechanism, publicTemplate, [
        ...names,
        ...privateFlags,
      ]);
    } catch (fault) {
      if (returnValueOf(fault)?.action !== "configuration") throw fault;
    }
  }
  return undefined;
}

const publicFlags: Template = [
  { type: cka.class, value: ckoPublic },
  { type: cka.private, value: false },
  { type: cka.encrypt, value: true },
  { type: cka.wrap, value: false },
  { type: cka.verify, value: false },
  { type: cka.verifyRecover, value: false },
];

const privateFlags: Template = [
  { type: cka.class, value: ckoPrivate },
  { type: cka.private, value: true },
  { type: cka.sensitive, value: true },
  { type: cka.extractable, value: false },
  { type: cka.decrypt, value: true },
  { type: cka.unwrap, value: false },
  { type: cka.sign, value: false },
  { type: cka.signRecover, value: false },
  { type: cka.derive, value: false },
];

const usage = [
  [cka.decrypt, true],
  [cka.signRecover, false],
] as const;

/**
 * CK_RSA_PKCS_OAEP_PARAMS of pkcs11js: which structure the parameter becomes; no label
 * (CKZ_DATA_SPECIFIED, empty).
 */
const oaepSha256 = { type: 4, hashAlg: ckm.sha256, mgf: ckgMgf1.sha256, source: 1 };
const dekBytes = 32;
const outputBytes = 1024;
