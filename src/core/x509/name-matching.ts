/**
 * Whether a distinguished name lies below another, compared as RFC 5280 §7.1 wants: prepared by RFC
 * 4518.
 */

import { openSequence } from "#core/asn1/cursor.ts";
import { decodeText, isTextTag } from "#core/asn1/strings.ts";
import { tags } from "#core/asn1/tags.ts";

/**
 * The RDNs of a name, ready to be compared as they are; `comparable` is false where a value has
 * characters that comparison is not defined for, which equals nothing. Takes DER of a Name; throws
 * DerError.
 */
export function preparedName(name: Uint8Array): {
  readonly rdns: readonly string[];
  readonly comparable: boolean;
} {
  const rdns = rdnsOf(name);
  const comparable = rdns.every((rdn) => rdn.every(({ value }) => value !== undefined));
  return { rdns: rdns.map(keyOf), comparable };
}

/**
 * Stands for a name wherever issuers are looked for: names that RFC 5280 §7.1 calls equal have one
 * key, all others another. A name with characters that comparison is not defined for equals itself
 * alone. Throws DerError.
 */
export function nameMatchKey(der: Uint8Array): string {
  const rdns = rdnsOf(der);
  const isDefined = rdns.flat().every(({ value }) => value !== undefined);
  return isDefined ? JSON.stringify(rdns.map(keyOf)) : der.toHex();
}

/**
 * A value as it is compared (RFC 4518 §2): mapped, case folded, in form NFKC, without outer blanks,
 * inner ones single. Undefined for prohibited characters, with which nothing is equal (RFC 4518
 * §2.4).
 */
export function preparedValue(text: string): string | undefined {
  const mapped = text.replaceAll(blank, " ").replaceAll(nothing, "");
  const folded = fold(fold(mapped).normalize("NFKC")).normalize("NFKC");
  if (prohibited.test(folded)) return undefined;
  return folded
    .split(" ")
    .filter((word) => word !== "")
    .join(" ");
}

interface Attribute {
  /** Dotted OID. */
  readonly type: string;
  /** Undefined: nothing is equal to it. */
  readonly value: string | undefined;
}

function rdnsOf(der: Uint8Array): readonly (readonly Attribute[])[] {
  const rdns: Attribute[][] = [];
  const names = openSequence(der);
  while (!names.finished) {
    const set = names.enter(tags.set);
    const rdn: Attribute[] = [];
    do {
      const attribute = set.enter(tags.sequence);
      const type = attribute.oid();
      const { tag } = attribute;
      const value = isTextTag(tag)
        ? preparedValue(decodeText(tag, attribute.content(tag)))
        : `#${attribute.element().toHex()}`;
      attribute.finish();
      rdn.push({ type, value });
    } while (!set.finished);
    rdns.push(rdn);
  }
  return rdns;
}

/** An RDN is a set (X.501 §9.3); a value nothing is equal to makes a key of its own. */
const keyOf = (rdn: readonly Attribute[]): string =>
  JSON.stringify(rdn.map(({ type, value }) => JSON.stringify([type, value ?? null])).sort());

/** Full case folding as far as it matters for equality: `ß` is `ss`, a final sigma is a sigma. */
const fold = (text: string): string => text.toUpperCase().toLowerCase().replaceAll("ς", "σ");

/**
 * RFC 4518 §2.2: separators, and the control characters that part words or lines, are mapped to a
 * space.
 */
const blank = /[\p{Z}\t\n\v\f\r\u0085]/gu;
/**
 * RFC 4518 §2.2, in the words of a newer Unicode: what has no shape of its own is mapped to
 * nothing.
 */
const nothing = /\p{Cc}|\p{Cf}|\p{Variation_Selector}|\u034f|\ufffc/gu;
/** RFC 4518 §2.4: unassigned, private use, surrogates, the replacement character. */
const prohibited = /[\p{Cn}\p{Co}\p{Cs}\ufffd]/u;
