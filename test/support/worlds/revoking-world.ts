/**
 * The world of issuance with revocation beside it, so that one CA signs certificates, CRLs and OCSP
 * answers.
 */

import type { Serial } from "#core/ids.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { encodeOcspRequest } from "#core/x509/ocsp.ts";
import { parseOcspResponse } from "#core/x509/ocsp-responses.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import { certifyResponder } from "#domain/certificates/responder.ts";
import { openRevocation } from "#domain/revocation/open.ts";

import { issuanceWorld, type WorldOptions } from "./issuance.ts";
import { revocationDefaults } from "./small-ca.ts";

export interface RevokingOptions extends WorldOptions {
  /** A new CA gets its responder at once, as in the application. */
  readonly activating?: boolean;
  /** `ocsp.delegated`. */
  readonly delegated?: boolean;
}

/** Both halves, wired as the application wires them. */
export function revokingWorld(options: RevokingOptions = {}) {
  const world = issuanceWorld(options);
  const { store, keys, clock, random } = world;
  const { shards = 0, urlBase, delegated = true } = options;
  const failures: unknown[] = [];
  const sections = {
    ...revocationDefaults,
    crl: { ...revocationDefaults.crl, shards, base_url: urlBase },
    ocsp: { ...revocationDefaults.ocsp, delegated },
  };
  const revocation = openRevocation(sections, {
    store,
    keys,
    clock,
    random,
    signing: world.signing,
    wake: () => {},
    stillMay: world.stillMay,
    publicProfile: () => false,
    counts: { add: () => {} },
    clockAhead: () => false,
    clockBelieved: () => true,
    crlFiles: undefined,
    signCertificate: (request) => certifyResponder(world, request),
    onFailure: (_what, error) => failures.push(error),
  });
  if (options.activating) world.activation.run = (ca) => revocation.responders.ensure(ca);
  const ocsp = async (ca: CaRecord, serial: Serial) => {
    const certificate = parseCertificate(ca.certificate ?? new Uint8Array(0));
    const issuer = { issuerName: certificate.subject.der, issuerSpki: certificate.spki };
    const question = encodeOcspRequest({ ...issuer, serial, hash: "sha1", nonce: undefined });
    const { basic } = parseOcspResponse((await revocation.ocsp.answer(ca.id, question)).der);
    if (basic === undefined) throw new Error(`no answer: ${failures.map(String).join()}`);
    return basic;
  };
  return { ...world, ...revocation, failures, askOcsp: ocsp };
}
