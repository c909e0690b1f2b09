/**
 * What a handler of a public operation is given and gives when it answers octets instead of JSON.
 */

import type { Problem, ProblemCode } from "#core/problems.ts";
import type { Field, Fields } from "#core/shape.ts";
import type { Definition, Guarded } from "#domain/access/operation.ts";
import type { Origin } from "#domain/actor.ts";
import type { Given } from "#domain/access/given.ts";
import type { Outcome } from "#domain/access/outcome.ts";
import type { OperationName, operations, Speech } from "#operations";

/** One request of a `pub` operation; no credential has been looked at. */
export interface PublicRequest {
  readonly request: Request;
  /** Percent-decoded once; the value of a `{name*}` is verbatim, raw slashes and escapes kept. */
  readonly path: Readonly<Record<string, string>>;
  /**
   * The query without `?`, undecoded; empty when there is none. Parsed only by those who need it.
   */
  readonly query: string;
  /** Client address (API-10). */
  readonly ip: string;
  readonly requestId: string;
}

/**
 * Answers a `pub` operation. GET handlers also answer HEAD; the listener drops the body.
 * A thrown `Problem` is rendered as the JSON error, anything else as `internal`.
 */
export type PublicHandler<O = unknown> = ((
  request: PublicRequest,
) => Response | Promise<Response>) &
  Partial<PublicDescription<O>>;

/** What /openapi.json says of a public operation, where its name does not say enough. */
export interface PublicDescription<O = unknown> {
  readonly summary: string;
  readonly query: Fields;
  readonly body: Fields;
  /** Media type of a body that is octets. */
  readonly takes: string;
  /** Media types of the answer, the one that comes unasked first; JSON when it is not said. */
  readonly gives: readonly string[];
  /** What is answered in JSON. */
  readonly output: Field<O>;
  /** Refusals of its own rules. */
  readonly refuses: readonly ProblemCode[];
}

/** A public handler with its description. */
export const described = <O = unknown>(
  handler: (request: PublicRequest) => Response | Promise<Response>,
  description: Partial<PublicDescription<O>>,
): PublicHandler<O> => Object.assign(handler, description);

/**
 * The same for DER that is sent by the hundred thousand: at once where it can be, and complete but
 * for the request's id.
 */
export type DerHandler = ((request: PublicRequest) => DerAnswer | Promise<DerAnswer>) &
  Partial<PublicDescription>;

/** DER for relying parties: nobody has to look into the headers again. May be given many times. */
export class DerAnswer {
  readonly #body: Uint8Array | undefined;
  readonly #status: number;
  readonly #headers: Headers;

  /** `headers` go into every response; they are the answer's to write the request's id into. */
  constructor(body: Uint8Array | undefined, headers: Headers, status = 200) {
    this.#body = body;
    this.#status = status;
    this.#headers = headers;
  }

  /** Length of the body. */
  get bytes(): number {
    return this.#body?.byteLength ?? 0;
  }

  /** The response to nobody in particular. */
  get response(): Response {
    this.#headers.delete(requestIdHeader);
    return this.#made();
  }

  /** The response to the request of this id, written before the runtime copies the headers. */
  responseTo(requestId: string): Response {
    this.#headers.set(requestIdHeader, requestId);
    return this.#made();
  }

  #made(): Response {
    const init = { status: this.#status, headers: this.#headers };
    // The DOM types want an ArrayBuffer of its own; Bun sends any view of octets.
    return new Response((this.#body ?? null) as Uint8Array<ArrayBuffer> | null, init);
  }
}

export const requestIdHeader = "x-request-id";

/**
 * One implementation per row: complete by type, and only `pub` rows may answer without the
 * pipeline.
 */
export type Handlers = { readonly [Name in OperationName]: Answers<(typeof operations)[Name]> };

type Answers<Row> = Row extends { readonly caller: "inside" }
  ? MessageHandler & { readonly definition: Fitting<Row> }
  : Row extends { readonly needs: "pub" }
    ? Fitting<Row> | PublicHandler | DerHandler
    : Fitting<Row>;

/** A definition of what the row says: on what it is authorized, and whether it takes two. */
type Fitting<Row> = (Row extends { readonly takesTwo: unknown } ? Guarded : Unguarded) & {
  readonly target: { readonly on: Row extends { readonly on: infer On } ? On : undefined };
};

type Unguarded = Definition & { readonly parks: undefined };

/**
 * A refusal in the words of each protocol a row may speak; undefined leaves it to the JSON error.
 */
export type Speeches = Readonly<Record<Speech, Speaks>>;

type Speaks = (problem: Problem, refused: Refused) => Response | undefined;

/** What was asked for. */
export interface Refused {
  readonly method: string;
  /** Undecoded, without query. */
  readonly path: string;
}

/** A message of a device, its body read. */
export interface Message extends PublicRequest {
  readonly octets: Uint8Array;
}

/** What a message asks for, once it has proved who asks. */
export interface Heard {
  readonly origin: Origin;
  readonly given: Given;
  /** The answer in the protocol's form. */
  tell(outcome: Outcome): Response | Promise<Response>;
}

/**
 * A row whose callers authenticate inside the message (`caller: "inside"`): the protocol reads and
 * proves it, and the pipeline does the rest, with the rights of whoever it proves.
 */
export interface MessageHandler {
  readonly definition: Definition;
  /** Media types of the message and its answer. */
  readonly takes: string;
  readonly gives: readonly string[];
  /** Refuses what is no message, and what proves nobody. */
  hear(message: Message): Promise<Heard>;
}
