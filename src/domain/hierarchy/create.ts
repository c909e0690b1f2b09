/**
 * Creates CAs: a key in the provider, announced in the ledger, and a certificate through the
 * ceremony.
 */

import { caId, type TenantId } from "#core/ids.ts";
import { caIdFrom } from "#core/approvals/ca-id.ts";
import type { Action } from "#core/audit/actions.ts";
import {
  type CaConstraints,
  caExtensions,
  caKeyUsages,
  constraintExtensions,
  copiedConstraints,
  copiedPurposes,
  repeatedExtensions,
} from "#core/policy/certificate-extensions.ts";
import { pathViolations, unpermittedSubtrees } from "#core/policy/name-constraints.ts";
import type { IssuanceSections, Issuer, Plan } from "#core/policy/plan.ts";
import { placeValidity, type Validity } from "#core/policy/validity.ts";
import { Problem, refuse } from "#core/problems.ts";
import { type Instant, secondsPerDay } from "#core/time.ts";
import {
  defaultSignature,
  isForRootsOnly,
  isPostQuantum,
  type KeyType,
} from "#core/x509/algorithms.ts";
import {
  type Extension,
  extendedKeyUsage,
  parseExtendedKeyUsage,
  subjectKeyId,
} from "#core/x509/extensions.ts";
import { encodeName, type Name, type NameAttribute, nameText } from "#core/x509/names.ts";
import { parsePublicKey, spkiSha256 } from "#core/x509/public-keys.ts";
import type { Origin } from "#domain/actor.ts";
import type { Ceremony } from "#domain/certificates/ceremony.ts";
import type { ProviderName } from "#domain/key-ref.ts";
import type { KeyHandle, Keys } from "#domain/keys.ts";
import type { Clock, Random } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import { requireActive } from "#domain/access/suspension.ts";
import { requireTenant } from "#domain/tenants/quotas.ts";
import { alternativeOf, type CaKeys, discardCaKeys, makeCaKeys } from "./ca-keys.ts";
import { creationEvents } from "./creation-events.ts";
import { type CaSetting, requireFreeLabel } from "#domain/authorities/labels.ts";
import { acrossRollover, activeMember } from "#domain/authorities/resolve.ts";
import {
  nextLabel,
  type Rotation,
  type RotationRequest,
  rotatable,
  type Succeeded,
  succeed,
} from "./rollover.ts";
import type { CaSigner, CaSigners } from "#domain/authorities/signers.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import { Turns } from "./turns.ts";

/** What a new CA shall be. */
export interface CaRequest {
  readonly label: string;
  readonly subject: readonly NameAttribute[];
  readonly keyType: KeyType;
  /** Makes it hybrid: an ML-DSA key that signs beside the native one (PQ-4). */
  readonly alternativeKeyType?: KeyType | undefined;
  /**
   * Undefined takes the default, shortened to the parent's life; a number above that is refused.
   */
  readonly validityDays: number | undefined;
  readonly maxPathLength: number | undefined;
  readonly nameConstraints: CaConstraints["nameConstraints"];
  readonly policies: CaConstraints["policies"];
  /** Of an intermediate: what its leaves may be for, words or dotted OIDs; none leaves it open. */
  readonly extKeyUsages?: readonly string[] | undefined;
}

export interface AuthoritiesDeps {
  readonly store: Store;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly random: Random;
  readonly signers: CaSigners;
  readonly ceremony: Ceremony;
  /**
   * Told every CA that has become active, once that is stored; makes what goes with it and does not
   * throw.
   */
  readonly activated: (ca: CaRecord["id"]) => Promise<void>;
  readonly config: Pick<IssuanceSections, "issuance"> & {
    readonly key_provider: { readonly roles: { readonly ca: ProviderName } };
  };
  /** Settings of the current configuration that name a CA; undefined for none. */
  readonly caSettings?: () => readonly CaSetting[];
}

/** Who asks for what kind of CA, once it is known that it may be. */
interface Creation {
  readonly origin: Origin;
  readonly request: Pick<CaRequest, "label" | "keyType" | "alternativeKeyType">;
  readonly constraints: readonly Extension[];
  /** Undefined for a root, and for a CA of every purpose. */
  readonly extKeyUsage: Extension | undefined;
  /** The member of the lineage that stops issuing in the same unit. */
  readonly predecessor?: Succeeded;
  readonly tenant: TenantId;
  readonly action: Extract<Action, "ca.init_root" | "ca.issue_intermediate" | "ca.rotate">;
  /** Undefined for a root, which certifies itself. */
  readonly parent: CaSigner | undefined;
  readonly maxPathLength: number | undefined;
  readonly subject: Name;
  readonly validity: Validity;
  readonly now: Instant;
  readonly provider: ProviderName;
  readonly internal: boolean;
}

