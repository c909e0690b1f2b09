/**
 * An authenticator of our own: keys in memory, and every octet of its answers under the test's
 * control.
 */

import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";

import { isoCBOR } from "@simplewebauthn/server/helpers";

/** What an answer says instead of the truth. */
export interface Lies {
  readonly challenge?: string;
  readonly type?: string;
  readonly origin?: string;
  readonly crossOrigin?: boolean;
  readonly rpId?: string;
  readonly flags?: number;
  readonly counter?: number;
  readonly format?: string;
}

type Algorithm = "ES256" | "EdDSA" | "RS256";

/** One passkey. */
export class SoftAuthenticator {
  readonly id = base64url(randomBytes(20));
  /** The last counter it gave. */
  counter: number;
  readonly #privateKey: KeyObject;
  readonly #cose: Uint8Array;
  readonly #algorithm: Algorithm;
  readonly #home: { readonly origin: string; readonly rpId: string };

  /** `counter`: where it begins; 0 never counts. */
  constructor(
    home: { readonly origin: string; readonly rpId: string },
    algorithm: Algorithm = "ES256",
    counter = 1,
  ) {
    this.#home = home;
    this.#algorithm = algorithm;
    this.counter = counter;
    const { privateKey, cose } = keyOf(algorithm);
    this.#privateKey = privateKey;
    this.#cose = cose;
  }

  /** The body of `register/finish` but for the name. */
  attest(challenge: string, lies: Lies = {}): Record<string, string> {
    const id = Buffer.from(this.id, "base64url");
    const length = Buffer.alloc(2);
    length.writeUInt16BE(id.length);
    const credential = Buffer.concat([Buffer.alloc(16), length, id, this.#cose]);
    const authData = Buffer.concat([this.#head({ flags: 0x45, ...lies }), credential]);
    const object = new Map<string, unknown>([
      ["fmt", lies.format ?? "none"],
      ["attStmt", new Map()],
      ["authData", new Uint8Array(authData)],
    ]);
    return {
      id: this.id,
      clientDataJSON: this.#client("webauthn.create", challenge, lies),
      // What is in the map is what CBOR has.
      attestationObject: base64url(isoCBOR.encode(object as Parameters<typeof isoCBOR.encode>[0])),
    };
  }

  /** The body of `stepup/finish`. */
  assert(challenge: string, lies: Lies = {}): Record<string, string> {
    if (this.counter > 0) this.counter += 1;
    const clientDataJSON = this.#client("webauthn.get", challenge, lies);
    const authData = this.#head({ flags: 0x05, ...lies });
    const hash = createHash("sha256").update(Buffer.from(clientDataJSON, "base64url")).digest();
    const digest = this.#algorithm === "EdDSA" ? null : "sha256";
    const signature = sign(digest, Buffer.concat([authData, hash]), this.#privateKey);
    return {
      id: this.id,
      clientDataJSON,
      authenticatorData: base64url(authData),
      signature: base64url(signature),
    };
  }

  #client(type: string, challenge: string, lies: Lies): string {
    const { origin } = this.#home;
    const told = { type, challenge, origin, crossOrigin: false };
    const { challenge: other = challenge, ...rest } = lies;
    const { type: t = type, origin: o = origin, crossOrigin = false } = rest;
    const said = { ...told, type: t, challenge: other, origin: o, crossOrigin };
    return base64url(Buffer.from(JSON.stringify(said)));
  }

  #head({ rpId = this.#home.rpId, flags = 0x05, counter = this.counter }: Lies): Buffer {
    const count = Buffer.alloc(4);
    count.writeUInt32BE(counter);
    const hash = createHash("sha256").update(rpId).digest();
    return Buffer.concat([hash, Buffer.from([flags]), count]);
  }
}

/** RFC 9053: the public key as COSE_Key. */
function keyOf(algorithm: Algorithm): { privateKey: KeyObject; cose: Uint8Array } {
  const pair = pairOf(algorithm);
  const jwk = pair.publicKey.export({ format: "jwk" });
  const part = (text: string | undefined) => new Uint8Array(Buffer.from(text ?? "", "base64url"));
  const cose = {
    ES256: () => [
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, part(jwk.x)],
      [-3, part(jwk.y)],
    ],
    EdDSA: () => [
      [1, 1],
      [3, -8],
      [-1, 6],
      [-2, part(jwk.x)],
    ],
    RS256: () => [
      [1, 3],
      [3, -257],
      [-1, part(jwk.n)],
      [-2, part(jwk.e)],
    ],
  }[algorithm]();
  const map = new Map(cose as [number, number | Uint8Array][]); // Pairs, as written above.
  return { privateKey: pair.privateKey, cose: new Uint8Array(isoCBOR.encode(map)) };
}

function pairOf(algorithm: Algorithm) {
  if (algorithm === "ES256") return generateKeyPairSync("ec", { namedCurve: "P-256" });
  if (algorithm === "EdDSA") return generateKeyPairSync("ed25519");
  return generateKeyPairSync("rsa", { modulusLength: 2048 });
}

const base64url = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64url");
