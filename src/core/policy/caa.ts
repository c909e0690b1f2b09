/**
 * Certification authority authorization: whose record decides for a name, and whether it names us
 * (RFC 8659, 8657, 9495).
 */

import { parentOf } from "#core/dns/names.ts";
import type { CaaContent } from "#core/dns/records.ts";
import { canonicalDnsName, endsInNumber } from "#core/x509/addresses.ts";

import { hostIn } from "./host-names.ts";
import type { Plan } from "./plan.ts";

/** A name of a certificate, and the domain whose records decide about it. */
export interface CaaName {
  /** As the certificate has it. */
  readonly text: string;
  /**
   * Lower case, without final dot: for a wildcard the name below `*.`, for a mailbox its domain.
   */
  readonly domain: string;
  readonly use: "host" | "wildcard" | "mailbox";
}

/** What is known about whoever asks; both absent outside ACME. */
export interface CaaFacts {
  /** URL of the requesting ACME account. */
  readonly accountUrl: string;
  /** The method that validated each name, by the name as the certificate has it. */
  readonly methods: ReadonlyMap<string, string>;
}

export type CaaReason =
  | "forbidden"
  | "critical_unknown"
  | "lookup_error"
  | "account_mismatch"
  | "validation_method";

export type CaaVerdict =
  | { readonly allowed: true }
  | {
      readonly allowed: false;
      readonly reason: CaaReason;
      /** Where the records were found, or what could not be looked up. */
      readonly domain: string;
      /** Whom the domain wants told; they are recorded and never contacted (CAA-9). */
      readonly iodef: readonly string[];
    };

/** What the DNS holds of CAA at one name, aliases followed. */
export type CaaLookup = (domain: string) => Promise<readonly CaaContent[] | "failed">;

/**
 * Every name whose domain has a say: DNS names, mailboxes, and what the subject says of either
 * kind.
 */
export function caaNames({ sans, subject }: Pick<Plan, "sans" | "subject">): readonly CaaName[] {
  const hosts = sans.filter(({ kind }) => kind === "dns").map(({ value }) => value);
  const mailboxes = sans.filter(({ kind }) => kind === "email").map(({ value }) => value);
  for (const { type, value } of subject.attributes) {
    if (type === "emailAddress") mailboxes.push(value);
    const host = type === "CN" ? hostIn(value) : undefined;
    if (host !== undefined && host.kind !== "ip") hosts.push(host.text);
  }
  const names = [...hosts.map(hostName), ...mailboxes.map(mailboxName)];
  return [...new Map(names.map((name) => [`${name.use} ${name.domain}`, name])).values()];
}

/** Climbs to the records that decide about the name and judges them (CAA-1 to CAA-5). */
export async function judgeName(
  name: CaaName,
  identifier: string,
  facts: CaaFacts | undefined,
  lookup: CaaLookup,
): Promise<CaaVerdict> {
  // A number is an address to some; nobody has records for it, and silence would allow it.
  if (endsInNumber(name.domain)) return refused("lookup_error", name.domain, []);
  // RFC 8659 §3: always the parent of the name itself, never of what an alias led to.
  for (
    let domain: string | undefined = name.domain;
    domain !== undefined;
    domain = parentOf(domain)
  ) {
    const records = await lookup(domain);
    if (records === "failed") return refused("lookup_error", domain, []);
    if (records.length === 0) continue;
    const reason = judgeSet(records, name, identifier, facts);
    return reason === undefined ? { allowed: true } : refused(reason, domain, records);
  }
  return { allowed: true };
}

/** Why a set that is not empty forbids the name; undefined when it does not. */
export function judgeSet(
  records: readonly CaaContent[],
  { use, text }: Pick<CaaName, "use" | "text">,
  identifier: string,
  facts: CaaFacts | undefined,
): Exclude<CaaReason, "lookup_error"> | undefined {
  if (records.some(({ critical, tag }) => critical && !knownTags.has(tag.toLowerCase()))) {
    return "critical_unknown";
  }
  const relevant = relevantTo(records, use);
  if (relevant.length === 0) return undefined;
  const misses = relevant.map(({ value }) => missOf(value, identifier, text, facts));
  if (misses.includes(undefined)) return undefined;
  // The nearest miss tells most: our name was there, and only a parameter kept it from matching.
  return misses.find((miss) => miss !== "forbidden") ?? "forbidden";
}

