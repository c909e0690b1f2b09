/**
 * Sealing with the master key: AES-256-GCM with everything that names the content as associated
 * data.
 */

import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

/** Nonce, tag and ciphertext in one string of octets. */
export function seal(
  masterKey: Uint8Array,
  context: readonly string[],
  content: Uint8Array,
): Buffer {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(cipherName, masterKey, nonce);
  cipher.setAAD(associated(context));
  const sealed = Buffer.concat([cipher.update(content), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
}

/** The content, or undefined when key, context or octets are not those it was sealed with. */
export function unseal(
  masterKey: Uint8Array,
  context: readonly string[],
  sealed: Uint8Array,
): Buffer | undefined {
  if (sealed.length < nonceBytes + tagBytes) return undefined;
  const decipher = createDecipheriv(cipherName, masterKey, sealed.subarray(0, nonceBytes), {
    authTagLength: tagBytes,
  });
  decipher.setAAD(associated(context));
  decipher.setAuthTag(sealed.subarray(nonceBytes, nonceBytes + tagBytes));
  try {
    return Buffer.concat([
      decipher.update(sealed.subarray(nonceBytes + tagBytes)),
      decipher.final(),
    ]);
  } catch {
    return undefined; // The tag does not fit: nothing else can fail here.
  }
}

/** Each part with its length before it, so that no two lists give the same octets. */
function associated(context: readonly string[]): Buffer {
  const parts = context.flatMap((text) => {
    const octets = Buffer.from(text, "utf8");
    const length = Buffer.alloc(4);
    length.writeUInt32BE(octets.length);
    return [length, octets];
  });
  return Buffer.concat(parts);
}

const cipherName = "aes-256-gcm";
const nonceBytes = 12;
const tagBytes = 16;
