/** An AES-256 key-encryption key on a token, used with GCM and an IV of 96 bits of ours. */

import { randomBytes } from "node:crypto";

import { refuse } from "#core/problems.ts";

import { cka, ckk, ckm, ckoSecret } from "./ck.ts";
import { opening, proveKept, proveRoundTrip } from "./kek-proof.ts";
import type { Handle, Mechanism, P11, Template } from "./module.ts";
import { returnValueOf } from "./rv.ts";

/** Makes and proves one; refuses `not_supported`, with the key destroyed. */
export function generateAesKek(
  p11: P11,
  tokenSession: Handle,
  { label, id }: { readonly label: string; readonly id: Buffer },
): void {
  const key = generated(p11, tokenSession, [
    { type: cka.label, value: label },
    { type: cka.id, value: id },
  ]);
  try {
    proveKept(p11, tokenSession, key, usage);
    const [dek, context] = [randomBytes(32), randomBytes(16)];
    const wrap = () => wrapAes(p11, tokenSession, key, { dek, context });
    proveRoundTrip(dek, wrap, (octets) => unwrapAes(p11, tokenSession, key, { octets, context }));
  } catch (fault) {
    p11.C_DestroyObject(tokenSession, key);
    throw fault;
  }
}

/** IV, ciphertext and tag of a data key. */
export function wrapAes(
  p11: P11,
  tokenSession: Handle,
  kek: Handle,
  { dek, context }: { readonly dek: Uint8Array; readonly context: Buffer },
): Uint8Array {
  const iv = randomBytes(ivBytes);
  start({ iv, context }, (mechanism) => p11.C_EncryptInit(tokenSession, mechanism, kek));
  const sealed = p11.C_Encrypt(tokenSession, Buffer.from(dek), Buffer.alloc(outputBytes));
  return new Uint8Array(Buffer.concat([iv, sealed]));
}

/** The data key; refuses `key_unavailable` for whatever the token does not open. */
export function unwrapAes(
  p11: P11,
  tokenSession: Handle,
  kek: Handle,
  { octets, context }: { readonly octets: Uint8Array; readonly context: Buffer },
): Uint8Array {
  if (octets.length <= ivBytes) throw refuse("key_unavailable", { retry_after: 2 });
  const iv = Buffer.from(octets.subarray(0, ivBytes));
  start({ iv, context }, (mechanism) => p11.C_DecryptInit(tokenSession, mechanism, kek));
  const sealed = Buffer.from(octets.subarray(ivBytes));
  return opening(
    () => new Uint8Array(p11.C_Decrypt(tokenSession, sealed, Buffer.alloc(outputBytes))),
  );
}

function generated(p11: P11, tokenSession: Handle, names: Template): Handle {
  try {
    return p11.C_GenerateKey(tokenSession, { mechanism: ckm.aesKeyGen }, [...names, ...flags]);
  } catch (fault) {
    if (returnValueOf(fault)?.action !== "configuration") throw fault;
    throw refuse("not_supported", {}, "This token makes no AES keys.");
  }
}

/**
 * The parameter as PKCS#11 2.40 and later lay it out, and as 2.30 does: a token takes one of them.
 */
function start(
  { iv, context }: { readonly iv: Buffer; readonly context: Buffer },
  begin: (mechanism: Mechanism) => void,
): void {
  const parameter = { iv, aad: context, ivBits: ivBytes * 8, tagBits: 128 };
  const mechanism = ckm.aesGcm;
  try {
    begin({ mechanism, parameter: { type: gcmWithBits, ...parameter } });
  } catch (fault) {
    const name = returnValueOf(fault)?.name;
    if (name !== "CKR_MECHANISM_PARAM_INVALID" && name !== "CKR_ARGUMENTS_BAD") throw fault;
    begin({ mechanism, parameter: { type: gcmWithoutBits, ...parameter } });
  }
}

const flags: Template = [
  { type: cka.class, value: ckoSecret },
  { type: cka.keyType, value: ckk.aes },
  { type: cka.valueLength, value: 32 },
  { type: cka.token, value: true },
  { type: cka.private, value: true },
  { type: cka.sensitive, value: true },
  { type: cka.extractable, value: false },
  { type: cka.encrypt, value: true },
  { type: cka.decrypt, value: true },
  { type: cka.wrap, value: false },
  { type: cka.unwrap, value: false },
  { type: cka.sign, value: false },
  { type: cka.verify, value: false },
  { type: cka.derive, value: false },
];

const usage = [
  [cka.encrypt, true],
  [cka.decrypt, true],
  [cka.wrap, false],
] as const;

const ivBytes = 12;
const outputBytes = 128;
/**
 * CK_PARAMS_AES_GCM_v240 and CK_PARAMS_AES_GCM of pkcs11js: which structure the parameter becomes.
 */
const gcmWithBits = 7;
const gcmWithoutBits = 3;
