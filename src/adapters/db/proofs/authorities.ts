/** The CAs of a snapshot: whose keys verify what stands under their ids, also of deleted ones. */

import { decodePemBlocks } from "#core/asn1/pem.ts";
import { oids } from "#core/asn1/oids.ts";
import { waitingPrefix } from "#domain/hierarchy/take-over.ts";
import { extensionOf, parseCertificate } from "#core/x509/certificate.ts";
import type { Connection } from "#adapters/db/engine/connection.ts";

import { asked, octetsOf, paged, textOf } from "./look-rows.ts";

/** Who may have signed something: keys, and the name they sign under where it is known. */
export interface Authority {
  readonly id: string;
  readonly label: string;
  readonly spki: Uint8Array;
  readonly alternative: Uint8Array | undefined;
  /** DER; of a CA that is being taken over it is known before its certificate is its own. */
  readonly subject: Uint8Array | undefined;
  readonly csr: Uint8Array | undefined;
  readonly parent: string | undefined;
  readonly status: string;
}

/** As many as there are CAs. */
export class Authorities {
  readonly byId: ReadonlyMap<string, Authority>;
  /** CAs that are no longer, by the DER of their subject: their certificates are. */
  readonly #bySubject: ReadonlyMap<string, readonly Authority[]>;
  /** Ids under which something is stored, and no CA. */
  readonly unknown = new Set<string>();

  private constructor(all: readonly Authority[], gone: readonly Authority[]) {
    this.byId = new Map(all.map((one) => [one.id, one]));
    const bySubject = new Map<string, Authority[]>();
    for (const one of gone) {
      const name = one.subject?.toHex() ?? "";
      bySubject.set(name, [...(bySubject.get(name) ?? []), one]);
    }
    this.#bySubject = bySubject;
  }

  static async read(connection: Connection): Promise<Authorities> {
    const rows = await asked(connection, everyCa);
    const gone: Authority[] = [];
    for await (const page of paged(connection, caCertificates, [0])) {
      for (const row of page) {
        const one = certified(octetsOf(row[1]));
        if (one !== undefined) gone.push(one);
      }
    }
    return new Authorities(rows.map(authority), gone);
  }

  /** Who may have signed under this id, by the issuer name that was signed. */
  of(id: string, issuer: Uint8Array): readonly Authority[] {
    const one = this.byId.get(id);
    if (one !== undefined) return [one];
    this.unknown.add(id);
    return this.#bySubject.get(issuer.toHex()) ?? [];
  }
}

function authority(row: readonly unknown[]): Authority {
  const [id, label, spki, alternative, certificate, csr, parent, status, imported] = row;
  const [awaited] = decodePemBlocks(textOf(imported ?? ""), "CERTIFICATE", chainMax) ?? [];
  const der = certificate === null ? awaited : octetsOf(certificate);
  const subject = der === undefined ? undefined : certified(der)?.subject;
  return {
    id: textOf(id),
    label: textOf(label),
    spki: octetsOf(spki),
    alternative: alternative === null ? undefined : octetsOf(alternative),
    subject,
    csr: csr === null ? undefined : octetsOf(csr),
    parent: parent === null ? undefined : textOf(parent),
    status: textOf(status),
  };
}

function certified(der: Uint8Array): Authority | undefined {
  try {
    const parsed = parseCertificate(der);
    const alternative = extensionOf(parsed, oids.subjectAltPublicKeyInfo)?.value;
    const nothing = { csr: undefined, parent: undefined, status: "" };
    const { spki, subject } = parsed;
    return { id: "", label: "", spki, alternative, subject: subject.der, ...nothing };
  } catch {
    return undefined; // What cannot be read is named where certificates are looked at.
  }
}

const everyCa = `select a.id, a.label, a.spki, a.alt_spki, a.certificate, a.csr, a.parent, a.status, i.value
from cas a left join instance i on i.name = '${waitingPrefix}' || a.id order by a.created_at, a.id`;
const chainMax = 16;
const caCertificates =
  "select ordinal, certificate from certificates where ordinal > %1 and kind in ('ca', 'cross') order by ordinal limit %2";
