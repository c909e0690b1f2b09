/**
 * What an answer says about the question: records, nothing, or where its aliases lead (RFC 1034
 * §4.3.2, 2308, 6672).
 */

import { type DnsMessage, responseCodes } from "./message.ts";
import { isWithin } from "./names.ts";
import type { RecordContent, RecordType, ResourceRecord } from "./records.ts";

/** Why nothing can be said. */
export type LookupFailure =
  | "timeout"
  | "servfail"
  | "refused"
  | "malformed"
  | "unreachable"
  | "broken_alias";

/** What the DNS says about a name and a type, aliases followed. */
export type Lookup =
  | {
      readonly answered: true;
      /** Of the last name; empty when name or type do not exist. */
      readonly records: readonly RecordContent[];
      /** The names that aliases led to, in order. */
      readonly aliases: readonly string[];
      /** How long all of it may be remembered. */
      readonly ttlSeconds: number;
      /** The resolver validated every step. */
      readonly authenticated: boolean;
    }
  | { readonly answered: false; readonly failure: LookupFailure };

export type Reply =
  | { readonly received: true; readonly message: DnsMessage }
  | { readonly received: false; readonly failure: LookupFailure };

/** Aliases followed, at most (CAA-1). */
export const linksMax = 8;

/** Asks for `name` in lower case and for what its aliases lead to, until an answer is complete. */
export async function follow(
  name: string,
  type: RecordType,
  ask: (name: string) => Promise<Reply>,
): Promise<Lookup> {
  const aliases: string[] = [];
  let [ttlSeconds, authenticated] = [ttlMax, true];
  for (let current = name; ; ) {
    const reply = await ask(current);
    if (!reply.received) return { answered: false, failure: reply.failure };
    const failure = failureOf(reply.message);
    if (failure !== undefined) return { answered: false, failure };
    const step = read(reply.message, current, type);
    aliases.push(...step.aliases);
    if (step.kind === "broken") return { answered: false, failure: step.failure };
    if (aliases.length > linksMax) return { answered: false, failure: "broken_alias" };
    ttlSeconds = Math.min(ttlSeconds, step.ttlSeconds);
    authenticated &&= reply.message.authenticated;
    if (step.kind === "complete") {
      return { answered: true, records: step.records, aliases, ttlSeconds, authenticated };
    }
    current = step.last;
  }
}

/** What the response code alone refuses. */
export function failureOf({ responseCode }: DnsMessage): LookupFailure | undefined {
  switch (responseCode) {
    case responseCodes.success:
    case responseCodes.nxdomain:
      return undefined;
    case responseCodes.refused:
      return "refused";
    // RFC 6672 §2.2: a DNAME that makes a name too long.
    case 6:
      return "broken_alias";
    default:
      return "servfail";
  }
}

type Step =
  | {
      readonly kind: "broken";
      readonly failure: LookupFailure;
      readonly aliases: readonly string[];
    }
  | {
      readonly kind: "complete";
      readonly records: readonly RecordContent[];
      readonly aliases: readonly string[];
      readonly ttlSeconds: number;
    }
  /** Aliases led to `last`, of which the message says nothing. */
  | {
      readonly kind: "elsewhere";
      readonly last: string;
      readonly aliases: readonly string[];
      readonly ttlSeconds: number;
    };

function read(message: DnsMessage, name: string, type: RecordType): Step {
  const aliases: string[] = [];
  let [current, ttlSeconds] = [name, ttlMax];
  for (;;) {
    const records = message.answers.filter((r) => r.owner === current && r.type === type);
    if (records.length > 0) {
      const shortest = Math.min(ttlSeconds, ...records.map((record) => record.ttlSeconds));
      return { kind: "complete", records, aliases, ttlSeconds: shortest };
    }
    const link = linkFrom(message.answers, current);
    if (link === undefined) break;
    if (link === "broken" || aliases.length > linksMax) {
      return { kind: "broken", failure: "broken_alias", aliases };
    }
    current = link.target;
    aliases.push(current);
    ttlSeconds = Math.min(ttlSeconds, link.ttlSeconds);
  }
  return withoutRecords(message, { current, aliases, ttlSeconds });
}

/**
 * RFC 2308 §5: an absence is remembered as long as the zone's SOA says, and not at all without one.
 */
function withoutRecords(
  message: DnsMessage,
  at: { current: string; aliases: readonly string[]; ttlSeconds: number },
): Step {
  const { current, aliases } = at;
  const soa = message.authorities.find(
    (record) => record.type === "SOA" && isWithin(current, record.owner),
  );
  if (soa?.type === "SOA") {
    const ttlSeconds = Math.min(at.ttlSeconds, soa.ttlSeconds, soa.minimumSeconds);
    return { kind: "complete", records: [], aliases, ttlSeconds };
  }
  if (aliases.length > 0) {
    return { kind: "elsewhere", last: current, aliases, ttlSeconds: at.ttlSeconds };
  }
  // A referral says who knows, not that there is nothing; only a server that does not resolve gives
  // one.
  const referral = message.authorities.some((r) => r.type === "other" && r.code === nameServer);
  if (referral && message.responseCode === responseCodes.success) {
    return { kind: "broken", failure: "servfail", aliases };
  }
  return { kind: "complete", records: [], aliases, ttlSeconds: 0 };
}

function linkFrom(answers: readonly ResourceRecord[], name: string) {
  const aliases = answers.filter((record) => record.type === "CNAME" && record.owner === name);
  const [first, ...others] = aliases;
  if (first?.type === "CNAME") {
    const disagree = others.some(
      (other) => other.type === "CNAME" && other.target !== first.target,
    );
    return disagree ? ("broken" as const) : first;
  }
  const above = answers.find(
    (record) => record.type === "DNAME" && record.owner !== name && isWithin(name, record.owner),
  );
  if (above?.type !== "DNAME") return undefined;
  const own = above.owner === "" ? name : name.slice(0, -above.owner.length - 1);
  const target = above.target === "" ? own : `${own}.${above.target}`;
  return target.length > nameMax ? ("broken" as const) : { ...above, target };
}

const nameServer = 2;
/** A week, the longest any cache of an answer keeps it (RFC 8767 §4). */
const ttlMax = 604_800;
/** Presentation text of a name without escapes. */
const nameMax = 253;
