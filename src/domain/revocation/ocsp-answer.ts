/**
 * Makes one signed OCSP answer out of what is known: when it is true, who says so, and the
 * signature (OCS-2, OCS-6).
 */

import type { Serial } from "#core/ids.ts";
import { addSeconds, type Instant, instant, wholeSecond } from "#core/time.ts";
import { encodeOcspResponse, encodeResponseData, type SingleAnswer } from "#core/x509/ocsp.ts";
import type { OcspSigning } from "./ocsp-signing.ts";
import type { OcspSigner } from "./responder.ts";
import type { CertStatus } from "./store.ts";

/** What is to be said. */
export interface Statement {
  readonly signer: OcspSigner;
  /** DER of each certID as asked, with what is known of its serial. */
  readonly entries: readonly { readonly certId: Uint8Array; readonly certStatus: CertStatus }[];
  readonly nonce: Uint8Array | undefined;
  /** Serial of the first entry: names the artefact when the CA key itself signs. */
  readonly serial: Serial | undefined;
  readonly now: Instant;
  readonly validitySeconds: number;
  readonly backdateSeconds: number;
}

/** A signed answer; `der` is an OCSPResponse. */
export interface SignedAnswer {
  readonly der: Uint8Array;
  readonly times: { readonly thisUpdate: Instant; readonly nextUpdate: Instant };
}

/** Signs a statement. Refuses what the key does: `key_unavailable`, `overloaded`. */
export function signAnswer(
  signing: Pick<OcspSigning, "sign">,
  statement: Statement,
): Promise<SignedAnswer> {
  const { signer, entries, nonce, serial, now } = statement;
  const times = timesOf(statement);
  const { thisUpdate, nextUpdate } = times;
  const answers = entries.map(
    ({ certId, certStatus: status }): SingleAnswer => ({ certId, status, thisUpdate, nextUpdate }),
  );
  const fields = { responder: signer.name, producedAt: wholeSecond(now), answers, nonce };
  const message = encodeResponseData(fields);
  return signing.sign(signer, message, serial).then((signature) => ({
    der: encodeOcspResponse(message, signer.algorithm, signature, signer.certificates),
    times,
  }));
}

/**
 * NextUpdate never outlives the responder's certificate, without which the answer cannot be
 * verified.
 */
function timesOf({ now, validitySeconds, backdateSeconds, signer }: Statement) {
  const nextUpdate = Math.min(addSeconds(wholeSecond(now), validitySeconds), signer.notAfter);
  return {
    thisUpdate: wholeSecond(addSeconds(now, -backdateSeconds)),
    nextUpdate: instant(nextUpdate),
  };
}
