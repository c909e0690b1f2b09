/**
 * A small authoritative name server for tests, over UDP and TCP, that can also be slow, broken or
 * hostile.
 */

import { createSocket, type RemoteInfo } from "node:dgram";
import { createServer, type Socket } from "node:net";

import { decodeMessage } from "#core/dns/message.ts";
import { encodeName } from "#core/dns/names.ts";
import { recordTypes } from "#core/dns/records.ts";

/** Rdata in octets of a type by number. */
export interface ZoneRecord {
  readonly type: number;
  readonly rdata: Uint8Array;
  readonly ttl?: number;
}

/** How the server misbehaves at a name; without one it answers from its records. */
export type Trick =
  | { readonly kind: "code"; readonly code: number }
  | { readonly kind: "silence"; readonly times?: number }
  | { readonly kind: "delay"; readonly milliseconds: number }
  /** The UDP answer is truncated; TCP has it all. */
  | { readonly kind: "truncated" }
  | { readonly kind: "truncated_everywhere" }
  | { readonly kind: "garbage" }
  /** A wrong id, a wrong name or lost letters come before the true answer, or alone. */
  | { readonly kind: "wrong_id" | "wrong_name"; readonly alone?: boolean }
  | { readonly kind: "lower_case" }
  | { readonly kind: "no_soa" }
  | { readonly kind: "referral" }
  /** Every record of the name, whatever its type. */
  | { readonly kind: "all" }
  /** Of an alias only its own record, nothing of where it leads. */
  | { readonly kind: "alias_only" };

export interface Heard {
  readonly name: string;
  readonly type: number;
  readonly over: "udp" | "tcp";
  readonly octets: Uint8Array;
}

/** A running server with all it was asked. */
export interface DnsServer {
  readonly port: number;
  readonly address: string;
  readonly heard: Heard[];
  /** Records and tricks by lower-case name; changes count at once. */
  readonly zone: Map<string, readonly ZoneRecord[]>;
  readonly tricks: Map<string, Trick>;
  /** TTL and minimum of the SOA, and the AD bit of every answer. */
  soa: { ttl: number; minimum: number };
  authenticated: boolean;
  stop(): Promise<void>;
}

/** Opens a server on one loopback port for both transports. */
export async function startDnsServer(): Promise<DnsServer> {
  const server = {
    heard: [],
    zone: new Map(),
    tricks: new Map(),
    soa: { ttl: 900, minimum: 60 },
    authenticated: true,
    address: "127.0.0.1",
    port: 0,
  } as Omit<DnsServer, "stop"> as { -readonly [K in keyof DnsServer]: DnsServer[K] };
  const tcp = createServer((socket) => serveTcp(server, socket));
  await new Promise<void>((done) => tcp.listen(0, "127.0.0.1", done));
  const address = tcp.address();
  server.port = typeof address === "object" && address !== null ? address.port : 0;
  const udp = createSocket("udp4");
  udp.on("message", (octets, from) => serveUdp(server, udp, octets, from));
  await new Promise<void>((done) => udp.bind(server.port, "127.0.0.1", done));
  server.stop = async () => {
    udp.close();
    tcp.close();
  };
  return server;
}

/** Rdata of a CAA property. */
export const caa = (tag: string, value: string, flags = 0, ttl?: number): ZoneRecord => ({
  type: recordTypes.CAA,
  ...(ttl === undefined ? {} : { ttl }),
  rdata: Uint8Array.of(flags, tag.length, ...Buffer.from(tag + value, "latin1")),
});

/** An alias of one name. */
export const cname = (target: string, ttl = 300): ZoneRecord => ({
  type: recordTypes.CNAME,
  rdata: encodeName(target),
  ttl,
});

/** An alias of everything below a name. */
export const dname = (target: string): ZoneRecord => ({
  type: recordTypes.DNAME,
  rdata: encodeName(target),
});

function serveUdp(
  server: DnsServer,
  socket: ReturnType<typeof createSocket>,
  query: Uint8Array,
  from: RemoteInfo,
): void {
  const send = (octets: Uint8Array, milliseconds = 0) =>
    setTimeout(() => socket.send(octets, from.port, from.address), milliseconds);
  const { name, trick } = hear(server, query, "udp");
  switch (trick?.kind) {
    case "silence":
      if (trick.times !== undefined) {
        const { times } = trick;
        if (times > 1) server.tricks.set(name, { kind: "silence", times: times - 1 });
        else server.tricks.delete(name);
      }
      return;
    case "delay":
      send(answer(server, query), trick.milliseconds);
      return;
    case "truncated":
    case "truncated_everywhere":
      send(withFlag(answer(server, query), 2, 0x02).slice(0, headerAndQuestion(query)));
      return;
    case "garbage":
      send(Uint8Array.of(query[0] ?? 0, query[1] ?? 0, 0x80, 0, 255, 255, 255));
      return;
    case "wrong_id":
      send(withFlag(answer(server, query), 0, 0xff, "xor"));
      if (trick.alone !== true) send(answer(server, query), 5);
      return;
    case "wrong_name":
      send(withFlag(answer(server, query), 13, 0x01, "xor"));
      if (trick.alone !== true) send(answer(server, query), 5);
      return;
    case "lower_case":
      send(answer(server, lowered(query)));
      return;
    default:
      send(answer(server, query));
  }
}

function serveTcp(server: DnsServer, socket: Socket): void {
  socket.on("error", () => socket.destroy());
  let received = Buffer.alloc(0);
  socket.on("data", (octets: Buffer) => {
    received = Buffer.concat([received, octets]);
    if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) return;
    const query = received.subarray(2);
    const { trick } = hear(server, query, "tcp");
    const whole = answer(server, query);
    const octetsOut = trick?.kind === "truncated_everywhere" ? withFlag(whole, 2, 0x02) : whole;
    // In two pieces, as a network may deliver them.
    const framed = Buffer.concat([
      Buffer.of(octetsOut.length >> 8, octetsOut.length & 255),
      octetsOut,
    ]);
    socket.write(framed.subarray(0, 5));
    setTimeout(() => socket.end(framed.subarray(5)), 2);
  });
}

