/** DNS pinning records in JSON: generated when asked for, with no key operation and no event. */

import { serialField } from "./fields.ts";
import {
  parseHostName,
  type Pinned,
  tlsaProtocols,
  tlsaRecords,
  zoneText,
} from "#core/policy/pinning.ts";
import { assert, refuse } from "#core/problems.ts";
import {
  integer,
  many,
  oneOf,
  optional,
  otherwise,
  parsed,
  shape,
  words,
  WrongValue,
} from "#core/shape.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { type Definition, operation } from "#domain/access/operation.ts";
import { theCa } from "#domain/access/targets.ts";
import { findInLineage } from "#domain/certificates/lineage.ts";
import type { Store } from "#domain/store.ts";
import type { OperationName } from "#operations";

/** Handlers for `dns.*`. */
export function pinningHandlers({ store }: { readonly store: Store }) {
  return {
    "dns.tlsa": operation({
      summary: "TLSA records that pin a CA, and with a serial one of its certificates.",
      target: theCa,
      input: {
        host: parsed({ type: "string", format: "hostname" }, hostName),
        port: otherwise(integer(1, 65_535), 443),
        protocol: otherwise(oneOf(tlsaProtocols), "tcp"),
        serial: optional(serialField),
      },
      output: recordsShape,
      refuses: ["unprocessable"],
      run: async ({ ca, input }) => {
        assert(ca !== undefined, "an operation on a CA has one");
        const { serial } = input;
        const found =
          serial === undefined ? undefined : await findInLineage(store.read, ca, serial);
        if (serial !== undefined && found === undefined) throw refuse("not_found");
        const leaf = found?.certificate;
        // DNS-1: usages 0 and 2 describe the issuer.
        const issuer = found === undefined ? ca.certificate : found.issuer.certificate;
        if (leaf?.certificate.length === 0) {
          throw refuse("unprocessable", { reason: "the certificate was pruned" });
        }
        if (issuer === undefined) {
          throw refuse("unprocessable", { reason: "the CA has no certificate" });
        }
        const { host, port, protocol } = input;
        const tlsa = tlsaRecords(
          { host, port, protocol },
          pinned(issuer),
          leaf && pinned(leaf.certificate),
        );
        return { tlsa, zone: zoneText(tlsa) };
      },
    }),
  } satisfies Partial<Record<OperationName, Definition>>;
}

const recordShape = shape({
  name: words(),
  usage: integer(0, 3),
  selector: integer(0, 1),
  matching_type: integer(0, 1),
  data: words({ pattern: "^[0-9a-f]+$" }),
  zone: words(),
});
const recordsShape = shape({ tlsa: many(recordShape), zone: words() });

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
