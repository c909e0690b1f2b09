/** The key that a text or a file names, as `key.block` takes it. */

import type { Questions } from "#api/answers.ts";
import { queryOf } from "#web/frame/sought-text.ts";
import { soughtIn } from "#web/x509/sought.ts";

type Members = Pick<
  Questions["key.block"],
  "public_key_sha256" | "certificate" | "csr" | "public_key"
>;

export type NamedKey =
  | {
      readonly kind: "named";
      readonly members: Members;
      /** What names it, with nothing secret in it. */
      readonly text: string;
    }
  | { readonly kind: "none"; readonly sentence: string };

/**
 * What is public is sent as it is, since the server reads more than one digest off some keys; a
 * private key never leaves the page.
 */
export async function namedKey(octets: Uint8Array): Promise<NamedKey> {
  const typed = new TextDecoder().decode(octets).trim();
  const { public_key_sha256: fingerprint } = queryOf(typed);
  if (typeof fingerprint === "string") return byFingerprint(fingerprint);
  const sought = await soughtIn(octets);
  if (sought.kind === "none") return sought;
  const member = publicMembers[sought.kind];
  const begin = typed.indexOf("-----BEGIN ");
  if (member === undefined || begin < 0 || typed.includes("PRIVATE KEY-----")) {
    return byFingerprint(sought.key);
  }
  return { kind: "named", members: { [member]: typed.slice(begin) }, text: typed.slice(begin) };
}

const byFingerprint = (text: string): NamedKey => ({
  kind: "named",
  members: { public_key_sha256: text },
  text,
});

const publicMembers = {
  certificate: "certificate",
  request: "csr",
  "public key": "public_key",
  "private key": undefined,
} as const;
