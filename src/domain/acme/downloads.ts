/** Certificates as accounts fetch them (RFC 8555 §7.4.2). */

import { decodePemBlocks } from "#core/asn1/pem.ts";
import { assert, refuse } from "#core/problems.ts";
import { certificatePem, pemBundle } from "#domain/authorities/bundle.ts";
import { chainsOf } from "#domain/authorities/chains.ts";
import { withoutRoot } from "#domain/authorities/signers.ts";
import { storedIssue } from "#domain/certificates/issue.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import type { AccountRecord } from "./store.ts";

/** A chain, and how many others there are. */
export interface Download {
  /** The certificate, then each that certifies the one before it, without the root. */
  readonly pem: string;
  /** Alternates are numbered from 1. */
  readonly alternates: number;
}

/** Hands certificates out. */
export class Downloads {
  readonly #deps: { readonly store: Pick<Store, "read">; readonly clock: Clock };

  constructor(deps: { readonly store: Pick<Store, "read">; readonly clock: Clock }) {
    this.#deps = deps;
  }

  /**
   * The chain of an order's certificate; `alternate` takes the path through that cross certificate.
   * Refuses `acme_not_found`, and `acme_unauthorized` for an order of another account.
   */
  async chain(account: AccountRecord, order: string, alternate = 0): Promise<Download> {
    const { store, clock } = this.#deps;
    const found = await store.read.acme.order(order);
    if (found?.certificate === undefined) throw refuse("acme_not_found");
    if (found.account !== account.id) {
      throw refuse("acme_unauthorized", { reason: "the certificate is not of this account" });
    }
    const { caId, serial } = found.certificate;
    const { record, intermediates } = await storedIssue(store.read, caId, serial);
    // Of one that was archived long ago no octets are left.
    if (record.certificate.length === 0) throw refuse("acme_not_found");
    const ca = await store.read.cas.byId(caId);
    assert(ca !== undefined, "whoever signed a certificate is stored");
    const others = (await chainsOf(store.read.cas, ca, clock.now())).filter(
      ({ crossSign }) => crossSign !== undefined,
    );
    const leaf = certificatePem(record.certificate);
    if (alternate === 0) return { pem: leaf + pemBundle(intermediates), alternates: others.length };
    const other = others[alternate - 1];
    if (other === undefined) throw refuse("acme_not_found");
    const path = decodePemBlocks(other.pem, "CERTIFICATE", pathMax);
    assert(path !== undefined, "what was just written can be read");
    return { pem: leaf + pemBundle(withoutRoot(path)), alternates: others.length };
  }
}

const pathMax = 100;
