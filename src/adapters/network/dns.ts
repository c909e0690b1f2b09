/**
 * The resolver port over the network: every server in turn, UDP then TCP, twice, and never a guess
 * (CAA-5).
 */

import {
  failureOf,
  follow,
  type Lookup,
  type LookupFailure,
  type Reply,
} from "#core/dns/answer.ts";
import { encodeName, DnsError, mixedCase } from "#core/dns/names.ts";
import type { RecordType } from "#core/dns/records.ts";
import type { Random, Resolver } from "#domain/ports.ts";
import { type Asked, askTcp, askUdp } from "./dns-transport.ts";
import type { NameServer } from "./resolv-conf.ts";

export interface DnsDeps {
  readonly random: Random;
  /** Asked for anew at each lookup, for the system's servers change with its network. */
  readonly servers: () => readonly NameServer[] | Promise<readonly NameServer[]>;
}

/** Asks the servers given; they must validate DNSSEC (CAA-6). */
export class DnsResolver implements Resolver {
  readonly #deps: DnsDeps;

  constructor(deps: DnsDeps) {
    this.#deps = deps;
  }

  /** As the port says; a name the DNS cannot hold is `malformed` and asks nobody. */
  async lookup(name: string, type: RecordType, timeoutSeconds: number): Promise<Lookup> {
    const lower = name.toLowerCase().replace(/\.$/, "");
    if (!askable(lower)) return { answered: false, failure: "malformed" };
    const end = performance.now() + attemptsMax * timeoutSeconds * 1000;
    return await follow(lower, type, (current) =>
      this.#ask(current, type, timeoutSeconds * 1000, end),
    );
  }

  /**
   * Each attempt goes through all servers and shares its time among them; none gets past the end of
   * the lookup.
   */
  async #ask(name: string, type: RecordType, milliseconds: number, end: number): Promise<Reply> {
    let failure: LookupFailure = "timeout";
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const servers = await this.#deps.servers();
      for (const server of servers) {
        const share = Math.min(milliseconds / servers.length, end - performance.now());
        if (share <= 0) return { received: false, failure };
        const reply = await this.#exchange(server, name, type, share);
        const refused = reply.received ? failureOf(reply.message) : reply.failure;
        if (refused === undefined || refused === "broken_alias") return reply;
        failure = refused;
      }
    }
    return { received: false, failure };
  }

  async #exchange(
    server: NameServer,
    name: string,
    type: RecordType,
    milliseconds: number,
  ): Promise<Reply> {
    const end = performance.now() + milliseconds;
    const reply = await askUdp(server, this.#question(name, type), milliseconds);
    if (reply !== "again") return reply;
    const rest = Math.max(end - performance.now(), 1);
    return await askTcp(server, this.#question(name, type), rest);
  }

  /** An id and letters nobody off the path can know (RFC 5452 §9). */
  #question(name: string, type: RecordType): Asked {
    const { random } = this.#deps;
    const [high = 0, low = 0] = random.bytes(2);
    return { id: high * 256 + low, name: mixedCase(name, random.bytes(32)), type };
  }
}

function askable(name: string): boolean {
  try {
    encodeName(name);
    return name !== "";
  } catch (error) {
    if (error instanceof DnsError) return false;
    throw error;
  }
}

/** One retry. */
const attemptsMax = 2;
