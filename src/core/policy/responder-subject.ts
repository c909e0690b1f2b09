/**
 * The subject of an OCSP responder: its CA's name with another common name, so that what binds the
 * CA binds it (RSP-2).
 */

import { openSequence } from "#core/asn1/cursor.ts";
import { oid, sequence, setOf, utf8String } from "#core/asn1/der.ts";
import { tags } from "#core/asn1/tags.ts";
import { attributeTypes } from "#core/x509/attribute-types.ts";
import { commonName, type Name, parseName } from "#core/x509/names.ts";

import { pathViolations } from "./name-constraints.ts";
import type { Issuer } from "./plan.ts";

/**
 * The CA's distinguished name, octet by octet, but for the common name, which becomes "<CA's> OCSP
 * Responder" with the CA's cut to fit 64 characters. Where constraints above forbid that, the
 * nearest name they allow: without e-mail addresses, below a permitted directory name, or the
 * common name alone. Where they allow none of these it is the first, and the gate says why not.
 */
export function responderSubject({
  subject,
  constraints,
}: Pick<Issuer, "subject" | "constraints">): Name {
  const common = responderCommonName(commonName(parseName(subject)));
  const bases = constraints.flatMap(({ permitted }) => permitted.dirNames);
  const wanted = renamed(subject, common, []);
  const others = [
    renamed(subject, common, [attributeTypes.emailAddress[0]]),
    ...bases.map((base) => renamed(base, common, [])),
    renamed(nobody, common, []),
  ];
  const allowed = (name: Name) =>
    pathViolations({ subject: name, sans: [], forServers: false }, constraints).length === 0;
  return [wanted, ...others].find(allowed) ?? wanted;
}

/**
 * RFC 5280 appendix A.1 bounds a common name at 64 characters; control characters of an imported CA
 * stay behind.
 */
function responderCommonName(ca: string): string {
  const plain = [...ca.replace(/\p{Cc}/gu, "").trim()];
  const kept = plain
    .slice(0, commonNameMax - suffix.length - 1)
    .join("")
    .trimEnd();
  return kept === "" ? suffix : `${kept} ${suffix}`;
}

/**
 * The name with this common name in the place of its last one, or else at its end; without the
 * types `less`.
 */
function renamed(der: Uint8Array, common: string, less: readonly string[]): Name {
  const own: Member = {
    type: commonNameOid,
    der: sequence(oid(commonNameOid), utf8String(common)),
  };
  const rdns = rdnsOf(der);
  const place = rdns.findLastIndex((members) => members.some(isCommonName));
  const kept = rdns.map((members, index) => {
    const others = members.filter((member) => !isCommonName(member) && !less.includes(member.type));
    return index === place ? [...others, own] : others;
  });
  if (place < 0) kept.push([own]);
  const sets = kept.filter(({ length }) => length > 0);
  return parseName(sequence(...sets.map((members) => setOf(members.map((member) => member.der)))));
}

/** One attribute of a relative distinguished name as it is encoded. */
interface Member {
  /** Dotted OID. */
  readonly type: string;
  readonly der: Uint8Array;
}

function rdnsOf(der: Uint8Array): readonly (readonly Member[])[] {
  const rdns: Member[][] = [];
  const names = openSequence(der);
  while (!names.finished) {
    const members: Member[] = [];
    const rdn = names.enter(tags.set);
    while (!rdn.finished) {
      const octets = rdn.element(tags.sequence);
      members.push({ type: openSequence(octets).oid(), der: octets });
    }
    rdns.push(members);
  }
  return rdns;
}

const isCommonName = ({ type }: Member): boolean => type === commonNameOid;

const commonNameOid = attributeTypes.CN[0];
const commonNameMax = 64;
const suffix = "OCSP Responder";
const nobody = sequence();
