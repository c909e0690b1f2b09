/**
 * Standing proofs in the DNS (dns-persist-01 of draft-ietf-acme-dns-persist-02): whether a record
 * lets an account have certificates for a name.
 */

import { sha256 } from "#core/crypto.ts";
import { parseIssueValue } from "#core/policy/caa.ts";
import { type Instant, instant } from "#core/time.ts";

import { base64urlText } from "./base64url.ts";

/** What a record is held against. */
export interface PersistFacts {
  /** The wildcard of the name is asked for. */
  readonly wildcard: boolean;
  /** Lower case, without final dot. */
  readonly issuerDomainNames: readonly string[];
  /** `persistAccountUris` of the account. */
  readonly accountUris: ReadonlySet<string>;
  readonly now: Instant;
}

/** By what records for a name speak of an account. */
export interface PersistAccount {
  /** The name being validated, lower case, without `*.` and final dot. */
  readonly name: string;
  readonly accountUrl: string;
  /** Ends with a slash; the hash's name and value are appended. */
  readonly accountHashPrefix: string;
  /** Of the account's key, and of former ones that a record may still speak of. */
  readonly thumbprints: readonly string[];
}

/** `no_match`: for another issuer or account, over, or not for wildcards. */
export type PersistVerdict = "match" | "no_match" | "malformed";

/**
 * Judges one TXT record, its strings joined. `malformed` is told only of a record that is for this
 * issuer; one parameter twice makes it that, because software would disagree which counts.
 */
export function judgePersistRecord(value: string, facts: PersistFacts): PersistVerdict {
  const record = readPersistRecord(value);
  if (record === undefined) return "malformed";
  if (!facts.issuerDomainNames.includes(record.issuer)) return "no_match";
  if (record.faulty) return "malformed";
  const { accountUri, validUntil, isForWildcards } = record;
  if (accountUri === undefined || !facts.accountUris.has(accountUri)) return "no_match";
  if (validUntil !== undefined && facts.now > validUntil) return "no_match";
  return facts.wildcard && !isForWildcards ? "no_match" : "match";
}

/**
 * Until when a record that matches may be relied on; undefined where it does not say, and for a
 * record that cannot be read.
 */
export const persistUntil = (value: string): Instant | undefined =>
  readPersistRecord(value)?.validUntil;

/**
 * Every `accounturi` that stands for the account: for each key the hash bound to the name, and the
 * one for all names.
 */
export const persistAccountUris = ({
  name,
  accountUrl,
  accountHashPrefix,
  thumbprints,
}: PersistAccount): ReadonlySet<string> =>
  new Set(
    thumbprints.flatMap((thumbprint) =>
      [name, "*"].map((domain) => {
        const digest = sha256(
          Buffer.concat([
            Uint8Array.of(domain.length),
            Buffer.from(domain + thumbprint + accountUrl, "latin1"),
          ]),
        );
        return `${accountHashPrefix}sha-256/${base64urlText(digest)}`;
      }),
    ),
  );

interface PersistRecord {
  readonly issuer: string;
  readonly accountUri: string | undefined;
  readonly validUntil: Instant | undefined;
  readonly isForWildcards: boolean;
  /** It follows the grammar, and what it says cannot be followed. */
  readonly faulty: boolean;
}

function readPersistRecord(value: string): PersistRecord | undefined {
  const parsed = parseIssueValue(value);
  if (parsed === undefined) return undefined;
  const given = (tag: string) => parsed.parameters.filter((one) => one.tag === tag);
  const [accounts, ends, policies] = [given("accounturi"), given("persistuntil"), given("policy")];
  const end = ends[0]?.value;
  const isTwice = [accounts, ends, policies].some((of) => of.length > 1);
  return {
    issuer: parsed.issuer.toLowerCase(),
    accountUri: accounts[0]?.value,
    validUntil: end === undefined || !wholeSeconds.test(end) ? undefined : endOf(end),
    isForWildcards: policies[0]?.value.toLowerCase() === "wildcard",
    faulty: isTwice || (end !== undefined && !wholeSeconds.test(end)),
  };
}

/** The last millisecond of the second; what lies beyond the end of time is the end of time. */
const endOf = (seconds: string): Instant =>
  instant(Math.min(Number(seconds) * 1000 + 999, 8.64e15));

const wholeSeconds = /^-?[0-9]+$/;
