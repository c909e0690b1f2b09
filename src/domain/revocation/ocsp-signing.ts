/**
 * Signs OCSP ResponseData: counted for responder keys, entered in the sign ledger for CA keys
 * (KEY-5).
 */

import type { Serial } from "#core/ids.ts";
import { Problem } from "#core/problems.ts";
import {
  closeTicket,
  countedTicket,
  openTicket,
  type SigningIntent,
} from "#domain/audit/sign-ledger.ts";
import type { KeyCounts } from "#domain/audit/key-counts.ts";
import type { Keys } from "#domain/keys.ts";
import type { Clock, Random } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import type { OcspSigner } from "./responder.ts";

interface Deps {
  readonly store: Pick<Store, "atomically">;
  readonly keys: Pick<Keys, "sign">;
  readonly clock: Clock;
  readonly random: Random;
  readonly counts: Pick<KeyCounts, "add">;
}

/** Makes the signatures of OCSP answers. */
export class OcspSigning {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /**
   * Signs `message` (DER of ResponseData); `serial` names the artefact when the CA key itself
   * signs. Refuses `key_unavailable`, `overloaded` when shed. The key port verifies a sample
   * (KEY-4).
   */
  async sign(
    signer: OcspSigner,
    message: Uint8Array,
    serial: Serial | undefined,
  ): Promise<Uint8Array> {
    const { key, algorithm, issuer } = signer;
    const opId = this.#deps.random.uuid();
    const intent = { opId, key, algorithm, message, purpose: "ocsp", caId: issuer.ca.id } as const;
    if (signer.role === "ca") return await this.#signWithCa(signer, intent, serial ?? "");
    const ticket = countedTicket({ ...intent, role: "responder" });
    const signature = await this.#deps.keys.sign(ticket, message);
    this.#deps.counts.add(signer.handle, "responder");
    return signature;
  }

  async #signWithCa(
    signer: OcspSigner,
    fields: Omit<SigningIntent, "spki" | "deviceSerial" | "role" | "artifact">,
    artifact: string,
  ): Promise<Uint8Array> {
    const { store, keys, clock } = this.#deps;
    const { spki, deviceSerial } = signer.handle;
    const intent: SigningIntent = { ...fields, spki, deviceSerial, role: "ca", artifact };
    const begun = clock.now();
    const ticket = await store.atomically((tx) => openTicket(tx, intent, begun));
    try {
      const signature = await keys.sign(ticket, intent.message);
      const ended = clock.now();
      await store.atomically((tx) => closeTicket(tx, intent, { signature }, ended));
      return signature;
    } catch (error) {
      const word = error instanceof Problem ? error.code : "internal";
      const ended = clock.now();
      await store.atomically((tx) => closeTicket(tx, intent, { error: word }, ended));
      throw error;
    }
  }
}
