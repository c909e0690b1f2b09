/** A list of certificates as comma-separated values (RFC 4180). */

import { serialHex } from "#web/ui/plain.ts";
import type { Certificate } from "./authorities.ts";

/** THE COLUMNS of the file. */
const columns: readonly (readonly [name: string, value: (row: Certificate) => string])[] = [
  ["serial", ({ serial }) => serial],
  ["serial_hex", ({ serial }) => serialHex(serial)],
  ["common_name", ({ common_name }) => common_name],
  ["sans", ({ sans }) => sans.join(" ")],
  ["subject", ({ subject }) => subject],
  ["profile", ({ profile }) => profile],
  ["status", ({ status }) => status],
  ["reason", ({ reason }) => reason ?? ""],
  ["revoked_at", ({ revoked_at }) => revoked_at ?? ""],
  ["not_before", ({ not_before }) => not_before],
  ["not_after", ({ not_after }) => not_after],
  ["requested_by", ({ requested_by }) => requested_by],
  ["created_at", ({ created_at }) => created_at],
  ["public_key_fingerprint", ({ public_key_fingerprint }) => public_key_fingerprint],
  ["ca_id", ({ ca_id }) => ca_id],
];

export const csvHead = (): string => row(columns.map(([name]) => name));

export const csvRow = (certificate: Certificate): string =>
  row(columns.map(([, value]) => value(certificate)));

const row = (cells: readonly string[]): string => `${cells.map(cell).join(",")}\r\n`;

/**
 * Spreadsheets run what begins like a formula, and names are chosen by strangers: an apostrophe
 * makes it text.
 */
function cell(value: string): string {
  const harmless = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
