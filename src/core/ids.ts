/**
 * The identifiers pkid passes around, each a type of its own so that none can stand in for another.
 */

import { refuse } from "./problems.ts";
import type { Instant } from "./time.ts";

/** Id of a certificate authority (UUID). */
export type CaId = string & { readonly brand: "CaId" };
/** Id of a tenant (UUID, or `default` for the built-in one). */
export type TenantId = string & { readonly brand: "TenantId" };
/**
 * Decimal digits without sign or leading zeros: the one spelling of a serial, inside pkid and on
 * the wire.
 */
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
 * Reads a serial in decimal, `0x` hex or colon-separated hex, any case, leading zeros dropped.
 * Refuses signs, blanks and values outside 1..2^160−1 with `bad_serial` (RFC 5280 §4.1.2.2).
 */
export function parseSerial(text: string): Serial {
  const value = serialValue(text);
  if (value === undefined || value < 1n || value >= serialLimit) throw refuse("bad_serial");
  return value.toString(10) as Serial;
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

function serialValue(text: string): bigint | undefined {
  if (text.length === 0 || text.length > 80) return undefined;
  if (/^[0-9]+$/.test(text)) return BigInt(text);
  if (/^0x[0-9a-f]+$/i.test(text)) return BigInt(`0x${text.slice(2)}`);
  if (/^[0-9a-f]{1,2}(:[0-9a-f]{1,2})+$/i.test(text)) {
    const octets = text.split(":").map((octet) => octet.padStart(2, "0"));
    return BigInt(`0x${octets.join("")}`);
  }
  return undefined;
}

const serialLimit = 1n << 160n;
