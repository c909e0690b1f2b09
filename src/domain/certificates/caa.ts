/**
 * The CAA gate: asks the DNS whether the names' owners let this CA certify them, before any key is
 * used (CAA-1 to CAA-9).
 */

import { formatDetailList } from "#core/audit/actions.ts";
import type { CaaContent } from "#core/dns/records.ts";
import {
  type CaaFacts,
  type CaaName,
  type CaaReason,
  type CaaVerdict,
  caaNames,
  judgeName,
} from "#core/policy/caa.ts";
import type { GateOutcome } from "#core/policy/gates.ts";
import type { Plan } from "#core/policy/plan.ts";
import type { Profile } from "#core/policy/profile.ts";
import { addSeconds, type Instant } from "#core/time.ts";
import type { Clock, Resolver } from "#domain/ports.ts";
import { CaaCache } from "./caa-cache.ts";

export interface CaaDeps {
  readonly resolver: Resolver;
  readonly clock: Clock;
  readonly caa: {
    /** The issuer domain name of profiles that have none of their own. */
    readonly identifier: string | undefined;
    readonly cache_ttl_seconds: number;
  };
}

/** Judges the names of leaves. */
export class CaaGate {
  readonly #deps: CaaDeps;
  readonly #cache: CaaCache;

  constructor(deps: CaaDeps) {
    this.#deps = deps;
    this.#cache = new CaaCache(deps.clock, deps.caa.cache_ttl_seconds);
  }

  /**
   * What the gate says of the plan: `skipped` without a query where the mode is `off` or nothing is
   * relaxed by a profile, `fail` in mode `enforce` and `warn` in mode `permissive` when a name is
   * forbidden or could not be looked up.
   */
  async judge(
    plan: Plan,
    profile: Profile | undefined,
    facts: CaaFacts | undefined,
  ): Promise<GateOutcome> {
    if (profile === undefined || profile.caa.mode === "off") return { status: "skipped" };
    const names = caaNames(plan);
    const refusals = await this.#refusals(names, profile.caa, facts);
    if (refusals.length === 0) return { status: "pass" };
    const refuses = profile.caa.mode === "enforce";
    return {
      status: refuses ? "fail" : "warn",
      findings: refusals.map(({ name, verdict }) => findingOf(name, verdict, refuses)),
      event: {
        names: formatDetailList(refusals.map(({ name }) => name.text)),
        verdict: verdictOf(refusals),
      },
    };
  }

  /**
   * A few names at a time. After a lookup that failed no other is begun: the request is refused
   * anyway.
   */
  async #refusals(
    names: readonly CaaName[],
    settings: Profile["caa"],
    facts: CaaFacts | undefined,
  ): Promise<readonly Refusal[]> {
    const identifier = settings.identifier ?? this.#deps.caa.identifier ?? "";
    const deadline = addSeconds(this.#deps.clock.now(), gateSecondsMax);
    const refusals: (Refusal | undefined)[] = [];
    const waiting = [...names.entries()];
    let failed = false;
    const lookup = async (domain: string) => {
      const records = failed ? "failed" : await this.#lookup(domain, settings, deadline);
      failed ||= records === "failed";
      return records;
    };
    const judgeNext = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined && !failed; next = waiting.shift()) {
        const [index, name] = next;
        const verdict = await judgeName(name, identifier, facts, lookup);
        if (!verdict.allowed) refusals[index] = { name, verdict };
      }
    };
    await Promise.all(Array.from({ length: parallelMax }, judgeNext));
    return refusals.filter((refusal) => refusal !== undefined);
  }

  async #lookup(
    domain: string,
    { timeoutSeconds }: Profile["caa"],
    deadline: Instant,
  ): Promise<readonly CaaContent[] | "failed"> {
    const { clock, resolver } = this.#deps;
    if (clock.now() >= deadline) return "failed";
    return await this.#cache.through(domain, async () => {
      const answer = await resolver.lookup(domain, "CAA", timeoutSeconds);
      if (!answer.answered) return undefined;
      const records = answer.records.filter((record) => record.type === "CAA");
      return { records, ttlSeconds: answer.ttlSeconds };
    });
  }
}

interface Refusal {
  readonly name: CaaName;
  readonly verdict: Refused;
}

type Refused = Extract<CaaVerdict, { allowed: false }>;

function findingOf({ text }: CaaName, { reason, domain }: Refused, refuses: boolean) {
  return {
    code: reason,
    mode: refuses ? ("error" as const) : ("warn" as const),
    clause: clauses[reason],
    description: `${text}: ${sentences[reason]} (${domain})`,
  };
}

/** Reasons first, and whom the domains want told. */
function verdictOf(refusals: readonly Refusal[]): string {
  const reasons = new Set(refusals.map(({ verdict }) => verdict.reason));
  const iodef = new Set(refusals.flatMap(({ verdict }) => verdict.iodef));
  const contacts = [...iodef].map((contact) => contact.slice(0, contactMax));
  return [[...reasons].join(","), ...contacts.slice(0, contactsMax)].join(" iodef ");
}

const sentences: Readonly<Record<CaaReason, string>> = {
  forbidden: "the domain's CAA records name other issuers",
  critical_unknown: "a critical CAA property is not understood",
  lookup_error: "the CAA records could not be looked up",
  account_mismatch: "the CAA records want another account",
  validation_method: "the CAA records want another validation method",
};

const clauses: Readonly<Record<CaaReason, string>> = {
  forbidden: "RFC 8659 4.2",
  critical_unknown: "RFC 8659 4.5",
  lookup_error: "RFC 8659 3",
  account_mismatch: "RFC 8657 3",
  validation_method: "RFC 8657 4",
};

/**
 * However slow the servers are, a request does not hang longer; one lookup more may end after it.
 */
const gateSecondsMax = 60;
const parallelMax = 8;
/** Contacts in one event, and characters of each: the owner of a refused name chooses both. */
const contactsMax = 3;
const contactMax = 100;
