/**
 * Finds the objects of a stream of JSON as it arrives: one after the other, a line each or over
 * many lines, or within one list around them all.
 */

/** An object's text and the line it begins in; or what is wrong, after which nothing comes. */
export type FoundJson =
  | { readonly line: number; readonly text: string }
  | { readonly line: number; readonly fault: string };

/** Looks at each character once, and keeps no more than one object. */
export class JsonValues {
  #line = 1;
  #depth = 0;
  #inText = false;
  #escaped = false;
  #listed = false;
  #began = 1;
  #pieces: string[] = [];
  #length = 0;
  #broken = false;

  /** The objects that end in this piece of the stream. */
  *push(piece: string): Generator<FoundJson> {
    let from = 0;
    for (let at = 0; at < piece.length && !this.#broken; at++) {
      const character = piece.charCodeAt(at);
      if (character === newline) this.#line += 1;
      if (this.#depth === 0) {
        if (character === openBrace) {
          this.#depth = 1;
          this.#began = this.#line;
          from = at;
        } else if (!this.#between(character)) yield this.#fail("is no JSON object");
      } else if (this.#ends(character)) {
        yield { line: this.#began, text: this.#whole(piece.slice(from, at + 1)) };
      }
      if (this.#depth > 0 && this.#length + at - from > lengthMax) {
        yield this.#fail(`is longer than ${lengthMax} characters`);
      }
    }
    if (this.#depth > 0 && !this.#broken) {
      this.#pieces.push(piece.slice(from));
      this.#length += piece.length - from;
    }
  }

  /** After the last piece: what had begun and never ended. */
  *finish(): Generator<FoundJson> {
    if (this.#depth > 0 && !this.#broken) yield this.#fail("breaks off");
  }

  /** True for what may stand before, between and after objects. */
  #between(character: number): boolean {
    if (character === openBracket && !this.#listed) {
      this.#listed = true;
      return true;
    }
    return blanks.has(character) || character === comma || character === closeBracket;
  }

  #ends(character: number): boolean {
    if (this.#inText) {
      if (this.#escaped) this.#escaped = false;
      else if (character === backslash) this.#escaped = true;
      else if (character === quote) this.#inText = false;
      return false;
    }
    if (character === quote) this.#inText = true;
    else if (character === openBrace || character === openBracket) this.#depth += 1;
    else if (character === closeBrace || character === closeBracket) this.#depth -= 1;
    return this.#depth === 0;
  }

  #whole(last: string): string {
    const text = this.#pieces.join("") + last;
    this.#pieces = [];
    this.#length = 0;
    return text;
  }

  #fail(fault: string): FoundJson {
    this.#broken = true;
    return { line: this.#depth > 0 ? this.#began : this.#line, fault };
  }
}

const newline = 10;
const quote = 34;
const comma = 44;
const openBracket = 91;
const backslash = 92;
const closeBracket = 93;
const openBrace = 123;
const closeBrace = 125;
/** Space, tab, line feed, carriage return, and the byte order mark some tools begin with. */
const blanks: ReadonlySet<number> = new Set([32, 9, newline, 13, 0xfeff]);
/** A certificate with all its names, twice, in base64 within base64. */
const lengthMax = 1_048_576;
