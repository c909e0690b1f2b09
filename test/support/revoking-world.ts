/** The world of issuance with revocation beside it, so that one CA signs certificates, CRLs and OCSP answers. */

import type { Serial } from "#core/ids.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { encodeOcspRequest } from "#core/x509/ocsp.ts";
import { parseOcspResponse } from "#core/x509/ocsp-responses.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import { certifyResponder } from "#domain/certificates/responder.ts";
import { openRevocation } from "#domain/revocation/open.ts";

import { issuanceWorld, type WorldOptions } from "./issuance.ts";
import { revocationDefaults } from "./small-ca.ts";

/** Both halves, wired as the application wires them; with `activating` a new CA gets its responder at once, as there. */
export function revokingWorld(options: WorldOptions & { readonly activating?: boolean } = {}) {
  const world = issuanceWorld(options);
  const { store, keys, clock, random } = world;
  const { shards = 0, urlBase } = options;
  const failures: unknown[] = [];
  const revocation = openRevocation({
    ...{ store, keys, clock, random, wake: () => {} },
    settings: { ...revocationDefaults, crl: { ...revocationDefaults.crl, shards, urlBase } },
    stillMay: world.stillMay,
    publicProfile: () => false,
    counts: { add: () => {} },
    clockAhead: () => false,
    clockBelieved: () => true,
    signCertificate: (wish) => certifyResponder(world, wish),
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
