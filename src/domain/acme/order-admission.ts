/** Checks of an order against directory, account and credential, at newOrder and at finalize. */

import type { Identifier } from "#core/acme/identifiers.ts";
import { refusedBy } from "#core/acme/name-policy.ts";
import { profileViolations } from "#core/policy/name-constraints.ts";
import type { ProfileSet } from "#core/policy/profiles.ts";
import { refuse } from "#core/problems.ts";
import { parseName } from "#core/x509/names.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { Limits } from "./bindings.ts";
import type { Directory } from "./directories.ts";
import type { AccountRecord } from "./store.ts";

/** Names of an order with everything that limits them. */
export interface NameRequest {
  readonly identifiers: readonly Identifier[];
  readonly limits: Limits | undefined;
  readonly directory: Directory;
  /** Profile of the order: a name that the directory offers, or one of certificates. */
  readonly profile: string;
}

/** Refuses an account whose directory now leads to the CA of another tenant. */
export function requireSameTenant({ tenant }: AccountRecord, ca: CaRecord): void {
  if (tenant === ca.tenant) return;
  throw refuse("acme_unauthorized", { reason: "the account is of another tenant" });
}

/** Refuses names that the credential or the profile does not permit (P-5). */
export function checkPermittedNames(
  profiles: ProfileSet,
  { identifiers, limits, directory, profile }: NameRequest,
): void {
  const { names } = profiles.named(resolveIssuingProfile(directory, profile));
  const sans = identifiers.map(({ type: kind, value }) => ({ kind, value }));
  const outside = profileViolations({ subject: emptySubject, sans, forServers: false }, names);
  const forbidden = new Set(outside.map(({ name }) => name));
  const byPolicy = limits === undefined ? [] : refusedBy(limits.policy, identifiers);
  const rejected = identifiers.filter(
    (identifier) => forbidden.has(identifier.value) || byPolicy.includes(identifier),
  );
  if (rejected.length === 0) return;
  const reason = "the name is not permitted here";
  const subproblems = rejected.map((identifier) => ({
    type: "rejectedIdentifier",
    detail: reason,
    identifier,
  }));
  throw refuse("acme_rejected_identifier", { subproblems, reason });
}

/** Refuses a profile of an order that the directory or the credential no longer allows. */
export function checkOfferedProfile(
  directory: Directory,
  limits: Limits | undefined,
  profile: string,
): void {
  if (profile === (limits?.profile ?? directory.profile)) return;
  const offered = Object.hasOwn(directory.profiles, profile)
    ? directory.profiles[profile]?.profile
    : undefined;
  const allowed = limits?.profile === undefined || offered === limits.profile;
  if (offered !== undefined && allowed) return;
  throw refuse("acme_unauthorized", { reason: "the profile of the order is no longer offered" });
}

/** Returns the profile of certificates that the profile of an order represents. */
export const resolveIssuingProfile = (directory: Directory, named: string): string =>
  (Object.hasOwn(directory.profiles, named) ? directory.profiles[named]?.profile : undefined) ??
  named;

/** An order has names, and no subject. */
const emptySubject = parseName(Uint8Array.of(0x30, 0x00));
