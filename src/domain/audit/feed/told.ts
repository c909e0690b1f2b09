/** What a reader of the live feed is told. */

import type { AuditEvent } from "#core/audit/chain.ts";
import type { Instant } from "#core/time.ts";

export type Told =
  /** First of all: what is told next comes behind this number, which is the one it resumes from. */
  | {
      readonly kind: "connected";
      readonly at: Instant;
      readonly lastSeq: number;
      readonly resumed: boolean;
    }
  /** At least one, oldest first; the same list is the same events. */
  | { readonly kind: "events"; readonly events: readonly AuditEvent[] }
  /** So many that fit will not be told, the last of them this one. */
  | { readonly kind: "lag"; readonly dropped: number; readonly lastSeq: number }
  /** Nothing that fits is left untold up to this number. */
  | { readonly kind: "heartbeat"; readonly at: Instant; readonly lastSeq: number }
  /** Last of all. */
  | { readonly kind: "end"; readonly code: EndCode };

/** Why it ends: whoever reads may not any more, or the server stops. */
export type EndCode = "forbidden" | "shutting_down";