/** Makes CAs. */
export class Authorities {
  readonly #deps: AuthoritiesDeps;
  readonly #turns = new Turns();

  constructor(deps: AuthoritiesDeps) {
    this.#deps = deps;
  }

  /** Refuses `already_exists`, `key_type_unsupported`, `gate_refused`, `key_unavailable`. */
  async initRoot(
    origin: Origin,
    tenant: TenantId,
    request: CaRequest,
    special: { readonly provider?: ProviderName; readonly internal?: boolean } = {},
  ): Promise<CaRecord> {
    const now = this.#deps.clock.now();
    await requireFreeLabel(this.#deps, { origin, tenant, label: request.label });
    return await this.#create({
      origin,
      request,
      tenant,
      action: "ca.init_root",
      parent: undefined,
      now,
      constraints: constraintExtensions(request),
      extKeyUsage: undefined,
      maxPathLength: request.maxPathLength,
      subject: encodeName(request.subject),
      validity: this.#validity(request.validityDays, rootDays * secondsPerDay, undefined, now),
      provider: special.provider ?? this.#providerOf(request),
      internal: special.internal ?? false,
    });
  }

  /**
   * Refuses also `ca_not_active`, `ca_constraint` and `validity_exceeds_limit`, all before a key is
   * made.
   */
  async issueIntermediate(origin: Origin, above: CaRecord, request: CaRequest): Promise<CaRecord> {
    const { cas } = this.#deps.store.read;
    return await acrossRollover(cas, above, (parent) =>
      this.#issueIntermediate(origin, parent, request),
    );
  }

  async #issueIntermediate(origin: Origin, above: CaRecord, request: CaRequest): Promise<CaRecord> {
    return await this.#create(await this.admitIntermediate(origin, above, request));
  }

  /** Refuses what `issueIntermediate` would refuse before its gates; gives what it would make. */
  async admitIntermediate(origin: Origin, above: CaRecord, request: CaRequest): Promise<Creation> {
    const { store, signers, clock } = this.#deps;
    const now = clock.now();
    refuseKeyType(request);
    const parent = await signers.signer(await activeMember(store.read.cas, above), now);
    await requireFreeLabel(this.#deps, { origin, tenant: above.tenant, label: request.label });
    const subject = encodeName(request.subject);
    const maxPathLength = pathLengthBelow(parent.issuer, request.maxPathLength);
    refuseForbiddenNames(parent.issuer, request, subject);
    refuseLoneAlternative(parent.issuer, request);
    const { issuer } = parent;
    const validity = this.#validity(
      request.validityDays,
      intermediateDays * secondsPerDay,
      issuer,
      now,
    );
    refuseTooLong(validity);
    const { extKeyUsages = [] } = request;
    return {
      origin,
      request,
      tenant: above.tenant,
      action: "ca.issue_intermediate",
      parent,
      now,
      constraints: constraintExtensions(request),
      extKeyUsage: extKeyUsages.length === 0 ? undefined : extendedKeyUsage(extKeyUsages),
      maxPathLength,
      subject,
      validity,
      provider: this.#providerOf(request),
      internal: false,
    };
  }

  /**
   * Rolls the active member of the lineage over to a new key: same parent, subject, path length,
   * name constraints and policies (ROL-1). Successor and predecessor change places in one unit
   * (ROL-2). Refuses `not_rotatable`, `ca_not_active`, `already_exists`, `validity_exceeds_limit`,
   * `key_type_unsupported`, `key_unavailable`.
   */
  async rotate(origin: Origin, ca: CaRecord, request: RotationRequest): Promise<Rotation> {
    const { cas } = this.#deps.store.read;
    return await this.#turns.take(ca.lineage, async () => {
      const { old } = await rotatable(cas, ca);
      // Once more under the parent's successor; but never a second time over, after another
      // replica's rotation.
      return await acrossRollover(cas, old, (member) => this.#rotate(origin, member, request));
    });
  }

  async #rotate(origin: Origin, old: CaRecord, request: RotationRequest): Promise<Rotation> {
    const { store } = this.#deps;
    const successor = await this.#create(await this.#succession(origin, old, request));
    return { old: (await store.read.cas.byId(old.id)) ?? old, successor };
  }

  /** Refuses what `rotate` would refuse before its gates. */
  async admitRotation(origin: Origin, ca: CaRecord, request: RotationRequest): Promise<void> {
    const { old } = await rotatable(this.#deps.store.read.cas, ca);
    await this.#succession(origin, old, request);
  }

  async #succession(origin: Origin, old: CaRecord, request: RotationRequest): Promise<Creation> {
    const { store, signers, clock } = this.#deps;
    const now = clock.now();
    if (old.status !== "active") throw refuse("ca_not_active", { status: old.status });
    const { certificate, parentCa } = await rotatable(store.read.cas, old);
    const parent = await signers.signer(await activeMember(store.read.cas, parentCa), now);
    const label = request.label ?? (await nextLabel(store.read.cas, old));
    await requireFreeLabel(this.#deps, { origin, tenant: old.tenant, label });
    const keyType = request.keyType ?? old.keyType;
    const alternativeKeyType = old.alternative?.keyType;
    refuseKeyType({ keyType, alternativeKeyType });
    const maxPathLength = pathLengthBelow(parent.issuer, old.maxPathLength);
    const { subject, notBefore, notAfter } = certificate;
    const span = (notAfter - notBefore) / 1000 + 1;
    const validity = this.#validity(request.validityDays, span, parent.issuer, now);
    refuseTooLong(validity);
    const { latestNotAfter } = await store.read.certificates.outstanding(old.id, now);
    return {
      origin,
      request: { label, keyType, alternativeKeyType },
      now,
      parent,
      tenant: old.tenant,
      action: "ca.rotate",
      constraints: copiedConstraints(certificate),
      maxPathLength,
      subject,
      validity,
      extKeyUsage: copiedPurposes(certificate),
      provider: this.#providerOf({ keyType }),
      internal: false,
      predecessor: { ca: old, retireAfter: latestNotAfter },
    };
  }

  /** KEY-3: no token of today holds post-quantum keys, so they are software-held, and called so. */
  #providerOf({ keyType }: Pick<CaRequest, "keyType">): ProviderName {
    return isPostQuantum(keyType) ? "software" : this.#deps.config.key_provider.roles.ca;
  }

  #validity(
    days: number | undefined,
    defaultSeconds: number,
    issuer: Issuer | undefined,
    now: Instant,
  ) {
    return placeValidity(
      {
        requestedSeconds: days === undefined ? undefined : days * secondsPerDay,
        defaultSeconds,
        issuer,
        profileMaxSeconds: 0,
        policyMaxSeconds: 0,
        shorten: false,
        backdateSeconds: this.#deps.config.issuance.backdate_seconds,
      },
      now,
    );
  }

  async #create(creation: Creation): Promise<CaRecord> {
    const { random, store } = this.#deps;
    const { request, provider, origin, tenant } = creation;
    const { approval } = origin;
    // TEN-2: what is refused makes no key; the unit that intends to sign asks again.
    requireActive(await store.read.tenants.named(tenant));
    // APR-4: under an approval a repeat after a crash finds the key of the first attempt, and never
    // makes a second.
    const id = approval === undefined ? caId(random.uuid()) : caIdFrom(approval.id);
    // Label and id together: any other repeat after a failure never meets the key of the first
    // attempt.
    const label = `${request.label.replace(/[^A-Za-z0-9._-]/g, "-")}-${id}`;
    const repeatable = approval !== undefined;
    const keys = await makeCaKeys(this.#deps, { ...request, label, provider, repeatable });
    return await this.#certify(creation, id, keys);
  }

  async #certify(creation: Creation, id: CaRecord["id"], keys: CaKeys): Promise<CaRecord> {
    const { ceremony } = this.#deps;
    const { request, tenant, now, action } = creation;
    const signer = creation.parent ?? this.#itself(creation, id, keys);
    let record: CaRecord | undefined;
    let signed = false;
    try {
      await ceremony.certify({
        signer,
        plan: this.#plan(creation, keys),
        objections: [],
        profile: undefined,
        kind: "ca",
        purpose: "ca_certificate",
        tenant,
        now,
        marker: "",
        requestedBy: creation.origin.principal.subject,
        // Before the row: a root's certificate is recorded under the root itself.
        before: async (tx, { certificate, serial }) => {
          signed = true;
          record = { ...caRecord(creation, id, keys), certificate, serial };
          await requireTenant(tx, tenant);
          await tx.cas.insert(record);
          if (creation.predecessor) await succeed(tx, creation.predecessor, id);
        },
        ...creationEvents(creation, { id, tenant, label: request.label }, action),
      });
    } catch (error) {
      if (!signed && isUncertified(error)) await discardCaKeys(this.#deps, keys);
      throw error;
    }
    if (record === undefined) throw new Error("the ceremony ended without the record of its CA");
    await this.#deps.activated(id);
    return record;
  }

  /** A root before it has a certificate: everything an issuer must be is known from the plan. */
  #itself(creation: Creation, id: CaRecord["id"], { native, alternative }: CaKeys): CaSigner {
    const { validity, subject, request } = creation;
    const keyId = this.#keyId(native);
    const issuer: Issuer = {
      id,
      subject: subject.der,
      keyId,
      spkiSha256: spkiSha256(native.spki),
      signature: defaultSignature(native.keyType),
      constraints: [],
      policyPath: [],
      purposes: [],
      alternative: alternative && defaultSignature(alternative.keyType),
      notBefore: validity.notBefore,
      notAfter: validity.notAfter,
      maxPathLength: creation.maxPathLength,
      repeated: repeatedExtensions({ id, keyId, urlBase: undefined }),
    };
    const ca = { id, tenant: creation.tenant, label: request.label };
    return { ca, issuer, handle: native, alternative, intermediates: [], issuers: [] };
  }

  #plan(creation: Creation, { native, alternative }: CaKeys): Plan {
    const { parent, constraints, subject, validity, maxPathLength, extKeyUsage } = creation;
    return {
      kind: parent ? "intermediate" : "root",
      profile: "",
      subject,
      sans: [],
      publicKey: parsePublicKey(native.spki),
      clamped: validity.clamped,
      extKeyUsages: extKeyUsage === undefined ? [] : parseExtendedKeyUsage(extKeyUsage.value),
      notBefore: validity.notBefore,
      notAfter: validity.notAfter,
      mustStaple: false,
      keyUsages: caKeyUsages,
      extensions: caExtensions({
        alternativeSpki: alternative?.spki,
        constraints,
        extKeyUsage,
        keyId: this.#keyId(native),
        maxPathLength,
        repeated: parent?.issuer.repeated,
      }),
      alternativeKey: alternative && parsePublicKey(alternative.spki),
    };
  }

  #keyId(handle: KeyHandle): Uint8Array {
    return subjectKeyId(handle.spki, this.#deps.config.issuance.ski_method);
  }
}

