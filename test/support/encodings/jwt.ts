/** Signed tokens as a provider, or somebody who would like to be one, makes them. */

import { type KeyObject, sign } from "node:crypto";

/** A compact token signed with RSA and SHA-256, whatever its header says. */
export function signedToken(header: object, claims: object, key: KeyObject): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const signed = `${part(header)}.${part(claims)}`;
  return `${signed}.${sign("sha256", Buffer.from(signed), key).toString("base64url")}`;
}
