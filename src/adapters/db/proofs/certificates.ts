/**
 * Every certificate and precertificate: its signature under its CA, its row beside its own octets,
 * its serial, and its standing beside the revocation table.
 */

import {
  type ArtefactSignature,
  parsedArtefact,
  type ReadArtefact,
} from "#core/audit/ledger-verification-artefacts.ts";
import { sha256Hex } from "#core/crypto.ts";
import { pairOf, signedText } from "#core/proofs/pair.ts";
import type { Proofs } from "#core/proofs/proofs.ts";
import { certificateText, prunedText } from "#core/proofs/told-texts.ts";
import { oids } from "#core/asn1/oids.ts";
import { extensionOf, type ParsedCertificate, parseCertificate } from "#core/x509/certificate.ts";
import { generalNameText, parseGeneralNames } from "#core/x509/general-names.ts";
import { commonName, nameText } from "#core/x509/names.ts";
import { pointersOf } from "#core/x509/pointers.ts";
import { spkiSha256 } from "#core/x509/public-keys.ts";
import { certificateKinds } from "#domain/certificates/store.ts";
import { importedMarker } from "#domain/revocation/adoption.ts";

import { digestHeadOf } from "#adapters/db/tables/digest-head.ts";

import type { Authority } from "./authorities.ts";
import type { Look } from "./look.ts";
import { asked, numberOf, octetsOf, paged, textOf } from "./look-rows.ts";

/** What is stored beside the octets of a certificate. */
export interface CertificateRow {
  readonly ordinal: number;
  readonly caId: string;
  readonly serial: string;
  readonly kind: string;
  readonly status: string;
  readonly revokedAt: number | undefined;
  readonly reason: string;
  readonly notBefore: number;
  readonly notAfter: number;
  readonly spkiSha256: string;
  readonly serialHex: string;
  readonly subject: string;
  readonly crlPartition: number | undefined;
  readonly crlUrl: string;
  readonly createdAt: number;
  readonly commonName: string;
  /** JSON. */
  readonly sans: string;
  readonly profile: string;
  readonly tenant: string;
  readonly marker: string;
  readonly digestHead: number | undefined;
  readonly der: Uint8Array;
  /** Of the revocation table; undefined without an entry. */
  readonly entry: { readonly at: number; readonly reason: string } | undefined;
}

/** Walks all of them once. */
export async function proveCertificates(look: Look): Promise<void> {
  const stamps = await stampsOf(look);
  let before: Promise<void> | undefined;
  for await (const page of certificateRows(look, look.from.ordinal)) {
    const pending = page.flatMap((row) => proveCertificate(look, row, stamps));
    // While those of a page are verified by other threads, the next one is read.
    await before;
    before = settled(look, pending);
    look.advanced(page.length);
  }
  await before;
  await provePrecertificates(look);
}

/** A signature that is being verified, and what is said when it does not. */
interface Pending {
  readonly good: Promise<boolean>;
  readonly otherwise: string;
}

async function settled({ proofs }: Look, pending: readonly Pending[]): Promise<void> {
  for (const { good, otherwise } of pending) {
    if (!(await good)) proofs.signatures.violated(otherwise);
  }
}

/** The rows behind a number, in pages. */
export async function* certificateRows(
  { connection }: Pick<Look, "connection">,
  after: number,
): AsyncGenerator<readonly CertificateRow[]> {
  for await (const page of paged(connection, everyCertificate, [after])) yield page.map(rowOf);
}

/** Names those that no event or no entry of the ledger tells of, by another walk. */
export async function nameUntold(look: Look): Promise<void> {
  const { pairs, certificates, proofs, from } = look;
  for await (const page of certificateRows(look, from.ordinal)) {
    for (const row of page) {
      if (row.createdAt < from.at || isPruned(row)) continue;
      const name = nameOf(row);
      if (told.has(row.kind) && certificates.isUnmarked(toldOf(row))) {
        proofs.inventory.violated(`${name} has no event.`);
      }
      const read = readable(row.der);
      if (read === undefined) continue;
      for (const pair of isImported(row) ? [] : pairsOf(look, row, read)) {
        if (pairs.isUnmarked(pair))
          proofs.artefacts.violated(`${name} is in no ledger entry (V8).`);
      }
    }
  }
  for await (const page of paged(look.connection, everyPrecertificate, ["", ""])) {
    for (const [ca, itsSerial, octets, createdAt] of page) {
      const row = precertificateRow([ca, itsSerial, octets, createdAt]);
      const read = row.createdAt < from.at ? undefined : readable(row.der);
      if (read === undefined) continue;
      for (const pair of pairsOf(look, row, read)) {
        if (!pairs.isUnmarked(pair)) continue;
        proofs.artefacts.violated(`Precertificate ${row.serial} is in no ledger entry (V8).`);
      }
    }
  }
}

