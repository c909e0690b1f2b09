/**
 * The signing ceremony every certificate goes through: decide, intend, alternative signature or
 * SCTs, sign, commit.
 */

import type { EventDraft } from "#core/audit/actions.ts";
import type { SignPurpose } from "#core/audit/ledger.ts";
import { generalNameText } from "#core/x509/general-names.ts";
import { commonName, nameText } from "#core/x509/names.ts";
import { spkiSha256 } from "#core/x509/public-keys.ts";
import { assembleSigned } from "#core/x509/certificate.ts";
import { poison } from "#core/x509/precertificate.ts";
import type { TenantId } from "#core/ids.ts";
import type { CaaFacts } from "#core/policy/caa.ts";
import {
  type Clearance,
  type ClearedPlan,
  clear,
  conclude,
  type GateReport,
  withAlternativeSignature,
} from "#core/policy/gates.ts";
import { mayBePrime } from "#core/policy/key-quality.ts";
import type { Objection, Plan } from "#core/policy/plan.ts";
import type { Profile } from "#core/policy/profile.ts";
import type { CtPolicy } from "#core/policy/transparency.ts";
import { assert, Problem, refuse } from "#core/problems.ts";
import type { Instant } from "#core/time.ts";
import { Turns } from "#core/turns.ts";
import type { CaSigner } from "#domain/authorities/signers.ts";
import { type KeyFactsDeps, keyFactsOf } from "./key-facts.ts";
import type { Clock, Random } from "#domain/ports.ts";
import type { Refusals } from "#domain/access/refusals.ts";
import type { Intended, IntentRows, Signing, ToBeSigned } from "#domain/signing/signing.ts";
import { nothingWritten, type Store, type Unit } from "#domain/store.ts";
import { requireActive } from "#domain/access/suspension.ts";
import { reserveLeaf } from "#domain/tenants/quotas.ts";
import type { InclusionRecord } from "#domain/transparency/store.ts";
import type { CaaGate } from "./caa.ts";
import type { FinalPlan, SctCollector } from "./scts.ts";
import { drawSerial } from "./serials.ts";
import { keepCrlPointer, crlPointerColumns } from "./crl-pointers.ts";
import type { CertificateRecord } from "./store.ts";

/** What is to be certified, by whom, and what else its unit writes. */
export interface SigningOrder {
  readonly signer: CaSigner;
  readonly plan: Plan;
  readonly objections: readonly Objection[];
  /** Undefined for CA and responder certificates, for which nothing is relaxed. */
  readonly profile: Profile | undefined;
  readonly kind: CertificateRecord["kind"];
  readonly purpose: SignPurpose;
  readonly tenant: TenantId;
  readonly requestedBy: string;
  readonly marker: string;
  readonly now: Instant;
  /** What CAA may be told about who asks; absent outside ACME. */
  readonly caaFacts?: CaaFacts | undefined;
  /** Written in the committing unit before the certificate's row: the record of a new CA. */
  readonly before?: (tx: Unit, certificate: CertificateRecord) => Promise<void>;
  /** Written in it after the row. */
  readonly after?: (tx: Unit, certificate: CertificateRecord) => Promise<void>;
  /** Events of the committing unit. */
  readonly issued: (certificate: CertificateRecord, gates: readonly GateReport[]) => EventDrafts;
  /** Events when gates refuse; nothing else happens then. */
  readonly refused: (refusal: Problem, gates: readonly GateReport[]) => EventDrafts;
  /** Events when the key provider fails. */
  readonly failed: (error: string) => EventDrafts;
}

/** As much of an order as the gates look at. */
export type Undecided = Pick<
  SigningOrder,
  "signer" | "plan" | "objections" | "profile" | "kind" | "tenant" | "now" | "caaFacts"
>;

type EventDrafts = readonly EventDraft[];

export interface CeremonyDeps {
  readonly store: Store;
  readonly signing: Signing;
  readonly clock: Clock;
  readonly random: Random;
  readonly weakKeys: KeyFactsDeps["weakKeys"];
  readonly isAccountKey?: KeyFactsDeps["isAccountKey"];
  readonly caa: CaaGate;
  /** Writes down what gates and quotas refuse. */
  readonly refusals: Pick<Refusals, "record">;
  /** Refuses while the clock stands before what was committed last (PRC-4). */
  readonly refuseWhileBehind: () => void;
  /** Needed for profiles with certificate transparency only. */
  readonly scts?: SctCollector;
}

/** Octets that are intended and what they are signed for. */
interface Step {
  readonly cleared: ClearedPlan;
  /**
   * Names the intent's row; operations that follow in the same ceremony have ids of their own in
   * the ledger.
   */
  readonly rowId: string;
  /** The TBSCertificate that is signed, or is going to be once it has its alternative signature. */
  readonly tbs: Uint8Array;
  readonly intended: Intended;
  /** With the SCTs of logs, when the precertificate is signed already. */
  readonly final?: FinalPlan;
}