/**
 * What the gates refused was not signed, nor what found its parent rolled over before the key was
 * used.
 */
const isUncertified = (error: unknown): boolean =>
  error instanceof Problem && (error.code === "gate_refused" || error.code === "ca_not_active");

function refuseTooLong({ objection }: Validity): void {
  if (objection) throw refuse("validity_exceeds_limit", objection.facts ?? {});
}

/**
 * RFC 5280 §4.2.1.9: a subordinate's path length is smaller than its parent's, which it inherits
 * when it names none.
 */
export function pathLengthBelow(parent: Issuer, wanted: number | undefined): number | undefined {
  if (parent.maxPathLength === undefined) return wanted;
  const most = parent.maxPathLength - 1;
  if (most < 0 || (wanted ?? most) > most) throw refuse("ca_constraint", { reason: "path_length" });
  return wanted ?? most;
}

function refuseForbiddenNames(parent: Issuer, request: CaRequest, subject: Name): void {
  const claimed = request.nameConstraints;
  const forbidden =
    pathViolations({ subject, sans: [], forServers: false }, parent.constraints).length > 0 ||
    (claimed !== undefined && unpermittedSubtrees(claimed, parent.constraints).length > 0);
  if (forbidden) throw refuse("ca_constraint", { reason: "name_constraints" });
}

