/**
 * A CA in memory with real keys and certificates, enough of one for what revocation has to publish.
 */

import { caId, defaultTenant, type Serial, serialFromBytes } from "#core/ids.ts";
import { responderSubject } from "#core/policy/responder-subject.ts";
import { addSeconds, type Instant, instant } from "#core/time.ts";
import { defaultSignature, type KeyType } from "#core/x509/algorithms.ts";
import { assembleSigned, encodeTbsCertificate } from "#core/x509/certificate.ts";
import {
  basicConstraints,
  keyUsage,
  subjectKeyId,
  subjectKeyIdentifier,
} from "#core/x509/extensions.ts";
import { encodeName, nameText } from "#core/x509/names.ts";
import { spkiSha256 } from "#core/x509/public-keys.ts";
import type { Origin } from "#domain/actor.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { ResponderRequest } from "#domain/certificates/responder.ts";
import type { CertificateRecord } from "#domain/certificates/store.ts";
import { openRevocation, type Revocation } from "#domain/revocation/open.ts";
import type { RevocationSections } from "#domain/revocation/sections.ts";
import { Signing } from "#domain/signing/signing.ts";
import type { Store } from "#domain/store.ts";
import { ticketFor } from "#test/support/keys/signing.ts";
import { type MemoryKeys, openMemoryKeys } from "#test/support/keys/memory-keys.ts";
import { type MemoryStore, createMemoryStore } from "#test/support/stores/memory-store.ts";
import { noRollover } from "#test/support/stores/records.ts";
import { seededRandom, type TestClock, testClock } from "#test/support/ports.ts";
import { ownPerson } from "#core/access/person.ts";

/** Everything a test of revocation holds in its hands. */
export interface SmallCa<S extends Store = MemoryStore> extends Revocation {
  readonly store: S;
  readonly keys: MemoryKeys;
  readonly clock: TestClock;
  readonly ca: CaRecord;
  /** What failed in the background. */
  readonly failures: unknown[];
  /** Whether a step ahead of the clock waits for somebody to confirm it. */
  readonly leapt: { ahead: boolean; believed: boolean };
  /** Which lists changes asked to be published now. */
  readonly woken: { readonly kinds: string[] };
  /** What another process over the same store and keys has, with other settings of CRLs. */
  reopen(crl?: Partial<RevocationSections["crl"]>): Revocation;
  /** Stores a certificate of this CA without going through issuance. */
  issue(options?: Partial<IssueOptions>): Promise<CertificateRecord>;
  /** Adds another CA; with `lineage` one of the same lineage. */
  addCa(options?: { readonly lineage?: CaRecord; readonly keyType?: KeyType }): Promise<CaRecord>;
}

interface IssueOptions {
  readonly ca: CaRecord;
  readonly kind: CertificateRecord["kind"];
  readonly profile: string;
  readonly validitySeconds: number;
  readonly serial: Serial;
  /** Whatever else the row is to say. */
  readonly facts: Partial<CertificateRecord>;
}

/** Opens a CA with a key of the given type in memory; settings replace the defaults. */
export const smallCa = (options: SmallCaOptions = {}): Promise<SmallCa> =>
  smallCaOn(createMemoryStore(), options);

export interface SmallCaOptions {
  readonly keyType?: KeyType;
  readonly crl?: Partial<RevocationSections["crl"]>;
  readonly ocsp?: Partial<RevocationSections["ocsp"]>;
  readonly presign?: Partial<RevocationSections["presign"]>;
  readonly issuance?: Partial<RevocationSections["issuance"]>;
  readonly server?: Partial<RevocationSections["server"]>;
}

