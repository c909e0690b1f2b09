/** Lines of CSV (RFC 4180) that a spreadsheet shows and never runs. */

/** One line with its end; every cell is quoted. */
export const csvLine = (cells: readonly string[]): string => `${cells.map(cell).join(",")}\r\n`;

/**
 * A name in a certificate may be chosen so that a spreadsheet takes it for a formula: an apostrophe
 * makes it text.
 */
function cell(text: string): string {
  const plain = text.replace(/[\0\r\n\t]/g, " ");
  const harmless = /^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]/.test(plain) ? `'${plain}` : plain;
  return `"${harmless.replaceAll('"', '""')}"`;
}