/** PQ-1: SLH-DSA keys are for roots; PQ-4: the first key of a hybrid CA is classical. */
function refuseKeyType(request: Pick<CaRequest, "keyType" | "alternativeKeyType">): void {
  const { keyType, alternativeKeyType } = request;
  const twice = alternativeKeyType !== undefined && isPostQuantum(keyType);
  if (twice || isForRootsOnly(keyType)) throw refuse("key_type_unsupported", { key_type: keyType });
}

/**
 * PQ-4: without the parent's alternative signature the second key would be certified by nobody who
 * needs it.
 */
function refuseLoneAlternative(parent: Issuer, { alternativeKeyType }: CaRequest): void {
  if (alternativeKeyType === undefined || parent.alternative !== undefined) return;
  throw refuse("ca_constraint", { reason: "parent_not_hybrid" });
}

function caRecord(creation: Creation, id: CaRecord["id"], { native, alternative }: CaKeys) {
  const { request, tenant, parent, validity, maxPathLength, now, internal, subject } = creation;
  const { predecessor } = creation;
  return {
    id,
    tenant,
    label: request.label,
    parent: parent?.ca.id,
    lineage: predecessor?.ca.lineage ?? id,
    predecessor: predecessor?.ca.id,
    successor: undefined,
    retireAfter: undefined,
    csr: undefined,
    externalChain: undefined,
    status: "active" as const,
    key: native.ref,
    keyType: native.keyType,
    spki: native.spki,
    alternative: alternative && alternativeOf(alternative),
    subject: nameText(subject),
    notBefore: validity.notBefore,
    notAfter: validity.notAfter,
    maxPathLength,
    createdAt: now,
    internal,
  };
}

const rootDays = 3650;
const intermediateDays = 1825;
