/** Which identifiers a credential or directory permits (EAB-3, P-5). */

import { parseIpAddress } from "#core/x509/addresses.ts";
import { parseCidr } from "#core/x509/name-constraints.ts";

import { type Identifier, isWildcard, provenIdentifier } from "./identifiers.ts";

/** What may be asked for; without suffix, range and `anyIdentifier` nothing. */
export interface NamePolicy {
  /** Each permits its own name and all below it. */
  readonly dnsSuffixes: readonly string[];
  /** CIDR. */
  readonly ipRanges: readonly string[];
  /** Without it no wildcard is permitted, whatever else is. */
  readonly allowWildcards: boolean;
  /** Every name and address, whatever the lists say. */
  readonly anyIdentifier: boolean;
}

/** True when the identifier lies within the policy; both are in their one spelling. */
export function permits(policy: NamePolicy, identifier: Identifier): boolean {
  const { type, value } = identifier;
  if (type === "ip") return policy.anyIdentifier || policy.ipRanges.some(ranges(value));
  if (isWildcard(value) && !policy.allowWildcards) return false;
  const name = provenIdentifier(identifier).value;
  return policy.anyIdentifier || policy.dnsSuffixes.some((suffix) => isWithinSuffix(name, suffix));
}

/** Every identifier that the policy does not permit, in their order. */
export const refusedBy = (
  policy: NamePolicy,
  identifiers: readonly Identifier[],
): readonly Identifier[] => identifiers.filter((identifier) => !permits(policy, identifier));

/** At a boundary of labels: `badexample.com` is not below `example.com`, and nothing below "". */
function isWithinSuffix(name: string, suffix: string): boolean {
  const base = suffix.toLowerCase();
  return base !== "" && (name === base || name.endsWith(`.${base}`));
}

/** An IPv4 address lies in no IPv6 range, also not as it would be mapped. */
function ranges(address: string): (range: string) => boolean {
  const octets = parseIpAddress(address);
  return (range) => {
    const block = parseCidr(range);
    if (octets === undefined || block?.length !== 2 * octets.length) return false;
    const mask = block.subarray(octets.length);
    return octets.every((octet, at) => (octet & (mask[at] ?? 0)) === (block[at] ?? 0));
  };
}
