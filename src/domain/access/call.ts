/** A call: one operation asked for by one principal, in the one form every caller uses. */

import type { Reach } from "#core/access/principal.ts";
import type { TenantId } from "#core/ids.ts";
import type { Fields, Input } from "#core/shape.ts";
import type { Origin } from "#domain/actor.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { OperationName } from "#operations";
import type { Rights } from "./rights.ts";

/**
 * What a caller hands to `perform`; the body is read only after the capability is known to be held.
 */
export interface Call {
  readonly operation: OperationName;
  readonly origin: Origin | undefined;
  readonly path: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The parked request whose result the caller asks for (`X-Pki-Approval-Id`). */
  readonly approval?: string | undefined;
  body(): Promise<unknown>;
}

/** What a handler is given: everything authorized and read. */
export interface Authorized<P extends Fields, Q extends Fields, B extends Fields> {
  readonly origin: Origin;
  /** The scopes where the capability is held; lists narrow to them. */
  readonly reach: Reach;
  /** What else the caller may do, for operations that need a second capability. */
  readonly rights: Rights;
  /** The CA of the path, for operations `on: "ca"`. */
  readonly ca: CaRecord | undefined;
  /** The tenant the operation concerns, for operations `on: "tenant"` and `on: "ca"`. */
  readonly tenant: TenantId | undefined;
  readonly path: Input<P>;
  readonly query: Input<Q>;
  readonly body: Input<B>;
}

/** A JSON answer; `headers` beside the fixed ones. */
export interface Answer {
  readonly status: 200 | 201 | 202 | 503;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * A text or binary answer: in a list of pieces when it is long; what is too long to be held comes
 * piece by piece, and ends early when one cannot be made.
 */
export interface RawAnswer {
  readonly status: 200;
  readonly raw: string | Uint8Array | readonly Uint8Array[] | AsyncGenerator<Uint8Array>;
  readonly headers: Readonly<Record<string, string>>;
}

/** One operation's implementation: what it takes, and what it does. */
export interface Handler {
  /** One sentence for /openapi.json and `--help`. */
  readonly summary: string;
  readonly path: Fields;
  readonly query: Fields;
  readonly body: Fields | undefined;
  /** Media types of the answer, the one that comes unasked first. */
  readonly gives: readonly string[];
  /** True when the body may be absent: every member of it may be. */
  readonly emptyBody: boolean;
  /**
   * Throws what `run` would refuse whoever approves the call, and changes nothing: asked before a
   * call is left to wait for others. Absent where the shapes say all there is.
   */
  readonly admit: ((call: Authorized<Fields, Fields, Fields>) => unknown) | undefined;
  run(call: Authorized<Fields, Fields, Fields>): Promise<Answer | RawAnswer>;
}

/** Builds a handler whose `run` sees the exact types of its shapes. */
export function handler<
  const P extends Fields = Record<never, never>,
  const Q extends Fields = Record<never, never>,
  const B extends Fields = Record<never, never>,
>(shape: {
  readonly summary: string;
  readonly path?: P;
  readonly query?: Q;
  readonly body?: B;
  /** JSON when it is not said. */
  readonly gives?: readonly string[];
  readonly admit?: (call: Authorized<P, Q, B>) => unknown;
  readonly run: (call: Authorized<P, Q, B>) => Promise<Answer | RawAnswer>;
}): Handler {
  return {
    summary: shape.summary,
    path: shape.path ?? {},
    query: shape.query ?? {},
    body: shape.body,
    gives: shape.gives ?? ["application/json"],
    emptyBody: Object.values<Fields[string]>(shape.body ?? {}).every(({ optional }) => optional),
    // `perform` reads the input with exactly these shapes before it asks or runs the handler.
    admit: shape.admit as unknown as Handler["admit"],
    run: shape.run as unknown as Handler["run"],
  };
}

/** 200 with this body. */
export const ok = (body: unknown): Answer => ({ status: 200, body });
/** 201 with this body, and `Location` when the record can be read back. */
export const created = (body: unknown, location?: string): Answer => ({
  status: 201,
  body,
  ...(location === undefined ? {} : { headers: { location } }),
});