function proveCertificate(look: Look, row: CertificateRow, stamps: Stamps): readonly Pending[] {
  const { proofs, pairs, certificates } = look;
  proofs.inventory.checked += 1;
  proofs.serials.checked += 1;
  standing(proofs, row);
  stamped(proofs, row, stamps);
  const name = nameOf(row);
  if (row.digestHead !== (digestHeadOf(row.der) ?? undefined)) {
    proofs.inventory.violated(`${name}: its digest is not that of its octets.`);
  }
  if (isPruned(row)) {
    // RET-2 leaves a tombstone: what was signed under it can no longer be held against it (V6).
    proofs.inventory.noted("pruned certificates, unproven");
    look.pruned.add(prunedText(row.caId, row.serial));
    return [];
  }
  const read = readCertificate(row.der);
  if (typeof read === "string") {
    proofs.inventory.violated(`${name} cannot be read: ${read}.`);
    return [];
  }
  for (const fault of faultsOrUnread(row, read.parsed))
    proofs.inventory.violated(`${name}: ${fault}.`);
  const pending = verified(look, { caId: row.caId, name }, read);
  if (told.has(row.kind)) certificates.add(toldOf(row));
  if (isImported(row)) {
    // IMP-3: another program has drawn its serial and signed it, so its event alone tells of it.
    proofs.inventory.noted("imported certificates, of which no ledger entry tells");
    return pending;
  }
  const serialFault = faultOfSerial(row.serial);
  if (serialFault !== undefined) proofs.serials.violated(`${name} ${serialFault}.`);
  for (const pair of pairsOf(look, row, read)) pairs.add(pair);
  return pending;
}

async function provePrecertificates(look: Look): Promise<void> {
  for await (const page of paged(look.connection, everyPrecertificate, ["", ""])) {
    const pending: Pending[] = [];
    for (const values of page) {
      const row = precertificateRow(values);
      const name = `Precertificate ${row.serial} of CA ${row.caId}`;
      const read = readCertificate(row.der);
      if (typeof read === "string" || read.parsed.serial !== row.serial) {
        look.proofs.inventory.violated(`${name} is not what its row says.`);
        continue;
      }
      pending.push(...verified(look, { caId: row.caId, name }, read));
      for (const pair of pairsOf(look, row, read)) look.pairs.add(pair);
    }
    await settled(look, pending);
    look.advanced(page.length);
  }
}

interface Read {
  readonly parsed: ParsedCertificate;
  readonly artefact: ReadArtefact;
  /** `signedText` of each signature. */
  readonly signed: readonly string[];
}

/** Has every signature it carries, native and alternative, held against the keys of its CA. */
function verified(
  { proofs, authorities, keys, fast }: Look,
  { name, caId }: { readonly name: string; readonly caId: string },
  { parsed, artefact, signed }: Read,
): readonly Pending[] {
  const issuers = authorities.of(caId, parsed.issuer.der);
  const { signatures } = proofs;
  signatures.checked += artefact.signatures.length;
  if (issuers.length === 0) {
    signatures.violated(`${name}: no key of its CA is known.`);
    return [];
  }
  const named = issuers.filter(({ subject }) => isSame(subject, parsed.issuer.der));
  if (named.length === 0) signatures.violated(`${name} names another issuer than its CA.`);
  const [issuer] = named;
  if (issuer?.alternative !== undefined && artefact.signatures.length < 2) {
    signatures.violated(`${name} lacks the alternative signature of its hybrid CA.`);
  }
  if (fast) return [];
  return artefact.signatures.flatMap((signature, at) => {
    const candidates = candidatesAt(issuers, at);
    const text = signed[at] ?? "";
    if (candidates.some((spki) => keys.hasVerified(spki, text))) return [];
    const which = at === 0 ? "signature" : "alternative signature";
    const otherwise = `${name}: its ${which} does not verify under its CA.`;
    return [{ good: verifiesUnderAny(keys, candidates, signature), otherwise }];
  });
}

async function verifiesUnderAny(
  keys: Look["keys"],
  candidates: readonly Uint8Array[],
  signature: ArtefactSignature,
): Promise<boolean> {
  for (const spki of candidates) {
    if (await keys.verifiesElsewhere(spki, signature)) return true;
  }
  return false;
}

/** Keys of the first signature, and of the alternative one after it. */
const candidatesAt = (issuers: readonly Authority[], at: number): readonly Uint8Array[] =>
  issuers.flatMap(({ spki, alternative }) => {
    const key = at === 0 ? spki : alternative;
    return key === undefined ? [] : [key];
  });

