/** The command line that shows what the page of certificates shows. */

import type { Address } from "#web/address.ts";

/** Of one certificate, or of a list with its filters. */
export function certificatesLine({ path: [, caId, serial], query }: Address): string {
  if (caId !== undefined && serial !== undefined) {
    return `pkid cert show ${word(serial)} --ca ${word(caId)}`;
  }
  const { ca } = query;
  const named = ca === undefined || ca === "*" ? [] : [`--ca ${word(ca)}`];
  const flags = filters.flatMap(([member, flag]) => {
    const value = query[member];
    return value === undefined ? [] : [`${flag} ${word(value)}`];
  });
  return ["pkid cert list", ...named, ...flags].join(" ");
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

/** One word of a shell, whatever a link has put into the address. */
export const word = (text: string): string =>
  /^[\w.:/@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
