/** Asks store and blocklists what the key gate must know; where they cannot answer, nothing is certified. */

import type { TenantId } from "#core/ids.ts";
import type { KeyFacts } from "#core/policy/key-quality.ts";
import type { Plan } from "#core/policy/plan.ts";
import type { Profile } from "#core/policy/profile.ts";
import { isListedWeak } from "#core/policy/weak-keys.ts";
import type { Instant } from "#core/time.ts";
import { nameText } from "#core/x509/names.ts";
import { spkiSha256 } from "#core/x509/public-keys.ts";
import type { CertificateRecord } from "#domain/certificates/store.ts";
import type { Reads } from "#domain/store.ts";

/** What is to be certified, as far as its key is concerned. */
export interface KeyWish {
  readonly plan: Pick<Plan, "publicKey" | "subject">;
  readonly kind: CertificateRecord["kind"];
  readonly profile: Pick<Profile, "keyChecks"> | undefined;
  readonly tenant: TenantId;
  readonly now: Instant;
}

export interface KeyFactsDeps {
  readonly store: { readonly read: Pick<Reads, "keyChecks"> };
  /** Digests of weak keys, lower hex; a reload replaces the set as a whole. */
  readonly weakKeys: () => ReadonlySet<string>;
}

/** The facts of one key, with one query. Throws what kept the store from answering. */
export async function keyFactsOf(deps: KeyFactsDeps, wish: KeyWish): Promise<KeyFacts> {
  const { plan, kind, profile, tenant, now } = wish;
  const asksDuplicate = profile?.keyChecks.detectDuplicates === true && kind === "leaf";
  const standing = await deps.store.read.keyChecks.standing({
    spkiSha256: spkiSha256(plan.publicKey.spki),
    tenant,
    duplicate: asksDuplicate ? { subject: nameText(plan.subject), now } : undefined,
  });
  return {
    weak: isListedWeak(plan.publicKey, deps.weakKeys()),
    blocked: standing.blocked,
    // CAs, responders and the listener are certified with exactly these keys.
    own: kind === "leaf" && standing.own,
    duplicate: standing.duplicate,
  };
}
