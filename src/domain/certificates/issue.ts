/** Issuance of a leaf, the one path for every caller: load, admit, clear, intend, sign, commit. */

import { detailValues } from "#core/audit/detail.ts";
import type { CaId, Serial } from "#core/ids.ts";
import type { Caller } from "#core/policy/admit.ts";
import type { CaaFacts } from "#core/policy/caa.ts";
import { type ValidityLimit, validityLimits } from "#core/policy/plan.ts";
import { type canaryMarker, markerOf } from "#core/policy/profiles.ts";
import { assert } from "#core/problems.ts";
import { secondsPerDay } from "#core/time.ts";
import type { CertificationRequest } from "#core/x509/csr.ts";
import type { Origin } from "#domain/actor.ts";
import { acrossRollover } from "#domain/authorities/resolve.ts";
import { certificatesOf, withoutRoot } from "#domain/authorities/signers.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { Reads, Unit } from "#domain/store.ts";
import type { Ceremony, SigningOrder } from "./ceremony.ts";
import { leafEvents } from "./events.ts";
import { contextFor, type Planned, type PlanningDeps, planned, provenRequest } from "./planning.ts";
import { type Preview, type PreviewRequest, preview } from "./preview.ts";
import { plannedRenewal, type RenewRequest } from "./renew.ts";
import type { CertificateRecord } from "./store.ts";

