/**
 * Decides which certificates a bulk revocation means: predicates that combine with AND, and what
 * state they must be in.
 */

import type { Serial } from "#core/ids.ts";
import { type Instant, timestamp } from "#core/time.ts";
import { parseGlob } from "./glob.ts";

/** What was asked; absent predicates select everything. */
export interface Selection {
  readonly profile?: string | undefined;
  /** A glob over the common name and each alternative name. */
  readonly pattern?: string | undefined;
  /** Time of issuance, inclusive at both ends. */
  readonly issuedAfter?: Instant | undefined;
  readonly issuedBefore?: Instant | undefined;
  /** Without repetition. */
  readonly serials?: readonly Serial[] | undefined;
  /** Lower hex SHA-256 of the SubjectPublicKeyInfo. */
  readonly spkiSha256?: string | undefined;
  readonly includeExpired: boolean;
}

/** What the predicates look at. */
export interface Selectable {
  readonly commonName: string;
  /** Texts like `dns:a.example`; what stands before the first colon is their kind. */
  readonly sans: readonly string[];
  readonly profile: string;
  readonly createdAt: Instant;
  readonly spkiSha256: string;
}

/** The state a certificate is found in. */
export type SelectableState = "good" | "held" | "revoked" | "expired";

/** What a run does with a certificate: change it, or pass it over for a reason that is counted. */
export type Verdict =
  | "change"
  | "upgrade"
  | "already_revoked"
  | "already_held"
  | "expired_excluded"
  | "filtered_out";

/** True when no predicate is given; `includeExpired` is none (BLK-1). */
export function isEmpty(selection: Selection): boolean {
  const { profile, pattern, issuedAfter, issuedBefore, serials, spkiSha256 } = selection;
  const given = [profile, pattern, issuedAfter, issuedBefore, serials, spkiSha256];
  return given.every((predicate) => predicate === undefined);
}

/** Compiles the predicates, all but `serials`, which whoever looks the certificates up goes by. */
export function predicateOf(selection: Selection): (certificate: Selectable) => boolean {
  const { profile, pattern, issuedAfter, issuedBefore, spkiSha256 } = selection;
  const glob = pattern === undefined ? undefined : parseGlob(pattern);
  return (certificate) => {
    if (profile !== undefined && certificate.profile !== profile) return false;
    if (spkiSha256 !== undefined && certificate.spkiSha256 !== spkiSha256) return false;
    if (issuedAfter !== undefined && certificate.createdAt < issuedAfter) return false;
    if (issuedBefore !== undefined && certificate.createdAt > issuedBefore) return false;
    // A pattern that cannot be read is refused where it comes in; here it selects nothing.
    return pattern === undefined || (glob !== undefined && names(certificate).some(glob));
  };
}

/**
 * What becomes of a certificate that is in `state` and, by `matched` and `holdable`, may be meant
 * at all. A hold takes neither what is held already nor what has expired; a revocation takes
 * expired ones only when asked to.
 */
export function verdictOf(
  state: SelectableState,
  asked: {
    readonly hold: boolean;
    readonly includeExpired: boolean;
    readonly matched: boolean;
    /** False for certificates that cannot be put on hold. */
    readonly holdable: boolean;
  },
): Verdict {
  const { hold, includeExpired, matched, holdable } = asked;
  if (!matched) return "filtered_out";
  if (state === "revoked") return "already_revoked";
  if (hold && !holdable) return "filtered_out";
  if (state === "held") return hold ? "already_held" : "upgrade";
  if (state === "expired" && (hold || !includeExpired)) return "expired_excluded";
  return "change";
}

/** The selection in one line, as plan and event show it; serials are counted, not listed. */
export function selectionText(selection: Selection): string {
  const { profile, pattern, issuedAfter, issuedBefore, serials, spkiSha256 } = selection;
  const parts = [
    profile === undefined ? [] : [`profile=${profile}`],
    pattern === undefined ? [] : [`pattern=${pattern}`],
    issuedAfter === undefined ? [] : [`issued_after=${timestamp(issuedAfter)}`],
    issuedBefore === undefined ? [] : [`issued_before=${timestamp(issuedBefore)}`],
    serials === undefined ? [] : [`serials=${serials.length}`],
    spkiSha256 === undefined ? [] : [`public_key_sha256=${spkiSha256}`],
    isEmpty(selection) ? ["all"] : [],
    selection.includeExpired ? ["include_expired"] : [],
  ];
  return parts.flat().join(" ");
}

/** The texts a pattern is held against. */
const names = ({ commonName, sans }: Selectable): readonly string[] => [
  ...(commonName === "" ? [] : [commonName]),
  ...sans.map((san) => san.slice(san.indexOf(":") + 1)),
];
