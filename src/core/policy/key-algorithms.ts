/** What post-quantum and hybrid profiles want of the keys of subject and issuer (PQ-3, PQ-4). */

import { type Problem, refuse } from "#core/problems.ts";
import { csrAlternative } from "#core/x509/csr-alternative.ts";
import { type PublicKey, parsePublicKey } from "#core/x509/public-keys.ts";

import type { Issuer, Objection } from "./plan.ts";
import type { Profile } from "./profile.ts";

/**
 * Where the second key of a hybrid certificate comes from: proven by a request, or certified
 * before.
 */
export interface SecondKeyRequest {
  /** CertificationRequestInfo, with the proof. */
  readonly tbs?: Uint8Array | undefined;
  /** SubjectPublicKeyInfo in the certificate that is renewed with its keys. */
  readonly alternativeSpki?: Uint8Array | undefined;
}

/**
 * For profiles that certify a second key; the refusal is for one the requester does not prove to
 * have (PQ-7).
 */
export function alternativeRequest(
  { tbs, alternativeSpki }: SecondKeyRequest,
  { algorithm }: Profile,
): { readonly key: PublicKey | undefined } | { readonly refusal: Problem } {
  if (algorithm !== "hybrid") return { key: undefined };
  if (alternativeSpki !== undefined) return { key: parsePublicKey(alternativeSpki) };
  if (tbs === undefined) return { key: undefined };
  const found = csrAlternative(tbs);
  switch (found.status) {
    case "absent":
      return { key: undefined };
    case "unproven":
      return { refusal: refuse("bad_csr", { reason: "alternative_signature" }) };
    case "proven":
      return { key: found.publicKey };
    default:
      return found satisfies never;
  }
}

/**
 * Why keys and issuer are not those of the profile; a classical profile minds neither, but for
 * logs.
 */
export function algorithmObjection(
  { algorithm, pqcKeyType, ct }: Profile,
  native: PublicKey,
  alternative: PublicKey | undefined,
  issuer: Issuer,
): Objection | undefined {
  if (ct?.enabled === true && issuer.alternative !== undefined) {
    // CT-6: the alternative signature covers the SCT list, so no precertificate could correspond.
    return { gate: "certificate_policy", reason: "a hybrid issuer cannot use transparency logs" };
  }
  if (algorithm === "classical") return undefined;
  const [key, what] = algorithm === "pqc" ? [native, "key"] : [alternative, "alternative key"];
  if (key?.family !== "ml-dsa" || (pqcKeyType !== undefined && key.keyType !== pqcKeyType)) {
    return unsuitable(`the profile wants an ${pqcKeyType ?? "ML-DSA"} ${what}`, key ?? native);
  }
  if (algorithm === "hybrid" && native.family === "ml-dsa") {
    return unsuitable("the profile wants a classical key beside the alternative one", native);
  }
  const issues =
    algorithm === "pqc" ? issuer.signature.startsWith("ml-dsa") : issuer.alternative !== undefined;
  if (issues) return undefined;
  return { gate: "certificate_policy", reason: `the profile wants a ${algorithm} issuer` };
}

const unsuitable = (reason: string, key: PublicKey): Objection => ({
  gate: "certificate_policy",
  code: "key_usage_unsuitable",
  reason,
  facts: { key_type: key.keyType ?? key.family },
});
