/**
 * A working key provider in memory: real keys and signatures by node:crypto, and switches that make
 * it fail.
 */

import { createHash, createPrivateKey, createPublicKey, sign } from "node:crypto";

import { piecesIn } from "#core/crypto.ts";
import { assert, refuse } from "#core/problems.ts";
import { slhDsaSet, slhDsaSets, slhDsaSpki } from "#core/slh-dsa.ts";
import { type KeyType, keyTypes, type SignatureName, schemeOf } from "#core/x509/algorithms.ts";
import { parsePublicKey } from "#core/x509/public-keys.ts";
import type { KeyRef } from "#domain/key-ref.ts";
import type { SignTicket } from "#domain/signing/ticket.ts";
import type { KeyHandle, Keys } from "#domain/keys.ts";
import { Mailbox } from "#adapters/keys/signer/hand-over.ts";
import { keyPair } from "#test/support/encodings/x509.ts";

import { memoryKeks } from "./memory-keks.ts";

/** Key provider whose signatures a test can list and make fail. */
export interface MemoryKeys extends Keys {
  /** Every ticket that led to a signature, in order. */
  readonly signed: SignTicket[];
  /** Called before every signature. An error that it throws reaches the caller. */
  checkTicket: (ticket: SignTicket) => void | Promise<void>;
  readonly held: Map<string, KeyHandle>;
}

/** Opens an empty key store. */
export function openMemoryKeys(): MemoryKeys {
  const held = new Map<string, KeyHandle>();
  const secrets = new Map<string, Signer>();
  const keys: MemoryKeys = {
    signed: [],
    held,
    checkTicket: () => {},
    generate: async ({ provider, label, keyType }) => {
      const { spki, sign: signer } = newSigner(keyType);
      const id = createHash("sha256").update(spki).digest("hex").slice(0, 40);
      const key = { ref: { provider, label, id }, keyType, spki, deviceSerial: "software:memory" };
      for (const other of held.values()) assert(other.ref.label !== label, "a label is used once");
      held.set(id, key);
      secrets.set(id, signer);
      return key;
    },
    find: async (ref) => present(held, ref),
    sign: async (ticket, toBeSigned) => {
      const message = Buffer.concat(piecesIn(toBeSigned));
      const key = present(held, ticket.key);
      const digest = createHash("sha256").update(message).digest("hex");
      assert(digest === ticket.digest, "a ticket signs exactly the bytes that it was created for");
      await keys.checkTicket(ticket);
      const secret = secrets.get(key.ref.id);
      assert(secret !== undefined, "a held key has its secret");
      keys.signed.push(ticket);
      return secret(ticket.algorithm, message);
    },
    destroy: async (ref) => {
      held.delete(ref.id);
      secrets.delete(ref.id);
    },
    keks: memoryKeks(),
    intake: memoryIntake(held, secrets),
    list: async () =>
      [...held.values()].map(({ ref, keyType }) => ({
        ...ref,
        keyType,
        extractable: false,
        sensitive: true,
      })),
    facts: async () => [
      {
        provider: "software",
        available: true,
        deviceSerial: "software:memory",
        keyTypes: Object.keys(keyTypes) as KeyType[], // Keys of the table.
      },
    ],
    close: async () => {},
  };
  return keys;
}

/** Returns an intake that imports the key in a box under its label. */
function memoryIntake(
  held: Map<string, KeyHandle>,
  secrets: Map<string, Signer>,
): MemoryKeys["intake"] {
  const mailbox = new Mailbox("intake");
  return {
    address: async () => mailbox.address,
    take: async ({ label, box }) => {
      const pkcs8 = Buffer.from(mailbox.open(box));
      const key = createPrivateKey({ key: pkcs8, format: "der", type: "pkcs8" });
      const spki = new Uint8Array(createPublicKey(key).export({ type: "spki", format: "der" }));
      const { keyType } = parsePublicKey(spki);
      assert(keyType !== undefined, "a test brings keys of the table");
      const id = createHash("sha256").update(spki).digest("hex").slice(0, 40);
      const ref = { provider: "software", label, id } as const;
      const handle = { ref, keyType, spki, deviceSerial: "software:memory" };
      held.set(id, handle);
      secrets.set(
        id,
        (algorithm, message) =>
          new Uint8Array(sign(schemeOf(algorithm).hash ?? null, message, key)),
      );
      return handle;
    },
  };
}

function present(held: ReadonlyMap<string, KeyHandle>, ref: KeyRef): KeyHandle {
  const key = held.get(ref.id);
  if (key === undefined) throw refuse("key_unavailable", { retry_after: 2 });
  return key;
}

type Signer = (algorithm: SignatureName, message: Uint8Array) => Uint8Array;

function newSigner(keyType: KeyType): { readonly spki: Uint8Array; readonly sign: Signer } {
  const set = slhDsaSet(keyType);
  if (set !== undefined) {
    const { publicKey, secretKey } = slhDsaSets[set].keygen();
    const spki = slhDsaSpki(set, publicKey);
    return { spki, sign: (_algorithm, message) => slhDsaSets[set].sign(message, secretKey) };
  }
  const pair = keyPair(keyType);
  return {
    spki: new Uint8Array(pair.publicKey.export({ type: "spki", format: "der" })),
    sign: (algorithm, message) =>
      new Uint8Array(sign(schemeOf(algorithm).hash ?? null, message, pair.privateKey)),
  };
}
