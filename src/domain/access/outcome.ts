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

/**
 * What is told as it happens, without an end: each caller's codec says it in its own way, plain
 * HTTP in the media type that the operation declares.
 */
export class Stream<Piece = unknown> {
  readonly source: Source<Piece>;
  readonly type: string;
  /** The pieces as plain HTTP has them; each is taken from here or from the source. */
  readonly octets: Pick<Source<Uint8Array>, "next">;

  constructor(of: {
    readonly source: Source<Piece>;
    readonly type: string;
    readonly write: (piece: Piece) => Uint8Array;
  }) {
    const { source, type, write } = of;
    this.source = source;
    this.type = type;
    this.octets = {
      next: async () => {
        const piece = await source.next();
        return piece === undefined ? undefined : write(piece);
      },
    };
  }
}

/** Where the pieces come from. */
export interface Source<Piece> {
  /** The next one as soon as there is one; undefined when it is over. */
  next(): Promise<Piece | undefined>;
  /** Nobody receives it any more. */
  close(): void;
  /** Calls back when there is nothing more to wait for: whoever receives it takes nothing. */
  onCut(cut: () => void): void;
}
