/**
 * One exchange with one name server, over UDP or TCP; only what answers the question is taken for
 * an answer.
 */

import { createSocket } from "node:dgram";
import { connect, isIP, isIPv6 } from "node:net";

import type { LookupFailure, Reply } from "#core/dns/answer.ts";
import { decodeMessage, type DnsMessage, encodeQuery, type Question } from "#core/dns/message.ts";
import { DnsError } from "#core/dns/names.ts";
import { recordTypes } from "#core/dns/records.ts";
import type { NameServer } from "./resolv-conf.ts";

/** A question with what an answer must repeat. */
export interface Asked extends Question {
  readonly id: number;
}

/** What came over UDP; `again` wants the question repeated over TCP. */
export type UdpReply = Reply | "again";

/**
 * Asks over UDP from a port of the kernel's choice. What answers another question is passed over
 * until the time is up; an answer to this one that lost the letters' case, or is truncated, is
 * worth asking for over TCP.
 */
export function askUdp(
  { address, port }: NameServer,
  asked: Asked,
  milliseconds: number,
): Promise<UdpReply> {
  if (isIP(address) === 0) return Promise.resolve(failed("unreachable"));
  return new Promise((resolve) => {
    const socket = createSocket(isIPv6(address) ? "udp6" : "udp4");
    let [open, strangers] = [true, 0];
    const end = (reply: UdpReply) => {
      if (!open) return;
      open = false;
      clearTimeout(timer);
      socket.close();
      resolve(reply);
    };
    const timeUp = () => end(failed(strangers > 0 ? "malformed" : "timeout"));
    const timer = setTimeout(timeUp, milliseconds);
    socket.on("error", () => end(failed("unreachable")));
    socket.on("message", (octets) => {
      const reply = judge(octets, asked);
      if (reply !== undefined) end(reply);
      else if (++strangers >= strangersMax) timeUp();
    });
    // A connected socket hears nobody else, and hears at once that nobody listens.
    socket.connect(port, address, () => {
      if (open) socket.send(encodeQuery(asked.id, asked));
    });
  });
}

/** Asks over TCP; the first message must answer the question. */
export function askTcp(
  { address, port }: NameServer,
  asked: Asked,
  milliseconds: number,
): Promise<Reply> {
  if (isIP(address) === 0) return Promise.resolve(failed("unreachable"));
  return new Promise((resolve) => {
    const socket = connect({ host: address, port });
    let received = Buffer.alloc(0);
    const end = (reply: Reply) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(reply);
    };
    const timer = setTimeout(() => end(failed("timeout")), milliseconds);
    socket.on("error", () => end(failed("unreachable")));
    socket.on("close", () => end(failed("unreachable")));
    socket.on("connect", () => {
      const query = encodeQuery(asked.id, asked);
      socket.write(Uint8Array.of(query.length >> 8, query.length & 255, ...query));
    });
    socket.on("data", (octets: Buffer) => {
      received = Buffer.concat([received, octets]);
      const length = received.length < 2 ? Number.POSITIVE_INFINITY : received.readUInt16BE(0);
      if (received.length < length + 2) return;
      const message = read(received.subarray(2, length + 2));
      const answers = message !== undefined && repeats(message, asked, "any") && !message.truncated;
      end(answers ? { received: true, message } : failed("malformed"));
    });
  });
}

function judge(octets: Uint8Array, asked: Asked): UdpReply | undefined {
  const message = read(octets);
  if (message === undefined || !repeats(message, asked, "any")) return undefined;
  if (message.truncated || !repeats(message, asked, "exact")) return "again";
  return { received: true, message };
}

function read(octets: Uint8Array): DnsMessage | undefined {
  try {
    return decodeMessage(octets);
  } catch (error) {
    if (error instanceof DnsError) return undefined;
    throw error;
  }
}

function repeats(
  { id, response, question }: DnsMessage,
  asked: Asked,
  letters: "exact" | "any",
): boolean {
  if (!response || id !== asked.id || question?.type !== recordTypes[asked.type]) return false;
  if (letters === "exact") return question.name === asked.name;
  return question.name.toLowerCase() === asked.name.toLowerCase();
}

const failed = (failure: LookupFailure) => ({ received: false, failure }) as const;

/** Datagrams that answer something else; more of them is an attack. */
const strangersMax = 100;
