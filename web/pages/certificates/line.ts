/** The command line that shows what the page of certificates shows. */

import type { Address, QueryChange } from "#web/address.ts";

/** Of one certificate, or of a list with its filters; the command lists those of one CA. */
export function certificatesLine({ path: [, caId, serial], query }: Address): string {
  if (caId !== undefined && serial !== undefined) {
    return `pkid cert show ${word(serial)} --ca ${word(caId)}`;
  }
  const { ca } = query;
  if (ca === undefined || ca === "*") return "pkid cert list --help";
  return listLine(ca, query);
}

/** Of the certificates of one CA that the filters select; members that are none are left out. */
export function listLine(ca: string, query: QueryChange): string {
  const flags = filters.flatMap(([member, flag]) => {
    const value = query[member];
    return value === undefined ? [] : [`${flag} ${word(String(value))}`];
  });
  return [`pkid cert list --ca ${word(ca)}`, ...flags].join(" ");
}

/** Members of the address and the flags of the command. */
const filters = [
  ["status", "--status"],
  ["profile", "--profile"],
  ["q", "--q"],
  ["serial_prefix", "--serial-prefix"],
  ["expires_before", "--expires-before"],
  ["public_key_sha256", "--by-public-key"],
  ["certificate_sha256", "--certificate-sha256"],
  ["requested_by", "--requested-by"],
] as const;

/**
 * One word of a shell, whatever a link has put into the address. What would be an option of its own
 * becomes an empty word, which names nothing: a link must not choose the server of a command.
 */
export const word = (text: string): string => (text.startsWith("-") ? "''" : quoted(text));

const quoted = (text: string): string =>
  /^[\w.:/@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
