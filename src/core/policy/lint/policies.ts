/** Reads the policies of a certificate with what the lint rules ask of them (RFC 5280 §4.2.1.4). */

import { openSequence } from "#core/asn1/cursor.ts";
import { oids } from "#core/asn1/oids.ts";
import { tags } from "#core/asn1/tags.ts";

/** One policy with the CPS addresses it carries. */
export interface LintedPolicy {
  readonly oid: string;
  readonly cps: readonly string[];
}

/** Reads certificatePolicies; throws DerError. */
export function readPolicies(value: Uint8Array): readonly LintedPolicy[] {
  const policies: LintedPolicy[] = [];
  const list = openSequence(value);
  while (!list.finished) {
    const information = list.enter(tags.sequence);
    const oid = information.oid();
    const cps: string[] = [];
    const qualifiers = information.enterOptional(tags.sequence);
    while (qualifiers !== undefined && !qualifiers.finished) {
      const qualifier = qualifiers.enter(tags.sequence);
      if (qualifier.oid() !== oids.policyCps) continue;
      cps.push(ascii.decode(qualifier.content(tags.ia5String)));
    }
    information.finish();
    policies.push({ oid, cps });
  }
  return policies;
}

const ascii = new TextDecoder();
