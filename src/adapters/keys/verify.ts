/** Verifies signatures against the pinned public key before anybody else sees them (KEY-4). */

import { following, promised } from "#core/at-once.ts";
import {
  importPublicKey,
  type Octets,
  type VerificationKey,
  verifySignatureAside,
} from "#core/crypto.ts";
import { refuse } from "#core/problems.ts";
import { StepQueue } from "#core/turns.ts";
import { schemeOf } from "#core/x509/algorithms.ts";
import { keyIdOf } from "#core/x509/public-keys.ts";
import type { KeyRef } from "#domain/key-ref.ts";
import type { SignTicket } from "#domain/signing/ticket.ts";
import type { Keys } from "#domain/keys.ts";

import type { KeyHooks } from "./settings.ts";

interface Pinned {
  readonly key: VerificationKey;
  /** OCSP signatures made since start. */
  sampled: number;
}

/** A signature that nobody has seen yet. */
interface Made {
  readonly ticket: SignTicket;
  readonly pinned: Pinned;
  readonly message: Octets;
  readonly signature: Uint8Array;
}

/**
 * Wraps `keys`. The pin is the key id itself: the digest of the public key, kept in our store. OCSP
 * answers are checked at the first use of a key and one in 64 after, everything else always. A
 * mismatch is a fault of the provider: it is reported and refused with `key_unavailable`.
 * `publicKey` reads what is pinned.
 */
export function verified(
  keys: Keys,
  hooks: KeyHooks,
  publicKey: Keys["find"] = (ref) => keys.find(ref),
): Keys {
  const pins = new Map<string, Pinned>();
  // Not bounded: signatures of untrusted clients must not stop CAs.
  const steps = new StepQueue();
  const checked = async ({ ticket, pinned, message, signature }: Made): Promise<Uint8Array> => {
    // A check takes 50 µs to 1 ms of the thread that serves requests.
    const scheme = schemeOf(ticket.algorithm);
    const { key } = pinned;
    if (await verifySignatureAside(key, scheme, message, signature, steps)) return signature;
    throw mismatch(hooks, "A signature does not verify with its pinned public key.");
  };
  const pin = async (ref: KeyRef): Promise<Pinned> => {
    const known = pins.get(ref.id);
    if (known !== undefined) return known;
    const { spki } = await publicKey(ref);
    if (keyIdOf(spki) !== ref.id)
      throw mismatch(hooks, "The provider holds another key by this id.");
    if (pins.size >= pinsMax) pins.clear();
    const fresh = { key: importPublicKey(spki), sampled: 0 };
    pins.set(ref.id, fresh);
    return fresh;
  };
  return {
    generate: (wanted) => keys.generate(wanted),
    find: (ref) => keys.find(ref),
    sign: (ticket, message) =>
      promised(() =>
        following(pins.get(ticket.key.id) ?? pin(ticket.key), (pinned) =>
          keys
            .sign(ticket, message)
            .then((signature) =>
              due(ticket, pinned) ? checked({ ticket, pinned, message, signature }) : signature,
            ),
        ),
      ),
    destroy: (ref) => {
      pins.delete(ref.id);
      return keys.destroy(ref);
    },
    keks: keys.keks,
    intake: keys.intake,
    list: (provider) => keys.list(provider),
    facts: () => keys.facts(),
    close: () => keys.close(),
  };
}

function due(ticket: SignTicket, pinned: Pinned): boolean {
  if (ticket.purpose !== "ocsp") return true;
  pinned.sampled += 1;
  return pinned.sampled % sampleEvery === 1;
}

function mismatch(hooks: KeyHooks, sentence: string): Error {
  hooks.fault?.(sentence, {});
  return refuse("key_unavailable", { retry_after: 2 });
}

const sampleEvery = 64;
const pinsMax = 4096;
