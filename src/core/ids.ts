/**
 * The identifiers pkid passes around, each a type of its own so that none can stand in for another.
 */

import { refuse } from "./problems.ts";
import type { Instant } from "./time.ts";

/** Id of a certificate authority (UUID). */
export type CaId = string & { readonly brand: "CaId" };
/** Id of a tenant (UUID, or `default` for the built-in one). */
export type TenantId = string & { readonly brand: "TenantId" };
/** Decimal digits without sign or leading zeros, as stored and as sent. */
export type Serial = string & { readonly brand: "Serial" };

/** Marks a text from the store or from `Random.uuid` as a CA id; the caller vouches for it. */
export const caId = (text: string): CaId => text as CaId;

/**
 * An id that sorts by the time it was made (RFC 9562 §5.7: a version 7 UUID), for rows written by
 * the thousand: an index takes neighbours together. `random` are ten octets from the CSPRNG, of
 * which 74 bits are kept.
 */
export function orderedId(at: Instant, random: Uint8Array): string {
  const octets = new Uint8Array(16);
  const view = new DataView(octets.buffer);
  view.setUint32(0, Math.floor(at / 0x1_0000));
  view.setUint16(4, at % 0x1_0000);
  octets.set(random, 6);
  octets[6] = ((octets[6] ?? 0) & 0x0f) | 0x70;
  octets[8] = ((octets[8] ?? 0) & 0x3f) | 0x80;
  return uuidText(octets);
}

/** Sixteen octets as a UUID is written (RFC 9562 §4). */
export function uuidText(octets: Uint8Array): string {
  const hex = octets.toHex();
  const parts = [
    [0, 8],
    [8, 12],
    [12, 16],
    [16, 20],
    [20, 32],
  ] as const;
  return parts.map(([from, to]) => hex.slice(from, to)).join("-");
}

/** Marks a text from the store or the configuration as a tenant id; the caller vouches for it. */
export const tenantId = (text: string): TenantId => text as TenantId;

/** The tenant that exists in every instance and can be neither suspended nor deleted. */
export const defaultTenant = tenantId("default");

/**
 * Selects the meaning of a serial: without a format digits alone are decimal; `decimal` takes
 * digits alone only, `hex` takes every form as hex. Refuses `bad_serial`.
 */
export function selectReading(
  { text, decimal, hex }: SerialReadings,
  format: SerialFormat | undefined,
): Serial {
  const isDecimal = format === undefined ? !text.startsWith("0x") : format === "decimal";
  const serial = isDecimal ? decimal : hex;
  if (serial === undefined) throw refuse("bad_serial");
  return serial;
}

/** Reads a serial without a format, as `selectReading` does. Refuses `bad_serial`. */
export function parseSerial(text: string): Serial {
  return selectReading(readSerial(text), undefined);
}

/** The serial of unsigned big-endian octets, as drawn from the CSPRNG or read from DER. */
export function serialFromBytes(bytes: Uint8Array): Serial {
  const hex = bytes.toHex();
  return BigInt(`0x${hex === "" ? "0" : hex}`).toString(10) as Serial;
}

/** The minimal unsigned big-endian octets of a serial, as partition numbering hashes them. */
export function serialToBytes(serial: Serial): Uint8Array {
  const hex = BigInt(serial).toString(16);
  return Uint8Array.fromHex(hex.length % 2 === 0 ? hex : `0${hex}`);
}

/** Base of serials that are digits alone; `decimal` unless a list or the user specifies `hex`. */
export const serialFormats = ["decimal", "hex"] as const;
export type SerialFormat = (typeof serialFormats)[number];

/** Meanings of one serial text; undefined for a base in which it is not a serial. */
export interface SerialReadings {
  /** Canonical form of the text: the digits alone, or `0x` and lowercase hex. */
  readonly text: string;
  readonly decimal: Serial | undefined;
  readonly hex: Serial | undefined;
}

/**
 * Reads a serial in each base that its form allows. Digits alone have both; `0x` hex, hex with
 * colons and plain hex with a letter have one, in any case. Signs, blanks and values outside
 * 1..2^160−1 have no meaning (RFC 5280 §4.1.2.2).
 */
export function readSerial(text: string): SerialReadings {
  if (text.length === 0 || text.length > textMax) return { text, ...noReading };
  if (/^[0-9]+$/.test(text)) {
    const digits = text.replace(/^0+(?=.)/, "");
    const [decimal, hex] = [toSerial(BigInt(digits)), toSerial(BigInt(`0x${digits}`))];
    return { text: digits, decimal, hex };
  }
  const digits = extractHexDigits(text)
    ?.replace(/^0+(?=.)/, "")
    .toLowerCase();
  if (digits === undefined) return { text, ...noReading };
  return { text: `0x${digits}`, decimal: undefined, hex: toSerial(BigInt(`0x${digits}`)) };
}

/** Returns every serial that a text may mean, for searches: digits alone may be decimal or hex. */
export function findSerials(text: string): readonly Serial[] {
  const { decimal, hex } = readSerial(text);
  const serials = [decimal, hex].filter((serial) => serial !== undefined);
  return [...new Set(serials)];
}

/** Formats a serial as `0x` and lowercase hex, which every reader takes for one number only. */
export const formatSerialHex = (serial: Serial): string => `0x${BigInt(serial).toString(16)}`;

/**
 * Converts the number of an entry in the list or inventory of another CA. Returns undefined for a
 * number that pkid cannot store: a negative one, or one above 2^160−1. Zero is stored, so that its
 * revocation stays effective, although no certificate with it is accepted (RFC 5280 §4.1.2.2).
 */
export function toListedSerial(value: bigint): Serial | undefined {
  if (value < 0n || value >= serialLimit) return undefined;
  return value.toString(10) as Serial; // Not negative, and below the limit.
}

/** Range of `toListedSerial` for messages. */
export const listedSerialRange = "0 to 2^160-1";

function toSerial(value: bigint): Serial | undefined {
  if (value < 1n || value >= serialLimit) return undefined;
  return value.toString(10) as Serial; // A positive number below the limit.
}

/** Digits of `0x` hex, of hex with colons, or of plain hex with a letter; undefined for others. */
function extractHexDigits(text: string): string | undefined {
  if (/^0x[0-9a-f]+$/i.test(text)) return text.slice(2);
  if (/^[0-9a-f]+$/i.test(text)) return text;
  if (!/^[0-9a-f]{1,2}(:[0-9a-f]{1,2})+$/i.test(text)) return undefined;
  return text
    .split(":")
    .map((byte) => byte.padStart(2, "0"))
    .join("");
}

const noReading = { decimal: undefined, hex: undefined } as const;
/** Longer text is not a serial, even with leading zeros. */
const textMax = 80;
const serialLimit = 1n << 160n;