/** The same on a store of any kind. */
export async function smallCaOn<S extends Store>(
  store: S,
  options: SmallCaOptions = {},
): Promise<SmallCa<S>> {
  const keys = openMemoryKeys();
  const clock = testClock();
  const random = seededRandom();
  const failures: unknown[] = [];
  const woken: SmallCa["woken"] = { kinds: [] };
  const leapt = { ahead: false, believed: true };
  const drawSerial = () => serialFromBytes(random.bytes(15));
  const signing = new Signing({ store, keys, clock, random });
  const ceremony = memoryCeremony(signing, clock, drawSerial);
  const addCa: SmallCa<S>["addCa"] = async ({ lineage, keyType = "ecdsa-p256" } = {}) => {
    const ca = await selfSigned(keys, clock.now(), drawSerial(), random.uuid(), keyType, lineage);
    await store.atomically((tx) => tx.cas.insert(ca));
    return ca;
  };
  const ca = await addCa({ keyType: options.keyType ?? "ecdsa-p256" });
  const reopen = (crl: Partial<RevocationSections["crl"]> = {}) =>
    openRevocation(sectionsOf(options, crl), {
      stillMay: async () => {},
      store,
      keys,
      clock,
      random,
      signing,
      signCertificate: ceremony,
      publicProfile: (profile) => profile === "public",
      counts: { add: () => {} },
      clockAhead: () => leapt.ahead,
      clockBelieved: () => leapt.believed,
      crlFiles: undefined,
      wake: (kind) => woken.kinds.push(kind),
      onFailure: (_what, error) => failures.push(error),
    });
  const issue: SmallCa["issue"] = async (wanted = {}) => {
    const record = certificateRow({ ca, ...wanted }, clock.now(), wanted.serial ?? drawSerial());
    await store.atomically(async (tx) => {
      const { caId, serial, createdAt } = record;
      const opId = random.uuid();
      const intent = { opId, caId, serial, createdAt, tbsDigest: "", requestedBy: "root" };
      await tx.certificates.intend({ ...intent, purpose: "certificate", state: "intended" });
      await tx.certificates.activate(opId, record);
    });
    return record;
  };
  return { ...reopen(), reopen, store, keys, clock, ca, failures, woken, leapt, issue, addCa };
}

/** root, from nowhere. */
export const rootOrigin: Origin = {
  principal: {
    subject: "root",
    person: ownPerson("root"),
    isRoot: true,
    roles: ["admin"],
    tenantRoles: {},
    groups: [],
    mechanism: "basic",
  },
  ip: "192.0.2.1",
  requestId: "test-request",
};

async function selfSigned(
  keys: MemoryKeys,
  now: Instant,
  serial: Serial,
  id: string,
  keyType: KeyType,
  lineage: CaRecord | undefined,
): Promise<CaRecord> {
  const label = `ca-${id}`;
  const handle = await keys.generate({ provider: "software", label, keyType, role: "ca" });
  const name = encodeName([{ type: "CN", value: lineage ? "Small CA" : `Small CA ${id}` }]);
  const [notBefore, notAfter] = [instant(now - 86_400_000), addSeconds(now, 10 * 365 * 86_400)];
  const keyId = subjectKeyId(handle.spki, "rfc7093");
  const algorithm = defaultSignature(keyType);
  const tbs = encodeTbsCertificate({
    serial,
    signature: algorithm,
    issuer: name.der,
    subject: name.der,
    spki: handle.spki,
    notBefore,
    notAfter,
    extensions: [
      basicConstraints(true, undefined),
      keyUsage(["keyCertSign", "cRLSign", "digitalSignature"]),
      subjectKeyIdentifier(keyId),
    ],
  });
  const about = { opId: id, purpose: "ca_certificate", caId: caId(id) } as const;
  const ticket = ticketFor(handle, algorithm, tbs, about);
  const certificate = assembleSigned(tbs, algorithm, await keys.sign(ticket, tbs));
  return {
    id: caId(id),
    tenant: defaultTenant,
    label,
    parent: undefined,
    keyType,
    spki: handle.spki,
    lineage: lineage?.id ?? caId(id),
    status: "active",
    key: handle.ref,
    certificate,
    serial,
    subject: nameText(name),
    notBefore,
    notAfter,
    maxPathLength: undefined,
    createdAt: now,
    internal: false,
    ...noRollover,
  };
}

