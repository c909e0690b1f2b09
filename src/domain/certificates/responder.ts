/**
 * Certificates of OCSP responders, through the same ceremony as every other (RFC 6960 §4.2.2.2).
 */

import type { Plan } from "#core/policy/plan.ts";
import { responderPolicies } from "#core/policy/certificate-policy.ts";
import { responderSubject } from "#core/policy/responder-subject.ts";
import type { Instant } from "#core/time.ts";
import { certificatePolicies, type Extension } from "#core/x509/extensions.ts";
import { parsePublicKey } from "#core/x509/public-keys.ts";
import type { CaSigners } from "#domain/authorities/signers.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { Clock } from "#domain/ports.ts";
import type { Unit } from "#domain/store.ts";
import type { Ceremony } from "./ceremony.ts";
import type { CertificateRecord } from "./store.ts";

/** What the responder wants certified; `also` runs in the unit that stores the certificate. */
export interface ResponderRequest {
  readonly ca: CaRecord;
  readonly spki: Uint8Array;
  readonly notBefore: Instant;
  readonly notAfter: Instant;
  readonly extensions: readonly Extension[];
  readonly also: (tx: Unit, certificate: CertificateRecord) => Promise<void>;
}

/**
 * Certifies a responder key, also for a superseded or retired CA, whose certificates still need
 * answers. The ledger lists it; no event does, for the inventory of leaves is unchanged. Refuses
 * `ca_not_active`, `gate_refused`, `key_unavailable`.
 */
export async function certifyResponder(
  deps: { readonly signers: CaSigners; readonly ceremony: Ceremony; readonly clock: Clock },
  request: ResponderRequest,
): Promise<CertificateRecord> {
  const now = deps.clock.now();
  const signer = await deps.signers.unexpired(request.ca, now);
  const policies = responderPolicies(signer.issuer);
  const plan: Plan = {
    kind: "responder",
    profile: "",
    sans: [],
    clamped: undefined,
    subject: responderSubject(signer.issuer),
    publicKey: parsePublicKey(request.spki),
    notBefore: request.notBefore,
    notAfter: request.notAfter,
    keyUsages: ["digitalSignature"],
    extKeyUsages: ["OCSPSigning"],
    mustStaple: false,
    // Where a relying party would refuse a responder without a policy, as it would any other
    // certificate of this CA.
    extensions:
      policies.length === 0
        ? request.extensions
        : request.extensions.concat(certificatePolicies({ oids: policies }, false)),
  };
  return await deps.ceremony.certify({
    signer,
    plan,
    objections: [],
    profile: undefined,
    now,
    marker: "",
    kind: "responder",
    purpose: "responder_certificate",
    tenant: request.ca.tenant,
    requestedBy: "system:ocsp",
    after: request.also,
    issued: () => [],
    refused: () => [],
    failed: () => [],
  });
}
