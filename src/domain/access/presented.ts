/** What a request presents to prove who is asking, before anything is believed. */

import type { ClientCertificate } from "./client-certificates.ts";

/** Everything presented at once; the order of mechanisms decides what counts. */
export interface Presented {
  /** Undefined without an `Authorization` header, and for a scheme nobody knows. */
  readonly authorization: Authorization | undefined;
  /** The value of the session cookie. */
  readonly cookie: string | undefined;
  /** What the client showed in the TLS handshake, whatever it is worth. */
  readonly certificate: ClientCertificate | undefined;
  /** Name of the OS user, on the admin socket, whose mode admits only its owner. */
  readonly localUser: string | undefined;
}

/** What an `Authorization` header says. */
export type Authorization =
  | { readonly kind: "basic"; readonly name: string; readonly password: string }
  /** Scheme `Token`, or `Bearer pki_pat_…`. */
  | { readonly kind: "token"; readonly secret: string }
  | { readonly kind: "bearer"; readonly token: string }
  /** It cannot be read as what its scheme says. */
  | { readonly kind: "malformed"; readonly scheme: "basic" | "bearer" };
