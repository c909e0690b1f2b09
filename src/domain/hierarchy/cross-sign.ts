/**
 * Cross certificates: one CA vouches for the name and key of another, so that clients of both find
 * a path (ROL-6).
 */

import { oids } from "#core/asn1/oids.ts";
import { sha256Hex } from "#core/crypto.ts";
import {
  caExtensions,
  caKeyUsages,
  copiedConstraints,
  copiedPurposes,
} from "#core/policy/certificate-extensions.ts";
import { isCa, pathLengthOf, usagesOf } from "#core/policy/import-checks.ts";
import { pathViolations } from "#core/policy/name-constraints.ts";
import type { IssuanceSections, Issuer, Plan } from "#core/policy/plan.ts";
import { placeValidity } from "#core/policy/validity.ts";
import { type Problem, refuse } from "#core/problems.ts";
import { type Instant, instant, secondsPerDay } from "#core/time.ts";
import { extensionOf, type ParsedCertificate, parseCertificate } from "#core/x509/certificate.ts";
import { csrSignatureVerified, parseCsr } from "#core/x509/csr.ts";
import {
  type Extension,
  type KeyUsage,
  parseExtendedKeyUsage,
  parseSubjectKeyIdentifier,
  subjectKeyId,
} from "#core/x509/extensions.ts";
import { type Name, nameText } from "#core/x509/names.ts";
import { readOrRefuse, refuseUnreadableCa } from "#core/x509/foreign.ts";
import { isSelfIssued } from "#core/x509/path.ts";
import { type PublicKey, parsePublicKey, spkiSha256 } from "#core/x509/public-keys.ts";
import { signedByAside } from "#core/x509/signed-by.ts";
import type { Origin } from "#domain/actor.ts";
import type { Ceremony } from "#domain/certificates/ceremony.ts";
import { aboutCa } from "#domain/authorities/events.ts";
import { refusingGates } from "#domain/certificates/events.ts";
import type { Clock, Random } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import { pathLengthBelow } from "./create.ts";
import { readCertificate } from "./external.ts";
import { acrossRollover, activeMember } from "#domain/authorities/resolve.ts";
import type { CaSigner, CaSigners } from "#domain/authorities/signers.ts";
import type { CaRecord, CrossSignRecord } from "#domain/authorities/store.ts";

interface Deps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly signers: CaSigners;
  readonly ceremony: Ceremony;
  readonly config: Pick<IssuanceSections, "issuance">;
}

/** Whom to vouch for: a CA of this instance, or a certificate or request from elsewhere in PEM. */
export type CrossSubject =
  | { readonly source: "local-ca"; readonly ca: CaRecord }
  | { readonly source: "certificate"; readonly pem: string }
  | { readonly source: "csr"; readonly pem: string };

export interface CrossRequest {
  readonly subject: CrossSubject;
  /**
   * Undefined: what is left of the subject's certificate and of the issuer's; a request needs it.
   */
  readonly validityDays: number | undefined;
  /** At most the subject's own. */
  readonly maxPathLength: number | undefined;
}

/** The subject as it will stand in the cross certificate. */
interface Subject {
  readonly name: Name;
  readonly publicKey: PublicKey;
  readonly keyId: Uint8Array;
  readonly keyUsages: readonly KeyUsage[];
  readonly pathLength: number | undefined;
  readonly constraints: readonly Extension[];
  readonly extKeyUsage: Extension | undefined;
  /** Of its own certificate; undefined for a request. */
  readonly notAfter: Instant | undefined;
}

