/**
 * Addresses of the hosts that one attempt connects to: each name resolved once, by every name
 * server that has a say, and every address judged (P-10).
 */

import { networkInterfaces } from "node:os";

import type { Lookup, LookupFailure } from "#core/dns/answer.ts";
import {
  isLoopback,
  isUnspecified,
  judgeAddress,
  type NetworkRules,
  sameHost,
} from "#core/acme/networks.ts";
import { parseIpAddress } from "#core/x509/addresses.ts";
import type { Resolver } from "#domain/ports.ts";

import type { Destination } from "./connection.ts";
import { type Deadline, within } from "./deadline.ts";
import { ValidationFault } from "./fault.ts";

/** A host and port that this server listens on. */
export interface Place {
  /** An address, an unspecified one for all of the host, or a host name. */
  readonly address: string;
  readonly port: number;
}

export interface AddressDeps {
  /** All are asked, none is believed alone; addresses are tried as the first one orders them. */
  readonly vantages: readonly Resolver[];
  readonly rules: NetworkRules;
  readonly ownListeners: () => readonly Place[];
  readonly deadline: Deadline;
  /** The identifier's own name or address: only of that one do refusals say an address. */
  readonly subject: string;
}

/** What one attempt knows of hosts; another attempt asks again. */
export class AttemptAddresses {
  readonly #deps: AddressDeps;
  readonly #resolved = new Map<string, Promise<readonly Answer[]>>();

  constructor(deps: AddressDeps) {
    this.#deps = deps;
  }

  /**
   * Where to connect to for a name in lower case or an address literal without brackets: IPv6 and
   * IPv4 in turn, only what every name server lists. Throws ValidationFault: `dns` when a name
   * server fails, nobody lists an address, or no address is listed by all of them;
   * `rejectedIdentifier` when any address that any of them lists is denied, or this server's own.
   */
  async destination(host: string, port: number): Promise<Destination> {
    if (parseIpAddress(host) !== undefined) {
      this.#admit(host, [host], port);
      return { addresses: [host], port };
    }
    const known = this.#resolved.get(host) ?? this.#resolve(host);
    this.#resolved.set(host, known);
    const answers = await known;
    this.#admit(host, [...new Set(answers.flat())], port);
    return { addresses: commonTo(answers, host), port };
  }

  /** What each name server lists. */
  async #resolve(name: string): Promise<readonly Answer[]> {
    const { vantages, deadline } = this.#deps;
    const seconds = Math.min(lookupSecondsMax, deadline.secondsLeft() / 4);
    return await Promise.all(
      vantages.map(async (vantage) => {
        const both = Promise.all([
          vantage.lookup(name, "AAAA", seconds),
          vantage.lookup(name, "A", seconds),
        ]);
        const [six, four] = await within(both, deadline.signal, () => lookupFault(name, "timeout"));
        // Failing for one family only leaves nothing unjudged that is connected to.
        const listed = alternating(addressesIn(six), addressesIn(four));
        const failed = [six, four].find((lookup) => !lookup.answered);
        if (listed.length > 0) return listed;
        if (failed?.answered === false) throw lookupFault(name, failed.failure);
        throw new ValidationFault("dns", `${name} has no address in the DNS.`);
      }),
    );
  }

  #admit(host: string, addresses: readonly string[], port: number): void {
    const { rules, ownListeners, subject } = this.#deps;
    const own = ownListeners().filter((place) => place.port === port);
    const refused = addresses.find((address) => {
      const judgement = judgeAddress(address, rules);
      return !judgement.permitted || (!judgement.listed && leadsToUs(address, own));
    });
    if (refused === undefined) return;
    // One sentence for every reason, so that nobody learns of this host by asking.
    const what = host === subject ? ` (${refused})` : "";
    throw new ValidationFault(
      "rejectedIdentifier",
      `${host} has an address${what} that validation does not connect to at port ${port}; acme.validation_allow_networks could permit it, see also acme.validation_deny_networks.`,
    );
  }
}

/** A failed lookup, as the subscriber is told of it: without our name servers. */
export const lookupFault = (name: string, failure: LookupFailure): ValidationFault =>
  new ValidationFault("dns", `The DNS did not answer for ${name}: ${lookupFailures[failure]}.`);

/** Addresses that one name server lists, in the order in which they would be tried. */
type Answer = readonly string[];

const addressesIn = (lookup: Lookup): readonly string[] =>
  lookup.answered
    ? lookup.records.flatMap((one) =>
        one.type === "A" || one.type === "AAAA" ? [one.address] : [],
      )
    : [];

const alternating = (six: readonly string[], four: readonly string[]): Answer =>
  Array.from({ length: Math.max(six.length, four.length) }, (_, at) => [six[at], four[at]])
    .flat()
    .filter((address) => address !== undefined);

/**
 * A name server that somebody has poisoned must not say alone where to connect to. Where all are
 * right and still say nothing in common, as with answers by place, further ones cannot be used.
 */
function commonTo([first = [], ...others]: readonly Answer[], host: string): Answer {
  const sets = others.map((answer) => new Set(answer));
  const common = first.filter((address) => sets.every((set) => set.has(address)));
  if (common.length > 0) return common;
  throw new ValidationFault("dns", `The name servers do not agree on any address of ${host}.`);
}

/**
 * A listener on every address is reached by each of the host, and by all of loopback; one on a host
 * name may be, for what the name means was settled elsewhere.
 */
function leadsToUs(address: string, own: readonly Place[]): boolean {
  if (own.some((place) => sameHost(place.address, address))) return true;
  const anywhere = ({ address: at }: Place) =>
    isUnspecified(at) || parseIpAddress(at) === undefined;
  if (!own.some(anywhere)) return false;
  const local = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return isLoopback(address) || local.some((one) => sameHost(one.address, address));
}

// biome-ignore format: the table is read by column.
const lookupFailures: Readonly<Record<LookupFailure, string>> = {
  timeout:      "no answer in time",
  servfail:     "SERVFAIL",
  refused:      "REFUSED",
  malformed:    "the answer cannot be read",
  unreachable:  "no name server can be reached",
  broken_alias: "its aliases lead nowhere",
};

/** CHA-4: how long one question may take before it is asked once more. */
export const lookupSecondsMax = 5;