/** One for each signature, by the key that verifies it, as the ledger must have them. */
function pairsOf(
  { authorities, keys }: Pick<Look, "authorities" | "keys">,
  row: Pick<CertificateRow, "caId" | "serial" | "kind">,
  { parsed, artefact, signed }: Read,
): readonly string[] {
  const purpose = purposes.get(row.kind) ?? "certificate";
  const issuers = authorities.of(row.caId, parsed.issuer.der);
  return artefact.signatures.map((signature, at) => {
    const signer = signerOf(keys, candidatesAt(issuers, at), signature);
    const signerFingerprint = signer === undefined ? "" : keys.fingerprintOf(signer);
    const by = { purpose, caId: row.caId, artifact: row.serial, signerFingerprint };
    return pairOf(by, signed[at] ?? "");
  });
}

/** Of one candidate, nearly always the only one, nothing is verified again. */
function signerOf(
  keys: Look["keys"],
  candidates: readonly Uint8Array[],
  signature: ArtefactSignature,
): Uint8Array | undefined {
  if (candidates.length < 2) return candidates[0];
  return candidates.find((spki) => keys.verifies(spki, signature));
}

/** The status is what the revocation table says, and nothing else. */
function standing({ revocations }: Proofs, row: CertificateRow): void {
  const { status, entry, reason, revokedAt } = row;
  const name = nameOf(row);
  const due =
    entry === undefined ? "good" : entry.reason === "certificateHold" ? "held" : "revoked";
  if (status !== due) {
    revocations.violated(`${name} is called ${status}, and the revocation table says ${due}.`);
    return;
  }
  if (entry?.at !== revokedAt || (entry?.reason ?? "") !== reason) {
    revocations.violated(`${name} has another time or reason than the revocation table.`);
  }
}

/** CRL-9: the partition it names is kept with its URL until it expires. */
function stamped({ partitions }: Proofs, row: CertificateRow, stamps: Stamps): void {
  if (row.crlPartition === undefined) return;
  const kept = stamps.get(stampName(row.caId, row.crlPartition, row.crlUrl));
  if (kept !== undefined && kept >= row.notAfter) return;
  partitions.violated(`${nameOf(row)} names partition ${row.crlPartition}, which is not kept.`);
}

/** An extension that is not what it says is a fault like another. */
function faultsOrUnread(row: CertificateRow, parsed: ParsedCertificate): readonly string[] {
  try {
    return rowFaults(row, parsed);
  } catch (error) {
    return [`it cannot be read: ${error instanceof Error ? error.message : String(error)}`];
  }
}

function rowFaults(row: CertificateRow, parsed: ParsedCertificate): readonly string[] {
  const faults: string[] = [];
  const own = (what: string, same: boolean) => {
    if (!same) faults.push(`its ${what} is not that of its octets`);
  };
  own("serial", parsed.serial === row.serial);
  own("hexadecimal serial", BigInt(parsed.serial).toString(16) === row.serialHex);
  own("subject", nameText(parsed.subject) === row.subject);
  own("names", namesOf(parsed) === row.sans);
  own("common name", commonName(parsed.subject) === row.commonName);
  const { crls } = pointersOf(parsed);
  // Without it, an older release or a CA certificate, whose pointer is that of the full list.
  own("CRL", row.crlUrl === "" ? row.crlPartition === undefined : crls.includes(row.crlUrl));
  own("notBefore", parsed.notBefore === row.notBefore);
  own("notAfter", parsed.notAfter === row.notAfter);
  own("key", spkiSha256(parsed.spki) === row.spkiSha256);
  if (!kinds.has(row.kind)) faults.push(`its kind is ${row.kind}`);
  return faults;
}

/** As the column has them. */
function namesOf(parsed: ParsedCertificate): string {
  const names = extensionOf(parsed, oids.subjectAltName)?.value;
  return JSON.stringify(
    names === undefined ? [] : parseGeneralNames(names).names.map(generalNameText),
  );
}

/** REC-1: 127 bits are drawn; one of a million serials of an honest source is under 107 bits. */
function faultOfSerial(serial: string): string | undefined {
  if (!/^[1-9][0-9]*$/.test(serial)) return "has a serial that is no positive number";
  const bits = BigInt(serial).toString(2).length;
  if (bits > serialBitsMax) return `has a serial of ${bits} bits, which is too long`;
  return bits < serialBitsMin ? `has a serial of ${bits} bits only` : undefined;
}

function readCertificate(der: Uint8Array): Read | string {
  try {
    const parsed = parseCertificate(der);
    const artefact = parsedArtefact(der, parsed);
    return { parsed, artefact, signed: artefact.signatures.map(signedText) };
  } catch (error) {
    // Strangers' octets in a row of ours: what the reader says is what is told.
    return error instanceof Error ? error.message : String(error);
  }
}

