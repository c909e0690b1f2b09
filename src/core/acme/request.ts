/** Whether a certification request asks for what its order is about and nothing else (FIN-2). */

import { canonicalDnsName, ipText, parseIpAddress } from "#core/x509/addresses.ts";
import type { CertificationRequest } from "#core/x509/csr.ts";
import { encodeName } from "#core/x509/names.ts";

import type { Identifier } from "./identifiers.ts";

/**
 * Why the request cannot be used for the order, as a phrase for the subscriber; undefined when its
 * names are those of the order exactly. That its signature verifies and its key is acceptable is
 * for others to say.
 */
export function judgeCsr(
  csr: Pick<CertificationRequest, "subject" | "sans" | "unsupportedNames">,
  identifiers: readonly Identifier[],
): string | undefined {
  if (csr.unsupportedNames.length > 0 || csr.sans.some(({ kind }) => !kinds.has(kind))) {
    return "it has a subject alternative name that is neither a DNS name nor an IP address";
  }
  const names = new Set(csr.sans.filter(({ kind }) => kind === "dns").map(({ value }) => value));
  const addresses = new Set(csr.sans.filter(({ kind }) => kind === "ip").map(({ value }) => value));
  const orderedOf = (of: Identifier["type"]) =>
    new Set(identifiers.filter(({ type }) => type === of).map(({ value }) => value));
  const [orderedNames, orderedAddresses] = [orderedOf("dns"), orderedOf("ip")];
  for (const { type, value } of csr.subject.attributes) {
    if (type !== "CN" || addresses.has(addressIn(value))) continue;
    // RFC 8555 §7.4: a name may stand in the common name alone.
    const name = canonicalDnsName(value);
    if (name === undefined || !orderedNames.has(name)) {
      return "its common name is none of the order's identifiers";
    }
    names.add(name);
  }
  return differenceOf(names, orderedNames) ?? differenceOf(addresses, orderedAddresses);
}

/**
 * What the certificate names: each identifier of the order as a subject alternative name, wherever
 * the request has it, and in the subject the common names of a request that was judged. Whatever
 * else its subject says nobody has proved.
 */
export function orderedIdentity(
  { subject }: Pick<CertificationRequest, "subject">,
  identifiers: readonly Identifier[],
): Pick<CertificationRequest, "subject" | "sans"> {
  return {
    subject: encodeName(subject.attributes.filter(({ type }) => type === "CN")),
    sans: identifiers.map(({ type: kind, value }) => ({ kind, value })),
  };
}

function differenceOf(asked: ReadonlySet<string>, ordered: ReadonlySet<string>) {
  for (const value of asked) {
    if (!ordered.has(value)) return "it has a name that the order does not have";
  }
  return asked.size === ordered.size ? undefined : "it lacks a name that the order has";
}

/** An address in its one spelling; empty text, which is none, for anything else. */
function addressIn(text: string): string {
  const octets = parseIpAddress(text);
  return octets === undefined ? "" : ipText(octets);
}

const kinds: ReadonlySet<string> = new Set(["dns", "ip"]);
