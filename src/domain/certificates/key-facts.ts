/**
 * Asks store and blocklists what the key gate must know; where they cannot answer, nothing is
 * certified.
 */

import type { TenantId } from "#core/ids.ts";
import { isPrime } from "#core/crypto.ts";
import { FairSlots } from "#core/fair-slots.ts";
import { type KeyFacts, mayBePrime } from "#core/policy/key-quality.ts";
import type { Plan } from "#core/policy/plan.ts";
import type { Profile } from "#core/policy/profile.ts";
import { isListedWeak } from "#core/policy/weak-keys.ts";
import type { Instant } from "#core/time.ts";
import { nameText } from "#core/x509/names.ts";
import { generalNameText } from "#core/x509/general-names.ts";
import { keyDigests } from "#core/x509/public-keys.ts";
import type { CertificateRecord } from "./store.ts";
import type { Reads } from "#domain/store.ts";

/** What is to be certified, as far as its key is concerned. */
export interface KeyRequest {
  readonly plan: Pick<Plan, "publicKey" | "subject" | "sans">;
  readonly kind: CertificateRecord["kind"];
  readonly profile: Pick<Profile, "keyChecks"> | undefined;
  readonly tenant: TenantId;
  readonly now: Instant;
}

export interface KeyFactsDeps {
  readonly store: { readonly read: Pick<Reads, "keyChecks"> };
  /** Digests of weak keys, lower hex; a reload replaces the set as a whole. */
  readonly weakKeys: () => ReadonlySet<string>;
  /** Whether an ACME account has the key of this digest; absent while ACME is off. */
  readonly isAccountKey?: ((spkiSha256: string) => Promise<boolean>) | undefined;
}

/**
 * The facts of one key, with one query, or two for an RSA key of an unusual exponent: what is known
 * of the modulus with the usual one counts too, for whoever has factored it has both. Throws what
 * kept the store from answering.
 */
export async function keyFactsOf(deps: KeyFactsDeps, request: KeyRequest): Promise<KeyFacts> {
  const { plan, kind, profile, tenant, now } = request;
  const asksDuplicate = profile?.keyChecks.detectDuplicates === true && kind === "leaf";
  const duplicate = asksDuplicate
    ? { subject: nameText(plan.subject), sans: plan.sans.map(generalNameText), now }
    : undefined;
  const found = { blocked: false, own: false, duplicate: false, account: false };
  for (const digest of keyDigests(plan.publicKey.spki)) {
    const question = { spkiSha256: digest, tenant, duplicate };
    const status = await deps.store.read.keyChecks.keyStatus(question);
    found.blocked ||= status.blocked;
    found.own ||= status.own;
    found.duplicate ||= status.duplicate;
    if (kind === "leaf") found.account ||= (await deps.isAccountKey?.(digest)) === true;
  }
  const { publicKey } = plan;
  return {
    ...found,
    prime: mayBePrime(publicKey) && (await testPrime(publicKey, tenant)),
    weak: isListedWeak(publicKey, deps.weakKeys()),
    // CAs, responders and the listener are certified with exactly these keys.
    own: kind === "leaf" && found.own,
  };
}

/**
 * Tests the modulus off the serving thread. Only a few tests run at a time, round robin by tenant,
 * because the threads of the runtime also read files and verify signatures (AC-8).
 */
function testPrime(
  { modulus, bits }: { readonly modulus: bigint; readonly bits: number },
  tenant: TenantId,
): Promise<boolean> {
  const slots = bits <= quickBitsMax ? quickTests : slowTests;
  return slots.run({ home: tenant, name: "" }, () => isPrime(modulus));
}

/** A test takes 3 ms for 2048 bits, 15 ms for 4096, and 120 ms for 8192. */
const quickBitsMax = 4096;
const quickTests = new FairSlots({ active: 4, waiting: 1024 });
const slowTests = new FairSlots({ active: 1, waiting: 256 });
