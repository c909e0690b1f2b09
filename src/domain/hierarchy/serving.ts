/** The internal serving CA, and the certificate pkid itself serves TLS with (CFG-11). */

import { admit } from "#core/policy/admit.ts";
import type { IssuanceSections } from "#core/policy/plan.ts";
import type { ProfileSet } from "#core/policy/profiles.ts";
import { systemPrincipal } from "#core/access/principal.ts";
import { oids } from "#core/asn1/oids.ts";
import { caId, defaultTenant } from "#core/ids.ts";
import { refuse } from "#core/problems.ts";
import { spkiSha256 } from "#core/x509/public-keys.ts";
import { canonicalDnsName, ipText, parseIpAddress } from "#core/x509/addresses.ts";
import { extensionOf, parseCertificate } from "#core/x509/certificate.ts";
import { parseAuthorityKeyIdentifier, parseSubjectKeyIdentifier } from "#core/x509/extensions.ts";
import type { GeneralName } from "#core/x509/general-names.ts";
import { encodeName } from "#core/x509/names.ts";
import type { Origin } from "#domain/actor.ts";
import type { Ceremony } from "#domain/certificates/ceremony.ts";
import { leafEvents } from "#domain/certificates/events.ts";
import type { CertificateRecord } from "#domain/certificates/store.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import { certificatePem, pemBundle } from "#domain/authorities/bundle.ts";
import type { Authorities } from "./create.ts";
import { activeMember } from "#domain/authorities/resolve.ts";
import { type CaSigners, certificatesOf } from "#domain/authorities/signers.ts";
import type { CaRecord } from "#domain/authorities/store.ts";

export interface ServingDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly authorities: Authorities;
  readonly signers: CaSigners;
  readonly ceremony: Ceremony;
  readonly profiles: () => ProfileSet;
  readonly config: IssuanceSections;
}

/** What the serving certificate shall say; the key stays with the caller. */
export interface ServingRequest {
  /** SubjectPublicKeyInfo, DER. */
  readonly spki: Uint8Array;
  readonly common_name: string;
  readonly dnsNames: readonly string[];
  readonly ips: readonly string[];
  readonly profile: string;
  /** Undefined: as the profile says. */
  readonly validitySeconds: number | undefined;
}

export interface ServingCertificate {
  readonly record: CertificateRecord;
  /** Leaf, then intermediates: what the listener presents. */
  readonly chainPem: string;
  /** What clients trust. */
  readonly caPem: string;
}

/** Makes the internal CA and certifies the key pkid serves TLS with. */
export class Serving {
  readonly #deps: ServingDeps;

  constructor(deps: ServingDeps) {
    this.#deps = deps;
  }

