/** Reads a published list as a relying party does: who signed it, how old it is, whom it names. */

import type { Serial } from "#core/ids.ts";
import type { Instant } from "#core/time.ts";
import { nextTurn } from "#core/turns.ts";
import type { ParsedCertificate } from "#core/x509/certificate.ts";
import { type OpenedCrl, openCrl } from "#core/x509/crl.ts";
import { signedByAside } from "#core/x509/signed-by.ts";
import type { CrlPublisher } from "#domain/revocation/crl.ts";
import type { CrlHead } from "#domain/revocation/store.ts";
import { WrongAnswer } from "./stages.ts";

/** Whose list it is to be, and what is looked for on it. */
export interface ListQuestion {
  /** The certificate of the CA. */
  readonly issuer: ParsedCertificate;
  readonly serial: Serial;
  readonly now: Instant;
}

/**
 * Whether the list names the serial; undefined for one of more than 64 MiB, which is not read.
 * Throws `WrongAnswer` for a list that the CA has not signed or that is not good at `now`, and
 * `DerError` for what is no list.
 */
export async function namedOn(
  publisher: Pick<CrlPublisher, "der">,
  head: CrlHead,
  { issuer, serial, now }: ListQuestion,
): Promise<boolean | undefined> {
  if (head.size > readBytesMax) {
    requireGood(head, now);
    return undefined;
  }
  const list = openCrl(await publisher.der(head));
  if (Buffer.compare(list.issuer, issuer.subject.der) !== 0) {
    throw new WrongAnswer("the list is of another CA");
  }
  if (!(await signedByAside(list, issuer.spki))) {
    throw new WrongAnswer("the list is not signed by the CA");
  }
  requireGood(list, now);
  return await names(list, serial);
}

function requireGood(
  { thisUpdate, nextUpdate }: Pick<OpenedCrl, "thisUpdate" | "nextUpdate">,
  now: Instant,
): void {
  if (thisUpdate > now) throw new WrongAnswer("the list begins in the future");
  if (nextUpdate === undefined || nextUpdate <= now) {
    throw new WrongAnswer("the list is past its nextUpdate");
  }
}

/** A hold that was taken off is named on a delta too, and is none. */
async function names(list: OpenedCrl, serial: Serial): Promise<boolean> {
  let read = 0;
  for (const entry of list.entries()) {
    if (entry.serial === serial) return entry.reason !== "removeFromCRL";
    if (++read % entriesPerTurn === 0) await nextTurn();
  }
  return false;
}

const readBytesMax = 64 * 1024 * 1024;
const entriesPerTurn = 1000;
