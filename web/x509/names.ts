/** Names in certificates as lines to read: whatever octets they have, each is shown. */

import { type Cursor, openSequence } from "#core/asn1/cursor.ts";
import { contextual, contextualConstructed, tags } from "#core/asn1/tags.ts";
import { ipText } from "#core/x509/addresses.ts";
import { nameText, parseName } from "#core/x509/names.ts";
import { attempt, hex, type Line, line, text, unread, type Value } from "./decoded.ts";
import { attributeWords } from "./words.ts";

/** The attributes of a distinguished name, each a line; octets where it is none. */
export function nameLines(der: Uint8Array): readonly Line[] {
  const { value: name, fault } = attempt(() => parseName(der));
  if (name === undefined) return unread(der, fault);
  if (name.attributes.length === 0) return [line("Name", "(empty)")];
  return name.attributes.map(({ type, value }) => {
    const word = Object.hasOwn(attributeWords, type) ? attributeWords[type] : undefined;
    return line(word === undefined ? type : `${word} (${type})`, value);
  });
}

/** A distinguished name in one line; empty for one that cannot be read. */
export const nameInWords = (der: Uint8Array): string =>
  attempt(() => nameText(parseName(der))).value ?? "";

/** The common name, or whatever names it; empty for a name that is empty or cannot be read. */
export function shortName(der: Uint8Array): string {
  const attributes = attempt(() => parseName(der).attributes).value ?? [];
  const common = attributes.findLast(({ type }) => type === "CN") ?? attributes.at(-1);
  return common?.value ?? "";
}

/** Every name of a GeneralNames, by kind in the order of their first one. */
export function generalNameLines(names: Cursor): readonly Line[] {
  const kinds = new Map<string, Value[]>();
  while (!names.finished) {
    const { kind, value } = readGeneralName(names);
    kinds.set(kind, [...(kinds.get(kind) ?? []), value]);
  }
  return [...kinds].map(([name, values]) => ({ name, values }));
}

/** Takes one GeneralName (RFC 5280 §4.2.1.6), of whatever kind and content. */
export function readGeneralName(names: Cursor): { readonly kind: string; readonly value: Value } {
  switch (names.tag) {
    case contextual(1):
      return { kind: "E-mail", value: characters(names.content(contextual(1))) };
    case contextual(2):
      return { kind: "DNS", value: characters(names.content(contextual(2))) };
    case contextual(6):
      return { kind: "URI", value: characters(names.content(contextual(6))) };
    case contextual(7):
      return { kind: "IP address", value: address(names.content(contextual(7))) };
    case contextual(8):
      return { kind: "Registered id", value: text(names.oid(contextual(8))) };
    case contextualConstructed(4): {
      const inner = names.enter(contextualConstructed(4)).element();
      const words = nameInWords(inner);
      return { kind: "Directory name", value: words === "" ? hex(inner) : text(words) };
    }
    case contextualConstructed(0):
      return otherName(names.element());
    default:
      return { kind: "Other", value: hex(names.element()) };
  }
}

/** Text of octets that should be IA5: as UTF-8 where they are, else octet by octet. */
export function characters(octets: Uint8Array): Value {
  try {
    return text(strict.decode(octets));
  } catch {
    // Shown all the same: whoever looks wants to know what is there.
    return text(latin1.decode(octets));
  }
}

/** An address, or an address and its mask as name constraints have them. */
export function address(octets: Uint8Array): Value {
  if (octets.length === 4 || octets.length === 16) return text(ipText(octets));
  if (octets.length !== 8 && octets.length !== 32) return hex(octets);
  const half = octets.length / 2;
  return text(`${ipText(octets.subarray(0, half))} mask ${ipText(octets.subarray(half))}`);
}

function otherName(element: Uint8Array): { readonly kind: string; readonly value: Value } {
  // The whole is [0] IMPLICIT: a SEQUENCE but for its first octet.
  const sequence = Uint8Array.from(element).fill(tags.sequence, 0, 1);
  const type = attempt(() => openSequence(sequence).oid()).value;
  return { kind: type === undefined ? "Other name" : `Other name ${type}`, value: hex(element) };
}

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const latin1 = new TextDecoder("latin1");