function certificateRow(
  wanted: { readonly ca: CaRecord } & Partial<IssueOptions>,
  now: Instant,
  serial: Serial,
): CertificateRecord {
  const { ca, kind = "leaf", profile = "server", validitySeconds = 90 * 86_400 } = wanted;
  return {
    id: `row-${serial}`,
    caId: ca.id,
    tenant: ca.tenant,
    serial,
    kind,
    profile,
    subject: "CN=leaf",
    commonName: "leaf",
    sans: ["dns:leaf.example"],
    certificate: new Uint8Array(0),
    notBefore: now,
    status: "good",
    revokedAt: undefined,
    notAfter: addSeconds(now, validitySeconds),
    reason: undefined,
    requestedBy: "root",
    createdAt: now,
    spkiSha256: "",
    marker: "",
    ...wanted.facts,
  };
}

/** The ceremony in short: intent and ledger, signature, row of kind `responder`. */
function memoryCeremony(signing: Signing, clock: TestClock, drawSerial: () => Serial) {
  return async (wanted: ResponderRequest): Promise<void> => {
    const { ca, spki, notBefore, notAfter, extensions } = wanted;
    const [serial, algorithm] = [drawSerial(), defaultSignature(ca.keyType)];
    const issuer = encodeName([{ type: "CN", value: ca.subject.slice(3) }]).der;
    const subject = responderSubject({ subject: issuer, constraints: [] });
    const fields = { serial, issuer, subject: subject.der, spki, notBefore, notAfter, extensions };
    const message = encodeTbsCertificate({ ...fields, signature: algorithm });
    const purpose = "responder_certificate" as const;
    const now = clock.now();
    const key = { ref: ca.key, spki: ca.spki, deviceSerial: "software:memory" };
    const what = { key, role: "ca", algorithm, message, purpose, caId: ca.id } as const;
    const intended = await signing.intend(
      { ...what, artifact: serial },
      {
        intended: async (tx, { opId, digest }) => {
          const row = { opId, caId: ca.id, serial, tbsDigest: digest, requestedBy: "" };
          await tx.certificates.intend({ ...row, purpose, createdAt: now, state: "intended" });
        },
      },
    );
    const signed = await intended.sign();
    const certificate = assembleSigned(message, algorithm, signed.signature);
    const base = certificateRow({ ca, kind: "responder", profile: "" }, now, serial);
    const facts = { certificate, notBefore, notAfter, spkiSha256: spkiSha256(spki) };
    const record = { ...base, ...facts, subject: nameText(subject) };
    await signed.close(async (tx) => {
      await tx.certificates.activate(intended.opId, record);
      await wanted.also(tx, record);
    });
  };
}

const sectionsOf = (
  { crl, ocsp, presign, issuance, server }: SmallCaOptions,
  reopened: Partial<RevocationSections["crl"]>,
): RevocationSections => ({
  ...revocationDefaults,
  crl: { ...revocationDefaults.crl, ...crl, ...reopened },
  ocsp: { ...revocationDefaults.ocsp, ...ocsp },
  presign: { ...revocationDefaults.presign, ...presign },
  issuance: { ...revocationDefaults.issuance, ...issuance },
  server: { ...revocationDefaults.server, ...server },
});

/** The defaults of the configuration. */
export const revocationDefaults: RevocationSections = {
  crl: {
    shards: 0,
    base_url: undefined,
    base_validity_hours: 168,
    delta_interval_minutes: 60,
    refresh_after_revocation_seconds: 60,
    keep_expired: false,
  },
  ocsp: {
    nonce_enabled: true,
    nonce_max_age_seconds: 60,
    validity_hours: 24,
    delegated: true,
    delegated_validity_hours: 168,
    delegated_key_type: "ecdsa-p256",
  },
  presign: {
    enabled: false,
    validity_minutes: 1440,
    refresh_minutes: 360,
    recently_queried: true,
    recent_capacity: 4096,
    expired_grace_minutes: 1440,
  },
  issuance: { backdate_seconds: 300 },
  server: { ocsp_cache_ttl_seconds: 3600, ocsp_cache_entries: 1000 },
  key_provider: { roles: { responder: "software" } },
};
