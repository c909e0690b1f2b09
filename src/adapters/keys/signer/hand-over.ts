/**
 * Hands a data key from one signer to another through the server, which sees only what it cannot
 * open.
 */

import {
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
} from "node:crypto";

import { openAes256Gcm, sealAes256Gcm } from "#core/crypto.ts";
import { refuse } from "#core/problems.ts";

/**
 * What a box is for: a data key on its way to another signer, one that an archive takes along, or a
 * private key that is brought from outside. A box for one is none for the others.
 */
export type BoxPurpose = "hand-over" | "archive" | "intake";

/**
 * An address and what opens boxes for it: an X25519 pair that lives in one process and is never
 * written down. Against a server that only relays. One that lies about addresses could have
 * unlocked the token itself: it starts the signers.
 */
export class Mailbox {
  readonly #privateKey: KeyObject;
  readonly #purpose: BoxPurpose;
  /** The public key, 32 octets. */
  readonly address: Uint8Array;

  constructor(purpose: BoxPurpose) {
    this.#purpose = purpose;
    const { privateKey, publicKey } = generateKeyPairSync("x25519");
    this.#privateKey = privateKey;
    this.address = rawPublic(publicKey);
  }

  /**
   * What `boxFor` put in; refuses `key_unavailable` for a box for another address or one that was
   * altered.
   */
  open(box: Uint8Array): Uint8Array {
    const sender = box.slice(0, addressBytes);
    try {
      const associated = associatedWith(this.#purpose);
      const ends = { sender, recipient: this.address, associated };
      const key = sharedKey(this.#privateKey, sender, ends);
      const content = openAes256Gcm(key, zeroNonce, associated, box.subarray(addressBytes));
      key.fill(0);
      if (content !== undefined) return content;
    } catch {
      // A sender's key that is none: it came with the box, so the box is worth nothing.
    }
    throw refuse("key_unavailable", { retry_after: 2 });
  }
}

/**
 * Seals `content` for the mailbox at `address`, under a key used once; refuses `key_unavailable`
 * for no address.
 */
export function boxFor(address: Uint8Array, content: Uint8Array, purpose: BoxPurpose): Uint8Array {
  const associated = associatedWith(purpose);
  const pair = generateKeyPairSync("x25519");
  const sender = rawPublic(pair.publicKey);
  let key: Uint8Array;
  try {
    key = sharedKey(pair.privateKey, address, { sender, recipient: address, associated });
  } catch {
    // Not a point, or one that makes the secret predictable (RFC 7748 §6.1).
    throw refuse("key_unavailable", { retry_after: 2 });
  }
  const sealed = sealAes256Gcm(key, zeroNonce, associated, content);
  key.fill(0);
  return Buffer.concat([sender, sealed]);
}

/** RFC 5869 over the shared secret, bound to both ends. */
function sharedKey(
  own: KeyObject,
  other: Uint8Array,
  ends: {
    readonly sender: Uint8Array;
    readonly recipient: Uint8Array;
    readonly associated: Uint8Array;
  },
): Uint8Array {
  const jwk = { kty: "OKP", crv: "X25519", x: Buffer.from(other).toString("base64url") };
  const publicKey = createPublicKey({ key: jwk, format: "jwk" });
  const secret = diffieHellman({ privateKey: own, publicKey });
  const bound = Buffer.concat([ends.associated, ends.sender, ends.recipient]);
  const key = new Uint8Array(hkdfSync("sha256", secret, new Uint8Array(), bound, 32));
  secret.fill(0);
  return key;
}

function rawPublic(key: KeyObject): Uint8Array {
  const { x } = key.export({ format: "jwk" });
  return new Uint8Array(Buffer.from(x ?? "", "base64url"));
}

const associatedWith = (purpose: BoxPurpose): Uint8Array => Buffer.from(`pkid/${purpose}/1`);
const addressBytes = 32;
/** Never repeated, because the key is not. */
const zeroNonce = new Uint8Array(12);
