/** Texts as they are shown: of strangers with nothing in them that hides, serials as octets. */

/**
 * The same text with control characters, ends of lines and marks of direction written out, so that
 * what is read is what is there.
 */
export const plainText = (text: string): string =>
  text.replace(
    /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu,
    written,
  );

/** With the marks of direction alone written out, for texts that may have lines. */
export const marksShown = (text: string): string =>
  text.replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, written);

/** The beginning of a text that may be of any length, for where there is room for a line. */
export const shortText = (text: string): string => {
  const plain = plainText(text);
  return plain.length <= shortMax ? plain : `${plain.slice(0, shortMax)}…`;
};

/** The octets of a decimal serial in lower-case hexadecimal, an even number of digits. */
export function serialHex(serial: string): string {
  if (!/^\d{1,50}$/.test(serial)) return serial;
  const hex = BigInt(serial).toString(16);
  return hex.length % 2 === 0 ? hex : `0${hex}`;
}

const written = (character: string): string =>
  `[U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}]`;

const shortMax = 80;
