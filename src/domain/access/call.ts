/** A call: one operation asked for by one principal, in the one form every caller uses. */

import type { Origin } from "#domain/actor.ts";
import type { Mounted } from "./mounted.ts";

/** What a caller hands to `perform`. */
export interface Call {
  readonly operation: Mounted;
  readonly origin: Origin | undefined;
  readonly given: Given;
  /** The parked request whose result the caller asks for (`X-Pki-Approval-Id`). */
  readonly approval?: string | undefined;
}

/**
 * What is asked for, as its caller's codec has it: JSON, a message, a stored request. Nothing is
 * read before the capability is known to be held, and the pipeline alone looks at what is unread.
 */
export interface Given {
  /** What the route names; the rest may be long, and is not looked at for this. */
  readonly named: Readonly<Record<string, string | undefined>>;
  /** One member as it was given, unread; undefined where it was not. */
  peek(member: string): Promise<unknown>;
  /** All members, read by the operation's shapes; refuses what they refuse. */
  read(): Promise<Readonly<Record<string, unknown>>>;
}
