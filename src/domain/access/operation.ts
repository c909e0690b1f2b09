/**
 * An operation beside its noun: what it takes, what it concerns, what it does and what it answers,
 * typed. Its row of the table has the route, the rights and the gates.
 */

import type { Reach } from "#core/access/principal.ts";
import type { ProblemCode } from "#core/problems.ts";
import type { Field, Fields, Input, JsonObject } from "#core/shape.ts";
import type { Origin } from "#domain/actor.ts";
import type { Document, Outcome, Stream } from "./outcome.ts";
import type { Rights } from "./rights.ts";
import type { Target } from "./targets.ts";

/** What `run` is given: everything authorized and read; `R` is what the target has found. */
export type Authorized<I = unknown, R = unknown> = Asking & R & { readonly input: I };

/** Who asks, and what else it may do. */
export interface Asking {
  readonly origin: Origin;
  /** The scopes where the capability is held; lists narrow to them. */
  readonly reach: Reach;
  /** For operations that need a second capability. */
  readonly rights: Rights;
  /** The reach by now; undefined for whoever may not ask any more. For answers that go on. */
  readonly standing: () => Promise<Reach | undefined>;
}

/** An answer of text or octets, by the media types it may have, that of unasked first. */
export interface Media {
  readonly media: readonly [string, ...string[]];
  /** What stands in one that is JSON. */
  readonly content?: Field<unknown>;
}

/** An answer that goes on, told piece by piece as it happens. */
export interface Streamed extends Media {
  readonly streams: true;
}

/** How a call is described to those who decide whether it is done. */
export interface Parking {
  readonly resourceKey: string;
  readonly resourceName: string;
  readonly summary: string;
  readonly details: JsonObject;
  /** Refuses what could not be done whoever approves it; asked before a new request is stored. */
  readonly check: () => Promise<unknown>;
}

/** One operation, its types erased: whoever has mounted it reads its input with its own shapes. */
export interface Definition {
  /** One sentence for /openapi.json. */
  readonly summary: string;
  readonly target: Target<Fields, unknown>;
  /** The members beside those of the target, wherever the route has them. */
  readonly input: Fields;
  readonly output: Field<unknown> | Media;
  /** Refusals of its own rules, beside those of its gates and shapes. */
  readonly refuses: readonly ProblemCode[];
  /** Of rows that take two. */
  readonly parks: ((call: never, said: JsonObject) => Promise<Parking | undefined>) | undefined;
  readonly run: (call: never) => Promise<unknown>;
}

/** A definition of an operation that takes two. */
export type Guarded = Definition & { readonly parks: NonNullable<Definition["parks"]> };

interface Declared<F extends Fields, M extends Fields, R, Out extends Definition["output"]> {
  readonly summary: string;
  readonly target: Target<M, R>;
  readonly input?: F;
  readonly output: Out;
  readonly refuses?: readonly ProblemCode[];
  readonly run: (call: Authorized<Input<F> & Input<M>, R>) => Promise<Answered<Out>>;
}

/** What `run` gives for such an output; what is both a shape and a document gives either. */
export type Answered<Out> =
  | (Out extends Field<infer O> ? O | Outcome<O> : never)
  | (Out extends Streamed ? Stream : Out extends Media ? Document : never);

/** Declares an operation; `run` sees the exact types of its shapes. */
export function operation<
  const F extends Fields = Record<never, never>,
  M extends Fields = Record<never, never>,
  R = unknown,
  On extends Target["on"] = undefined,
  const Out extends Definition["output"] = Field<unknown>,
>(of: Declared<F, M, R, Out> & { readonly target: { readonly on: On } }) {
  const { summary, target, output, run, refuses = [] } = of;
  const input = (of.input ?? {}) as F; // Where it is absent, F is the shape without members.
  return { summary, target, input, output, refuses, parks: undefined, run };
}

/**
 * Declares one that takes two: `parks` describes a call, whose input is `said` in JSON, to those
 * who decide, and gives undefined for one that needs nobody else.
 */
export function guarded<
  const F extends Fields = Record<never, never>,
  M extends Fields = Record<never, never>,
  R = unknown,
  On extends Target["on"] = undefined,
  const Out extends Definition["output"] = Field<unknown>,
>(
  of: Declared<F, M, R, Out> & { readonly target: { readonly on: On } } & {
    readonly parks: (
      call: Authorized<Input<F> & Input<M>, R>,
      said: JsonObject,
    ) => Promise<Parking | undefined>;
  },
) {
  return { ...operation<F, M, R, On, Out>(of), parks: of.parks };
}
