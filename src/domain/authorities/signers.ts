/** Signing CAs made ready: everything about a CA that does not change, read and encoded once per CA. */

import { oids } from "#core/asn1/oids.ts";
import type { CaId } from "#core/ids.ts";
import { refuse } from "#core/problems.ts";
import type { Instant } from "#core/time.ts";
import { repeatedExtensions } from "#core/policy/certificate-extensions.ts";
import type { Issuer } from "#core/policy/plan.ts";
import { defaultSignature } from "#core/x509/algorithms.ts";
import { extensionOf, parseCertificate } from "#core/x509/certificate.ts";
import { parseSubjectKeyIdentifier, subjectKeyId } from "#core/x509/extensions.ts";
import { type NameConstraints, parseNameConstraints } from "#core/x509/name-constraints.ts";
import { spkiSha256 } from "#core/x509/public-keys.ts";
import type { HeldKey, Keys } from "#domain/keys.ts";
import type { CaReads, CaRecord } from "./store.ts";

/** A CA ready to sign. */
export interface CaSigner {
  readonly ca: Pick<CaRecord, "id" | "tenant" | "label">;
  readonly issuer: Issuer;
  readonly held: HeldKey;
  /** The second key of a hybrid CA; present exactly when `issuer.alternative` is. */
  readonly alternative?: HeldKey | undefined;
  /** DER of the CA's certificate and every one above it, without the root (EXT-6). */
  readonly intermediates: readonly Uint8Array[];
}

export interface CaSignersDeps {
  readonly cas: CaReads;
  readonly keys: Keys;
  /** Base of AIA and CDP addresses; undefined stamps none. */
  readonly urlBase: string | undefined;
}

/** The CAs that have signed since the start, ready to sign again. */
export class CaSigners {
  readonly #deps: CaSignersDeps;
  readonly #ready = new Map<CaId, CaSigner>();

  constructor(deps: CaSignersDeps) {
    this.#deps = deps;
  }

  /** The signer of an active CA. Refuses `ca_not_active` for any other or an expired one, `key_unavailable` without key. */
  async signer(ca: CaRecord, now: Instant): Promise<CaSigner> {
    if (ca.status !== "active") throw refuse("ca_not_active", { status: ca.status });
    return await this.unexpired(ca, now);
  }

  /** The same also for superseded and retired CAs, which certify responders until their own notAfter (CRL-14). */
  async unexpired(ca: CaRecord, now: Instant): Promise<CaSigner> {
    if (ca.notAfter === undefined || ca.notAfter < now) {
      throw refuse("ca_not_active", { status: "expired" });
    }
    const ready = this.#ready.get(ca.id) ?? (await this.#prepare(ca));
    this.#ready.set(ca.id, ready);
    return ready;
  }

  async #prepare(ca: CaRecord): Promise<CaSigner> {
    const path = await pathOf(this.#deps.cas, ca);
    const held = await this.#pinned(ca);
    const alternative = ca.alternative && (await this.#pinned(ca.alternative));
    const certificates = path.map(certificateOf);
    const [own] = certificates;
    if (own === undefined) throw refuse("ca_not_active", { status: ca.status });
    const found = extensionOf(own, oids.subjectKeyIdentifier);
    const keyId = found ? parseSubjectKeyIdentifier(found.value) : subjectKeyId(ca.spki, "sha1");
    const issuer: Issuer = {
      ...{ id: ca.id, subject: own.subject.der, keyId, spkiSha256: spkiSha256(ca.spki) },
      ...{ signature: defaultSignature(ca.keyType), notBefore: own.notBefore },
      alternative: ca.alternative && defaultSignature(ca.alternative.keyType),
      ...{ notAfter: own.notAfter, maxPathLength: ca.maxPathLength },
      constraints: certificates.map(constraintsOf).filter((value) => value !== undefined),
      repeated: repeatedExtensions({ id: ca.id, keyId, urlBase: this.#deps.urlBase }),
    };
    const intermediates = path
      .filter(({ parent }) => parent !== undefined)
      .map((member) => certificateOf(member).der);
    const { id, tenant, label } = ca;
    return { ca: { id, tenant, label }, issuer, held, alternative, intermediates };
  }

  /** KEY-4: the record pins the key; whatever the provider holds under its name is not it when they differ. */
  async #pinned({ key, spki }: Pick<CaRecord, "key" | "spki">): Promise<HeldKey> {
    const held = await this.#deps.keys.find(key);
    if (!Buffer.from(held.spki).equals(spki)) throw refuse("key_unavailable", retry);
    return held;
  }
}

/** The CA and its ancestors up to the root, in that order. */
export async function pathOf(cas: CaReads, ca: CaRecord): Promise<readonly CaRecord[]> {
  const path = [ca];
  for (let parent = ca.parent; parent !== undefined; ) {
    const above = await cas.byId(parent);
    if (above === undefined || path.length > depthMax) throw refuse("not_found");
    path.push(above);
    parent = above.parent;
  }
  return path;
}

function certificateOf(ca: CaRecord) {
  if (ca.certificate === undefined) throw refuse("ca_not_active", { status: ca.status });
  return parseCertificate(ca.certificate);
}

/** Constraints pkid cannot read it cannot keep either: such a CA signs nothing (behaviour.md §6.4). */
function constraintsOf(
  certificate: ReturnType<typeof parseCertificate>,
): NameConstraints | undefined {
  const found = extensionOf(certificate, oids.nameConstraints);
  return found === undefined ? undefined : parseNameConstraints(found.value);
}

const retry = { retry_after: 2 };
const depthMax = 16;
