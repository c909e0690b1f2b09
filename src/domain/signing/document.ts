/** Signs with the ledger key, which vouches for documents and certifies nobody. */

import { sha256Hex } from "#core/crypto.ts";
import { assert } from "#core/problems.ts";
import type { KeyRef } from "#domain/key-ref.ts";
import type { Keys } from "#domain/keys.ts";
import type { Random } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import { ticketOf } from "./ticket.ts";

export interface DocumentDeps {
  readonly store: Pick<Store, "read">;
  readonly keys: Pick<Keys, "sign">;
  readonly random: Pick<Random, "uuid">;
}

/** Ed25519 over the message by the ledger key, and by no other. Refuses `key_unavailable`. */
export async function signDocument(
  { store, keys, random }: DocumentDeps,
  message: Uint8Array,
): Promise<Uint8Array> {
  const key = await ledgerKey(store);
  assert(key !== undefined, "an instance has begun its ledger");
  const ticket = ticketOf({
    opId: random.uuid(),
    key,
    digest: sha256Hex(message),
    role: "ledger",
    algorithm: "ed25519",
    purpose: "document",
    caId: undefined,
  });
  return await keys.sign(ticket, message);
}

/** The key the genesis entry of the ledger names. */
export async function ledgerKey({ read }: Pick<Store, "read">): Promise<KeyRef | undefined> {
  const id = await read.instance.value("ledger_key_id");
  const label = `ledger-${await read.instance.value("ledger_id")}`;
  return id === undefined ? undefined : { provider: "software", label, id };
}