/** The one place where a certificate is signed. */
export class Ceremony {
  readonly #deps: CeremonyDeps;
  readonly #dearKeys = new Turns();

  constructor(deps: CeremonyDeps) {
    this.#deps = deps;
  }

  /**
   * Certifies the order. Refuses `storage_unavailable` while a step of the clock pauses issuance,
   * what a gate refuses, before any private-key operation and with its denied events;
   * `key_unavailable` and the like when the provider fails, `ct_policy_unmet` when too few logs
   * give an SCT, both with the intent abandoned.
   */
  async certify(order: SigningOrder): Promise<CertificateRecord> {
    // 1. Load: who orders brings the signer, its keys held against their pins, and the plan.
    const { signer, purpose } = order;

    // 2. Decide. What a gate or a quota refuses is put on record, and no key has been used.
    // 3. Intend: serial, reservation and ledger entry durable in one unit. When it fails, nothing
    //    has happened; a serial that is taken is drawn anew.
    let step = await this.#decidedAndIntended(order);

    // From here on the intent is durable. A key that fails, or a unit that refuses for sure, has it
    // abandoned, its entry closed as an error, and the events of the failure appended; a crash
    // leaves an orphan for the next start, whose serial is never used again.

    // 4a. Of a hybrid CA the alternative key signs first; its value is part of what is signed last
    //     (PQ-6). One unit closes its entry and intends the complete octets.
    if (step.cleared.alternative !== undefined) {
      const signed = await step.intended.sign();
      const { cleared: before, rowId } = step;
      const cleared = await signed.prepare(() =>
        withAlternativeSignature(before, signed.signature),
      );
      const next = nativelySigned(signer, cleared, purpose);
      const intended = await signed.closeAndIntend(next, this.#rows(order, step));
      step = { cleared, rowId, tbs: cleared.tbs, intended };
    }

    // 4b. With transparency the precertificate is signed first, and kept before any log can see it:
    //     from then on it counts as issued (RFC 6962 §3.1). Logs are asked while nothing is locked.
    //     When they or the unit refuse, its serial is told lost, and revoked where it is public.
    const ct = ctOf(order);
    if (ct !== undefined) {
      const { scts } = this.#deps;
      assert(scts !== undefined, "where profiles use transparency there are logs to ask");
      const precertificate = await this.#precertificate(order, step);
      step = await this.#finalized(order, step, () =>
        scts.collect(ct, step.cleared, signer, precertificate),
      );
    }

    // 5. Sign. The signature is verified, and of the intended octets, before anybody sees it.
    const signed = await step.intended.sign();

    // 6. Commit, in one unit: the certificate, its intent settled, the ledger closed, the events.
    //    When the unit refuses (a label taken, a CA rolled over meanwhile), what was signed is
    //    thrown away and said to be.
    const { record, inclusions } = await signed.prepare(() =>
      this.#madeOf(order, step, signed.signature),
    );
    await signed.close(async (tx, at) => {
      await order.before?.(tx, record);
      await tx.certificates.activate(step.rowId, record);
      if (inclusions !== undefined) await expectInclusions(tx, record, inclusions);
      await order.after?.(tx, record);
      await append(tx, order.issued(record, step.cleared.gates), at);
    });
    return record;
  }

