/** A key with a name for the bare servers, and TLS material made of it. */

import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from "node:crypto";

import { encodePem } from "#core/asn1/pem.ts";
import { instant } from "#core/time.ts";
import { usualTlsSuites } from "#core/tls-suites.ts";
import { commonName, encodeSigned, encodeTbs } from "./bare-certificate.ts";

export interface Issuer {
  readonly name: Uint8Array;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

/** A new P-256 key, in memory only. */
export function newIssuer(text: string): Issuer {
  const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const pem = pair.privateKey.export({ format: "pem", type: "pkcs8" });
  return {
    name: commonName(text),
    privateKey: createPrivateKey(pem),
    publicKey: createPublicKey(pem),
  };
}

/** Its own certificate, PEM. */
export function selfSigned({ name, privateKey, publicKey }: Issuer): string {
  const spki = publicKey.export({ format: "der", type: "spki" });
  const serial = randomBytes(16);
  const tbs = encodeTbs({ serial, issuer: name, subject: name, spki, ...validity() });
  return encodePem("CERTIFICATE", encodeSigned(tbs, sign("sha256", tbs, privateKey)));
}

/** What `Bun.serve` takes, as the listener of pkid says it. */
export function newTls() {
  const issuer = newIssuer("127.0.0.1");
  return {
    cert: selfSigned(issuer),
    key: issuer.privateKey.export({ format: "pem", type: "pkcs8" }).toString(),
    ciphers: usualTlsSuites.join(":"),
    minVersion: 0x0303,
  };
}

/** From now on, for as long as pkid's profile for servers allows. */
export function validity() {
  const now = Date.now();
  return { from: instant(now), to: instant(now + 397 * 86_400_000) };
}
