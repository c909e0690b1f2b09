/**
 * Validation of any certificate against a CA of this instance, with revocation from its own
 * records.
 */

import { compareOctets } from "#core/asn1/der.ts";
import type { Asker } from "#core/fair-queue.ts";
import type { MemberFacts, PathMember } from "#core/policy/path-work.ts";
import { type Check, type RevocationState, unbuilt } from "#core/policy/validate.ts";
import { refuse } from "#core/problems.ts";
import type { Instant } from "#core/time.ts";
import { certificatesOf, pathOf } from "#domain/authorities/signers.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { Clock, PathWork } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";

export interface ValidationDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly paths: PathWork;
}

export interface ValidationRequest {
  /** PEM. */
  readonly certificate: string;
  /** PEM, one certificate each. */
  readonly intermediates: readonly string[];
  readonly skipRevocation: boolean;
  /** Whose turn it takes. */
  readonly asker: Asker;
}

export interface Validation {
  readonly anchorName: string;
  /**
   * From the certificate to the anchor; the certificate alone where no path was found, nothing
   * where time ran out.
   */
  readonly path: readonly MemberFacts[];
  readonly built: boolean;
  /** One for each certificate of the path but the anchor. */
  readonly revocation: readonly RevocationState[];
  readonly checks: readonly Check[];
  readonly now: Instant;
}

/**
 * The anchor is the top of the CA's own path. Refuses `bad_certificate`, and `ca_not_active` while
 * the CA has none.
 */
export async function validate(
  { store, clock, paths }: ValidationDeps,
  ca: CaRecord,
  { certificate, intermediates, skipRevocation, asker }: ValidationRequest,
): Promise<Validation> {
  const { read } = store;
  const now = clock.now();
  const members = (await read.cas.lineage(ca.lineage)).filter((one) => one.certificate);
  const own = (await Promise.all(members.map((one) => certificatesOf(read.cas, one)))).flat();
  const anchor = (await certificatesOf(read.cas, ca)).at(-1);
  const search = { kind: "find", certificate, intermediates, own, anchor, now } as const;
  const found = readable(await paths.ask(search, asker));
  if (found === undefined) return givenUp(now);
  const { built } = found;
  const signers = [...members, ...(await pathOf(read.cas, ca))];
  const revocation: RevocationState[] = built ? [] : [noStatement];
  for (const [at, one] of found.path.slice(0, -1).entries()) {
    const issuer = found.path[at + 1];
    revocation.push(skipRevocation ? skipped : await stateOf(read, signers, one, issuer));
  }
  const path = found.path.map(({ der }) => der);
  const review = { kind: "judge", path, built, anchor, revocation, now } as const;
  const judged = readable(await paths.ask(review, asker));
  if (judged === undefined) return givenUp(now);
  const { anchorName, members: facts, checks } = judged;
  return { anchorName, path: facts, built, revocation, checks: built ? checks : unbuilt, now };
}

/** What cannot be decided in time is not valid. */
const givenUp = (now: Instant): Validation => ({
  anchorName: "",
  path: [],
  built: false,
  revocation: [],
  checks: [{ name: "chain", status: "fail", detail: "judging the chain takes too long" }],
  now,
});

function readable<A extends object>(
  answer: A | { readonly unreadable: string } | undefined,
): Exclude<A, { readonly unreadable: string }> | undefined {
  if (answer === undefined) return undefined;
  if ("unreadable" in answer) throw refuse("bad_certificate", { reason: answer.unreadable });
  return answer as Exclude<A, { readonly unreadable: string }>; // By the line above.
}

async function stateOf(
  read: Store["read"],
  signers: readonly CaRecord[],
  certificate: PathMember,
  issuer: PathMember | undefined,
): Promise<RevocationState> {
  const signer = signers.find(({ spki }) => issuer && compareOctets(spki, issuer.spki) === 0);
  if (signer === undefined) return noStatement;
  const certStatus = await read.revocations.certStatus(signer.id, certificate.serial);
  if (certStatus.status !== "revoked") return { state: certStatus.status, source: "store" };
  const state = certStatus.reason === "certificateHold" ? "held" : "revoked";
  return { state, revokedAt: certStatus.at, reason: certStatus.reason, source: "store" };
}

const noStatement: RevocationState = { state: "unknown", source: "none" };
const skipped: RevocationState = { state: "skipped", source: "none" };