  /**
   * What every gate says, with a serial drawn for nobody else: the one decision of issue and
   * preview (PRO-3, PRC-4). What a gate objects to is told and not thrown. Refuses
   * `storage_unavailable` while a step of the clock pauses issuance, and what a gate refuses that
   * cannot be asked.
   */
  async decide(order: Undecided): Promise<Clearance> {
    // What keeps revocation reachable goes on: relying parties must be answered whatever the clock
    // says.
    if (order.kind !== "responder" && order.kind !== "serving") this.#deps.refuseWhileBehind();
    const { objections, profile, now, signer } = order;
    const plan = ctOf(order) === undefined ? order.plan : poisoned(order.plan);
    const keyFacts = await keyFactsOf(this.#deps, order);
    const { subject, sans, alternativeKey: publicKey } = plan;
    const alternativeFacts =
      publicKey && (await keyFactsOf(this.#deps, { ...order, plan: { publicKey, subject, sans } }));
    // What a prime test answers comes back for many in one turn, and judging each is long
    // arithmetic: every key of that kind has a turn of its own.
    if (mayBePrime(plan.publicKey)) await this.#dearKeys.next();
    const drawn = drawSerial(this.#deps.random);
    const { issuer } = signer;
    const facts = { keyFacts, alternativeFacts };
    const local = clear({ plan, objections, profile, ...facts, now, issuer, drawn });
    if (!local.cleared) return local;
    return conclude(local.plan, await this.#deps.caa.judge(plan, profile, order.caaFacts));
  }

  /** Writes down that an order was refused; who asks again and again leaves one trace a minute. */
  async refused(
    order: SigningOrder,
    refusal: Problem,
    gates: readonly GateReport[],
  ): Promise<void> {
    for (const draft of order.refused(refusal, gates)) await this.#deps.refusals.record(draft);
  }

  /** A serial that was used before, which the store alone knows for sure, is drawn anew (REC-1). */
  async #decidedAndIntended(order: SigningOrder): Promise<Step> {
    for (let draw = 0; draw < drawsMax; draw++) {
      const clearance = await this.decide(order);
      if (!clearance.cleared) {
        await this.refused(order, clearance.refusal, clearance.gates);
        throw clearance.refusal;
      }
      try {
        return await this.#intended(order, clearance.plan);
      } catch (error) {
        // A quota that is used up is a refusal on record, as that of a gate is.
        if (error instanceof Problem && error.code === "quota_exceeded") {
          await this.refused(order, error, clearance.plan.gates);
        }
        if (!(error instanceof SerialTaken)) throw error;
      }
    }
    throw new Error("three serials in a row were taken: the random source is broken");
  }

  async #intended(order: SigningOrder, cleared: ClearedPlan): Promise<Step> {
    const { requestedBy, now, signer } = order;
    const { serial, issuer, tbs } = cleared;
    const purpose = ctOf(order) === undefined ? order.purpose : "precertificate";
    const first =
      cleared.alternative === undefined
        ? nativelySigned(signer, cleared, purpose)
        : alternativelySigned(signer, cleared, cleared.alternative, purpose);
    const intended = await this.#deps.signing.intend(first, {
      ...this.#rows(order, { cleared }),
      intended: async (tx, { opId, digest }) => {
        await admitSigning(tx, order);
        const free = await tx.certificates.intend({
          opId,
          caId: issuer.id,
          serial,
          purpose,
          tbsDigest: digest,
          requestedBy,
          createdAt: now,
          state: "intended",
        });
        if (!free) throw new SerialTaken();
        await keepCrlPointer(tx, cleared);
      },
    });
    return { cleared, rowId: intended.opId, tbs, intended };
  }

  /** Gives the signed precertificate once it is kept. */
  async #precertificate(order: SigningOrder, { cleared, intended }: Step): Promise<Uint8Array> {
    const { issuer, serial, tbs } = cleared;
    const signed = await intended.sign();
    const certificate = await signed.prepare(() =>
      assembleSigned(tbs, issuer.signature, signed.signature),
    );
    const unsettled = order.profile?.lint.public === true;
    await signed.close((tx, createdAt) =>
      tx.transparency.keep({ caId: issuer.id, serial, certificate, unsettled, createdAt }),
    );
    return certificate;
  }

  /**
   * The SCT step (CT-1): what is to be signed next is the certificate with the SCTs of the logs, an
   * operation of its own, if the CA still is what it was.
   */
  async #finalized(
    order: SigningOrder,
    { cleared, rowId }: Step,
    collect: () => Promise<FinalPlan>,
  ): Promise<Step> {
    const { signing } = this.#deps;
    try {
      const final = await collect();
      const { tbs } = final;
      const next = nativelySigned(order.signer, { ...cleared, tbs }, order.purpose);
      const intended = await signing.intend(next, {
        ...this.#rows(order, { cleared, rowId, final }),
        intended: (tx) => refuseUnlessActive(tx, order),
      });
      return { cleared, rowId, tbs, intended, final };
    } catch (error) {
      if (nothingWritten(error)) {
        const drafts = error instanceof Problem ? order.refused(error, cleared.gates) : [];
        await signing.writeOrOwe(() => this.#giveUp(rowId, drafts));
        await this.#deps.scts?.lost();
      }
      throw error;
    }
  }

  async #giveUp(rowId: string, drafts: EventDrafts): Promise<void> {
    const at = this.#deps.clock.now();
    await this.#deps.store.atomically(async (tx) => {
      await tx.certificates.settle(rowId, "abandoned");
      await append(tx, drafts, at);
    });
  }

  /** What is written when nothing comes of an operation, whichever of the ceremony it is. */
  #rows(
    order: SigningOrder,
    { cleared, rowId, final }: Pick<Step, "cleared"> & Partial<Pick<Step, "rowId" | "final">>,
  ): IntentRows {
    return {
      serial: { serial: cleared.serial, takenBy: rowId },
      abandoned: async (tx, { opId, error, at }) => {
        await tx.certificates.settle(rowId ?? opId, "abandoned");
        await append(tx, order.failed(error), at);
      },
      afterAbandoned: async () => {
        if (final !== undefined) await this.#deps.scts?.lost();
      },
    };
  }

  #madeOf(order: SigningOrder, step: Step, signature: Uint8Array) {
    const record = this.#recordOf(order, step, signature);
    return { record, inclusions: step.final?.inclusions(record) };
  }

  #recordOf(order: SigningOrder, step: Step, signature: Uint8Array): CertificateRecord {
    const { plan, issuer, serial } = step.cleared;
    const ct = step.final?.facts;
    return {
      id: this.#deps.random.uuid(),
      caId: issuer.id,
      tenant: order.tenant,
      serial,
      kind: order.kind,
      subject: nameText(plan.subject),
      commonName: commonName(plan.subject),
      sans: plan.sans.map(generalNameText),
      profile: plan.profile,
      certificate: assembleSigned(step.tbs, issuer.signature, signature),
      notBefore: plan.notBefore,
      notAfter: plan.notAfter,
      status: "good",
      revokedAt: undefined,
      reason: undefined,
      requestedBy: order.requestedBy,
      createdAt: order.now,
      spkiSha256: spkiSha256(plan.publicKey.spki),
      marker: order.marker,
      ...crlPointerColumns(step.cleared),
      ...(ct === undefined ? {} : { ct }),
    };
  }
}

