/** DNS pinning records in JSON: generated when asked for, with no key operation and no event. */

import { parseSerial } from "#core/ids.ts";
import {
  parseHostName,
  type Pinned,
  tlsaProtocols,
  tlsaRecords,
  zoneText,
} from "#core/policy/pinning.ts";
import { assert, refuse } from "#core/problems.ts";
import { integer, oneOf, optional, otherwise, parsed, text, WrongValue } from "#core/shape.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { type Handler, handler, ok } from "#domain/access/call.ts";
import type { Store } from "#domain/store.ts";
import type { OperationName } from "#operations";

/** Handlers for `dns.*`. */
export function pinningHandlers({ store }: { readonly store: Store }) {
  return {
    "dns.tlsa": handler({
      summary: "TLSA records that pin a CA, and with a serial one of its certificates.",
      path: { id: text() },
      query: {
        host: parsed({ type: "string", format: "hostname" }, hostName),
        port: otherwise(integer(1, 65_535), 443),
        protocol: otherwise(oneOf(tlsaProtocols), "tcp"),
        serial: optional(parsed({ type: "string" }, parseSerial)),
      },
      run: async ({ ca, query }) => {
        assert(ca !== undefined, "an operation on a CA has one");
        const leaf = query.serial && (await store.read.certificates.bySerial(ca.id, query.serial));
        if (query.serial !== undefined && leaf === undefined) throw refuse("not_found");
        if (ca.certificate === undefined) {
          throw refuse("unprocessable", { reason: "the CA has no certificate" });
        }
        const { host, port, protocol } = query;
        const tlsa = tlsaRecords(
          { host, port, protocol },
          pinned(ca.certificate),
          leaf && pinned(leaf.certificate),
        );
        return ok({ tlsa, zone: zoneText(tlsa) });
      },
    }),
  } satisfies Partial<Record<OperationName, Handler>>;
}

const pinned = (certificate: Uint8Array): Pinned => ({
  certificate,
  spki: parseCertificate(certificate).spki,
});

function hostName(given: string): string {
  const name = parseHostName(given);
  if (name === undefined) {
    throw new WrongValue("must be a host name of letters, digits and hyphens");
  }
  return name;
}
