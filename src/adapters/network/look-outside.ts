/**
 * Asks other hosts for preflight: HTTP places, name servers, and the certificate a TLS listener
 * shows.
 */

import { connect, type PeerCertificate } from "node:tls";

import type { DnsLook } from "#core/preflight/network.ts";
import type { ServedCertificate } from "#core/preflight/serving.ts";
import { failureOf } from "#core/dns/answer.ts";
import type { Outside } from "#domain/preflight/outside.ts";
import type { Random } from "#domain/ports.ts";
import { type Asked, askTcp, askUdp, type UdpReply } from "./dns-transport.ts";
import { askServer, type ExtraTrust, OutboundFault } from "./outbound.ts";
import type { NameServer } from "./resolv-conf.ts";

export interface OutsideDeps {
  readonly random: Random;
  readonly servers: () => readonly NameServer[];
  readonly trust: ExtraTrust;
}

/** The port over the network. */
export function lookOutside({ random, servers, trust }: OutsideDeps): Outside {
  const question = (): Asked => {
    const [high = 0, low = 0] = random.bytes(2);
    return { id: high * 256 + low, name: "", type: "SOA" };
  };
  return {
    ask: async (url, send, timeoutSeconds) => {
      const init =
        send === undefined
          ? {}
          : {
              method: "POST",
              body: new Uint8Array(send.content),
              headers: { "content-type": send.type },
            };
      const began = performance.now();
      try {
        const answer = await askServer(url, init, { timeoutSeconds, bytesMax }, trust);
        return { answered: true, ...answer, elapsedMs: performance.now() - began };
      } catch (error) {
        if (error instanceof OutboundFault) return { answered: false, why: error.message };
        throw error;
      }
    },
    nameServers: (timeoutSeconds) =>
      Promise.all(
        servers().map(async (server) => {
          const milliseconds = timeoutSeconds * 1000;
          const udp = await timedDns(() => askUdp(server, question(), milliseconds));
          const tcp = await timedDns(() => askTcp(server, question(), milliseconds));
          return { server: `${server.address}:${server.port}`, udp, tcp };
        }),
      ),
  };
}

async function timedDns(ask: () => Promise<UdpReply>): Promise<DnsLook> {
  const began = performance.now();
  const reply = await ask();
  const elapsedMs = performance.now() - began;
  // The root's SOA fits into every datagram.
  if (reply === "again") return { answered: false, failure: "malformed" };
  const failure = reply.received ? failureOf(reply.message) : reply.failure;
  if (failure !== undefined || !reply.received) return { answered: false, failure: `${failure}` };
  return { answered: true, elapsedMs, authenticated: reply.message.authenticated };
}

/**
 * The certificate shown there, whoever signed it; undefined when no handshake comes about in time.
 */
export function shownAt(
  where: { readonly host: string; readonly port: number; readonly serverName: string | undefined },
  timeoutSeconds: number,
): Promise<ServedCertificate | undefined> {
  return new Promise((resolve) => {
    const { host, port, serverName } = where;
    const end = (shown: ServedCertificate | undefined) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(shown);
    };
    const named = serverName === undefined ? {} : { servername: serverName };
    // It is judged here and not by the runtime, which would only say no.
    const socket = connect({ host, port, ...named, rejectUnauthorized: false });
    const timer = setTimeout(() => end(undefined), timeoutSeconds * 1000);
    socket.on("error", () => end(undefined));
    socket.on("secureConnect", () => {
      const { raw }: Partial<PeerCertificate> = socket.getPeerCertificate();
      const protocol = socket.getProtocol() ?? "";
      end(raw === undefined ? undefined : { der: new Uint8Array(raw), protocol });
    });
  });
}

/** A CRL of half a million entries has a third of this. */
const bytesMax = 64 * 1024 * 1024;
