/**
 * What an order asks to be certified: DNS names and addresses (ORD-1; RFC 8555 §7.1.3, RFC 8738).
 */

import { refuse } from "#core/problems.ts";
import { endsInNumber, ipText, isALabel, parseIpAddress } from "#core/x509/addresses.ts";

import type { AcmeType, FoundProblem } from "./problems.ts";
import { isMembers } from "./strict-json.ts";

/** A name or address in its one spelling; a `dns` value may begin with `*.` where it is ordered. */
export type Identifier =
  /** Lower-case letters, digits and hyphens in labels, without final dot. */
  | { readonly type: "dns"; readonly value: string }
  /** As `ipText` writes it (RFC 5952). */
  | { readonly type: "ip"; readonly value: string };

/** What an order may ask for. */
export interface IdentifierLimits {
  /** Identifiers of one order, duplicates aside. */
  readonly max: number;
  readonly allowIp: boolean;
}

/**
 * Reads the member `identifiers`: lower-cased, duplicates merged, in the order they were asked for.
 * Refuses `acme_malformed` for what is no list of them and for none or more than `max`,
 * `acme_unsupported_identifier` when all that cannot be certified are of other types, else
 * `acme_rejected_identifier`; both name every one of them.
 */
export function readIdentifiers(value: unknown, limits: IdentifierLimits): readonly Identifier[] {
  const asked = askedFor(value);
  if (asked.length === 0) throw malformed("no identifiers are asked for");
  if (asked.length > limits.max) {
    throw malformed(`more than ${limits.max} identifiers are asked for`);
  }
  const named = new Map<string, Identifier>();
  const subproblems: FoundProblem[] = [];
  for (const one of asked) {
    const judgement = judged(one, limits);
    if ("detail" in judgement) subproblems.push(judgement);
    // Addresses have many spellings, so that some become duplicates only now.
    else named.set(keyOf(judgement), judgement);
  }
  if (subproblems.length > 0) throw refusalOf(subproblems);
  return [...named.values()];
}

/**
 * What is wrong with a name that is to be certified, `*.` in front allowed; undefined for
 * lower-case labels of letters, digits and inner hyphens, the last of them no number, U-labels as
 * A-labels.
 */
export function dnsNameFault(name: string): string | undefined {
  const host = isWildcard(name) ? name.slice(2) : name;
  if (host.includes("*")) return "A wildcard stands for the whole first label only.";
  if (name.length > nameMax) return "The name is longer than 253 characters.";
  if (parseIpAddress(host) !== undefined) return "An IP address is no DNS name.";
  const labels = host.split(".");
  if (!labels.every((label) => labelForm.test(label))) {
    return "A label is empty, too long, or has other characters than letters, digits and hyphens.";
  }
  if (endsInNumber(host)) return "The last label is a number, which software reads as an address.";
  if (labels.some((label) => reservedForm.test(label) && !isEncoded(label))) {
    return "A label with hyphens in third and fourth place is no valid A-label.";
  }
  return undefined;
}

/** True for a name that stands for all names one label longer. */
export const isWildcard = (name: string): boolean => name.startsWith("*.");

/** The identifier whose control is to be proven: a wildcard's name without `*.`. */
export const provenIdentifier = ({ type, value }: Identifier): Identifier => ({
  type,
  value: type === "dns" && isWildcard(value) ? value.slice(2) : value,
});

/**
 * The name under which the DNS knows an address, for instance `1.2.0.192.in-addr.arpa`: RFC 8738 §6
 * has tls-alpn-01 ask for it. `ip` is an address.
 */
export function reverseName(ip: string): string {
  const octets = parseIpAddress(ip) ?? new Uint8Array();
  if (octets.length === 4) return `${[...octets].reverse().join(".")}.in-addr.arpa`;
  return `${[...octets.toHex()].reverse().join(".")}.ip6.arpa`;
}

interface Asked {
  readonly type: string;
  readonly value: string;
}

/** Lower-cased and without what is asked for twice, before anything else costs time. */
function askedFor(value: unknown): readonly Asked[] {
  if (!Array.isArray(value)) throw malformed("identifiers are not a list");
  const asked = new Map<string, Asked>();
  const entries: readonly unknown[] = value;
  for (const entry of entries) {
    const members = isMembers(entry) ? entry : {};
    const { type, value: text } = members;
    if (typeof type !== "string" || typeof text !== "string") {
      throw malformed("an identifier has no type or no value");
    }
    const lower = text.toLowerCase();
    const one = { type, value: lower };
    asked.set(keyOf(one), one);
  }
  return [...asked.values()];
}

function judged({ type, value }: Asked, { allowIp }: IdentifierLimits): Identifier | FoundProblem {
  if (type === "dns") {
    const fault = dnsNameFault(value);
    return fault === undefined ? { type, value } : found("rejectedIdentifier", fault, type, value);
  }
  if (type !== "ip" || !allowIp) {
    const detail = "Identifiers of this type are not certified here.";
    return found("unsupportedIdentifier", detail, type, value);
  }
  const octets = parseIpAddress(value);
  if (octets === undefined) {
    return found("rejectedIdentifier", "This is not an IP address.", type, value);
  }
  return { type, value: ipText(octets) };
}

const found = (type: AcmeType, detail: string, asked: string, value: string): FoundProblem => ({
  type,
  detail,
  identifier: { type: shown(asked), value: shown(value) },
});

function refusalOf(subproblems: readonly FoundProblem[]) {
  const isRejection = subproblems.some(({ type }) => type === "rejectedIdentifier");
  return refuse(isRejection ? "acme_rejected_identifier" : "acme_unsupported_identifier", {
    subproblems,
  });
}

const keyOf = ({ type, value }: Asked): string => JSON.stringify([type, value]);

/** As much as the longest name takes: an answer does not grow much beyond its request. */
const shown = (text: string): string => text.slice(0, nameMax + 2);

/** True for an A-label that is what its U-label is spelled as (RFC 5891 §5.4). */
const isEncoded = (label: string): boolean => label.startsWith("xn--") && isALabel(label);

const malformed = (reason: string) => refuse("acme_malformed", { reason });

/** RFC 1035 §2.3.4. */
const nameMax = 253;
const labelForm = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
/** RFC 5890 §2.3.1: what begins like an A-label is one, or nothing. */
const reservedForm = /^..--/;
