/** Issuance of a leaf, the one path for every caller: load, admit, clear, intend, sign, commit. */

import type { CaId, Serial } from "#core/ids.ts";
import { admit } from "#core/policy/admit.ts";
import type { IssuanceSettings, ValidityLimit } from "#core/policy/plan.ts";
import type { ProfileSet } from "#core/policy/profiles.ts";
import { refuse } from "#core/problems.ts";
import { secondsPerDay, timestamp } from "#core/time.ts";
import { csrSignatureVerified, parseCsr } from "#core/x509/csr.ts";
import type { Origin } from "#domain/access/call.ts";
import { activeMember } from "#domain/authorities/resolve.ts";
import type { CaSigner, CaSigners } from "#domain/authorities/signers.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import type { Ceremony, SigningOrder } from "./ceremony.ts";
import { aboutCa, gateEvents, refusingGates } from "./events.ts";
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

export interface IssuanceDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly signers: CaSigners;
  readonly ceremony: Ceremony;
  /** The set in force; a reload replaces it as a whole. */
  readonly profiles: () => ProfileSet;
  readonly settings: IssuanceSettings;
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
    const { store, clock, signers, ceremony, profiles, settings } = this.#deps;

    // 1. Load: the active member of the lineage, its key, the profile in force.
    const now = clock.now();
    const signer = await signers.signer(await activeMember(store.read.cas, ca), now);
    const profile = profiles().named(wish.profile);

    // 2. Parse: one strict object that proves possession of its key.
    const csr = parseCsr(wish.csr);
    if (!(await csrSignatureVerified(csr))) throw refuse("bad_csr", { reason: "signature" });

    // 3. Admit: a complete plan, and every reason against it.
    const request = {
      ...{ csr, mustStaple: wish.mustStaple, caller: wish.caller },
      validitySeconds:
        wish.validityDays === undefined ? undefined : wish.validityDays * secondsPerDay,
    };
    const admission = admit(request, profile, signer.issuer, settings, now);
    if (!admission.readable) throw admission.refusal;

    // 4–9. Clear, intend, sign, commit: the ceremony of every certificate.
    const { plan, objections } = admission;
    const record = await ceremony.certify({
      ...{ signer, plan, objections, profile, now, marker: "", kind: "leaf" },
      ...{ purpose: "certificate", tenant: ca.tenant, requestedBy: origin.principal.subject },
      ...leafEvents(origin, signer, profile.name, plan.clamped),
    });
    const { certificate, serial } = record;
    const { intermediates } = signer;
    return {
      certificate,
      intermediates,
      serial,
      caId: signer.ca.id,
      record,
      clamped: plan.clamped,
    };
  }
}

/** The events of a leaf, whatever becomes of it. */
export function leafEvents(
  origin: Origin,
  { ca }: CaSigner,
  profile: string,
  clamped: ValidityLimit | undefined,
): Pick<SigningOrder, "issued" | "refused" | "failed"> {
  const requester = origin.principal.subject;
  return {
    issued: ({ serial, notAfter }, gates) => [
      ...gateEvents(origin, ca, profile, gates),
      {
        ...{ action: "cert.issue", result: "success", ...aboutCa(origin, ca, serial) },
        targetName: serial,
        detail: {
          ...{ profile, not_after: timestamp(notAfter), ct: "none", requester },
          validity_clamped: clamped,
        },
      },
    ],
    refused: (_refusal, gates) => [
      ...gateEvents(origin, ca, profile, gates),
      {
        ...{ action: "cert.issue", result: "denied", ...aboutCa(origin, ca) },
        detail: { profile, requester, reasons: refusingGates(gates) },
      },
    ],
    failed: (error) => [
      {
        ...{ action: "cert.issue", result: "error", ...aboutCa(origin, ca) },
        detail: { profile, requester, reasons: error },
      },
    ],
  };
}