  /**
   * The internal CA, made at first use: software-held, P-256, ten years, path length 0, never
   * listed.
   */
  async internalCa(): Promise<CaRecord> {
    const found = await this.#deps.store.read.cas.byLabel(label);
    if (found !== undefined) return found;
    return await this.#deps.authorities.initRoot(
      origin,
      defaultTenant,
      {
        label,
        subject: [{ type: "CN", value: "pkid internal serving CA" }],
        keyType: "ecdsa-p256",
        validityDays: tenYears,
        maxPathLength: 0,
        nameConstraints: undefined,
        policies: undefined,
      },
      { provider: "software", internal: true },
    );
  }

  /**
   * Returns the active CA of the lineage that is named by id or label. Refuses `not_found` if it
   * does not exist, is internal or belongs to another tenant, `ca_not_active` if none is active.
   * @param tenant id or slug of the tenant that the CA must belong to
   */
  async named(reference: string, tenant: string): Promise<CaRecord> {
    const { cas, tenants } = this.#deps.store.read;
    const found = (await cas.byId(caId(reference))) ?? (await cas.byLabel(reference));
    if (found === undefined || found.internal) throw refuse("not_found");
    if ((await tenants.named(tenant))?.id !== found.tenant) {
      const message = `The CA ${reference} does not belong to the tenant ${tenant} (server.tls.self_issue.tenant).`;
      throw refuse("not_found", {}, message);
    }
    return await activeMember(cas, found);
  }

  /** True when this certificate names `ca` and its key as its issuer (RFC 5280 §4.2.1.1). */
  vouchesFor(ca: CaRecord, certificate: Uint8Array): boolean {
    if (ca.certificate === undefined) return false;
    const issuer = parseCertificate(ca.certificate);
    const issued = parseCertificate(certificate);
    const named = extensionOf(issued, oids.authorityKeyIdentifier)?.value;
    const own = extensionOf(issuer, oids.subjectKeyIdentifier)?.value;
    if (named === undefined || own === undefined) return false;
    const keyId = parseAuthorityKeyIdentifier(named);
    return (
      Buffer.from(issued.issuer.der).equals(issuer.subject.der) &&
      keyId !== undefined &&
      Buffer.from(keyId).equals(parseSubjectKeyIdentifier(own))
    );
  }

  /**
   * Marks the key of a certificate somebody else issued as the instance's own: no leaf ever has it
   * (KCK-2).
   */
  async claim(spki: Uint8Array): Promise<void> {
    const digest = spkiSha256(spki);
    const question = { spkiSha256: digest, tenant: defaultTenant, duplicate: undefined };
    if ((await this.#deps.store.read.keyChecks.keyStatus(question)).own) return;
    await this.#deps.store.atomically((tx) => tx.keyChecks.claim(digest));
  }

  /**
   * Certifies the serving key under `ca`, through every gate. Refuses as issuance does; names that
   * are none are `unprocessable`. A renewal is the same call again, with the same key or a new one.
   */
  async certify(ca: CaRecord, request: ServingRequest): Promise<ServingCertificate> {
    const { store, clock, signers, ceremony, profiles, config } = this.#deps;
    const now = clock.now();
    const active = await activeMember(store.read.cas, ca);
    const signer = await signers.signer(active, now);
    const profile = profiles().named(request.profile);
    const csr = {
      subject: encodeName([{ type: "CN", value: request.common_name }]),
      spki: request.spki,
      sans: namesOf(request),
      unsupportedNames: [],
      mustStaple: false,
    };
    const { validitySeconds } = request;
    const leafRequest = {
      csr,
      validitySeconds,
      mustStaple: undefined,
      caller: "protocol" as const,
    };
    const admission = admit(leafRequest, profile, signer.issuer, config, now);
    if (!admission.readable) throw admission.refusal;
    const { plan, objections } = admission;
    const record = await ceremony.certify({
      signer,
      plan,
      objections,
      profile,
      now,
      kind: "serving",
      marker: "serving-tls",
      purpose: "certificate",
      tenant: ca.tenant,
      requestedBy: origin.principal.subject,
      ...leafEvents(origin, signer.ca, { profile: profile.name, clamped: plan.clamped }),
    });
    const chainPem = pemBundle([record.certificate, ...signer.intermediates]);
    // What stands above everything else is what clients trust.
    const top = (await certificatesOf(store.read.cas, active)).at(-1);
    return { record, chainPem, caPem: certificatePem(top ?? new Uint8Array()) };
  }
}

function namesOf({ dnsNames, ips }: ServingRequest): readonly GeneralName[] {
  const dns = dnsNames.map((text) => canonicalDnsName(text) ?? unusable(text));
  const addresses = ips.map((text) => ipText(parseIpAddress(text) ?? unusable(text)));
  return [
    ...dns.map((value): GeneralName => ({ kind: "dns", value })),
    ...addresses.map((value): GeneralName => ({ kind: "ip", value })),
  ];
}

function unusable(text: string): never {
  throw refuse("unprocessable", { reason: `${text} is not a name a certificate can carry` });
}

const origin: Origin = { principal: systemPrincipal("serving"), ip: "", requestId: "" };

/** A blank cannot occur in a label callers choose, so nobody can take this one. */
const label = "pkid internal serving";
const tenYears = 3652;