/** Makes cross certificates. */
export class CrossSigning {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /**
   * Refuses `ca_not_active`, `bad_certificate`, `bad_csr`, `missing_field`, `ca_constraint`,
   * `validity_exceeds_limit`, and what the gates refuse, all before the key is used.
   */
  async sign(origin: Origin, issuer: CaRecord, request: CrossRequest): Promise<CrossSignRecord> {
    const { cas } = this.#deps.store.read;
    return await acrossRollover(cas, issuer, (named) => this.#sign(origin, named, request));
  }

  /** Refuses what `sign` would refuse before its gates; gives what it would sign. */
  async admit(issuer: CaRecord, request: CrossRequest) {
    const { store, clock, signers } = this.#deps;
    const now = clock.now();
    const signer = await signers.signer(await activeMember(store.read.cas, issuer), now);
    const subject = await this.#subject(request);
    return { signer, subject, plan: this.#plan(signer.issuer, subject, request, now), now };
  }

  async #sign(origin: Origin, issuer: CaRecord, request: CrossRequest): Promise<CrossSignRecord> {
    const { store, random, ceremony } = this.#deps;
    const { signer, subject, plan, now } = await this.admit(issuer, request);
    const facts = {
      id: random.uuid(),
      issuer: signer.ca.id,
      source: request.subject.source,
      createdAt: now,
      subjectCa: request.subject.source === "local-ca" ? request.subject.ca.id : undefined,
      subjectKeyId: subject.keyId.toHex(),
    };
    await ceremony.certify({
      signer,
      plan,
      objections: [],
      profile: undefined,
      now,
      marker: "",
      kind: "cross",
      purpose: "cross_certificate",
      tenant: signer.ca.tenant,
      requestedBy: origin.principal.subject,
      after: (tx, { serial }) => tx.cas.insertCrossSign({ ...facts, serial }),
      ...crossEvents(origin, signer.ca, nameText(subject.name)),
    });
    const cross = await store.read.cas.crossSign(facts.id);
    if (cross === undefined) throw new Error("a cross certificate was stored and is not there");
    return cross;
  }

  async #subject({ subject, validityDays }: CrossRequest): Promise<Subject> {
    switch (subject.source) {
      case "local-ca": {
        const { certificate, status } = subject.ca;
        if (certificate === undefined || status === "retired") {
          throw refuse("ca_not_active", { status });
        }
        return this.#certified(parseCertificate(certificate));
      }
      case "certificate": {
        const certificate = readCertificate(subject.pem);
        refuseUnreadableCa(certificate);
        await refuseForgedRoot(certificate);
        return this.#certified(certificate);
      }
      case "csr": {
        if (validityDays === undefined) throw refuse("missing_field", { field: "validity_days" });
        const csr = parseCsr(subject.pem);
        if (!(await csrSignatureVerified(csr))) throw refuse("bad_csr", { reason: "signature" });
        const keyId = subjectKeyId(csr.spki, this.#deps.config.issuance.ski_method);
        const publicKey = readOrRefuse("bad_csr", () => parsePublicKey(csr.spki));
        const name = { name: csr.subject, publicKey, keyId, keyUsages: caKeyUsages };
        const open = { pathLength: undefined, constraints: [], extKeyUsage: undefined };
        return { ...name, ...open, notAfter: undefined };
      }
      default:
        return subject satisfies never;
    }
  }

  #certified(certificate: ParsedCertificate): Subject {
    if (!isCa(certificate)) throw refuse("ca_constraint", { reason: "subject_not_a_ca" });
    const { subject: name, spki, notAfter } = certificate;
    const publicKey = readOrRefuse("bad_certificate", () => parsePublicKey(spki));
    const found = extensionOf(certificate, oids.subjectKeyIdentifier);
    const keyId = found ? parseSubjectKeyIdentifier(found.value) : subjectKeyId(spki, "sha1");
    return {
      name,
      publicKey,
      keyId,
      keyUsages: usagesOf(certificate) ?? caKeyUsages,
      notAfter,
      pathLength: pathLengthOf(certificate),
      constraints: copiedConstraints(certificate),
      extKeyUsage: copiedPurposes(certificate),
    };
  }

