/**
 * The signing ceremony every certificate goes through: clear, intend, collect SCTs, sign,
 * commit.
 */

import type { EventDraft } from "#core/audit/actions.ts";
import type { SignPurpose } from "#core/audit/ledger.ts";
import { sha256Hex } from "#core/crypto.ts";
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
import type { Objection, Plan } from "#core/policy/plan.ts";
import type { Profile } from "#core/policy/profile.ts";
import type { CtPolicy } from "#core/policy/transparency.ts";
import { assert, Problem, refuse } from "#core/problems.ts";
import type { Instant } from "#core/time.ts";
import { closeTicket, openTicket, type SigningIntent } from "#domain/audit/sign-ledger.ts";
import type { CaSigner } from "#domain/authorities/signers.ts";
import { type KeyFactsDeps, keyFactsOf } from "#domain/key-checks/facts.ts";
import type { Keys, SignTicket } from "#domain/keys.ts";
import type { Clock, Random } from "#domain/ports.ts";
import type { Refusals } from "#domain/access/refusals.ts";
import { nothingWritten, type Store, type Unit } from "#domain/store.ts";
import { requireActive, reserveLeaf } from "#domain/tenants/quotas.ts";
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
  readonly keys: Keys;
  readonly clock: Clock;
  readonly random: Random;
  readonly weakKeys: KeyFactsDeps["weakKeys"];
  readonly caa: CaaGate;
  /** Writes down what gates and quotas refuse. */
  readonly refusals: Pick<Refusals, "record">;
  /** Refuses while the clock stands before what was committed last (PRC-4). */
  readonly refuseWhileBehind: () => void;
  /** Needed for profiles with certificate transparency only. */
  readonly scts?: SctCollector;
}

/** An intent that is durable: from here on the key may be used, once, over exactly these octets. */
interface Intended {
  readonly cleared: ClearedPlan;
  /**
   * Names the intent's row; operations that follow in the same ceremony have ids of their own in
   * the ledger.
   */
  readonly rowId: string;
  readonly intent: SigningIntent;
  readonly ticket: SignTicket;
  /** With the SCTs of logs, when the precertificate is signed already. */
  readonly final?: FinalPlan;
}