/** What a caller may ask for. */
export interface IssueRequest {
  /** PEM or DER. */
  readonly csr: string | Uint8Array;
  readonly profile: string;
  readonly validityDays: number | undefined;
  readonly mustStaple: boolean | undefined;
  readonly caller: Caller;
  /** Runs in the unit that stores the certificate; what it throws keeps it from being stored. */
  readonly also?: (tx: Unit, certificate: CertificateRecord) => Promise<void>;
  /** What the certificate names in the place of what the request says: names that were proved. */
  readonly identity?: Pick<CertificationRequest, "subject" | "sans">;
  /** The ACME account and how each name was validated; absent for every other caller. */
  readonly caaFacts?: CaaFacts;
  /** Another marker than the profile gives: of probes, whose profile is a setting. */
  readonly marker?: typeof canaryMarker;
  /** The protocol a device speaks. */
  readonly protocol?: "acme";
  /** What a device has it for in the place of; the event of such a renewal is `cert.issue` too. */
  readonly replaces?: Serial | undefined;
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
   * Refuses `unknown_profile`, `bad_csr`, `unsupported_name`, `ca_not_active`, what a gate refuses
   * (`gate_refused`, or the code of the one gate that did), and `key_unavailable`.
   */
  async issue(origin: Origin, ca: CaRecord, request: IssueRequest): Promise<Issued> {
    const { cas } = this.#deps.store.read;
    return await acrossRollover(cas, ca, (named) => this.#issue(origin, named, request));
  }

  async #issue(origin: Origin, ca: CaRecord, request: IssueRequest): Promise<Issued> {
    const plan = await this.#planned(ca, request);

    // 4. Decide, intend, sign, commit: the ceremony of every certificate.
    return await certifyLeaf(this.#deps.ceremony, origin, plan, request);
  }

  async #planned(ca: CaRecord, request: IssueRequest): Promise<Planned> {
    // 1. Load: the active member of the lineage, its key, the profile in force.
    const context = await contextFor(this.#deps, ca, request.profile);

    // 2. Parse: one strict object that proves possession of its key.
    const csr = { ...(await provenRequest(request.csr)), ...request.identity };

    // 3. Admit: a complete plan, and every reason against it.
    const { mustStaple, caller, validityDays } = request;
    const validitySeconds = validityDays === undefined ? undefined : validityDays * secondsPerDay;
    const leafRequest = { csr, mustStaple, caller, validitySeconds };
    return planned(this.#deps, context, leafRequest);
  }

  /**
   * Refuses, with the events of a refusal, what an issue would be refused with now; for one that is
   * to wait.
   */
  async admissible(origin: Origin, ca: CaRecord, request: IssueRequest): Promise<void> {
    const { cas } = this.#deps.store.read;
    await acrossRollover(cas, ca, async (named) =>
      this.#judge(origin, await this.#planned(named, request), {}),
    );
  }

  /** The same for a renewal. */
  async renewable(origin: Origin, ca: CaRecord, request: RenewRequest): Promise<void> {
    const { cas } = this.#deps.store.read;
    await acrossRollover(cas, ca, async (named) => {
      const plan = await plannedRenewal(this.#deps, named, request);
      return await this.#judge(origin, plan, { renewedFrom: request.serial });
    });
  }

  async #judge(origin: Origin, plan: Planned, more: LeafMore): Promise<void> {
    const { ceremony } = this.#deps;
    const order = leafOrder(origin, plan, more);
    const decided = await ceremony.decide(order);
    if (decided.cleared) return;
    const { refusal, gates } = decided;
    await ceremony.refused(order, refusal, gates);
    throw refusal;
  }

  /**
   * The same identity again (REN-1). Refuses `not_found`, `not_renewable`, `identity_mismatch`, and
   * everything an issue refuses.
   */
  async renew(origin: Origin, ca: CaRecord, request: RenewRequest): Promise<Issued> {
    const { ceremony, store } = this.#deps;
    return await acrossRollover(store.read.cas, ca, async (named) => {
      const plan = await plannedRenewal(this.#deps, named, request);
      return await certifyLeaf(ceremony, origin, plan, { renewedFrom: request.serial });
    });
  }

  /** What `issue` would do; no event, no serial, no key. */
  async preview(ca: CaRecord, request: PreviewRequest): Promise<Preview> {
    return await preview(this.#deps, ca, request);
  }
}

/**
 * Takes a planned leaf through the ceremony. Refuses what a gate refuses, and `key_unavailable`.
 */
export async function certifyLeaf(
  ceremony: Ceremony,
  origin: Origin,
  planned: Planned,
  more: LeafMore,
): Promise<Issued> {
  const record = await ceremony.certify(leafOrder(origin, planned, more));
  const { certificate, serial } = record;
  const { intermediates, ca } = planned.signer;
  return { certificate, intermediates, serial, caId: ca.id, record, clamped: planned.plan.clamped };
}

type LeafMore = Pick<IssueRequest, "also" | "caaFacts" | "marker" | "protocol" | "replaces"> & {
  readonly renewedFrom?: Serial;
};

function leafOrder(origin: Origin, planned: Planned, more: LeafMore): SigningOrder {
  const { signer, profile, plan } = planned;
  const { clamped } = plan;
  const { renewedFrom, protocol, replaces } = more;
  const about = { profile: profile.name, clamped, renewedFrom, protocol, replaces };
  return {
    ...planned,
    marker: more.marker ?? markerOf(profile.name),
    kind: "leaf",
    purpose: "certificate",
    tenant: signer.ca.tenant,
    requestedBy: origin.principal.subject,
    caaFacts: more.caaFacts,
    ...(more.also === undefined ? {} : { after: more.also }),
    ...leafEvents(origin, signer.ca, about),
  };
}

/**
 * A certificate of the inventory as its issue answered it; what shortened its validity is in its
 * event.
 */
export async function issuedBefore(
  read: Pick<Reads, "cas" | "certificates" | "audit">,
  ca: CaId,
  serial: Serial,
): Promise<Issued> {
  const { record, intermediates } = await storedIssue(read, ca, serial);
  const { certificate } = record;
  const clamped = await clampedBy(read, ca, serial);
  return { certificate, intermediates, serial, caId: ca, record, clamped };
}

/** A certificate that was issued, with the intermediates behind it; asserts that it is stored. */
export async function storedIssue(
  read: Pick<Reads, "cas" | "certificates">,
  ca: CaId,
  serial: Serial,
): Promise<Pick<Issued, "record" | "intermediates">> {
  const record = await read.certificates.bySerial(ca, serial);
  const signer = await read.cas.byId(ca);
  assert(record !== undefined && signer !== undefined, "what was issued is stored");
  return { record, intermediates: withoutRoot(await certificatesOf(read.cas, signer)) };
}

async function clampedBy(
  { audit }: Pick<Reads, "audit">,
  ca: CaId,
  serial: Serial,
): Promise<ValidityLimit | undefined> {
  for (const action of ["cert.issue", "cert.renew"] as const) {
    const filter = { reach: "platform", caId: ca, serial, action, result: "success" } as const;
    const [event] = (await audit.events(filter, 1)).items;
    const by = event && detailValues(event.detail).get("validity_clamped");
    if (by !== undefined) return validityLimits.find((limit) => limit === by);
  }
  return undefined;
}