/**
 * Before anything is intended: the tenant may still issue, and has room for one leaf more (ISS-2).
 * OCSP and the service's own port go on without it (TEN-2).
 */
async function admitSigning(tx: Unit, order: SigningOrder): Promise<void> {
  const { kind, tenant, now } = order;
  const bound = kind !== "responder" && kind !== "serving";
  // Asked together: PostgreSQL answers both in one round trip.
  const [, state] = await Promise.all([
    refuseUnlessActive(tx, order),
    bound ? tx.tenants.state(tenant) : undefined,
  ]);
  if (!bound) return;
  requireActive(state);
  if (kind === "leaf") await reserveLeaf(tx, tenant, state, now);
}

/**
 * Units of all replicas come one after the other, so an order whose signer was superseded or
 * retired meanwhile ends here, before the key is used (ROL-3). Responders are certified by every
 * key that still has certificates to answer for; a root that certifies itself is not there yet.
 */
async function refuseUnlessActive(tx: Unit, { signer, plan }: SigningOrder): Promise<void> {
  if (plan.kind === "responder") return;
  const status = await tx.cas.status(signer.ca.id);
  if (status === "active" || (plan.kind === "root" && status === undefined)) return;
  throw refuse("ca_not_active", { status: status ?? "deleted" });
}

/** In the unit of the certificate: its precertificate has become one, and its logs are watched. */
async function expectInclusions(
  tx: Unit,
  { caId, serial }: CertificateRecord,
  inclusions: readonly InclusionRecord[],
): Promise<void> {
  await tx.transparency.settlePrecertificate(caId, serial);
  for (const inclusion of inclusions) await tx.transparency.expect(inclusion);
}

/** The octets of the native key; it signs last. */
const nativelySigned = (
  { handle }: CaSigner,
  { issuer, serial, tbs }: Pick<ClearedPlan, "issuer" | "serial" | "tbs">,
  purpose: SignPurpose,
): ToBeSigned => ({
  key: handle,
  role: "ca",
  algorithm: issuer.signature,
  message: tbs,
  purpose,
  caId: issuer.id,
  artifact: serial,
});

/** Those of the second key of a hybrid CA. */
function alternativelySigned(
  { alternative: handle }: CaSigner,
  { issuer, serial }: ClearedPlan,
  { algorithm, preTbs }: NonNullable<ClearedPlan["alternative"]>,
  purpose: SignPurpose,
): ToBeSigned {
  assert(handle !== undefined, "a hybrid issuer has a second key");
  const { id: caId } = issuer;
  return { key: handle, role: "ca", algorithm, message: preTbs, purpose, caId, artifact: serial };
}

async function append(tx: Unit, drafts: EventDrafts, at: Instant): Promise<void> {
  for (const draft of drafts) await tx.audit.appendEvent(draft, at);
}

const ctOf = ({ profile }: Undecided): CtPolicy | undefined =>
  profile?.ct?.enabled === true ? profile.ct : undefined;

/** RFC 6962 §3.1: the poison stands where the SCT list will, last. */
const poisoned = (plan: Plan): Plan => ({ ...plan, extensions: [...plan.extensions, poison()] });

/** Drawn anew: nobody learns of it. */
class SerialTaken extends Error {}

const drawsMax = 3;
