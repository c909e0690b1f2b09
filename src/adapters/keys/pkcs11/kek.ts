/** A key-encryption key on a token: made, proven, and used with AES-256-GCM (KEK-3). */

import { randomBytes } from "node:crypto";

import { equalInConstantTime } from "#core/crypto.ts";
import { refuse } from "#core/problems.ts";
import type { KeyRef } from "#domain/keys.ts";

import { cka, ckk, ckm, ckoSecret } from "./ck.ts";
import { waysOut } from "./extraction.ts";
import type { Handle, Mechanism, P11, Template } from "./module.ts";
import { readAttribute } from "./public-half.ts";
import { returnValueOf } from "./rv.ts";
import { findObjects } from "./objects.ts";

/**
 * Makes a KEK under `label` in a read-write session. Refuses `already_exists` for a label in use, and
 * `not_supported`, with the key destroyed, when the token does not keep it or does not wrap with it (KEY-2).
 */
export function generateKekOnToken(p11: P11, session: Handle, label: string): KeyRef {
  const taken = [
    { type: cka.class, value: ckoSecret },
    { type: cka.label, value: label },
  ];
  if (findObjects(p11, session, taken, 1).length > 0) {
    throw refuse("already_exists", { field: "label" });
  }
  const id = randomBytes(20);
  const key = generated(p11, session, [
    { type: cka.label, value: label },
    { type: cka.id, value: id },
  ]);
  try {
    prove(p11, session, key);
    return { provider: "pkcs11", label, id: id.toString("hex") };
  } catch (fault) {
    p11.C_DestroyObject(session, key);
    throw fault;
  }
}

/** IV, ciphertext and tag of a data key. */
export function wrapOnToken(p11: P11, session: Handle, kek: Handle, dek: Uint8Array): Uint8Array {
  const iv = randomBytes(ivBytes);
  start(iv, (mechanism) => p11.C_EncryptInit(session, mechanism, kek));
  const sealed = p11.C_Encrypt(session, Buffer.from(dek), Buffer.alloc(outputBytes));
  return new Uint8Array(Buffer.concat([iv, sealed]));
}

/** The data key; refuses `key_unavailable` for whatever the token does not open. */
export function unwrapOnToken(
  p11: P11,
  session: Handle,
  kek: Handle,
  wrapped: Uint8Array,
): Uint8Array {
  if (wrapped.length <= ivBytes) throw refuse("key_unavailable", { retry_after: 2 });
  start(Buffer.from(wrapped.subarray(0, ivBytes)), (mechanism) =>
    p11.C_DecryptInit(session, mechanism, kek),
  );
  try {
    const sealed = Buffer.from(wrapped.subarray(ivBytes));
    return new Uint8Array(p11.C_Decrypt(session, sealed, Buffer.alloc(outputBytes)));
  } catch (fault) {
    // Tokens name altered octets as they like, some as a failure of the device: it is no reason to restart one.
    const rv = returnValueOf(fault);
    if (rv === undefined || !refusals.has(rv.name)) throw fault;
    throw refuse("key_unavailable", { retry_after: 2 });
  }
}

function generated(p11: P11, session: Handle, names: Template): Handle {
  try {
    return p11.C_GenerateKey(session, { mechanism: ckm.aesKeyGen }, [...names, ...flags]);
  } catch (fault) {
    if (returnValueOf(fault)?.action !== "configuration") throw fault;
    throw refuse("not_supported", {}, "This token makes no AES keys.");
  }
}

function prove(p11: P11, session: Handle, key: Handle): void {
  for (const [type, wanted] of expected) {
    const octet = readAttribute(p11, session, key, type);
    // A usage flag the token does not know for this kind of key is a usage it does not offer.
    const wrong = octet === undefined ? wanted || core.has(type) : (octet[0] === 1) !== wanted;
    if (wrong) throw unfit("reports a wrong value for one of its flags");
  }
  const [way] = waysOut(p11, session, key);
  if (way !== undefined) throw unfit(way);
  const dek = randomBytes(32);
  if (!roundTrips(p11, session, key, dek)) throw unfit("does not open what it sealed");
}

function roundTrips(p11: P11, session: Handle, key: Handle, dek: Uint8Array): boolean {
  try {
    const wrapped = wrapOnToken(p11, session, key, dek);
    const opened = unwrapOnToken(p11, session, key, wrapped);
    return wrapped.length === dek.length + 28 && equalInConstantTime(opened, dek);
  } catch (fault) {
    const action = returnValueOf(fault)?.action;
    if (action !== "configuration" && action !== "request") throw fault;
    return false; // The token has no AES-256-GCM, or not with an IV of ours.
  }
}

/** The parameter as PKCS#11 2.40 and later lay it out, and as 2.30 does: a token takes one of them. */
function start(iv: Buffer, begin: (mechanism: Mechanism) => void): void {
  const parameter = { iv, aad: wrapContext, ivBits: ivBytes * 8, tagBits: 128 };
  const mechanism = ckm.aesGcm;
  try {
    begin({ mechanism, parameter: { type: gcmWithBits, ...parameter } });
  } catch (fault) {
    const name = returnValueOf(fault)?.name;
    if (name !== "CKR_MECHANISM_PARAM_INVALID" && name !== "CKR_ARGUMENTS_BAD") throw fault;
    begin({ mechanism, parameter: { type: gcmWithoutBits, ...parameter } });
  }
}

const unfit = (what: string) =>
  refuse("not_supported", {}, `The new KEK ${what}; it was destroyed. This token keeps no KEK.`);

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

const expected = [
  [cka.token, true],
  [cka.private, true],
  [cka.sensitive, true],
  [cka.alwaysSensitive, true],
  [cka.extractable, false],
  [cka.neverExtractable, true],
  [cka.encrypt, true],
  [cka.decrypt, true],
  [cka.wrap, false],
  [cka.unwrap, false],
  [cka.sign, false],
  [cka.derive, false],
] as const;
const core: ReadonlySet<number> = new Set([cka.sensitive, cka.extractable, cka.wrap]);

const refusals: ReadonlySet<string> = new Set([
  "CKR_GENERAL_ERROR",
  "CKR_FUNCTION_FAILED",
  "CKR_ENCRYPTED_DATA_INVALID",
  "CKR_ENCRYPTED_DATA_LEN_RANGE",
  "CKR_DATA_INVALID",
  "CKR_DATA_LEN_RANGE",
]);

const wrapContext = Buffer.from("pkid/wrap/1");
const ivBytes = 12;
const outputBytes = 128;
/** CK_PARAMS_AES_GCM_v240 and CK_PARAMS_AES_GCM of pkcs11js: which structure the parameter becomes. */
const gcmWithBits = 7;
const gcmWithoutBits = 3;