/** The one place where a certificate is signed. */
export class Ceremony {
  readonly #deps: CeremonyDeps;
  /** Intents to be abandoned as soon as the database takes it. */
  readonly #owed: (() => Promise<void>)[] = [];

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
    await this.#payOwed();
    const first = await this.#clearAndIntend(order);
    const intended = await this.#readied(order, first);
    const signature = await this.#sign(order, intended);
    try {
      return await this.#commit(order, intended, signature);
    } catch (error) {
      // The unit refused (a label taken, a CA rolled over meanwhile): what was signed is thrown
      // away and said to be.
      if (nothingWritten(error)) await this.#abandonOrOwe(order, intended, error);
      throw error;
    }
  }

  /**
   * What every gate says, with a serial drawn for nobody else: the one decision of issue and
   * preview (PRO-3, PRC-4).
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
    const drawn = drawSerial(this.#deps.random);
    const { issuer } = signer;
    const facts = { keyFacts, alternativeFacts };
    const local = clear({ plan, objections, profile, ...facts, now, issuer, drawn });
    if (!local.cleared) return local;
    return conclude(local.plan, await this.#deps.caa.judge(plan, profile, order.caaFacts));
  }

  /** A serial that was used before, which the store alone knows for sure, is drawn anew (REC-1). */
  async #clearAndIntend(order: SigningOrder): Promise<Intended> {
    for (let draw = 0; draw < drawsMax; draw++) {
      const cleared = await this.#clear(order);
      const intended = await this.#intendWithin(order, cleared);
      if (intended !== undefined) return intended;
    }
    throw new Error("three serials in a row were taken: the random source is broken");
  }

  async #clear(order: SigningOrder): Promise<ClearedPlan> {
    const clearance = await this.decide(order);
    if (clearance.cleared) return clearance.plan;
    const { refusal, gates } = clearance;
    await this.refused(order, refusal, gates);
    throw refusal;
  }

  /** Writes down that an order was refused; who asks again and again leaves one trace a minute. */
  async refused(
    order: SigningOrder,
    refusal: Problem,
    gates: readonly GateReport[],
  ): Promise<void> {
    for (const draft of order.refused(refusal, gates)) await this.#deps.refusals.record(draft);
  }

  /** A quota that is used up is a refusal on record, as that of a gate is. */
  async #intendWithin(order: SigningOrder, cleared: ClearedPlan): Promise<Intended | undefined> {
    try {
      return await this.#intend(order, cleared);
    } catch (error) {
      if (error instanceof Problem && error.code === "quota_exceeded") {
        await this.refused(order, error, cleared.gates);
      }
      throw error;
    }
  }

  /** One durable unit before the key is used: the intent with its serial, and the ledger entry. */
  async #intend(order: SigningOrder, cleared: ClearedPlan): Promise<Intended | undefined> {
    const { requestedBy, now } = order;
    const { serial, issuer } = cleared;
    const intent = this.#intentOf(order, cleared);
    const { opId, message, purpose } = intent;
    return await this.#deps.store.atomically(async (tx) => {
      await admitSigning(tx, order);
      const taken = !(await tx.certificates.intend({
        opId,
        caId: issuer.id,
        serial,
        purpose,
        tbsDigest: sha256Hex(message),
        requestedBy,
        createdAt: now,
        state: "intended",
      }));
      if (taken) return undefined;
      await keepCrlPointer(tx, cleared);
      return { cleared, rowId: opId, intent, ticket: await openTicket(tx, intent, now) };
    });
  }

  /**
   * What is signed last: after the alternative signature of a hybrid CA, or after logs have
   * given their SCTs.
   */
  async #readied(order: SigningOrder, first: Intended): Promise<Intended> {
    const ct = ctOf(order);
    if (ct !== undefined) return await this.#precertify(order, first, ct);
    if (first.cleared.alternative !== undefined) return await this.#signAlternative(order, first);
    return first;
  }

  /**
   * The SCT step (CT-1): what is to be signed next is the certificate with the SCTs of the logs.
   */
  async #precertify(order: SigningOrder, intended: Intended, ct: CtPolicy): Promise<Intended> {
    const { store, clock, random, scts } = this.#deps;
    assert(scts !== undefined, "where profiles use transparency there are logs to ask");
    const { cleared, rowId } = intended;
    const { issuer, serial } = cleared;

    // 1. Sign the precertificate.
    const signature = await this.#sign(order, intended);
    const certificate = assembleSigned(cleared.tbs, issuer.signature, signature);

    // 2. Keep it before any log can see it: from then on it counts as issued.
    const createdAt = clock.now();
    const unsettled = order.profile?.lint.public === true;
    const keeping = store.atomically(async (tx) => {
      await closeTicket(tx, intended.intent, { signature }, createdAt);
      await tx.transparency.keep({ caId: issuer.id, serial, certificate, unsettled, createdAt });
    });
    await keeping.catch((error) => this.#abandonUnlessWritten(order, intended, error));

    try {
      // 3. Collect SCTs; nothing is locked while logs think.
      const final = await scts.collect(ct, cleared, order.signer, certificate);

      // 4. Intend the final octets, as an entry of their own, if the CA still is what it was.
      const intent: SigningIntent = {
        ...intended.intent,
        opId: random.uuid(),
        purpose: order.purpose,
        message: final.tbs,
      };
      const at = clock.now();
      return await store.atomically(async (tx) => {
        await refuseUnlessActive(tx, order);
        const ticket = await openTicket(tx, intent, at);
        return { cleared, rowId, intent, ticket, final };
      });
    } catch (error) {
      if (nothingWritten(error)) {
        const drafts = error instanceof Problem ? order.refused(error, cleared.gates) : [];
        await this.#orOwe(() => this.#giveUp(rowId, drafts));
        await scts.lost();
      }
      throw error;
    }
  }

  async #giveUp(rowId: string, drafts: EventDrafts): Promise<void> {
    const at = this.#deps.clock.now();
    await this.#deps.store.atomically(async (tx) => {
      await tx.certificates.settle(rowId, "abandoned");
      for (const draft of drafts) await tx.audit.appendEvent(draft, at);
    });
  }

  /**
   * The operation that is next: of a hybrid CA the alternative signature first, the native one last
   * (PQ-6).
   */
  #intentOf(order: SigningOrder, cleared: ClearedPlan): SigningIntent {
    const { signer } = order;
    const purpose = ctOf(order) === undefined ? order.purpose : "precertificate";
    const { serial, tbs, issuer, alternative } = cleared;
    const handle = alternative === undefined ? signer.handle : signer.alternative;
    assert(handle !== undefined, "a hybrid issuer has a second key");
    return {
      opId: this.#deps.random.uuid(),
      key: handle.ref,
      spki: handle.spki,
      role: "ca",
      purpose,
      deviceSerial: handle.deviceSerial,
      caId: issuer.id,
      artifact: serial,
      algorithm: alternative?.algorithm ?? issuer.signature,
      message: alternative?.preTbs ?? tbs,
    };
  }

  /**
   * Makes the alternative signature, closes its entry and intends the native one over the complete
   * octets.
   */
  async #signAlternative(order: SigningOrder, first: Intended): Promise<Intended> {
    const signature = await this.#sign(order, first);
    const cleared = withAlternativeSignature(first.cleared, signature);
    const intent = this.#intentOf(order, cleared);
    const at = this.#deps.clock.now();
    const going = this.#deps.store.atomically(async (tx) => {
      await closeTicket(tx, first.intent, { signature }, at);
      return await openTicket(tx, intent, at);
    });
    const ticket = await going.catch((error) => this.#abandonUnlessWritten(order, first, error));
    return { cleared, rowId: first.rowId, intent, ticket };
  }

  /**
   * Outside any unit. The Keys port verifies what it gives back; what was signed is what was
   * intended.
   */
  async #sign(order: SigningOrder, intended: Intended): Promise<Uint8Array> {
    const { intent, ticket } = intended;
    try {
      const signature = await this.#deps.keys.sign(ticket, intent.message);
      assert(
        sha256Hex(intent.message) === ticket.digest,
        "the signed octets are the intended ones",
      );
      return signature;
    } catch (error) {
      await this.#abandonOrOwe(order, intended, error);
      throw error;
    }
  }

  /** For a unit between two signatures; throws what it failed with. */
  async #abandonUnlessWritten(
    order: SigningOrder,
    intended: Intended,
    error: unknown,
  ): Promise<never> {
    if (nothingWritten(error)) await this.#abandonOrOwe(order, intended, error);
    throw error;
  }

  async #abandonOrOwe(order: SigningOrder, intended: Intended, error: unknown): Promise<void> {
    const word = error instanceof Problem ? error.code : "internal";
    await this.#orOwe(() => this.#abandon(order, intended, word));
  }

  /**
   * What cannot be written down now, because the database is away, is before the next certificate;
   * at worst at a start.
   */
  async #orOwe(write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      // Its caller learns what it failed with first; only a database that is away is worth another
      // attempt.
      const away = error instanceof Problem && error.code === "storage_unavailable";
      if (away && nothingWritten(error) && this.#owed.length < owedMax) this.#owed.push(write);
    }
  }

  async #payOwed(): Promise<void> {
    for (const write of this.#owed.splice(0)) await this.#orOwe(write);
  }

  async #abandon(order: SigningOrder, intended: Intended, error: string): Promise<void> {
    const { intent, rowId, final } = intended;
    const at = this.#deps.clock.now();
    await this.#deps.store.atomically(async (tx) => {
      await closeTicket(tx, intent, { error }, at);
      await tx.certificates.settle(rowId, "abandoned");
      for (const draft of order.failed(error)) await tx.audit.appendEvent(draft, at);
    });
    if (final !== undefined) await this.#deps.scts?.lost();
  }

  /**
   * One unit: the certificate, its intent settled, the ledger closed, the event. Only then may
   * anybody see it.
   */
  async #commit(
    order: SigningOrder,
    intended: Intended,
    signature: Uint8Array,
  ): Promise<CertificateRecord> {
    const { cleared, rowId, intent, final } = intended;
    const certificate = this.#recordOf(order, intended, signature);
    const inclusions = final?.inclusions(certificate);
    const at = this.#deps.clock.now();
    await this.#deps.store.atomically(async (tx) => {
      await order.before?.(tx, certificate);
      await tx.certificates.activate(rowId, certificate);
      if (inclusions !== undefined) await expectInclusions(tx, certificate, inclusions);
      await order.after?.(tx, certificate);
      await closeTicket(tx, intent, { signature }, at);
      for (const draft of order.issued(certificate, cleared.gates)) {
        await tx.audit.appendEvent(draft, at);
      }
    });
    return certificate;
  }

  #recordOf(order: SigningOrder, intended: Intended, signature: Uint8Array): CertificateRecord {
    const { plan, issuer, serial } = intended.cleared;
    const tbs = intended.intent.message;
    const ct = intended.final?.facts;
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
      certificate: assembleSigned(tbs, issuer.signature, signature),
      notBefore: plan.notBefore,
      notAfter: plan.notAfter,
      status: "good",
      revokedAt: undefined,
      reason: undefined,
      requestedBy: order.requestedBy,
      createdAt: order.now,
      spkiSha256: spkiSha256(plan.publicKey.spki),
      marker: order.marker,
      ...crlPointerColumns(intended.cleared),
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

const ctOf = ({ profile }: Undecided): CtPolicy | undefined =>
  profile?.ct?.enabled === true ? profile.ct : undefined;

/** RFC 6962 §3.1: the poison stands where the SCT list will, last. */
const poisoned = (plan: Plan): Plan => ({ ...plan, extensions: [...plan.extensions, poison()] });

const owedMax = 1000;
const drawsMax = 3;
