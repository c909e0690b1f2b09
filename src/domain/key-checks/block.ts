/** Blocks and unblocks public keys. */

import { hasIn, type Principal } from "#core/access/principal.ts";
import { DerError } from "#core/asn1/cursor.ts";
import type { EventDraft } from "#core/audit/actions.ts";
import type { TenantId } from "#core/ids.ts";
import { assert, refuse } from "#core/problems.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { fingerprintOf, keyDigests } from "#core/x509/public-keys.ts";
import { type Author, authorOf, type Origin } from "#domain/actor.ts";
import type { CertificateRecord } from "#domain/certificates/store.ts";
import type { Clock, Random } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import type { BlockedKeyRecord } from "./store.ts";

export interface BlockedKeysDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
}

/** What blocking a key did. */
export interface Blocking {
  readonly record: BlockedKeyRecord;
  /** False when the key was blocked before, which changes and records nothing. */
  readonly added: boolean;
  /** Unrevoked certificates with the key; blocking revokes none of them. */
  readonly matching: number;
}

/** The list of blocked keys. */
export class BlockedKeys {
  readonly #deps: BlockedKeysDeps;

  constructor(deps: BlockedKeysDeps) {
    this.#deps = deps;
  }

  /** `digests` are those `keyDigests` gives, the key's own first, or the one that is known. */
  async add(origin: Origin, digests: readonly string[], reason: string): Promise<Blocking> {
    const { store, clock, random } = this.#deps;
    const now = clock.now();
    const facts = { tenant: undefined, reason, source: "api", createdAt: now } as const;
    const by = { ...facts, createdBy: origin.principal.subject };
    const wanted = blockings(digests, by, () => random.uuid());
    const present = await store.atomically(async (tx) => {
      const found: (BlockedKeyRecord | undefined)[] = [];
      for (const record of wanted) {
        const there = await tx.keyChecks.block(record);
        found.push(there);
        if (there !== undefined) continue;
        await tx.audit.appendEvent(blockEvent(authorOf(origin, undefined), record), now);
      }
      return found;
    });
    const [own, there] = [wanted[0], present[0]];
    assert(own !== undefined, "a key that is blocked has a digest");
    const matching = await store.read.keyChecks.unrevokedWith(own.spkiSha256);
    return { record: there ?? own, added: there === undefined, matching };
  }

  /** Refuses `not_found`. */
  async remove(origin: Origin, id: string): Promise<void> {
    const { store, clock } = this.#deps;
    const now = clock.now();
    await store.atomically(async (tx) => {
      const gone = await tx.keyChecks.unblock(id);
      if (gone === undefined) throw refuse("not_found");
      const blocked = blockEvent(authorOf(origin, undefined), gone);
      const draft = { ...blocked, action: "key.unblock" as const };
      await tx.audit.appendEvent(draft, now);
    });
  }
}

/**
 * For whom a revocation for keyCompromise blocks the key (KCK-4); undefined: for the whole
 * instance. Only who answers for all tenants, or has proved to hold the key, blocks it for all: a
 * tenant may have got hold of another one's request, or vouched for its CA, and must not stop it by
 * revoking what came of that.
 */
export function blockedFor(
  principal: Principal | undefined,
  tenant: TenantId,
  keyProven: boolean,
): TenantId | undefined {
  const everywhere = principal !== undefined && hasIn(principal, "issue", undefined);
  return everywhere || keyProven ? undefined : tenant;
}

/**
 * One record for each digest of a key. An RSA key whose exponent is unusual has two: its own, by
 * which whoever blocked it finds it again, and, with `(same modulus)` behind the reason, that of
 * the modulus, by which the key is known under any other exponent: what is factored with it is
 * blocked with it. Both have to go before the modulus is certified again.
 */
export function blockings(
  digests: readonly string[],
  facts: Omit<BlockedKeyRecord, "id" | "spkiSha256">,
  newId: () => string,
): readonly BlockedKeyRecord[] {
  return digests.map((spkiSha256, at) => ({
    ...facts,
    id: newId(),
    spkiSha256,
    reason: at === 0 ? facts.reason : `${facts.reason} (same modulus)`,
  }));
}

/** The digests of the key of a certificate that was issued here. */
export function digestsOf(
  certificate: Pick<CertificateRecord, "certificate" | "spkiSha256">,
): readonly string[] {
  const others = keyDigestsIn(certificate.certificate).slice(1);
  return [certificate.spkiSha256, ...others];
}

function keyDigestsIn(der: Uint8Array): readonly string[] {
  try {
    return keyDigests(parseCertificate(der).spki);
  } catch (error) {
    if (error instanceof DerError) return []; // Its own digest stands in the record.
    throw error;
  }
}

/**
 * True for certificates whose key belongs to whom they name: of a cross certificate it is another
 * CA's.
 */
export const blocksItsKey = (kind: CertificateRecord["kind"] | "bare"): boolean => kind !== "cross";

/** The event of a key that was blocked, by a call or by a revocation. */
export function blockEvent(author: Author, record: BlockedKeyRecord): EventDraft {
  return {
    ...author,
    action: "key.block",
    result: "success",
    tenant: record.tenant,
    target: fingerprintOf(record.spkiSha256),
    detail: { reason: record.reason, source: record.source },
  };
}
