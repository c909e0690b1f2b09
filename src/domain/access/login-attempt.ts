/** A name and a password that somebody presents, as those who decide whose turn it is know them. */

import { accountKey } from "#core/access/account-key.ts";
import { addressKey } from "#core/address-key.ts";
import { hmacSha256 } from "#core/crypto.ts";
import type { Random } from "#domain/ports.ts";

export interface LoginAttempt {
  /** What counts as one address: of IPv6 a /64. */
  readonly address: string;
  /** What counts as one account, whether it exists or not: a digest, base64. */
  readonly account: string;
  /** For what is never held up by what others have failed at: to revoke (REV-3). */
  readonly exempt: boolean;
  /**
   * Of name and password exactly as presented: HMAC-SHA-256 under a key that dies with this
   * process, base64.
   */
  readonly digest: string;
}

/** Makes attempts comparable without keeping what was presented. */
export class AttemptKeys {
  readonly #key: Uint8Array;

  constructor(random: Pick<Random, "bytes">) {
    this.#key = random.bytes(32);
  }

  /** The attempt of this name with this password, from there. */
  of(
    name: string,
    password: string,
    { ip, exempt }: { readonly ip: string; readonly exempt?: boolean },
  ): LoginAttempt {
    return {
      address: addressKey(ip),
      account: this.#digest(["account", accountKey(name)]),
      exempt: exempt === true,
      digest: this.#digest(["password", name, password]),
    };
  }

  /** In JSON every part is in quotation marks, so that no two lists have one text. */
  #digest(parts: readonly string[]): string {
    const text = new TextEncoder().encode(JSON.stringify(parts));
    return hmacSha256(this.#key, text).toBase64();
  }
}
