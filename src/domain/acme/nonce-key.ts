/** The key of nonces: configured, or made once and sealed (configuration `acme.nonce_hmac_key`). */

import { hmacSha256 } from "#core/crypto.ts";
import { type Envelopes, keepSealed } from "#domain/envelopes/envelopes.ts";
import { placeOf } from "#domain/envelopes/places.ts";
import type { Random } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import { nonceEpochName } from "./voided.ts";

export interface NonceKeyDeps {
  readonly store: Store;
  readonly envelopes: Envelopes;
  readonly random: Pick<Random, "bytes">;
  /** Octets of the configured key; undefined where none is. */
  readonly configured: () => Promise<Uint8Array | undefined>;
}

/**
 * The one key of all replicas, at least 16 octets, another after each restore (RES-2). Refuses
 * `key_unavailable` while it cannot be opened, and `storage_unavailable` while it cannot be made.
 */
export async function nonceKey(deps: NonceKeyDeps): Promise<Uint8Array> {
  const key = await keptKey(deps);
  const epoch = await deps.store.read.instance.value(nonceEpochName);
  return epoch === undefined ? key : hmacSha256(key, Buffer.from(epoch));
}

async function keptKey(deps: NonceKeyDeps): Promise<Uint8Array> {
  const { store } = deps;
  const configured = await deps.configured();
  if (configured !== undefined) return configured;
  const known = await stored(deps);
  if (known !== undefined) return known;
  // Two replicas that start together must come to one key.
  return await store.exclusively("acme-nonce-key", async () => (await stored(deps)) ?? made(deps));
}

async function stored({ store, envelopes }: NonceKeyDeps): Promise<Uint8Array | undefined> {
  const value = await store.read.envelopes.at(place);
  return value && (await envelopes.open(value));
}

async function made({ store, envelopes, random }: NonceKeyDeps): Promise<Uint8Array> {
  const key = random.bytes(32);
  const sealed = await envelopes.seal(place, key);
  await store.atomically((tx) => keepSealed(tx, sealed));
  return key;
}

const place = placeOf("instance", "acme_nonce_key");
