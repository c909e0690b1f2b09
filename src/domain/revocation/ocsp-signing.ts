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
  sign(signer: OcspSigner, message: Uint8Array, serial: Serial | undefined): Promise<Uint8Array> {
    const { handle, role, algorithm, issuer } = signer;
    if (role === "ca") return this.#signAsCa({ ...signer, role }, message, serial);
    const caId = issuer.ca.id;
    return signCounted(this.#deps, { handle, role, algorithm, message, purpose: "ocsp", caId });
  }

  async #signAsCa(
    { handle: key, role, algorithm, issuer }: OcspSigner & { readonly role: "ca" },
    message: Uint8Array,
    serial: Serial | undefined,
  ): Promise<Uint8Array> {
    const { signing } = this.#deps;
    const artifact = serial ?? "";
    const caId = issuer.ca.id;
    const what = { algorithm, message, purpose: "ocsp", caId, key, role, artifact } as const;
    const intended = await signing.intend(what);
    const signed = await intended.sign();
    await signed.close(async () => {});
    return signed.signature;
  }
}
