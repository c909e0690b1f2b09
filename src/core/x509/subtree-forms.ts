/**
 * How the base of a name constraint may be spelled (RFC 5280 §4.2.1.10); any other spelling means
 * nothing certain.
 */

import { endsInNumber } from "./addresses.ts";

/** A domain, with a dot in front for what lies below it only; empty text is every name. */
export const isDnsBase = (base: string): boolean => base === "" || isHostOrBelow(base);

/** A mailbox, a host, or a domain with a dot in front for the hosts below it. */
export function isEmailBase(base: string): boolean {
  const at = base.lastIndexOf("@");
  if (at < 0) return isHostOrBelow(base);
  return isHost(base.slice(at + 1)) && localPart.test(base.slice(0, at));
}

/** A host, or a domain with a dot in front for the hosts below it. */
export const isUriBase = isHostOrBelow;

/** Empty text is not among them: to some software it is every host, to some none. */
function isHostOrBelow(text: string): boolean {
  return isHost(text.replace(/^\./, ""));
}

/** Labels of letters, digits, hyphens and underscores, the last of them no number. */
export function isHost(text: string): boolean {
  return (
    text.length <= hostMax &&
    text.split(".").every((part) => label.test(part)) &&
    !endsInNumber(text)
  );
}

/** Characters of the longest host name (RFC 1035 §3.1, without the length octets). */
export const hostMax = 253;

const label = /^[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?$/;
const localPart = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}$/;