/** RFC 8659 §4.3: `issuewild` alone decides about wildcards where there is any. */
function relevantTo(records: readonly CaaContent[], use: CaaName["use"]): readonly CaaContent[] {
  const tagged = (tag: string) => records.filter((record) => record.tag.toLowerCase() === tag);
  if (use === "mailbox") return tagged("issuemail");
  const wild = use === "wildcard" ? tagged("issuewild") : [];
  return wild.length > 0 ? wild : tagged("issue");
}

type Miss = "forbidden" | "account_mismatch" | "validation_method";

function missOf(
  value: string,
  identifier: string,
  name: string,
  facts: CaaFacts | undefined,
): Miss | undefined {
  const parsed = parseIssueValue(value);
  if (parsed === undefined || parsed.issuer === "") return "forbidden";
  if (parsed.issuer.toLowerCase() !== identifier.toLowerCase()) return "forbidden";
  const given = (tag: string) => parsed.parameters.filter((parameter) => parameter.tag === tag);
  // RFC 8657 §3, §4: a parameter given twice, or unknowable outside ACME, is satisfied by nobody.
  const [accounts, methods] = [given("accounturi"), given("validationmethods")];
  const accountMatches = accounts.length === 1 && accounts[0]?.value === facts?.accountUrl;
  if (accounts.length > 0 && !accountMatches) return "account_mismatch";
  const method = facts?.methods.get(name);
  const listed = methods.length === 1 ? (methods[0]?.value.split(",") ?? []) : [];
  if (methods.length > 0 && (method === undefined || !listed.includes(method))) {
    return "validation_method";
  }
  return undefined;
}

/**
 * An issuer with parameters; undefined for a value outside the grammar, which matches nobody (RFC
 * 8659 §4.2, CAA-4).
 */
export function parseIssueValue(value: string):
  | {
      /** Empty where nobody may issue. */
      readonly issuer: string;
      /** Tags in lower case. */
      readonly parameters: readonly { readonly tag: string; readonly value: string }[];
    }
  | undefined {
  const [head = "", ...parts] = value.split(";");
  const issuer = trimmed(head);
  if (issuer !== "" && !issuerDomain.test(issuer)) return undefined;
  const [only = ""] = parts;
  if (parts.length === 0 || (parts.length === 1 && trimmed(only) === "")) {
    return { issuer, parameters: [] };
  }
  const parameters = parts.map((part) => parameter.exec(trimmed(part)));
  if (parameters.includes(null)) return undefined;
  return {
    issuer,
    parameters: parameters.map((found) => ({
      tag: found?.[1]?.toLowerCase() ?? "",
      value: found?.[2] ?? "",
    })),
  };
}

function hostName(text: string): CaaName {
  const wildcard = text.startsWith("*.");
  const domain = domainText(wildcard ? text.slice(2) : text);
  return { text, domain, use: wildcard ? "wildcard" : "host" };
}

const mailboxName = (text: string): CaaName => ({
  text,
  domain: domainText(text.slice(text.lastIndexOf("@") + 1)),
  use: "mailbox",
});

/** What cannot be spelled in ASCII stays as it is, and no lookup of it succeeds. */
const domainText = (text: string): string => (canonicalDnsName(text) ?? text).replace(/\.$/, "");

function refused(reason: CaaReason, domain: string, records: readonly CaaContent[]): CaaVerdict {
  const iodef = records.filter(({ tag }) => tag.toLowerCase() === "iodef");
  return { allowed: false, reason, domain, iodef: iodef.map(({ value }) => value) };
}

/**
 * RFC 8659 §4.2: blanks are spaces and tabs. By hand, for a value of 64 KiB of blanks takes a
 * regular expression long.
 */
function trimmed(text: string): string {
  let [start, end] = [0, text.length];
  while (start < end && isBlank(text[start])) start++;
  while (end > start && isBlank(text[end - 1])) end--;
  return text.slice(start, end);
}

const isBlank = (character: string | undefined) => character === " " || character === "\t";

const label = "[A-Za-z0-9](?:-*[A-Za-z0-9])*";
const issuerDomain = new RegExp(`^${label}(?:\\.${label})*$`);
// A value runs over all visible characters but the semicolon, which has already parted the
// parameters.
const parameter = new RegExp(`^(${label})[ \\t]*=[ \\t]*([\\x21-\\x3a\\x3c-\\x7e]*)$`);
const knownTags: ReadonlySet<string> = new Set(["issue", "issuewild", "issuemail", "iodef"]);
