/** Certificate revocation lists (RFC 5280 §5). */

import { type Cursor, DerError, openSequence, readWhole } from "#core/asn1/cursor.ts";
import {
  compareOctets,
  elementOf,
  enumerated,
  explicit,
  integer,
  sequence,
  time,
  unsignedInteger,
} from "#core/asn1/der.ts";
import { oids } from "#core/asn1/oids.ts";
import { contextualConstructed, tags } from "#core/asn1/tags.ts";
import { type Serial, serialToBytes, toListedSerial } from "#core/ids.ts";
import type { Instant } from "#core/time.ts";

import { algorithmIdentifier, readAlgorithm } from "./algorithm-identifiers.ts";
import type { SignatureName } from "./algorithms.ts";
import { extensionOf } from "./certificate.ts";
import { encodeExtensions, type Extension, parseCrlNumber, parseExtensions } from "./extensions.ts";
import { type RevocationReason, revocationReasons } from "./reasons.ts";

export interface CrlEntry {
  readonly serial: Serial;
  readonly revokedAt: Instant;
  /** `unspecified` writes no extension; `removeFromCRL` only in deltas. */
  readonly reason: RevocationReason | "removeFromCRL";
}

export interface TbsCertList {
  readonly signature: SignatureName;
  readonly issuer: Uint8Array;
  readonly thisUpdate: Instant;
  readonly nextUpdate: Instant;
  /** Encoded entries, each from `encodeCrlEntry`, in order. */
  readonly entries: readonly Uint8Array[];
  readonly extensions: readonly Extension[];
}

/** Entry of a list of another CA, whose serial may be one that pkid cannot store. */
export interface ForeignCrlEntry extends Omit<CrlEntry, "serial"> {
  /** Undefined for a number that `toListedSerial` refuses. */
  readonly serial: Serial | undefined;
  readonly number: bigint;
}

/** A CRL whose entries have yet to be read, one after the other. */
export interface OpenedCrl extends Omit<ParsedCrl, "entries"> {
  /**
   * Reads them in order, once; throws DerError at the first that cannot be read.
   *
   * @param onEntry called with the length of each entry in bytes, before the entry is read
   */
  entries(onEntry?: (octets: number) => void): Generator<CrlEntry>;
  /** Reads them like `entries`, but includes those whose serial pkid cannot store. */
  foreignEntries(onEntry?: (octets: number) => void): Generator<ForeignCrlEntry>;
}

export interface ParsedCrl {
  readonly der: Uint8Array;
  readonly tbs: Uint8Array;
  readonly issuer: Uint8Array;
  readonly thisUpdate: Instant;
  readonly nextUpdate: Instant | undefined;
  readonly entries: readonly CrlEntry[];
  readonly extensions: readonly Extension[];
  readonly number: number | undefined;
  readonly signatureName: SignatureName | undefined;
  readonly signature: Uint8Array;
}

/** DER of one revokedCertificates entry. */
export function encodeCrlEntry(entry: CrlEntry): Uint8Array {
  const serial = unsignedInteger(serialToBytes(entry.serial));
  const at = time(entry.revokedAt);
  const extensions = reasonExtensions.get(entry.reason);
  return extensions ? sequence(serial, at, extensions) : sequence(serial, at);
}

/**
 * DER of a v2 TBSCertList; without entries the list is absent (RFC 5280 §5.1.2.6). Join it with
 * `assembleSigned`.
 */
export function encodeTbsCertList(fields: TbsCertList): Uint8Array {
  const entries = fields.entries.length === 0 ? [] : [elementOf(tags.sequence, fields.entries)];
  return sequence(
    integer(1),
    algorithmIdentifier(fields.signature),
    fields.issuer,
    time(fields.thisUpdate),
    time(fields.nextUpdate),
    ...entries,
    explicit(0, encodeExtensions(fields.extensions)),
  );
}

/**
 * Reads a CRL of version 1 or 2; throws DerError, also for what changes the meaning of an entry: an
 * indirect CRL or any other critical entry extension.
 */
export function parseCrl(der: Uint8Array): ParsedCrl {
  const { foreignEntries: _foreign, ...opened } = openCrl(der);
  return { ...opened, entries: [...opened.entries()] };
}

/**
 * Reads everything but the entries of a CRL, for lists of any length; throws DerError as
 * `parseCrl`.
 */
