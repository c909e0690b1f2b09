/** Validation of any certificate against a CA of this instance, with revocation from its own records. */

import { compareOctets } from "#core/asn1/der.ts";
import { DerError } from "#core/asn1/cursor.ts";
import { decodePem } from "#core/asn1/pem.ts";
import { type Check, judgePath, type RevocationState, unbuilt } from "#core/policy/validate.ts";
import { refuse } from "#core/problems.ts";
import type { Instant } from "#core/time.ts";
import { type ParsedCertificate, parseCertificate } from "#core/x509/certificate.ts";
import { buildPath } from "#core/x509/path.ts";
import { certificatesOf, pathOf } from "#domain/authorities/signers.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";

export interface ValidationWish {
  /** PEM. */
  readonly certificate: string;
  /** PEM, one certificate each. */
  readonly intermediates: readonly string[];
  readonly skipRevocation: boolean;
}

export interface Validation {
  readonly anchor: ParsedCertificate;
  /** From the certificate to the anchor; the certificate alone where no path was found. */
  readonly path: readonly ParsedCertificate[];
  readonly built: boolean;
  /** One for each certificate of the path. */
  readonly revocation: readonly RevocationState[];
  readonly checks: readonly Check[];
  readonly now: Instant;
}

/** The anchor is the top of the CA's own path. Refuses `bad_certificate`, and `ca_not_active` while the CA has none. */
export async function validate(
  deps: { readonly store: Store; readonly clock: Clock },
  ca: CaRecord,
  wish: ValidationWish,
): Promise<Validation> {
  const { read } = deps.store;
  const now = deps.clock.now();
  const certificate = readCertificate(wish.certificate);
  const given = wish.intermediates.map(readCertificate);
  const members = (await read.cas.lineage(ca.lineage)).filter((one) => one.certificate);
  const paths = await Promise.all(members.map((one) => certificatesOf(read.cas, one)));
  const own = (await certificatesOf(read.cas, ca)).map(parseCertificate);
  const anchor = own.at(-1) ?? certificate;
  const pool = [...paths.flat().map(parseCertificate), ...given];
  const path = buildPath(certificate, pool, [anchor]);
  if (path === undefined) {
    const revocation = [noStatement];
    return { anchor, path: [certificate], built: false, revocation, checks: unbuilt, now };
  }
  const signers = [...members, ...(await pathOf(read.cas, ca))];
  const revocation: RevocationState[] = [];
  for (const [at, one] of path.slice(0, -1).entries()) {
    revocation.push(
      wish.skipRevocation ? skipped : await stateOf(read, signers, one, path[at + 1]),
    );
  }
  const checks = judgePath({ path, revocation, now });
  return { anchor, path, built: true, revocation, checks, now };
}

async function stateOf(
  read: Store["read"],
  signers: readonly CaRecord[],
  certificate: ParsedCertificate,
  issuer: ParsedCertificate | undefined,
): Promise<RevocationState> {
  const signer = signers.find(({ spki }) => issuer && compareOctets(spki, issuer.spki) === 0);
  if (signer === undefined) return noStatement;
  const standing = await read.revocations.standing(signer.id, certificate.serial);
  if (standing.status !== "revoked") return { state: standing.status, source: "store" };
  const state = standing.reason === "certificateHold" ? "held" : "revoked";
  return { state, revokedAt: standing.at, reason: standing.reason, source: "store" };
}

function readCertificate(pem: string): ParsedCertificate {
  const der = decodePem(pem, ["CERTIFICATE"]);
  if (der === undefined) throw refuse("bad_certificate", { reason: "not_pem" });
  try {
    return parseCertificate(der);
  } catch (error) {
    if (error instanceof DerError) throw refuse("bad_certificate", { reason: error.message });
    throw error;
  }
}

const noStatement: RevocationState = { state: "unknown", source: "none" };
const skipped: RevocationState = { state: "skipped", source: "none" };
