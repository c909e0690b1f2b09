/** How requests for approval, what people decided on them, and what came of them are remembered. */

import type { Person } from "#core/access/person.ts";
import type { Principal, Reach } from "#core/access/principal.ts";
import type { ApprovalClass, ApprovalStatus } from "#core/approvals/classes.ts";
import type { StoredInput } from "#core/approvals/input.ts";
import type { CaId, Serial, TenantId } from "#core/ids.ts";
import type { JsonObject } from "#core/shape.ts";
import type { Instant } from "#core/time.ts";
import type { Page, PageKey } from "#domain/page.ts";

export const decisions = ["approve", "reject"] as const;

/** What one person said. */
export interface Decision {
  readonly id: string;
  /** The subject. */
  readonly approver: string;
  readonly approverName: string;
  /** The person behind it. */
  readonly person: Person;
  readonly decision: (typeof decisions)[number];
  readonly comment: string;
  readonly createdAt: Instant;
}

/** What kept an approved operation from being done. */
export interface Failure {
  readonly code: string;
  readonly error: string;
  readonly retryable: boolean;
  readonly facts: JsonObject;
}

/** What the transaction that did it left: the event's own words, enough to find what it made. */
export interface Effect {
  readonly action: string;
  readonly target: string;
  readonly caId: CaId | undefined;
  readonly serial: Serial | undefined;
}

/** The operation's ordinary answer, without one-time secrets. */
export interface KeptAnswer {
  /** True when something new is there. */
  readonly made: boolean;
  readonly output: JsonObject;
  /** The path of what is new. */
  readonly location?: string;
}

/** One operation that waits, or waited, for approval. */
export interface ApprovalRecord {
  /** `apr_<uuid>`. */
  readonly id: string;
  /** Undefined for what belongs to no tenant. */
  readonly tenant: TenantId | undefined;
  readonly operationClass: ApprovalClass;
  /** A row of the operations table. */
  readonly operation: string;
  readonly resourceKey: string;
  readonly resourceName: string;
  readonly fingerprint: string;
  readonly summary: string;
  readonly details: JsonObject;
  /** What is executed. */
  readonly input: StoredInput;
  /** Who made it, as known then. */
  readonly maker: Principal;
  readonly ip: string;
  readonly requestId: string;
  readonly required: number;
  readonly status: ApprovalStatus;
  /** How often it was executed. */
  readonly attempts: number;
  readonly createdAt: Instant;
  readonly expiresAt: Instant;
  readonly decidedAt: Instant | undefined;
  readonly executedAt: Instant | undefined;
  readonly collectedAt: Instant | undefined;
  readonly failure: Failure | undefined;
  /** Written in the transaction of the effect. */
  readonly effect: Effect | undefined;
  /** Written when the operation has answered. */
  readonly answer: KeptAnswer | undefined;
  /** Of a one-time secret the operation made. */
  readonly secret: "none" | "sealed" | "shown";
  /** Oldest first. */
  readonly decisions: readonly Decision[];
}

/**
 * As lists have it: what is executed left out, and details of more than 64 KiB replaced by
 * `{"too_long":true}`.
 */
export type ListedApproval = Omit<ApprovalRecord, "input">;

/** One person at one moment, and on what it may decide. */
export interface Decider {
  readonly person: Person;
  /** Where it holds `approval:approve`. */
  readonly reach: Reach;
  /** The classes it counts for: those without a list of operators, and those that list it. */
  readonly classes: readonly ApprovalClass[];
  readonly now: Instant;
}

/** Lists hold what lies in reach, and what the person made. */
export interface ApprovalFilter {
  readonly reach: Reach;
  /** Whose own requests are shown, wherever they are. */
  readonly person: Person;
  /** Only those. */
  readonly mine?: boolean | undefined;
  /** Only those of which `isDecidable` is true. */
  readonly decidableBy?: Decider | undefined;
  readonly status?: ApprovalStatus | undefined;
  readonly operationClass?: ApprovalClass | undefined;
  readonly tenant?: TenantId | undefined;
}

export interface ApprovalReads {
  byId(id: string): Promise<ApprovalRecord | undefined>;
  /** Newest first. */
  page(filter: ApprovalFilter, limit: number, after?: PageKey): Promise<Page<ListedApproval>>;
  /** Ids of pending and failed requests past their time. */
  overdue(now: Instant, limit: number): Promise<readonly string[]>;
  /** Ids of executing requests whose store is gone, or is this one. */
  abandoned(limit: number): Promise<readonly string[]>;
}

export interface ApprovalWrites {
  /**
   * Stores a new one. Gives false, and stores nothing, while the same maker has one of this
   * fingerprint open.
   */
  insert(approval: ApprovalRecord): Promise<boolean>;
  /** The request as every unit before this one left it. */
  lock(id: string): Promise<ApprovalRecord | undefined>;
  /** The open requests of a fingerprint, whoever made them; see `isOpen`. */
  open(fingerprint: string): Promise<readonly ApprovalRecord[]>;
  /** Stores what may change; an executing request belongs to this store from then on. */
  save(approval: ApprovalRecord): Promise<void>;
  /**
   * Adds a decision to a request that is there, in the unit that has locked it; `save` stores what
   * it makes of the request. The same person deciding twice on one request is a bug of the caller:
   * `approve` and `reject` have refused it before, as `already_decided`.
   */
  decide(id: string, decision: Decision): Promise<void>;
  /** True while a request is executing and its store is gone, or is this one. */
  abandoned(id: string): Promise<boolean>;
  /**
   * Takes the id into the unique column; false when an earlier unit did, and then this one must
   * come to nothing.
   */
  take(id: string): Promise<boolean>;
}

/**
 * True while an identical call of the maker is this request: until it is rejected or expired,
 * failed for good, or its result has been collected.
 */
export function isOpen({
  status,
  collectedAt,
  failure,
}: Pick<ApprovalRecord, "status" | "collectedAt" | "failure">): boolean {
  if (status === "executed") return collectedAt === undefined;
  if (status === "failed") return failure?.retryable === true;
  return status !== "rejected" && status !== "expired";
}

/** Characters of details a list shows; a page of whole bulk revocations would be gigabytes. */
export const listedDetailsMax = 65_536;

/** How many distinct people approved; nobody decides twice. */
export const approvalsOf = ({ decisions }: Pick<ApprovalRecord, "decisions">): number =>
  decisions.filter(({ decision }) => decision === "approve").length;
