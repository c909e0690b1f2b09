/** Certificates of a lineage as ACME names them: by key identifier and serial, or whole. */

import { compareOctets } from "#core/asn1/der.ts";
import { parseCertificate, extensionOf } from "#core/x509/certificate.ts";
import { parseSubjectKeyIdentifier } from "#core/x509/extensions.ts";
import { certId } from "#core/acme/renewal.ts";
import { oids } from "#core/asn1/oids.ts";
import type { CaId, Serial } from "#core/ids.ts";
import { Recent } from "#core/recent.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { CertificateRecord } from "#domain/certificates/store.ts";
import type { Store } from "#domain/store.ts";
import type { CertificateName } from "./store.ts";

/** Looks certificates up, in every member of a lineage (P-1). */
export class Inventory {
  readonly #store: Pick<Store, "read">;
  /** Lower hex of the key identifier, which a certificate of a CA never changes. */
  readonly #keyIds = new Recent<string, string>(keyIdsRemembered);

  constructor(store: Pick<Store, "read">) {
    this.#store = store;
  }

  /** The leaf that a member of the CA's lineage has issued (ARI-1); undefined for any other. */
  async byCertId(
    ca: CaRecord,
    { keyId, serial }: { readonly keyId: string; readonly serial: Serial },
  ): Promise<CertificateRecord | undefined> {
    const { read } = this.#store;
    for (const member of await read.cas.lineage(ca.lineage)) {
      if (this.#keyIdOf(member) !== keyId) continue;
      const found = await this.#leaf(member.id, serial);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** What `byCertId` finds it by; undefined where the CA is gone. */
  async certIdOf({ caId: id, serial }: CertificateName): Promise<string | undefined> {
    const ca = await this.#store.read.cas.byId(id);
    const keyId = ca && this.#keyIdOf(ca);
    return keyId === undefined ? undefined : certId(Uint8Array.fromHex(keyId), serial);
  }

  /** The leaf that is these octets, byte for byte. */
  async identical(
    ca: CaRecord,
    der: Uint8Array,
    serial: Serial,
  ): Promise<CertificateRecord | undefined> {
    for (const member of await this.#store.read.cas.lineage(ca.lineage)) {
      const found = await this.#leaf(member.id, serial);
      if (found !== undefined && compareOctets(found.certificate, der) === 0) return found;
    }
    return undefined;
  }

  async #leaf(ca: CaId, serial: Serial): Promise<CertificateRecord | undefined> {
    const found = await this.#store.read.certificates.bySerial(ca, serial);
    return found?.kind === "leaf" ? found : undefined;
  }

  #keyIdOf({ id, certificate }: CaRecord): string | undefined {
    if (certificate === undefined) return undefined;
    const known = this.#keyIds.get(id);
    if (known !== undefined) return known;
    const value = extensionOf(parseCertificate(certificate), oids.subjectKeyIdentifier)?.value;
    if (value === undefined) return undefined;
    const keyId = parseSubjectKeyIdentifier(value).toHex();
    this.#keyIds.set(id, keyId);
    return keyId;
  }
}

const keyIdsRemembered = 1000;
