/**
 * Resource records pkid reads; a record that is not what its type says makes the message
 * unreadable.
 */

import { ipText } from "#core/x509/addresses.ts";

import { DnsError, readName } from "./names.ts";

/** Types that can be asked for, by their number. */
// biome-ignore format: the table is read by column.
export const recordTypes = {
  A: 1, CNAME: 5, SOA: 6, TXT: 16, AAAA: 28, DNAME: 39, CAA: 257,
} as const;

export type RecordType = keyof typeof recordTypes;

/** What a record says. */
export type RecordContent =
  | { readonly type: "A" | "AAAA"; readonly address: string }
  | { readonly type: "CNAME" | "DNAME"; readonly target: string }
  | { readonly type: "TXT"; readonly strings: readonly Uint8Array[] }
  | CaaContent
  /** RFC 2308 §4: how long an absence may be remembered. */
  | { readonly type: "SOA"; readonly minimumSeconds: number }
  | { readonly type: "other"; readonly code: number };

/** A CAA property; tag and value octet by octet as Latin-1 (RFC 8659 §4.1). */
export interface CaaContent {
  readonly type: "CAA";
  readonly critical: boolean;
  readonly tag: string;
  readonly value: string;
}

export type ResourceRecord = RecordContent & {
  /** Lower case, without final dot. */
  readonly owner: string;
  readonly ttlSeconds: number;
};

/** The record's content, which is `octets[start, end)` of the message. Throws DnsError. */
export function readRecord(
  octets: Uint8Array,
  code: number,
  start: number,
  end: number,
): RecordContent {
  switch (code) {
    case recordTypes.A:
      return { type: "A", address: addressOf(octets.subarray(start, end), 4) };
    case recordTypes.AAAA:
      return { type: "AAAA", address: addressOf(octets.subarray(start, end), 16) };
    case recordTypes.CNAME:
      return { type: "CNAME", target: onlyName(octets, start, end) };
    case recordTypes.DNAME:
      return { type: "DNAME", target: onlyName(octets, start, end) };
    case recordTypes.TXT:
      return { type: "TXT", strings: strings(octets.subarray(start, end)) };
    case recordTypes.CAA:
      return caaOf(octets.subarray(start, end));
    case recordTypes.SOA:
      return { type: "SOA", minimumSeconds: soaMinimum(octets, start, end) };
    default:
      return { type: "other", code };
  }
}

function addressOf(rdata: Uint8Array, length: number): string {
  if (rdata.length !== length) throw new DnsError("an address has a wrong length");
  return ipText(rdata);
}

function onlyName(octets: Uint8Array, start: number, end: number): string {
  const { name, next } = readName(octets, start);
  if (next !== end) throw new DnsError("a record is not one name");
  return name;
}

function strings(rdata: Uint8Array): readonly Uint8Array[] {
  const out: Uint8Array[] = [];
  for (let at = 0; at < rdata.length; at += 1 + (rdata[at] ?? 0)) {
    const end = at + 1 + (rdata[at] ?? 0);
    if (end > rdata.length) throw new DnsError("a text is longer than its record");
    out.push(rdata.slice(at + 1, end));
  }
  if (out.length === 0) throw new DnsError("a text record is empty");
  return out;
}

function caaOf(rdata: Uint8Array): CaaContent {
  const [flags, tagLength = 0] = rdata;
  if (flags === undefined || tagLength === 0 || 2 + tagLength > rdata.length) {
    throw new DnsError("a CAA record has no tag, or one longer than itself");
  }
  return {
    type: "CAA",
    critical: flags >= 0x80,
    tag: latin1(rdata.subarray(2, 2 + tagLength)),
    value: latin1(rdata.subarray(2 + tagLength)),
  };
}

function soaMinimum(octets: Uint8Array, start: number, end: number): number {
  const server = readName(octets, start);
  const mailbox = readName(octets, server.next);
  if (mailbox.next + 20 !== end) throw new DnsError("an SOA record has a wrong length");
  const view = new DataView(octets.buffer, octets.byteOffset, octets.byteLength);
  const seconds = view.getUint32(end - 4);
  return seconds > 0x7fff_ffff ? 0 : seconds;
}

function latin1(octets: Uint8Array): string {
  let text = "";
  for (const octet of octets) text += String.fromCharCode(octet);
  return text;
}
