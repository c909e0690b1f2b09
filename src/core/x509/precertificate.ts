/** Precertificates: the poison, and what becomes of the octets around it (RFC 6962 §3.1, §3.2). */

import { openSequence } from "#core/asn1/cursor.ts";
import { compareOctets, explicit, nullElement, sequence } from "#core/asn1/der.ts";
import { oids } from "#core/asn1/oids.ts";
import { contextualConstructed, tags } from "#core/asn1/tags.ts";
import { assert } from "#core/problems.ts";

import { encodeExtensions, type Extension } from "./extensions.ts";

/** Makes a certificate unusable for everything but SCTs of logs; critical. */
export const poison = (): Extension => ({
  oid: oids.precertificatePoison,
  critical: true,
  value: nullElement(),
});

/** The TBSCertificate a log's SCT is about: that of the precertificate without its poison. */
export const withoutPoison = (tbs: Uint8Array): Uint8Array =>
  rebuilt(tbs, oids.precertificatePoison, undefined);

/**
 * The TBSCertificate of the final certificate: the SCT list stands where the poison was, or nothing
 * does; every other octet is the same.
 */
export function finalTbs(precertificate: Uint8Array, scts: Extension | undefined): Uint8Array {
  const made = rebuilt(precertificate, oids.precertificatePoison, scts);
  const bare = scts === undefined ? made : rebuilt(made, oids.sctList, undefined);
  const unchanged = compareOctets(bare, withoutPoison(precertificate)) === 0;
  assert(unchanged, "a final certificate says what its precertificate said");
  return made;
}

/**
 * The TBS with the one extension of this OID replaced, or left out; every other element is taken
 * over octet by octet.
 */
function rebuilt(tbs: Uint8Array, oid: string, by: Extension | undefined): Uint8Array {
  const fields = openSequence(tbs);
  const elements: Uint8Array[] = [];
  let found = 0;
  while (!fields.finished) {
    const holder = fields.tag === extensionsTag ? fields.enter(extensionsTag) : undefined;
    if (holder === undefined) {
      elements.push(fields.element());
      continue;
    }
    const extensions: Uint8Array[] = [];
    const list = holder.enter(tags.sequence);
    while (!list.finished) {
      const element = list.element(tags.sequence);
      if (openSequence(element).oid() === oid) {
        found++;
        if (by !== undefined) extensions.push(only(by));
      } else extensions.push(element);
    }
    holder.finish();
    elements.push(explicit(3, sequence(...extensions)));
  }
  assert(found === 1, "the extension to replace occurs once");
  return sequence(...elements);
}

/** The one element of a list with one extension. */
const only = (extension: Extension): Uint8Array =>
  openSequence(encodeExtensions([extension])).element();

const extensionsTag = contextualConstructed(3);
