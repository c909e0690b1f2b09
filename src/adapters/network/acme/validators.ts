/** The port of proofs over the network: who is asked for which proof, and within which bounds. */

import { dnsDigest, dnsName, proves } from "#core/acme/challenges.ts";
import { judgePersistRecord, persistAccountUris, persistUntil } from "#core/acme/persist.ts";
import type {
  PersistTerms,
  Proved,
  ValidationOutcome,
  ValidationTask,
  Validators,
} from "#domain/acme/validators.ts";
import type { Instant } from "#core/time.ts";
import type { Clock, Log, Random, Resolver } from "#domain/ports.ts";

import { DnsResolver } from "#adapters/network/dns.ts";
import { nameServers } from "#adapters/network/resolv-conf.ts";
import { AttemptAddresses, type Place } from "./addresses.ts";
import { type Deadline, withDeadline } from "./deadline.ts";
import { type DnsDeps, proveByTxt } from "./dns01.ts";
import { ValidationFault } from "./fault.ts";
import { proveByHttp } from "./http01.ts";
import { proveByAlpn } from "./tls-alpn01.ts";

/** What is read of section `acme`, with its names. */
export interface ValidationSettings {
  readonly http01_port: number;
  readonly tls_alpn01_port: number;
  /** `host:port`; undefined asks those of the system, each in turn, as one. */
  readonly dns_resolver: string | undefined;
  /** Name servers that must see the same as the one above. */
  readonly vantage_resolvers: readonly string[];
  /** For one attempt, all in all. */
  readonly validation_timeout_seconds: number;
  /** In CIDR form. */
  readonly validation_deny_networks: readonly string[];
  readonly validation_allow_networks: readonly string[];
}

export interface ValidatorsDeps {
  readonly random: Random;
  readonly clock: Clock;
  /** Told of what only a bug can bring about; the attempt then proves nothing. */
  readonly log: Log;
  /** Asked for at each attempt, for a reload may replace them. */
  readonly settings: () => ValidationSettings;
  /** Where this server itself listens: refused unless an allow network names it. */
  readonly ownListeners: () => readonly Place[];
}

/**
 * Proofs over the network (P-10). Further name servers have a say in every attempt: a name is
 * connected to only at addresses that all of them list, and any of them that lists a denied one
 * has the attempt refused; a record must be seen by all. Where they disagree nothing is proven.
 */
export class NetworkValidators implements Validators {
  readonly #deps: ValidatorsDeps;

  constructor(deps: ValidatorsDeps) {
    this.#deps = deps;
  }

  /** As the port says. */
  async attempt(task: ValidationTask): Promise<ValidationOutcome> {
    try {
      const settings = this.#deps.settings();
      const proof = await withDeadline(settings.validation_timeout_seconds, (deadline) =>
        this.#prove(task, settings, deadline),
      );
      return { proved: true, ...proof };
    } catch (error) {
      if (error instanceof ValidationFault) return { proved: false, problem: error.problem };
      // The port promises an outcome, whatever happens; whoever runs this server has to hear of it.
      const message = error instanceof Error ? error.message : String(error);
      this.#deps.log.write("error", "validation_failed_inside", { type: task.type, message });
      const detail = "The attempt ended by a fault of this server.";
      return { proved: false, problem: { type: "connection", detail } };
    }
  }

  async #prove(
    task: ValidationTask,
    settings: ValidationSettings,
    deadline: Deadline,
  ): Promise<Omit<Proved, "proved">> {
    const { identifier, keyAuthorization, token, type } = task;
    refuseUnprovable(task);
    const vantages = this.#vantages(settings);
    const reach = { vantages, deadline, subject: identifier.value };
    switch (type) {
      case "http-01":
        return {
          addresses: await proveByHttp(
            { host: identifier.value, token, keyAuthorization },
            {
              addresses: this.#addresses(reach, settings),
              deadline,
              httpPort: settings.http01_port,
              httpsPort: 443,
            },
          ),
        };
      case "tls-alpn-01":
        return {
          addresses: await proveByAlpn(
            { identifier, keyAuthorization },
            {
              addresses: this.#addresses(reach, settings),
              deadline,
              port: settings.tls_alpn01_port,
              random: this.#deps.random,
            },
          ),
        };
      case "dns-01":
      case "dns-account-01": {
        const digest = dnsDigest(keyAuthorization);
        const name = dnsName(type, identifier.value, task.accountUrl);
        await proveByTxt(name, (value) => value === digest, { vantages, deadline });
        return { addresses: [] };
      }
      case "dns-persist-01":
        return await this.#provePersistently(task, { vantages, deadline });
    }
  }

  /** A standing proof may end by itself: of what the name servers show, the first end counts. */
  async #provePersistently(task: ValidationTask, asked: DnsDeps) {
    const { identifier, wildcard, accountUrl } = task;
    const now = this.#deps.clock.now();
    const { issuerDomainNames, ...terms } = persistTerms(task);
    // Once, for many records may be there.
    const accountUris = persistAccountUris({ ...terms, name: identifier.value, accountUrl });
    const facts = { wildcard, issuerDomainNames, accountUris, now };
    const ends: Instant[] = [];
    const matches = (value: string): boolean => {
      if (judgePersistRecord(value, facts) !== "match") return false;
      const end = persistUntil(value);
      if (end !== undefined) ends.push(end);
      return true;
    };
    await proveByTxt(dnsName("dns-persist-01", identifier.value, accountUrl), matches, asked);
    const [first] = ends.sort((a, b) => a - b);
    return first === undefined ? { addresses: [] } : { addresses: [], until: first };
  }

  #addresses(
    reach: { vantages: readonly Resolver[]; deadline: Deadline; subject: string },
    settings: ValidationSettings,
  ): AttemptAddresses {
    const rules = {
      deny: settings.validation_deny_networks,
      allow: settings.validation_allow_networks,
    };
    return new AttemptAddresses({ ...reach, rules, ownListeners: this.#deps.ownListeners });
  }

  #vantages({ dns_resolver, vantage_resolvers }: ValidationSettings): readonly Resolver[] {
    const { random } = this.#deps;
    return [dns_resolver, ...vantage_resolvers].map(
      (server) => new DnsResolver({ random, servers: () => nameServers({ dns_resolver: server }) }),
    );
  }
}

/** Not every method proves everything; asked for what it does not, an attempt asks nobody. */
function refuseUnprovable({ type, identifier, wildcard }: ValidationTask): void {
  if (proves(type, identifier, wildcard)) return;
  const what = wildcard ? "a wildcard" : "an address";
  throw new ValidationFault("rejectedIdentifier", `${type} cannot prove control over ${what}.`);
}

function persistTerms({ persist }: ValidationTask): PersistTerms {
  if (persist !== undefined) return persist;
  throw new ValidationFault("unauthorized", "dns-persist-01 is not offered here.");
}