  #plan(issuer: Issuer, subject: Subject, request: CrossRequest, now: Instant): Plan {
    const { name, publicKey, keyUsages, constraints, extKeyUsage } = subject;
    if (spkiSha256(publicKey.spki) === issuer.spkiSha256) {
      throw refuse("ca_constraint", { reason: "same_key" });
    }
    const names = { subject: name, sans: [], forServers: false };
    if (pathViolations(names, issuer.constraints).length > 0) {
      throw refuse("ca_constraint", { reason: "name_constraints" });
    }
    const maxPathLength = crossPathLength(issuer, subject, request.maxPathLength);
    const { notBefore, notAfter, clamped } = this.#validity(issuer, subject, request, now);
    return {
      kind: "intermediate",
      profile: "",
      subject: name,
      sans: [],
      clamped,
      notBefore,
      publicKey,
      notAfter,
      keyUsages,
      extKeyUsages: extKeyUsage === undefined ? [] : parseExtendedKeyUsage(extKeyUsage.value),
      mustStaple: false,
      extensions: caExtensions({
        keyId: subject.keyId,
        maxPathLength,
        keyUsages,
        constraints,
        extKeyUsage,
        repeated: issuer.repeated,
      }),
    };
  }

  /**
   * Inside the lives of both; what is asked beyond them is refused, what is left of them is the
   * default.
   */
  #validity(issuer: Issuer, subject: Subject, { validityDays }: CrossRequest, now: Instant) {
    const end = Math.min(issuer.notAfter, subject.notAfter ?? issuer.notAfter);
    const placed = placeValidity(
      {
        requestedSeconds: validityDays === undefined ? undefined : validityDays * secondsPerDay,
        // More than is left, so that it is shortened to exactly that.
        defaultSeconds: Math.max(0, (end - now) / 1000) * 2 + secondsPerDay,
        issuer: { notBefore: issuer.notBefore, notAfter: instant(end) },
        profileMaxSeconds: 0,
        policyMaxSeconds: 0,
        shorten: false,
        backdateSeconds: this.#deps.config.issuance.backdate_seconds,
      },
      now,
    );
    if (end < now) throw refuse("ca_constraint", { reason: "subject_expired" });
    if (placed.objection) throw refuse("validity_exceeds_limit", placed.objection.facts ?? {});
    return placed;
  }
}

/**
 * A root vouches for itself with the key inside; of other certificates only their issuer could say
 * that they are whole.
 */
async function refuseForgedRoot(certificate: ParsedCertificate): Promise<void> {
  if (!isSelfIssued(certificate) || (await signedByAside(certificate, certificate.spki))) return;
  throw refuse("bad_certificate", { reason: "the signature of a self-issued one does not verify" });
}

/** The subject's own limit or a smaller one, and always below the issuer's. */
function crossPathLength(
  issuer: Issuer,
  { pathLength }: Subject,
  wanted: number | undefined,
): number | undefined {
  if (wanted !== undefined && pathLength !== undefined && wanted > pathLength) {
    throw refuse("ca_constraint", { reason: "path_length" });
  }
  if (wanted !== undefined) return pathLengthBelow(issuer, wanted);
  const most = pathLengthBelow(issuer, undefined);
  const limits = [pathLength, most].filter((limit) => limit !== undefined);
  return limits.length === 0 ? undefined : Math.min(...limits);
}

function crossEvents(origin: Origin, ca: CaSigner["ca"], subject: string) {
  const about = { action: "ca.cross_sign" as const, ...aboutCa(origin, ca), targetName: ca.label };
  return {
    issued: ({ serial, certificate }: Pick<CrossSignRecord, "serial" | "certificate">) => [
      {
        ...about,
        result: "success" as const,
        serial,
        detail: { subject, serial, sha256: sha256Hex(certificate) },
      },
    ],
    refused: (_refusal: Problem, gates: Parameters<typeof refusingGates>[0]) => [
      { ...about, result: "denied" as const, detail: { subject, reason: refusingGates(gates) } },
    ],
    failed: (reason: string) => [
      { ...about, result: "error" as const, detail: { subject, reason } },
    ],
  };
}
