/**
 * Which host or address software may read out of a common name, however it is spelled (RFC 6125
 * §1.8, §6.4.4).
 */

import { canonicalDnsName, endsInNumber, ipText, parseIpAddress } from "#core/x509/addresses.ts";

/**
 * What a common name may be taken for. `unclear` reads as a host, but software disagrees which: a
 * number that is an address to some (`127.1`), or labels that cannot be spelled in ASCII; whoever
 * judges names refuses it.
 */
export interface HostReading {
  readonly kind: "dns" | "ip" | "unclear";
  /**
   * A DNS name in lower case without final dot, an address as RFC 5952 spells it, else as it was
   * given.
   */
  readonly text: string;
}

/**
 * Reads a common name as the most generous software does: outer blanks of any kind, final dots and
 * the brackets of an address do not hide a host. Undefined for texts nobody takes for one: with an
 * inner blank, or of one label other than `localhost`.
 */
export function hostIn(commonName: string): HostReading | undefined {
  const bare = bareOf(commonName);
  const address = parseIpAddress(/^\[(.*)\]$/s.exec(bare)?.[1] ?? bare);
  if (address !== undefined) return { kind: "ip", text: ipText(address) };
  if (bare.toLowerCase() === "localhost") return { kind: "dns", text: "localhost" };
  return dotted.test(bare) ? nameIn(bare) : undefined;
}

/**
 * As `hostIn`, and a single label too: where a certificate for TLS servers has no names but this
 * one, software falls back to it, and `intranet` is a host like any other.
 */
export function onlyHostIn(commonName: string): HostReading | undefined {
  const found = hostIn(commonName);
  if (found !== undefined) return found;
  const label = withoutOuter(withoutOuter(commonName, invisible), dot);
  return oneLabel.test(label) ? nameIn(label) : undefined;
}

function nameIn(text: string): HostReading {
  const name = canonicalDnsName(text);
  if (name === undefined || endsInNumber(name)) return { kind: "unclear", text };
  return { kind: "dns", text: name };
}

/** Without outer blanks and dots, all dots being full stops. */
function bareOf(commonName: string): string {
  if (bareAlready.test(commonName) && !commonName.endsWith(".")) return commonName;
  return withoutOuter(withoutOuter(commonName, invisible).replaceAll(foreignDots, "."), dot);
}

/** By hand, for a regular expression that looks for the end takes the square of the length. */
function withoutOuter(text: string, outer: RegExp): string {
  const characters = [...text];
  let [start, end] = [0, characters.length];
  while (start < end && outer.test(characters[start] ?? "")) start++;
  while (end > start && outer.test(characters[end - 1] ?? "")) end--;
  return characters.slice(start, end).join("");
}

/** Visible ASCII that begins with no dot: what nearly all names are. */
const bareAlready = /^[\x21-\x2d\x2f-\x7e][\x21-\x7e]*$/;
/** Blanks, no-break and zero-width ones too, and what has no shape at all. */
const invisible = /^[\s\p{Z}\p{C}]$/u;
const dot = /^\.$/;
/** RFC 3490 §3.1: full stops in an internationalised name. */
const foreignDots = /[\u3002\uff0e\uff61]/g;
const dotted = /^(?:\*\.)?[^\s.@:/]+(?:\.[^\s.@:/]+)+$/;
const oneLabel = /^[^\s.@:/]+$/;
