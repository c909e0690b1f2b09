/** THE TRANSITIONS: what revoke, suspend and release do to a certificate in each state (TRN-1). */

import type { Instant } from "#core/time.ts";
import type { CertificateRecord, StoredStatus } from "#domain/certificates/store.ts";
import type { RevocationRecord } from "./store.ts";

export type RevocationState = "good" | "held" | "revoked" | "expired" | "unknown";
export type RevocationAction = "revoke" | "suspend" | "release";

/** What a cell of the table says: change to a state, answer that it is so already, or refuse. */
export type Outcome =
  | { readonly change: StoredStatus }
  | { readonly unchanged: "already-revoked" | "already-held" }
  | { readonly refused: RefusalWord };

export type RefusalWord =
  | "already_revoked"
  | "certificate_expired"
  | "hold_not_permitted"
  | "not_found"
  | "not_held";

const change = <S extends StoredStatus>(to: S) => ({ change: to });
const already = <W extends "revoked" | "held">(word: W) => ({
  unchanged: `already-${word}` as const,
});
const refused = <W extends RefusalWord>(word: W) => ({ refused: word });

// biome-ignore format: the table is read by column.
export const transitions = {
  //         revoke              suspend                         release
  good:    [change("revoked"),   change("held"),                 refused("not_held")],
  held:    [change("revoked"),   already("held"),                change("good")],
  revoked: [already("revoked"),  refused("already_revoked"),     refused("not_held")],
  expired: [change("revoked"),   refused("certificate_expired"), refused("not_held")],
  unknown: [change("revoked"),   refused("not_found"),           refused("not_held")],
} as const satisfies Record<RevocationState, readonly [Outcome, Outcome, Outcome]>;

/** The columns of the table. */
export const columns = { revoke: 0, suspend: 1, release: 2 } as const satisfies Record<
  RevocationAction,
  number
>;

/**
 * Decides one action. `holdable` is false for CA, cross and responder certificates and for
 * certificates of public profiles (REV-4): suspending those is refused in every state, but what is
 * already held stays so and is releasable.
 */
export function decide(
  state: RevocationState,
  action: RevocationAction,
  holdable: boolean,
): Outcome {
  if (action === "suspend" && !holdable && state !== "held") return refused("hold_not_permitted");
  return transitions[state][columns[action]];
}

/**
 * The row of the table a certificate is in; `expired` is computed from good only, and notAfter is
 * still inside. An entry goes first: a serial may have been revoked before its certificate was
 * stored.
 */
export function stateOf(
  certificate: Pick<CertificateRecord, "status" | "notAfter"> | undefined,
  entry: Pick<RevocationRecord, "reason"> | undefined,
  now: Instant,
): RevocationState {
  if (entry !== undefined) return entry.reason === "certificateHold" ? "held" : "revoked";
  return certificate === undefined ? "unknown" : certificateState(certificate, now);
}

/** The row of a certificate without an entry of its own. */
export function certificateState(
  { status, notAfter }: Pick<CertificateRecord, "status" | "notAfter">,
  now: Instant,
): Exclude<RevocationState, "unknown"> {
  if (status !== "good") return status;
  return now > notAfter ? "expired" : "good";
}

/**
 * False for certificates of CAs and responders, and for those of profiles that may not be held
 * (REV-4).
 */
export function isHoldable(
  { kind, profile }: Pick<CertificateRecord, "kind" | "profile">,
  holdPermitted: (profile: string) => boolean,
): boolean {
  if (isCaCertificate(kind) || kind === "responder") return false;
  return holdPermitted(profile);
}

/**
 * A certificate that makes its subject a CA: only who manages CAs revokes it, and nobody holds it.
 */
export const isCaCertificate = (kind: CertificateRecord["kind"] | "bare" | undefined): boolean =>
  kind === "ca" || kind === "cross";
