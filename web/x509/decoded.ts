/** What a decoder gives to a page: sections of lines, whatever the octets were. */

import { DerError } from "#core/asn1/cursor.ts";
import { MalformedStructure } from "#core/transparency/octets.ts";

/**
 * A value and how it is shown: `time` is RFC 3339, `serial` decimal, `hex` lower case, `code` a
 * text to copy.
 */
export interface Value {
  readonly as: "text" | "code" | "hex" | "time" | "serial";
  readonly text: string;
}

/** One field, with what it means where its name does not say it. */
export interface Line {
  readonly name: string;
  readonly values: readonly Value[];
  readonly hint?: string | undefined;
}

export interface Section {
  readonly name: string;
  /** Of an extension. */
  readonly oid?: string;
  readonly critical?: boolean;
  readonly hint?: string | undefined;
  readonly lines: readonly Line[];
  /** Why it could not be read further than its octets. */
  readonly fault?: string;
}

export const text = (value: string): Value => ({ as: "text", text: value });
export const hex = (octets: Uint8Array): Value => ({ as: "hex", text: hexOf(octets) });

/** A line of one value. */
export const line = (name: string, value: Value | string, hint?: string): Line => ({
  name,
  values: [typeof value === "string" ? text(value) : value],
  hint,
});

/** What `read` gives, or why it refuses its octets; a fault of its own is thrown on. */
export function attempt<T>(read: () => T): { readonly value?: T; readonly fault?: string } {
  try {
    return { value: read() };
  } catch (error) {
    if (error instanceof DerError || error instanceof MalformedStructure) {
      return { fault: error.message };
    }
    throw error;
  }
}

/** Lower case, two digits an octet. */
export function hexOf(octets: Uint8Array): string {
  let digits = "";
  for (const octet of octets) digits += octet.toString(16).padStart(2, "0");
  return digits;
}

/** Lines that say only what the octets are, and why they were not read further. */
export const unread = (octets: Uint8Array, fault: string | undefined): readonly Line[] => [
  line("Octets", hex(octets), fault === undefined ? undefined : `Not read: ${fault}.`),
];