export function openCrl(der: Uint8Array): OpenedCrl {
  const signed = openSequence(der);
  const tbs = signed.element(tags.sequence);
  const outer = signed.element(tags.sequence);
  const signature = signed.wholeBits();
  signed.finish();
  const { algorithm, ...fields } = readTbs(openSequence(tbs));
  if (compareOctets(algorithm, outer) !== 0) {
    throw new DerError("inner and outer signature algorithm differ");
  }
  const numbered = extensionOf(fields, oids.crlNumber);
  const number = numbered && parseCrlNumber(numbered.value);
  const { signatureName } = readAlgorithm(algorithm);
  return { der, tbs, ...fields, number, signatureName, signature };
}

function readTbs(tbs: Cursor) {
  const versioned = tbs.tag === tags.integer;
  if (versioned && tbs.small() !== 1) throw new DerError("the CRL has an unknown version");
  const algorithm = tbs.element(tags.sequence);
  const issuer = tbs.element(tags.sequence);
  const thisUpdate = tbs.time();
  const dated = tbs.tag === tags.utcTime || tbs.tag === tags.generalizedTime;
  const nextUpdate = dated ? tbs.time() : undefined;
  const list = tbs.enterOptional(tags.sequence);
  type OnEntry = (octets: number) => void;
  const foreignEntries = (onEntry?: OnEntry) => readEntries(list, versioned, onEntry);
  const entries = (onEntry?: OnEntry) => storableEntries(foreignEntries(onEntry));
  const holder = versioned ? tbs.enterOptional(contextualConstructed(0)) : undefined;
  const extensions = holder ? readExtensions(holder) : [];
  holder?.finish();
  tbs.finish();
  const found = { algorithm, issuer, thisUpdate, nextUpdate, extensions };
  return { ...found, entries, foreignEntries };
}

function* storableEntries(entries: Generator<ForeignCrlEntry>): Generator<CrlEntry> {
  for (const { serial, revokedAt, reason } of entries) {
    if (serial === undefined) throw new DerError("a serial number is negative or too long");
    yield { serial, revokedAt, reason };
  }
}

function* readEntries(
  list: Cursor | undefined,
  extensible: boolean,
  onEntry?: (octets: number) => void,
): Generator<ForeignCrlEntry> {
  if (list === undefined) return;
  do {
    const whole = list.element(tags.sequence);
    onEntry?.(whole.length);
    const entry = openSequence(whole);
    const number = entry.bigInteger();
    const revokedAt = entry.time();
    const extended = extensible && !entry.finished;
    const reason = extended ? readReason(readExtensions(entry)) : "unspecified";
    entry.finish();
    yield { serial: toListedSerial(number), number, revokedAt, reason };
  } while (!list.finished);
}

/** Reads the extensions of a list or entry, which anyone may have made as long as the body. */
function readExtensions(holder: Cursor): readonly Extension[] {
  const element = holder.element();
  if (element.length > extensionOctetsMax) {
    throw new DerError(`the extensions take more than ${extensionOctetsMax} octets`);
  }
  return parseExtensions(element);
}

function readReason(extensions: readonly Extension[]): CrlEntry["reason"] {
  for (const { oid, critical } of extensions) {
    if (critical && oid !== oids.reasonCode)
      throw new DerError("an entry has an unknown critical extension");
  }
  const coded = extensionOf({ extensions }, oids.reasonCode);
  if (coded === undefined) return "unspecified";
  const code = readWhole(coded.value, (cursor) => cursor.small(tags.enumerated));
  const reason = reasonsByCode.get(code);
  if (reason === undefined) throw new DerError("an entry has an unknown reason");
  return reason;
}

/**
 * RFC 5280 §5.3.1: removeFromCRL belongs to delta CRLs alone, so the table of reasons does not have
 * it.
 */
const codes: ReadonlyMap<CrlEntry["reason"], number> = new Map<CrlEntry["reason"], number>([
  ...Object.entries(revocationReasons).map(
    ([reason, code]) => [reason as RevocationReason, code] as const, // A key of the table.
  ),
  ["removeFromCRL", 8],
]);

const reasonsByCode: ReadonlyMap<number, CrlEntry["reason"]> = new Map(
  [...codes].map(([reason, code]) => [code, reason]),
);

/** crlEntryExtensions by reason, encoded once; `unspecified` has none (RFC 5280 §5.3.1). */
export const reasonExtensions: ReadonlyMap<CrlEntry["reason"], Uint8Array> = new Map(
  [...codes]
    .filter(([reason]) => reason !== "unspecified")
    .map(([reason, code]) => [
      reason,
      encodeExtensions([{ oid: oids.reasonCode, critical: false, value: enumerated(code) }]),
    ]),
);

/** A millisecond or two to read. The extensions of real lists take less than a kilobyte. */
const extensionOctetsMax = 65_536;
