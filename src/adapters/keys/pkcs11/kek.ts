/**
 * A key-encryption key on a token: AES-256 where the token wraps with AES-GCM, else RSA where it
 * unwraps with OAEP (KEK-3).
 */

import { randomBytes } from "node:crypto";

import type { WrappedDek } from "#core/envelope.ts";
import { Problem, refuse } from "#core/problems.ts";
import type { HeldKek } from "#domain/keys.ts";

import { cka, ckoPrivate, ckoSecret } from "./ck.ts";
import { generateAesKek, unwrapAes, wrapAes } from "./kek-aes.ts";
import { generateRsaKek, unwrapRsa, wrapRsa } from "./kek-rsa.ts";
import type { Handle, P11 } from "./module.ts";
import { findObjects } from "./objects.ts";

/** A KEK found on its token. */
export type HsmTokenKek =
  | { readonly kind: "aes"; readonly key: Handle }
  | {
      readonly kind: "rsa";
      readonly key: Handle;
      readonly publicKey: Handle | undefined;
      /** SubjectPublicKeyInfo, DER; the id of the key is its digest. */
      readonly spki: Uint8Array;
    };

/**
 * Makes a KEK under `label` in a read-write token session. What a token can is found out by doing
 * it, never read from its list of mechanisms. Refuses `already_exists` for a label in use, and
 * `not_supported`, with what was made destroyed, when the token does not keep such a key or wraps
 * with neither (KEY-2).
 */
export function generateKekOnHsmToken(
  p11: P11,
  tokenSession: Handle,
  { label, serial: deviceSerial }: { readonly label: string; readonly serial: string },
): HeldKek {
  for (const kind of [ckoSecret, ckoPrivate]) {
    const taken = [
      { type: cka.class, value: kind },
      { type: cka.label, value: label },
    ];
    if (findObjects(p11, tokenSession, taken, 1).length > 0) {
      throw refuse("already_exists", { field: "label" });
    }
  }
  try {
    const id = randomBytes(20);
    generateAesKek(p11, tokenSession, { label, id });
    const key = { provider: "pkcs11", label, id: id.toString("hex") } as const;
    return { key, keyType: "aes-256", spki: undefined, deviceSerial };
  } catch (fault) {
    if (!(fault instanceof Problem && fault.code === "not_supported")) throw fault;
    const { id, ...made } = generateRsaKek(p11, tokenSession, label, fault);
    return { key: { provider: "pkcs11", label, id }, ...made, deviceSerial };
  }
}

/** A data key wrapped, bound to `context`. */
export function wrapOnHsmToken(
  p11: P11,
  tokenSession: Handle,
  kek: HsmTokenKek,
  { dek, context }: { readonly dek: Uint8Array; readonly context: Buffer },
): WrappedDek {
  if (kek.kind === "rsa")
    return { wrap: "RSA-OAEP-SHA256", wrappedDek: wrapRsa(kek.spki, dek, context) };
  return { wrap: "AES-256-GCM", wrappedDek: wrapAes(p11, tokenSession, kek.key, { dek, context }) };
}

/**
 * The data key; refuses `key_unavailable` for whatever the token does not open, or opens for
 * another context.
 */
export function unwrapOnHsmToken(
  p11: P11,
  tokenSession: Handle,
  kek: HsmTokenKek,
  { wrapped, context }: { readonly wrapped: WrappedDek; readonly context: Buffer },
): Uint8Array {
  const octets = wrapped.wrappedDek;
  const fits = wrapped.wrap === wraps[kek.kind];
  if (!fits) throw refuse("key_unavailable", { retry_after: 2 });
  return kek.kind === "rsa"
    ? unwrapRsa(p11, tokenSession, kek.key, { octets, context })
    : unwrapAes(p11, tokenSession, kek.key, { octets, context });
}

const wraps = { aes: "AES-256-GCM", rsa: "RSA-OAEP-SHA256" } as const;
