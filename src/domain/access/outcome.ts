/** What came of a call: an answer, something new, or that it waits for other people. */

/**
 * What an operation gives where its output is not all there is to say.
 * - `made`: something new is there, and `location` is its path where it can be read back.
 * - `parked`: it waits for approval; `approval` is the id of its request.
 * - `unready`: the answer stands, and whoever asked had better ask elsewhere.
 */
export class Outcome<O = unknown> {
  readonly kind: "done" | "made" | "parked" | "unready";
  readonly output: O;
  readonly location: string | undefined;
  /** The request for approval that this answers. */
  readonly approval: string | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(
    kind: Outcome["kind"],
    output: O,
    more: Partial<Pick<Outcome, "location" | "approval" | "retryAfterSeconds">> = {},
  ) {
    this.kind = kind;
    this.output = output;
    this.location = more.location;
    this.approval = more.approval;
    this.retryAfterSeconds = more.retryAfterSeconds;
  }
}

/** Something new is there, under this path where it can be read back. */
export const made = <O>(output: O, location?: string): Outcome<O> =>
  new Outcome("made", output, location === undefined ? {} : { location });

/**
 * Text or octets: in a list of pieces when they are long; what is too long to be held comes piece
 * by piece, and ends early when one cannot be made.
 */
export class Document {
  readonly content: string | Uint8Array | readonly Uint8Array[] | AsyncGenerator<Uint8Array>;
  /** Media type, one of those the operation declares. */
  readonly type: string;
  /** Under which a person keeps it; undefined for what is shown. */
  readonly fileName: string | undefined;
  /** True for what may be another one the next moment. */
  readonly fleeting: boolean;

  constructor(of: {
    readonly content: Document["content"];
    readonly type: string;
    readonly fileName?: string;
    readonly fleeting?: true;
  }) {
    this.content = of.content;
    this.type = of.type;
    this.fileName = of.fileName;
    this.fleeting = of.fleeting ?? false;
  }
}
