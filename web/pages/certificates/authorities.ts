/** The CAs whose certificates can be looked at, and the one that is meant when none is named. */

import { findSerials } from "#core/ids.ts";
import type { Answers } from "#api/answers.ts";
import type { QueryChange } from "#web/address.ts";
import { digestHex } from "#web/frame/sought-text.ts";

export type Authority = Answers["ca.list"]["items"][number];
export type Certificate = Answers["cert.list"]["items"][number];

/**
 * The CA whose list is shown where the address names none: the newest active one that is under
 * another and has none under itself, else whatever comes nearest to that. `cas` are newest first.
 */
export function usualAuthority(cas: readonly Authority[]): Authority | undefined {
  const certified = cas.filter(({ certificate }) => certificate !== undefined);
  const parents = new Set(cas.map(({ parent_id }) => parent_id));
  const active = certified.filter(({ status }) => status === "active");
  return (
    active.find(({ id, parent_id }) => parent_id !== undefined && !parents.has(id)) ??
    active.find(({ id }) => !parents.has(id)) ??
    active[0] ??
    certified[0] ??
    cas[0]
  );
}

/** What a certificate is called: its common name, else its first name, else its whole subject. */
export const nameOf = ({ common_name, sans, subject, serial }: Certificate): string =>
  common_name || sans[0]?.replace(/^[a-z]+:/, "") || subject || serial;

/** True for a CA that a search by name, serial or key means. */
export function isSought(ca: Authority, sought: QueryChange): boolean {
  const { q, key, serial_prefix, public_key_sha256 } = sought;
  const { public_key_fingerprint: own } = ca;
  if (isSameDigest(own, public_key_sha256) || isSameDigest(own, key)) return true;
  if (typeof serial_prefix === "string" && ca.serial !== undefined) {
    const digits = /^0x0*([0-9a-f]+)$/.exec(serial_prefix.toLowerCase())?.[1];
    if (digits === undefined) return ca.serial.startsWith(serial_prefix);
    return BigInt(ca.serial).toString(16).startsWith(digits);
  }
  if (typeof q !== "string") return false;
  const text = q.trim().toLowerCase();
  if (findSerials(text).some((serial) => serial === ca.serial)) return true;
  return `${ca.label}\n${ca.subject}`.toLowerCase().includes(text);
}

/** The ids of the CAs whose certificate has this SHA-256, which none has that is not one. */
export async function authoritiesOfDigest(
  cas: readonly Authority[],
  spelled: string,
): Promise<readonly string[]> {
  const sought = digestHex(spelled);
  const { certificateDigest } = await import("#web/x509/digest.ts");
  const digests = await Promise.all(
    cas.map(({ certificate }) => certificateDigest(certificate ?? "")),
  );
  return cas.filter((_, at) => sought !== undefined && digests[at] === sought).map(({ id }) => id);
}

const isSameDigest = (own: string | undefined, spelled: QueryChange[string]): boolean =>
  own !== undefined &&
  (own === spelled ||
    (digestHex(own) !== undefined && digestHex(own) === digestHex(String(spelled))));
