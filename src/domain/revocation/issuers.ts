/**
 * What a CA's certificate says about it as an issuer, read once per CA: subject, key id, certID
 * hashes.
 */

import { oids } from "#core/asn1/oids.ts";
import { digest, type HashName } from "#core/crypto.ts";
import type { CaId } from "#core/ids.ts";
import { refuse } from "#core/problems.ts";
import { extensionOf, parseCertificate } from "#core/x509/certificate.ts";
import { parseSubjectKeyIdentifier, subjectKeyId } from "#core/x509/extensions.ts";
import type { Name } from "#core/x509/names.ts";
import type { CertId } from "#core/x509/ocsp.ts";
import { subjectPublicKeyBits } from "#core/x509/public-keys.ts";
import type { CaReads, CaRecord } from "#domain/authorities/store.ts";
import type { Store } from "#domain/store.ts";

/** One CA as an issuer. */
export interface Issuer {
  readonly ca: CaRecord;
  readonly subject: Name;
  /** The SubjectKeyIdentifier, which authorityKeyIdentifier repeats byte for byte (EXT-2). */
  readonly keyId: Uint8Array;
}

/** Reads the CA's certificate. Refuses `not_found` while the CA waits for one. */
export function issuerOf(ca: CaRecord): Issuer {
  if (ca.certificate === undefined) throw refuse("not_found");
  const certificate = parseCertificate(ca.certificate);
  const extension = extensionOf(certificate, oids.subjectKeyIdentifier);
  const keyId = extension
    ? parseSubjectKeyIdentifier(extension.value)
    : subjectKeyId(ca.spki, "sha1"); // RFC 5280 §4.2.1.2 method 1, for imported CAs without one.
  return { ca, subject: certificate.subject, keyId };
}

/**
 * The keys a certID can name under one CA id: every member of its lineage with each hash pkid
 * knows. A CA that is deleted, or whose certificate is replaced, by whatever process, is forgotten
 * as soon as its event is heard.
 */
export class IssuerIndex {
  readonly #cas: Pick<CaReads, "byId" | "lineage">;
  readonly #lineages = new Map<CaId, Lineage>();
  #forgotten = 0;

  constructor({ read, onEvents }: IssuerSource) {
    this.#cas = read.cas;
    onEvents((events) => {
      for (const { action, result, caId } of events) {
        const other = action === "ca.delete" || action === "ca.import_cert";
        // Only a write of a CA's own puts its id into such an event.
        if (other && result === "success") this.#forget(caId as CaId);
      }
    });
  }

  /** The lineage a CA id belongs to, at once when it is known; undefined for an id no CA has. */
  lineage(id: CaId): Lineage | undefined | Promise<Lineage | undefined> {
    const known = this.#lineages.get(id);
    // A CA that waited for its certificate when it was first asked about may have it now.
    return known?.member(id) === undefined ? this.#read(id, known) : known;
  }

  async #read(id: CaId, known: Lineage | undefined): Promise<Lineage | undefined> {
    const ca = await this.#cas.byId(id);
    if (ca === undefined) return undefined;
    const lineage = known ?? new Lineage(ca.lineage);
    const forgotten = this.#forgotten;
    await lineage.load(this.#cas);
    // What was read while a CA was being changed may still have it as it was.
    if (forgotten === this.#forgotten) this.#lineages.set(id, lineage);
    return lineage;
  }

  /**
   * The member a certID names, at once when it is known. A rollover may have added it just now, so
   * an absent one is looked for again.
   */
  member(lineage: Lineage, certId: CertId): Issuer | undefined | Promise<Issuer | undefined> {
    const known = lineage.find(certId);
    if (known !== undefined || certId.hash === undefined) return known;
    return lineage.load(this.#cas).then(() => lineage.find(certId));
  }

  #forget(id: CaId): void {
    this.#forgotten++;
    for (const [asked, lineage] of this.#lineages) {
      if (asked === id || lineage.member(id) !== undefined) this.#lineages.delete(asked);
    }
  }
}

interface IssuerSource {
  readonly read: { readonly cas: Pick<CaReads, "byId" | "lineage"> };
  readonly onEvents: Store["onEvents"];
}

/** The members of a lineage by the hashes of their name and key. */
export class Lineage {
  readonly #id: CaId;
  readonly #byHashes = new Map<string, Issuer>();
  readonly #members = new Map<CaId, Issuer>();

  constructor(id: CaId) {
    this.#id = id;
  }

  /** The member with this issuer name hash and issuer key hash. */
  find(certId: Pick<CertId, "hash" | "issuerNameHash" | "issuerKeyHash">): Issuer | undefined {
    if (certId.hash === undefined) return undefined;
    return this.#byHashes.get(hashesKey(certId.hash, certId.issuerNameHash, certId.issuerKeyHash));
  }

  /** The member of this id; undefined while it waits for its certificate. */
  member(id: CaId): Issuer | undefined {
    return this.#members.get(id);
  }

  /** Reads the members that were not here yet. */
  async load(cas: Pick<CaReads, "lineage">): Promise<void> {
    for (const ca of await cas.lineage(this.#id)) {
      if (ca.certificate === undefined || this.#members.has(ca.id)) continue;
      const issuer = issuerOf(ca);
      const key = subjectPublicKeyBits(ca.spki);
      for (const hash of certIdHashes) {
        const name = digest(hash, issuer.subject.der);
        this.#byHashes.set(hashesKey(hash, name, digest(hash, key)), issuer);
      }
      this.#members.set(ca.id, issuer);
    }
  }
}

const hashesKey = (hash: HashName, name: Uint8Array, key: Uint8Array) =>
  `${hash}${latin1(name)}${latin1(key)}`;

/** One character per octet: a string key that costs no encoding. */
export const latin1 = (octets: Uint8Array): string =>
  Buffer.from(octets.buffer, octets.byteOffset, octets.byteLength).toString("latin1");

const certIdHashes = ["sha1", "sha256", "sha384", "sha512"] as const;
