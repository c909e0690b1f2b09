/**
 * Signs OCSP ResponseData: counted for responder keys, entered in the sign ledger for CA keys
 * (KEY-5).
 */

import type { Serial } from "#core/ids.ts";
import { type CountedDeps, signCounted } from "#domain/signing/counted.ts";
import type { Signing } from "#domain/signing/signing.ts";
import type { OcspSigner } from "./responder.ts";

interface Deps extends CountedDeps {
  readonly signing: Signing;
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
    const { handle, role, algorithm, issuer } = signer;
    const what = { algorithm, message, purpose: "ocsp", caId: issuer.ca.id } as const;
    if (role === "responder") return await signCounted(this.#deps, { ...what, handle, role });
    const { signing } = this.#deps;
    const intended = await signing.intend({ ...what, key: handle, role, artifact: serial ?? "" });
    const signed = await intended.sign();
    await signed.close(async () => {});
    return signed.signature;
  }
}
