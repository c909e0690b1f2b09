/** What a request presents to prove who is asking, before anything is believed. */

/** At most one credential: the first of the evaluation order that is present. */
export type Presented =
  | { readonly kind: "none" }
  | { readonly kind: "basic"; readonly name: string; readonly password: string }
  /** Scheme `Token`, or `Bearer pki_pat_…`. */
  | { readonly kind: "token"; readonly secret: string }
  | { readonly kind: "bearer"; readonly token: string }
  /** The admin socket, whose mode admits only its owner. */
  | { readonly kind: "local"; readonly user: string }
  /** An `Authorization` header that cannot be read as what its scheme says. */
  | { readonly kind: "malformed"; readonly scheme: "basic" | "token" | "bearer" };
