/**
 * Judges an OCSP answer as a relying party must: signer, signature, certificate asked about, nonce,
 * freshness (RFC 6960 §3.2).
 */

import { DerError } from "#core/asn1/cursor.ts";
import { oids } from "#core/asn1/oids.ts";
import { importPublicKey, verifySignature } from "#core/crypto.ts";
import type { Serial } from "#core/ids.ts";
import { addSeconds, type Instant } from "#core/time.ts";
import { type SignatureName, schemeOf } from "./algorithms.ts";
import { extensionOf, type ParsedCertificate, parseCertificate } from "./certificate.ts";
import { extendedKeyUsages, parseExtendedKeyUsage } from "./extensions.ts";
import { nameText } from "./names.ts";
import { type ParsedOcspResponse, parseOcspResponse } from "./ocsp-responses.ts";

/** What an answer says, and whether it may be believed; `fault` says why not. */
export interface Verdict {
  readonly trusted: boolean;
  readonly fault?: string;
  readonly status: string;
  readonly reason?: string;
  readonly revokedAt?: Instant;
  readonly thisUpdate?: Instant;
  readonly nextUpdate?: Instant;
  /** Subject of the certificate that signed. */
  readonly responder?: string;
  readonly nonce: "none" | "echoed" | "missing";
}

/** What was asked, of whom, and when the answer came. */
export interface Asked {
  readonly issuer: ParsedCertificate;
  readonly serial: Serial;
  readonly nonce: Uint8Array | undefined;
  readonly now: Instant;
}

/**
 * The verdict on a DER answer; an answer that is no OCSP response at all is untrusted like any
 * other.
 */
export function judgeAnswer(der: Uint8Array, asked: Asked): Verdict {
  const untrusted = (fault: string, status = "none"): Verdict => ({
    trusted: false,
    fault,
    status,
    nonce: "none",
  });
  let response: ParsedOcspResponse;
  try {
    response = parseOcspResponse(der);
  } catch (error) {
    if (error instanceof DerError) return untrusted(`it is malformed: ${error.message}.`);
    throw error;
  }
  const { basic } = response;
  if (basic === undefined) return untrusted("the responder gave no answer.", response.status);
  const answer = basic.answers.find(({ serial }) => serial === asked.serial);
  if (answer === undefined) return untrusted("it is about another certificate.");
  const signer = signerOf(basic, asked);
  const nonce = nonceOf(basic.nonce, asked.nonce);
  const { thisUpdate, nextUpdate } = answer;
  const said: Verdict = {
    trusted: true,
    status: answer.status.status,
    thisUpdate,
    nonce,
    ...(nextUpdate === undefined ? {} : { nextUpdate }),
    ...(answer.status.status === "revoked"
      ? { reason: answer.status.reason, revokedAt: answer.status.at }
      : {}),
    ...(signer === undefined ? {} : { responder: nameText(signer.subject) }),
  };
  const fault =
    signer === undefined
      ? "no certificate that may sign for this CA verifies it."
      : (staleness(said, asked.now) ?? nonceFault(nonce));
  return fault === undefined ? said : { ...said, trusted: false, fault };
}

/**
 * The issuer itself, or a certificate in the answer that the issuer signed for OCSP signing and
 * that is valid now (RFC 6960 §4.2.2.2).
 */
function signerOf(
  basic: NonNullable<ParsedOcspResponse["basic"]>,
  asked: Asked,
): ParsedCertificate | undefined {
  const delegates = basic.certificates.map(parsedOrNothing).filter((one) => one !== undefined);
  const candidates = [asked.issuer, ...delegates.filter((one) => mayAnswer(one, asked))];
  return candidates.find(({ spki }) =>
    verifies(spki, basic.signatureName, basic.tbs, basic.signature),
  );
}

function mayAnswer(delegate: ParsedCertificate, { issuer, now }: Asked): boolean {
  const usage = extensionOf(delegate, oids.extKeyUsage);
  return (
    usage !== undefined &&
    parseExtendedKeyUsage(usage.value).includes(extendedKeyUsages.OCSPSigning) &&
    delegate.notBefore <= now &&
    now <= delegate.notAfter &&
    Buffer.compare(delegate.issuer.der, issuer.subject.der) === 0 &&
    verifies(issuer.spki, delegate.signatureName, delegate.tbs, delegate.signature)
  );
}

/**
 * True when the key made the signature over these octets; an algorithm the table does not know
 * verifies nothing.
 */
export function verifies(
  spki: Uint8Array,
  algorithm: SignatureName | undefined,
  message: Uint8Array,
  signature: Uint8Array,
): boolean {
  if (algorithm === undefined) return false;
  return verifySignature(importPublicKey(spki), schemeOf(algorithm), message, signature);
}

function parsedOrNothing(der: Uint8Array): ParsedCertificate | undefined {
  try {
    return parseCertificate(der);
  } catch (error) {
    // A certificate nobody can read signs for nobody.
    if (error instanceof DerError) return undefined;
    throw error;
  }
}

function staleness({ thisUpdate, nextUpdate }: Verdict, now: Instant): string | undefined {
  if (thisUpdate !== undefined && thisUpdate > addSeconds(now, skewSeconds)) {
    return "its thisUpdate lies in the future.";
  }
  if (nextUpdate !== undefined && addSeconds(nextUpdate, skewSeconds) < now) {
    return "its nextUpdate has passed.";
  }
  return undefined;
}

function nonceOf(got: Uint8Array | undefined, sent: Uint8Array | undefined): Verdict["nonce"] {
  if (sent === undefined) return "none";
  return got !== undefined && Buffer.compare(got, sent) === 0 ? "echoed" : "missing";
}

const nonceFault = (nonce: Verdict["nonce"]): string | undefined =>
  nonce === "missing" ? "it does not echo the nonce." : undefined;

/** How far clocks may differ. */
const skewSeconds = 300;
