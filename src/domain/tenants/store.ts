/** How tenants, and what counts against their quotas, are remembered. */

import type { TenantId } from "#core/ids.ts";
import type { Instant } from "#core/time.ts";
import type { Page, PageKey } from "#domain/page.ts";

/** What a tenant may use; 0 is unlimited. */
export interface Quotas {
  /** Certificates issued or renewed in one UTC day. */
  readonly maxCertsPerDay: number;
  /** Certificates that are good or held and not expired. */
  readonly maxActiveCerts: number;
  readonly rateLimitPerSecond: number;
  readonly rateLimitBurst: number;
}

export const unlimited: Quotas = {
  maxCertsPerDay: 0,
  maxActiveCerts: 0,
  rateLimitPerSecond: 0,
  rateLimitBurst: 0,
};

/** Whether a tenant may issue. */
export const tenantStatuses = ["active", "suspended"] as const;

export interface TenantRecord {
  readonly id: TenantId;
  readonly slug: string;
  readonly name: string;
  readonly status: (typeof tenantStatuses)[number];
  /** Empty when none is named. */
  readonly kekLabel: string;
  readonly quotas: Quotas;
  readonly createdAt: Instant;
}

/** Leaves that count against the quotas, those being signed at the moment included. */
export interface Used {
  /** Issued since the UTC midnight before `now`. */
  readonly today: number;
  /** Good or held, and not expired. */
  readonly active: number;
}

/** One UTC day, numbered from 1970-01-01 as day 0. */
export interface DayUsage {
  readonly day: number;
  readonly issued: number;
  readonly revoked: number;
}

export interface Usage {
  readonly active: number;
  readonly issued: number;
  readonly revoked: number;
  readonly cas: number;
  /** Days on which anything happened, latest first. */
  readonly days: readonly DayUsage[];
}

export interface TenantFilter {
  readonly ids: "platform" | readonly TenantId[];
  readonly text?: string | undefined;
}

export interface TenantReads {
  /** By id or slug; an id wins over a slug of the same text. */
  named(reference: string): Promise<TenantRecord | undefined>;
  /** Newest first, those of `ids` only whose slug or name has the text in it. */
  page(filter: TenantFilter, limit: number, after?: PageKey): Promise<Page<TenantRecord>>;
  used(tenant: TenantId, now: Instant): Promise<Used>;
  /** What was ever issued and revoked, and per day from `firstDay` on. */
  usage(tenant: TenantId, firstDay: number, now: Instant): Promise<Usage>;
}

export interface TenantWrites {
  /** Does nothing when the id exists. */
  ensure(tenant: TenantRecord): Promise<void>;
  /** Refuses `already_exists` (`slug`) when another tenant has the slug, or the id for one. */
  insert(tenant: TenantRecord): Promise<void>;
  /** The row as this unit finds it, for a change in the same unit. */
  lock(id: TenantId): Promise<TenantRecord | undefined>;
  /** Sets everything but id, slug and time of creation. */
  update(tenant: TenantRecord): Promise<void>;
  remove(id: TenantId): Promise<void>;
  /** As much of it as every issuance asks, as this unit finds it. */
  state(id: TenantId): Promise<TenantState | undefined>;
  /** As this unit finds it: exact, for units of all replicas come one after the other. */
  used(tenant: TenantId, now: Instant): Promise<Used>;
  /** CAs it owns, whatever their status, internal ones too. */
  cas(tenant: TenantId): Promise<number>;
}

/** What every issuance asks of a tenant. */
export type TenantState = Pick<TenantRecord, "status"> &
  Pick<Quotas, "maxCertsPerDay" | "maxActiveCerts">;