function hear(server: DnsServer, query: Uint8Array, over: Heard["over"]) {
  const { question } = decodeMessage(query);
  const name = (question?.name ?? "").toLowerCase();
  server.heard.push({ name, type: question?.type ?? 0, over, octets: Uint8Array.from(query) });
  return { name, trick: server.tricks.get(name) };
}

/**
 * The zone's answer: aliases followed within the zone, an SOA of the root where there is nothing.
 */
function answer(server: DnsServer, query: Uint8Array): Uint8Array {
  const { question } = decodeMessage(query);
  const name = (question?.name ?? "").toLowerCase();
  const type = question?.type ?? 0;
  const trick = server.tricks.get(name);
  if (trick?.kind === "code") return message(server, query, trick.code, [], []);
  if (trick?.kind === "referral")
    return message(server, query, 0, [], [record("", 2, 60, encodeName("ns"))]);
  if (trick?.kind === "all") {
    const all = (server.zone.get(name) ?? []).map((one) => record(name, one.type, 60, one.rdata));
    return message(server, query, 0, all, []);
  }
  const found =
    trick?.kind === "alias_only" ? walk(server, name, type, 1) : walk(server, name, type, 20);
  const soa = record("", recordTypes.SOA, server.soa.ttl, soaRdata(server.soa.minimum));
  const bare = found.complete || trick?.kind === "no_soa" || trick?.kind === "alias_only";
  return message(server, query, found.code, found.records, bare ? [] : [soa]);
}

function walk(server: DnsServer, start: string, type: number, links: number) {
  const records: Uint8Array[] = [];
  for (let [name, left] = [start, links]; ; left--) {
    const here = server.zone.get(name) ?? [];
    const wanted = here.filter((one) => one.type === type);
    if (wanted.length > 0 && (left > 0 || name === start)) {
      records.push(...wanted.map((one) => record(name, type, one.ttl ?? 300, one.rdata)));
      return { records, complete: true, code: 0 };
    }
    const alias =
      here.find((one) => one.type === recordTypes.CNAME) ?? above(server, name, records);
    if (alias === undefined || left === 0) {
      return { records, complete: false, code: server.zone.has(name) ? 0 : 3 };
    }
    records.push(record(name, alias.type, alias.ttl ?? 300, alias.rdata));
    name = decodeName(alias.rdata);
  }
}

/** The DNAME above the name as it stands, and the CNAME made of it (RFC 6672 §3.1). */
function above(server: DnsServer, name: string, records: Uint8Array[]): ZoneRecord | undefined {
  for (let dot = name.indexOf("."); dot >= 0; dot = name.indexOf(".", dot + 1)) {
    const owner = name.slice(dot + 1);
    const found = server.zone.get(owner)?.find((one) => one.type === recordTypes.DNAME);
    if (found === undefined) continue;
    records.push(record(owner, recordTypes.DNAME, 300, found.rdata));
    return cname(`${name.slice(0, dot)}.${decodeName(found.rdata)}`);
  }
  return undefined;
}

function message(
  server: DnsServer,
  query: Uint8Array,
  code: number,
  answers: readonly Uint8Array[],
  authorities: readonly Uint8Array[],
): Uint8Array {
  const question = query.subarray(12, headerAndQuestion(query));
  const header = [query[0] ?? 0, query[1] ?? 0, 0x85, (server.authenticated ? 0xa0 : 0x80) | code];
  const counts = [0, 1, 0, answers.length, 0, authorities.length, 0, 0];
  return Buffer.concat([Uint8Array.of(...header, ...counts), question, ...answers, ...authorities]);
}

function record(name: string, type: number, ttl: number, rdata: Uint8Array): Uint8Array {
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(type, 0);
  fixed.writeUInt16BE(1, 2);
  fixed.writeUInt32BE(ttl, 4);
  fixed.writeUInt16BE(rdata.length, 8);
  return Buffer.concat([encodeName(name), fixed, rdata]);
}

function soaRdata(minimum: number): Uint8Array {
  const numbers = Buffer.alloc(20);
  numbers.writeUInt32BE(minimum, 16);
  return Buffer.concat([encodeName("ns"), encodeName("hostmaster"), numbers]);
}

function headerAndQuestion(query: Uint8Array): number {
  let at = 12;
  while ((query[at] ?? 0) !== 0) at += (query[at] ?? 0) + 1;
  return at + 5;
}

function decodeName(rdata: Uint8Array): string {
  const labels: string[] = [];
  for (let at = 0; (rdata[at] ?? 0) !== 0; at += (rdata[at] ?? 0) + 1) {
    labels.push(Buffer.from(rdata.subarray(at + 1, at + 1 + (rdata[at] ?? 0))).toString("latin1"));
  }
  return labels.join(".");
}

function withFlag(octets: Uint8Array, at: number, bits: number, how = "or"): Uint8Array {
  const out = Uint8Array.from(octets);
  out[at] = how === "xor" ? (out[at] ?? 0) ^ bits : (out[at] ?? 0) | bits;
  return out;
}

const lowered = (query: Uint8Array): Uint8Array => {
  const out = Uint8Array.from(query);
  const end = headerAndQuestion(query) - 5;
  for (let at = 12; at < end; at++) {
    const octet = out[at] ?? 0;
    if (octet >= 0x41 && octet <= 0x5a) out[at] = octet + 32;
  }
  return out;
};