const readable = (der: Uint8Array): Read | undefined => {
  const read = readCertificate(der);
  return typeof read === "string" ? undefined : read;
};

type Stamps = ReadonlyMap<string, number>;

async function stampsOf({ connection }: Look): Promise<Stamps> {
  const rows = await asked(connection, "select ca_id, partition, url, not_after from crl_stamps");
  return new Map(
    rows.map(([ca, partition, url, end]) => [
      stampName(textOf(ca), Number(partition), textOf(url)),
      Number(end),
    ]),
  );
}

const stampName = (ca: string, partition: number, url: string) => `${ca}|${partition}|${url}`;

function rowOf(values: readonly unknown[]): CertificateRow {
  const [ordinal, caId, serial, kind, status, revokedAt, reason, notBefore, notAfter] = values;
  const [spki, serialHex, subject, partition, url, createdAt, der, entryAt, why] = values.slice(9);
  const [name, profile, tenant, sans, marker, digestHead] = values.slice(18);
  const at = numberOf(entryAt);
  return {
    ordinal: Number(ordinal),
    caId: textOf(caId),
    serial: textOf(serial),
    kind: textOf(kind),
    status: textOf(status),
    revokedAt: numberOf(revokedAt),
    reason: textOf(reason),
    notBefore: Number(notBefore),
    notAfter: Number(notAfter),
    spkiSha256: textOf(spki),
    serialHex: textOf(serialHex),
    subject: textOf(subject),
    crlPartition: numberOf(partition),
    crlUrl: textOf(url),
    createdAt: Number(createdAt),
    commonName: textOf(name),
    sans: textOf(sans),
    profile: textOf(profile),
    tenant: textOf(tenant),
    marker: textOf(marker),
    digestHead: numberOf(digestHead),
    der: octetsOf(der),
    entry: at === undefined ? undefined : { at, reason: textOf(why) },
  };
}

const precertificateRow = ([ca, serial, octets, createdAt]: readonly unknown[]) => ({
  caId: textOf(ca),
  serial: textOf(serial),
  der: octetsOf(octets),
  createdAt: Number(createdAt),
  kind: "precertificate",
});

/** Leaves are told of with profile and tenant, CAs with their own tenant. */
function toldOf({ der, kind, profile, tenant }: CertificateRow): string {
  const leaf = kind === "leaf" || kind === "serving";
  return certificateText(sha256Hex(der), leaf ? { profile, tenant } : undefined);
}

const nameOf = ({ serial, caId }: Pick<CertificateRow, "serial" | "caId">): string =>
  `Certificate ${serial} of CA ${caId}`;

/** No octets, neither in its row nor in the archive table. */
const isPruned = ({ der }: Pick<CertificateRow, "der">): boolean => der.length === 0;

const isImported = ({ marker }: Pick<CertificateRow, "marker">): boolean =>
  marker === importedMarker;

const isSame = (one: Uint8Array | undefined, other: Uint8Array): boolean =>
  one !== undefined && Buffer.from(one).equals(other);

const everyCertificate = `select c.ordinal, c.ca_id, c.serial, c.kind, c.status, c.revoked_at, c.reason,
  c.not_before, c.not_after, c.spki_sha256, c.serial_hex, c.subject, c.crl_partition, c.crl_url,
  c.created_at, case when length(c.certificate) > 0 then c.certificate else a.certificate end,
  r.revoked_at, r.reason, c.common_name, c.profile, c.tenant, c.sans, c.marker,
  c.digest_head
from certificates c left join revocations r on r.ca_id = c.ca_id and r.serial = c.serial
left join certificate_archive a on a.ca_id = c.ca_id and a.serial = c.serial
where c.ordinal > %1 order by c.ordinal limit %2`;
const everyPrecertificate = `select ca_id, serial, certificate, created_at from precertificates
where (ca_id, serial) > (%1, %2) order by ca_id, serial limit %3`;

/** Kinds that issuance tells of; those of responders are the ledger's alone. */
const told: ReadonlySet<string> = new Set(["leaf", "ca", "cross", "serving"]);
const kinds: ReadonlySet<string> = new Set(certificateKinds);
/** What the ledger calls the signing of a kind. */
const purposes: ReadonlyMap<string, string> = new Map([
  ["leaf", "certificate"],
  ["serving", "certificate"],
  ["ca", "ca_certificate"],
  ["cross", "cross_certificate"],
  ["responder", "responder_certificate"],
  ["precertificate", "precertificate"],
]);
const serialBitsMin = 64;
/** RFC 5280 §4.1.2.2: 20 octets, of a positive number. */
const serialBitsMax = 159;
