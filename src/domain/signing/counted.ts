/** Signs with keys whose operations are counted, not listed: responder and TSA keys (KEY-5). */

import { sha256Hex } from "#core/crypto.ts";
import type { CaId } from "#core/ids.ts";
import type { SignatureName } from "#core/x509/algorithms.ts";
import type { KeyHandle, Keys } from "#domain/keys.ts";
import type { Random } from "#domain/ports.ts";
import { ticketOf } from "./ticket.ts";

export type CountedRole = "responder" | "tsa";

export interface CountedDeps {
  readonly keys: Pick<Keys, "sign">;
  readonly random: Pick<Random, "uuid">;
  readonly counts: {
    /** Counts one signature of the key. */
    add(handle: KeyHandle, role: CountedRole): void;
  };
}

/** What is going to be signed with a key that serves nothing else. */
export interface CountedMessage {
  readonly handle: KeyHandle;
  readonly role: CountedRole;
  readonly algorithm: SignatureName;
  readonly message: Uint8Array;
  readonly purpose: "ocsp";
  readonly caId: CaId | undefined;
}

/**
 * Signs the message and counts it. Refuses `key_unavailable`, `overloaded` when shed. The key port
 * verifies a sample (KEY-4).
 */
export function signCounted(
  { keys, random, counts }: CountedDeps,
  { handle, role, algorithm, message, purpose, caId }: CountedMessage,
): Promise<Uint8Array> {
  const [opId, digest] = [random.uuid(), sha256Hex(message)];
  const ticket = ticketOf({ opId, digest, key: handle.ref, role, algorithm, purpose, caId });
  return keys.sign(ticket, message).then((signature) => {
    counts.add(handle, role);
    return signature;
  });
}
