/** A call: one operation asked for by one principal, in the one form every caller uses. */

import type { Origin } from "#domain/actor.ts";
import type { Given } from "./given.ts";
import type { Mounted } from "./mounted.ts";

/** What a caller hands to `perform`. */
export interface Call {
  readonly operation: Mounted;
  readonly origin: Origin | undefined;
  readonly given: Given;
  /** The parked request whose result the caller asks for (`X-Pki-Approval-Id`). */
  readonly approval?: string | undefined;
}
