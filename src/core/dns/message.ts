/**
 * DNS messages: a query in octets, and an answer read strictly within its bounds (RFC 1035 §4, RFC
 * 6891).
 */

import { DnsError, encodeName, readName, readNameAsSpelled } from "./names.ts";
import { type RecordType, readRecord, recordTypes, type ResourceRecord } from "./records.ts";

/** A question as pkid asks it. */
export interface Question {
  /** Presentation text without final dot, letters in the case that goes out. */
  readonly name: string;
  readonly type: RecordType;
}

/** An answer, whole or truncated; a truncated one has no records, for they may be cut anywhere. */
export interface DnsMessage {
  readonly id: number;
  readonly response: boolean;
  readonly truncated: boolean;
  /** The AD bit: the resolver has validated what it says (RFC 6840 §5.8). */
  readonly authenticated: boolean;
  /** With the upper bits of EDNS. */
  readonly responseCode: number;
  /** As the sender spelled it; undefined without exactly one question of class IN. */
  readonly question: { readonly name: string; readonly type: number } | undefined;
  readonly answers: readonly ResourceRecord[];
  readonly authorities: readonly ResourceRecord[];
}

/** Response codes that mean something here. */
export const responseCodes = { success: 0, servfail: 2, nxdomain: 3, refused: 5 } as const;

/**
 * A query with recursion desired, AD set to ask for the AD bit, CD never (CAA-6), and EDNS0 with
 * room for 1232 octets. Throws DnsError for a name that cannot be asked.
 */
export function encodeQuery(id: number, { name, type }: Question): Uint8Array {
  const question = [...encodeName(name), ...u16(recordTypes[type]), ...u16(classIn)];
  const opt = [0, ...u16(typeOpt), ...u16(payloadMax), 0, 0, 0, 0, 0, 0];
  const counts = [...u16(1), ...u16(0), ...u16(0), ...u16(1)];
  return Uint8Array.of(...u16(id), 0x01, 0x20, ...counts, ...question, ...opt);
}

/**
 * Reads a message of at most 65,535 octets. Throws DnsError, and nothing else, whatever the octets
 * are.
 */
export function decodeMessage(octets: Uint8Array): DnsMessage {
  if (octets.length < headerLength) throw new DnsError("the message is cut off");
  const view = new DataView(octets.buffer, octets.byteOffset, octets.byteLength);
  const flags = view.getUint16(2);
  const truncated = (flags & 0x0200) !== 0;
  if (((flags >> 11) & 15) !== 0) throw new DnsError("the message is no query or answer");
  const asked = readQuestions(octets, view.getUint16(4));
  const head = {
    id: view.getUint16(0),
    response: (flags & 0x8000) !== 0,
    truncated,
    authenticated: (flags & 0x0020) !== 0,
    question: asked.question,
  };
  const lower = flags & 15;
  if (truncated) return { ...head, responseCode: lower, answers: [], authorities: [] };
  const answers = readSection(octets, asked.next, view.getUint16(6));
  const authorities = readSection(octets, answers.next, view.getUint16(8));
  const additional = readSection(octets, authorities.next, view.getUint16(10));
  if (additional.next !== octets.length) throw new DnsError("octets follow the last record");
  const upper = additional.extendedCode ?? 0;
  return {
    ...head,
    responseCode: upper * 16 + lower,
    answers: answers.records,
    authorities: authorities.records,
  };
}

function readQuestions(octets: Uint8Array, count: number) {
  if (count === 0) return { question: undefined, next: headerLength };
  if (count > 1) throw new DnsError("the message has more than one question");
  const { spelled, next } = readNameAsSpelled(octets, headerLength);
  if (next + 4 > octets.length) throw new DnsError("the message is cut off");
  const view = new DataView(octets.buffer, octets.byteOffset, octets.byteLength);
  const type = view.getUint16(next);
  const question = view.getUint16(next + 2) === classIn ? { name: spelled, type } : undefined;
  return { question, next: next + 4 };
}

/** Every record takes at least eleven octets, so the message's own length bounds the loop. */
function readSection(octets: Uint8Array, start: number, count: number) {
  const view = new DataView(octets.buffer, octets.byteOffset, octets.byteLength);
  const records: ResourceRecord[] = [];
  let extendedCode: number | undefined;
  let at = start;
  for (let index = 0; index < count; index++) {
    const owner = readName(octets, at);
    const fixed = owner.next;
    if (fixed + 10 > octets.length) throw new DnsError("the message is cut off");
    const [code, recordClass] = [view.getUint16(fixed), view.getUint16(fixed + 2)];
    const end = fixed + 10 + view.getUint16(fixed + 8);
    if (end > octets.length) throw new DnsError("a record is longer than its message");
    if (code === typeOpt) extendedCode = octets[fixed + 4];
    else if (recordClass === classIn) {
      const rdata = readRecord(octets, code, fixed + 10, end);
      const ttlSeconds = ttlOf(view.getUint32(fixed + 4));
      records.push({ ...rdata, owner: owner.name, ttlSeconds });
    }
    at = end;
  }
  return { records, next: at, extendedCode };
}

/** RFC 2181 §8: a TTL with the top bit set is zero. */
const ttlOf = (seconds: number): number => (seconds > 0x7fff_ffff ? 0 : seconds);

const u16 = (value: number): readonly [number, number] => [(value >> 8) & 255, value & 255];

const headerLength = 12;
const classIn = 1;
const typeOpt = 41;
/** CAA-5: what crosses every path without fragments. */
const payloadMax = 1232;
