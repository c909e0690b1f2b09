/** Which keys may be those of accounts (AC-3): none that is weak, and none that leaked. */

import type { AccountKey } from "#core/acme/account-keys.ts";
import type { TenantId } from "#core/ids.ts";
import type { Instant } from "#core/time.ts";
import { checkKey, strictKeyChecks } from "#core/policy/key-quality.ts";
import { refuse } from "#core/problems.ts";
import { parseName } from "#core/x509/names.ts";
import { parsePublicKey } from "#core/x509/public-keys.ts";
import { type KeyFactsDeps, keyFactsOf } from "#domain/certificates/key-facts.ts";

/** Judges them as keys of certificates are judged. */
export class AccountKeys {
  readonly #deps: KeyFactsDeps;

  constructor(deps: KeyFactsDeps) {
    this.#deps = deps;
  }

  /** Refuses `acme_bad_public_key` for a key that no certificate could have (AC-3). */
  async requireSound({ spki }: AccountKey, tenant: TenantId, now: Instant): Promise<void> {
    const publicKey = parsePublicKey(spki);
    const plan = { publicKey, subject: nobody, sans: [] };
    const facts = await keyFactsOf(this.#deps, {
      plan,
      kind: "leaf",
      profile: undefined,
      tenant,
      now,
    });
    const [finding] = checkKey(publicKey, strictKeyChecks, facts);
    if (finding !== undefined) throw refuse("acme_bad_public_key", { reason: finding.code });
  }
}

/** Keys of accounts stand for no subject. */
const nobody = parseName(Uint8Array.of(0x30, 0x00));
