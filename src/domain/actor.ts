/** Who does something: whom a call comes from, and whom an event names. Below all nouns. */

import type { Identity } from "#core/access/assignments.ts";
import { effectiveRoles, type Principal } from "#core/access/principal.ts";
import type { EventDraft } from "#core/audit/actions.ts";
import type { TenantId } from "#core/ids.ts";
import type { Instant } from "#core/time.ts";
import type { Unit } from "./store.ts";

/** Where a call came from; written into events. */
export interface Origin {
  readonly principal: Principal;
  /** The session that proved it, when a cookie did. */
  readonly session?: Session;
  /** When what proved the principal runs out, where a token of a provider says so itself. */
  readonly until?: Instant;
  /** Client address, empty on the admin socket. */
  readonly ip: string;
  readonly requestId: string;
  /** Set while the server executes what was approved. */
  readonly approval?: Execution;
}

/** An approved operation while it is executed. */
export interface Execution {
  readonly id: string;
  /**
   * Seals a one-time secret for the maker; what it gives is called in the unit that stores what the
   * secret opens.
   */
  keepSecret(secret: string): Promise<(tx: Unit) => Promise<void>>;
}

/** Who an event names, as far as a run that outlives its call has to remember it. */
export type Author = Pick<
  EventDraft,
  "actor" | "actorName" | "actorRoles" | "ip" | "requestId" | "approval"
>;

/** The author of what this caller does to an object of the tenant; without one, to the instance. */
export const authorOf = (
  { principal, ip, requestId, approval }: Origin,
  tenant: TenantId | undefined,
): Author => ({
  approval: approval?.id,
  actor: principal.subject,
  actorName: principal.name,
  ip,
  requestId,
  actorRoles: effectiveRoles(principal, tenant),
});

/** How a session was opened. */
/** How a session is opened. */
export const loginMethods = ["oidc", "password", "ldap"] as const;
export type LoginMethod = (typeof loginMethods)[number];

/** A session as everybody but its owner's browser knows it. */
export interface Session {
  /** First 32 hex digits of SHA-256 over the id: for lists, logs and events; it opens nothing. */
  readonly digest: string;
  readonly method: LoginMethod;
  readonly principal: Principal;
  /** What the provider or directory said at login, to resolve roles again; undefined for root. */
  readonly identity: Identity | undefined;
  readonly csrfToken: string;
  readonly loginName: string;
  readonly ip: string;
  readonly userAgent: string;
  readonly createdAt: Instant;
  readonly lastSeenAt: Instant;
  /** Absolute: use does not prolong a session. */
  readonly expiresAt: Instant;
  readonly stepUpUntil: Instant | undefined;
  /** The id of the passkey that confirmed. */
  readonly stepUpBy: string | undefined;
}
