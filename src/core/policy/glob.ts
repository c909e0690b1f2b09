/**
 * Globs over names: `*` any run of characters, `?` one, `[…]` a set, without case, anchored at both
 * ends (BLK-2).
 */

/** One place of a pattern. */
type Piece =
  | { readonly kind: "run" }
  | { readonly kind: "one" }
  | { readonly kind: "literal"; readonly character: string }
  | { readonly kind: "set"; readonly negated: boolean; readonly ranges: readonly Range[] };
type Range = readonly [low: string, high: string];

/** True for a text the pattern matches as a whole. */
export type Glob = (text: string) => boolean;

/**
 * Reads a pattern; gives undefined when a set is not closed or a range runs backwards. A set begins
 * with `!` or `^` to be negated, holds `]` only as its first character, and any other sign as
 * itself; there is no escape but a set of one.
 */
export function parseGlob(pattern: string): Glob | undefined {
  const characters = [...pattern.toLowerCase()];
  const pieces: Piece[] = [];
  for (let at = 0; at < characters.length; ) {
    const read = pieceAt(characters, at);
    if (read === undefined) return undefined;
    const doubled = read.piece.kind === "run" && pieces.at(-1)?.kind === "run";
    if (!doubled) pieces.push(read.piece);
    at = read.next;
  }
  return (text) => matches(pieces, [...text.toLowerCase()]);
}

function pieceAt(
  characters: readonly string[],
  at: number,
): { readonly piece: Piece; readonly next: number } | undefined {
  const character = characters[at] ?? "";
  if (character === "*") return { piece: { kind: "run" }, next: at + 1 };
  if (character === "?") return { piece: { kind: "one" }, next: at + 1 };
  if (character === "[") return setAt(characters, at + 1);
  return { piece: { kind: "literal", character }, next: at + 1 };
}

/** The set whose members begin at `from`. */
function setAt(characters: readonly string[], from: number) {
  const negated = characters[from] === "!" || characters[from] === "^";
  const first = negated ? from + 1 : from;
  const end = characters.indexOf("]", first + 1);
  if (end < 0) return undefined;
  const ranges: Range[] = [];
  for (let at = first; at < end; ) {
    const low = characters[at] ?? "";
    const isRange = characters[at + 1] === "-" && at + 2 < end;
    const high = isRange ? (characters[at + 2] ?? "") : low;
    if (codeOf(high) < codeOf(low)) return undefined;
    ranges.push([low, high]);
    at += isRange ? 3 : 1;
  }
  return { piece: { kind: "set", negated, ranges } as const, next: end + 1 };
}

/** Goes back to the last run only, so that no pattern takes more than length times length. */
function matches(pieces: readonly Piece[], text: readonly string[]): boolean {
  let piece = 0;
  let at = 0;
  let run = -1;
  let resumed = 0;
  while (at < text.length) {
    const wanted = pieces[piece];
    if (wanted?.kind === "run") {
      run = piece;
      resumed = at;
      piece++;
    } else if (wanted !== undefined && accepts(wanted, text[at] ?? "")) {
      piece++;
      at++;
    } else if (run >= 0) {
      resumed++;
      at = resumed;
      piece = run + 1;
    } else return false;
  }
  while (pieces[piece]?.kind === "run") piece++;
  return piece === pieces.length;
}

function accepts(piece: Exclude<Piece, { kind: "run" }>, character: string): boolean {
  switch (piece.kind) {
    case "one":
      return true;
    case "literal":
      return piece.character === character;
    case "set": {
      const code = codeOf(character);
      const inside = piece.ranges.some(
        ([low, high]) => codeOf(low) <= code && code <= codeOf(high),
      );
      return inside !== piece.negated;
    }
  }
}

const codeOf = (character: string): number => character.codePointAt(0) ?? 0;
