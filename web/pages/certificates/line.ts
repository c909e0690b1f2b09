/** The command line that shows what the page of certificates shows. */

import type { Address } from "#web/address.ts";
import { shellWord } from "#web/lines.ts";

/** Of one certificate, or of a list with its filters. */
export function certificatesLine({ path: [, caId, serial], query }: Address): string {
  if (caId !== undefined && serial !== undefined) {
    return `pkid cert show ${shellWord(serial)} --ca ${shellWord(caId)}`;
  }
  const { ca } = query;
  const named = ca === undefined || ca === "*" ? [] : [`--ca ${shellWord(ca)}`];
  const flags = filters.flatMap(([member, flag]) => {
    const value = query[member];
    return value === undefined ? [] : [`${flag} ${shellWord(value)}`];
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
] as const;
