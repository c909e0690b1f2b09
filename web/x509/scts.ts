/** The promises of transparency logs that a certificate carries (RFC 6962 §3.3). */

import { readWhole } from "#core/asn1/cursor.ts";
import { Octets } from "#core/transparency/octets.ts";
import { hexOf, type Line, line } from "./decoded.ts";

export interface FoundSct {
  /** SHA-256 of the log's key, in hexadecimal. */
  readonly logId: string;
  readonly at: string;
}

/** Reads the value of the extension. Throws DerError, or MalformedStructure. */
export function parseScts(value: Uint8Array): readonly FoundSct[] {
  const whole = new Octets(readWhole(value, (cursor) => cursor.octetString()));
  const list = new Octets(whole.vector(2));
  const found: FoundSct[] = [];
  while (!list.finished) {
    const sct = new Octets(list.vector(2));
    // A version other than the first is passed over: nobody has defined what follows it.
    if (sct.number(1) !== 0) continue;
    const logId = hexOf(sct.take(32));
    const at = new Date(sct.number(8));
    if (!Number.isNaN(at.getTime())) found.push({ logId, at: at.toISOString() });
  }
  return found;
}

export const sctLines = (value: Uint8Array): readonly Line[] =>
  parseScts(value).flatMap(({ logId, at }) => [
    line("Log", { as: "hex", text: logId }),
    line("Promised", { as: "time", text: at }),
  ]);
