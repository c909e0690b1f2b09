/** Where the key-encryption key is made. */

import type { ProviderName } from "#domain/key-ref.ts";

/** `secret` and `key_provider`, as far as they say so. */
export interface KekSections {
  readonly secret: { readonly kek_label: string | undefined };
  readonly key_provider: { readonly type: ProviderName };
}

/** Its provider, and its label family. */
export function kekPlace({ secret, key_provider }: KekSections): {
  readonly provider: ProviderName;
  readonly family: string;
} {
  const { kek_label: family } = secret;
  if (family === undefined) return { provider: "software", family: usualKekFamily };
  return { provider: key_provider.type, family };
}

/** The label family of the KEK in the software store, when none is set. */
export const usualKekFamily = "kek";
