/** Issuance of a leaf, the one path for every caller: load, admit, clear, intend, sign, commit. */

import type { CaId, Serial } from "#core/ids.ts";
import type { CaaFacts } from "#core/policy/caa.ts";
import type { ValidityLimit } from "#core/policy/plan.ts";
import { markerOf } from "#core/policy/profiles.ts";
import { secondsPerDay } from "#core/time.ts";
import type { Origin } from "#domain/access/call.ts";
import { acrossRollover } from "#domain/authorities/resolve.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { Unit } from "#domain/store.ts";
import type { Ceremony } from "./ceremony.ts";
import { leafEvents } from "./events.ts";
import { groundsFor, type Planned, type PlanningDeps, planned, provenRequest } from "./planning.ts";
import { type Preview, type PreviewWish, preview } from "./preview.ts";
import { plannedRenewal, type RenewWish } from "./renew.ts";
import type { CertificateRecord } from "./store.ts";

/** What a caller may ask for. */
export interface IssueWish {
  /** PEM or DER. */
  readonly csr: string | Uint8Array;
  readonly profile: string;
  readonly validityDays: number | undefined;
  readonly mustStaple: boolean | undefined;
  /** Protocols have a validity above a limit shortened; all others are refused (PRO-2). */
  readonly caller: "interactive" | "protocol";
  /** Runs in the unit that stores the certificate; what it throws keeps it from being stored. */
  readonly also?: (tx: Unit, certificate: CertificateRecord) => Promise<void>;
  /** The ACME account and how each name was validated; absent for every other caller. */
  readonly caaFacts?: CaaFacts;
}

/** An issued certificate and what a client needs beside it. */
export interface Issued {
  readonly certificate: Uint8Array;
  /** Every intermediate up to but not including the root (EXT-6). */
  readonly intermediates: readonly Uint8Array[];
  readonly serial: Serial;
  /** The CA that signed: the active member of the lineage that was asked. */
  readonly caId: CaId;
  readonly record: CertificateRecord;
  readonly clamped: ValidityLimit | undefined;
}

export interface IssuanceDeps extends PlanningDeps {
  readonly ceremony: Ceremony;
}

/** Issues leaves. */
export class Issuance {
  readonly #deps: IssuanceDeps;

  constructor(deps: IssuanceDeps) {
    this.#deps = deps;
  }

  /**
   * Refuses `unknown_profile`, `bad_csr`, `unsupported_name`, `ca_not_active`, what a gate refuses (`gate_refused`, or the
   * code of the one gate that did), and `key_unavailable`.
   */
  async issue(origin: Origin, ca: CaRecord, wish: IssueWish): Promise<Issued> {
    const { cas } = this.#deps.store.read;
    return await acrossRollover(cas, ca, (named) => this.#issue(origin, named, wish));
  }

  async #issue(origin: Origin, ca: CaRecord, wish: IssueWish): Promise<Issued> {
    // 1. Load: the active member of the lineage, its key, the profile in force.
    const grounds = await groundsFor(this.#deps, ca, wish.profile);

    // 2. Parse: one strict object that proves possession of its key.
    const csr = await provenRequest(wish.csr);

    // 3. Admit: a complete plan, and every reason against it.
    const { mustStaple, caller, validityDays } = wish;
    const validitySeconds = validityDays === undefined ? undefined : validityDays * secondsPerDay;
    const request = { csr, mustStaple, caller, validitySeconds };
    const plan = planned(this.#deps, grounds, request);

    // 4–9. Clear, intend, sign, commit: the ceremony of every certificate.
    return await certifyLeaf(this.#deps.ceremony, origin, plan, wish);
  }

  /**
   * The same identity again (REN-1). Refuses `not_found`, `not_renewable`, `identity_mismatch`, and everything an issue
   * refuses.
   */
  async renew(origin: Origin, ca: CaRecord, wish: RenewWish): Promise<Issued> {
    const { ceremony, store } = this.#deps;
    return await acrossRollover(store.read.cas, ca, async (named) => {
      const plan = await plannedRenewal(this.#deps, named, wish);
      return await certifyLeaf(ceremony, origin, plan, { renewedFrom: wish.serial });
    });
  }

  /** What `issue` would do; no event, no serial, no key. */
  async preview(ca: CaRecord, wish: PreviewWish): Promise<Preview> {
    return await preview(this.#deps, ca, wish);
  }
}

/** Takes a planned leaf through the ceremony. Refuses what a gate refuses, and `key_unavailable`. */
export async function certifyLeaf(
  ceremony: Ceremony,
  origin: Origin,
  planned: Planned,
  more: Pick<IssueWish, "also" | "caaFacts"> & { readonly renewedFrom?: Serial },
): Promise<Issued> {
  const { signer, profile, plan } = planned;
  const { clamped } = plan;
  const about = { profile: profile.name, clamped, renewedFrom: more.renewedFrom };
  const record = await ceremony.certify({
    ...{ ...planned, marker: markerOf(profile.name), kind: "leaf", purpose: "certificate" },
    ...{ tenant: signer.ca.tenant, requestedBy: origin.principal.subject },
    caaFacts: more.caaFacts,
    ...(more.also === undefined ? {} : { after: more.also }),
    ...leafEvents(origin, signer.ca, about),
  });
  const { certificate, serial } = record;
  const { intermediates, ca } = signer;
  return { certificate, intermediates, serial, caId: ca.id, record, clamped };
}
