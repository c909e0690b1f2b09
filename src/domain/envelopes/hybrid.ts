/**
 * Wraps data keys under a KEK version and its ML-KEM half together, and remembers which versions
 * have one (KEK-5).
 */

import type { HybridHeader } from "#core/envelope.ts";
import type { Keys } from "#domain/keys.ts";
import type { Random } from "#domain/ports.ts";
import type { Store, Unit } from "#domain/store.ts";
import type { KekVersion } from "./store.ts";

type KekNumber = Pick<KekVersion, "version">;

/** The fingerprint of the ML-KEM half a version was made with; undefined for one without. */
export const halfOf = (
  { read }: Pick<Store, "read">,
  { version }: KekNumber,
): Promise<string | undefined> => read.instance.value(halfName(version));

/** Remembers the half of a version in the unit that begins it. */
export const rememberHalf = (tx: Unit, { version }: KekNumber, fingerprint: string) =>
  tx.instance.setValue(halfName(version), fingerprint);

/**
 * The header over a data key of 32 octets, which both halves are needed to open. Refuses
 * `key_unavailable`.
 */
export async function wrapHybrid(
  { keks }: Pick<Keys, "keks">,
  { key, family, version }: Pick<KekVersion, "key" | "family" | "version">,
  { dek, random }: { readonly dek: Uint8Array; readonly random: Random },
): Promise<HybridHeader> {
  const share = random.bytes(shareBytes);
  try {
    const wrappedShare = await keks.wrap(key, share);
    return await keks.halves.wrap(key, { family, version, dek, share, wrappedShare });
  } finally {
    share.fill(0);
  }
}

/**
 * The data key behind a hybrid header. Refuses `key_unavailable` when either half does not open its
 * part.
 */
export async function unwrapHybrid(
  { keks }: Pick<Keys, "keks">,
  { key }: Pick<KekVersion, "key">,
  header: HybridHeader,
): Promise<Uint8Array> {
  const { wrap, pqc } = header;
  const share = await keks.unwrap(key, { wrap, wrappedDek: pqc.wrappedShare });
  try {
    return await keks.halves.unwrap(key, header, share);
  } finally {
    share.fill(0);
  }
}

const halfName = (version: number) => `kek_ml_kem/${version}`;
const shareBytes = 32;
