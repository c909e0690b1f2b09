/**
 * Reads JSON of many megabytes in short turns: long lists and long texts piece by piece, and no
 * more of them than anybody needs.
 */

import { refuse } from "#core/problems.ts";
import { nextTurn } from "#core/turns.ts";

/**
 * The value of one UTF-8 JSON text, as `JSON.parse` would give it. Refuses `malformed_json`, also
 * when it nests deeper than `levels`, and `invalid_field` for lists, and bodies, of more entries
 * than any operation takes.
 */
export async function parseLongJson(octets: Uint8Array, levels: number): Promise<unknown> {
  const outline = new Outline(octets, levels);
  while (!outline.finished) {
    outline.scan(sliceOctets);
    await nextTurn();
  }
  const values: unknown[] = [];
  for (const part of outline.parts) values.push(await contentOf(octets, part));
  return filled(parsed(outline.skeleton()), values);
}

/**
 * A list or text that is read by itself; its place in the skeleton is taken by a list of its number
 * alone.
 */
interface Part {
  readonly kind: "list" | "text";
  /** Where each piece of its content starts, and where the last one ends. */
  readonly cuts: number[];
}

interface OpenList {
  readonly part: Part;
  readonly depth: number;
  entries: number;
}

/**
 * Walks over the octets once and notes what is long; whether they are JSON is left to the parser
 * that reads the pieces.
 */
class Outline {
  readonly parts: Part[] = [];
  readonly #octets: Uint8Array;
  readonly #levels: number;
  /** Octets of the skeleton: from, to. */
  readonly #kept: [from: number, to: number][] = [];
  #keptFrom = 0;
  #at = 0;
  #depth = 0;
  /** The outermost list that is open. */
  #list: OpenList | undefined;
  /** Of the text that is open: where it started, and where it is cut when it is long. */
  #text: { readonly from: number; readonly cuts: number[] } | undefined;
  #valuesLeft = valuesMax;
  #outsideLeft = outsideMax;
  /** Values in the piece, and in the entry, that is being read. */
  #inPiece = 0;
  #inEntry = 0;

  constructor(octets: Uint8Array, levels: number) {
    this.#octets = octets;
    this.#levels = levels;
  }

  get finished(): boolean {
    return this.#at >= this.#octets.length;
  }

  /** Goes on for about so many octets. */
  scan(count: number): void {
    const end = Math.min(this.#at + count, this.#octets.length);
    while (this.#at < end) {
      if (this.#text === undefined) this.#step();
      else this.#stepInText();
    }
  }

  /** The JSON text with numbers in the place of what is long. Refuses what was left open. */
  skeleton(): string {
    if (this.#list !== undefined || this.#text !== undefined) throw refuse("malformed_json");
    this.#kept.push([this.#keptFrom, this.#octets.length]);
    const pieces = this.#kept.map(([from, to]) => decoded(this.#octets.subarray(from, to)));
    return pieces.reduce((text, piece, index) => `${text}[${index - 1}]${piece}`);
  }

  #step(): void {
    const at = this.#at++;
    switch (this.#octets[at]) {
      case quote:
        this.#value();
        this.#text = { from: at, cuts: [at + 1] };
        return;
      case openBrace:
      case openBracket:
        this.#value();
        this.#open(at);
        return;
      case closeBrace:
      case closeBracket:
        this.#close(at);
        return;
      case comma:
        this.#value();
        if (this.#list?.depth === this.#depth) this.#entry(this.#list, at);
        return;
      default:
    }
  }

  #open(at: number): void {
    this.#depth++;
    if (this.#depth > this.#levels) throw refuse("malformed_json");
    if (this.#list !== undefined || this.#octets[at] !== openBracket) return;
    const part: Part = { kind: "list", cuts: [at + 1] };
    this.#list = { part, depth: this.#depth, entries: 1 };
    this.#inPiece = 0;
    this.#inEntry = 0;
    this.#keep(part, at);
  }

  #close(at: number): void {
    if (this.#list?.depth === this.#depth) {
      if (this.#octets[at] !== closeBracket) throw refuse("malformed_json");
      this.#list.part.cuts.push(at);
      this.#list = undefined;
      this.#keptFrom = at + 1;
    }
    this.#depth--;
  }

  /** A comma between two entries of the outermost list. */
  #entry(list: OpenList, at: number): void {
    if (++list.entries > entriesMax) throw tooMuch(`has a list of more than ${entriesMax} entries`);
    this.#inEntry = 0;
    const from = list.part.cuts.at(-1) ?? 0;
    if (at - from < pieceOctets && this.#inPiece < pieceValues) return;
    // The comma belongs to neither piece.
    list.part.cuts.push(at, at + 1);
    this.#inPiece = 0;
  }

  /**
   * Counts what opens a list, an object or a text, and commas: never less than there are values.
   */
  #value(): void {
    if (this.#valuesLeft-- <= 0) throw tooMuch("has too many values");
    if (this.#list === undefined) {
      if (this.#outsideLeft-- <= 0) throw tooMuch("has too many members");
      return;
    }
    this.#inPiece++;
    if (++this.#inEntry > entryValuesMax) throw tooMuch("has an entry of too many values");
  }

  #stepInText(): void {
    const { from, cuts } = this.#text ?? { from: 0, cuts: [] };
    const octet = this.#octets[this.#at];
    if (octet === quote) {
      this.#endText(from, cuts);
      return;
    }
    const cut = cuts.at(-1) ?? 0;
    // Between two escapes and two characters only; of UTF-8 every octet of a character but the
    // first is 10xxxxxx.
    if (this.#at - cut >= pieceOctets && ((octet ?? 0) & 0xc0) !== 0x80) {
      if (this.#list !== undefined && this.#at - from > entryTextMax) {
        throw tooMuch("has an entry that is too long");
      }
      cuts.push(this.#at, this.#at);
    }
    if (octet !== backslash) this.#at++;
    else this.#at += this.#octets[this.#at + 1] === lowerU ? 6 : 2;
  }

  #endText(from: number, cuts: number[]): void {
    this.#text = undefined;
    const end = this.#at++;
    if (this.#list !== undefined || cuts.length === 1) return;
    cuts.push(end);
    this.#keep({ kind: "text", cuts }, from);
    this.#keptFrom = end + 1;
  }

  #keep(part: Part, end: number): void {
    this.parts.push(part);
    this.#kept.push([this.#keptFrom, end]);
  }
}

async function contentOf(octets: Uint8Array, { kind, cuts }: Part): Promise<unknown> {
  const mark = kind === "list" ? "[]" : '""';
  const texts: string[] = [];
  const entries: unknown[] = [];
  for (let at = 0; at < cuts.length; at += 2) {
    const piece = decoded(octets.subarray(cuts[at], cuts[at + 1]));
    const value = parsed(`${mark[0]}${piece}${mark[1]}`);
    if (typeof value === "string") texts.push(value);
    else if (Array.isArray(value)) {
      // A comma with nothing on one of its sides.
      if (value.length === 0 && cuts.length > 2) throw refuse("malformed_json");
      for (const entry of value) entries.push(entry);
    }
    if (cuts.length > 2) await nextTurn();
  }
  return kind === "list" ? entries : texts.join("");
}

/** Puts the values where their numbers stand: every list of the skeleton is the place of one. */
function filled(skeleton: unknown, values: readonly unknown[]): unknown {
  if (Array.isArray(skeleton)) return values[Number(skeleton[0])];
  if (typeof skeleton !== "object" || skeleton === null) return skeleton;
  for (const [name, member] of Object.entries(skeleton)) {
    // Defined and not assigned: a member may be called `__proto__`.
    Object.defineProperty(skeleton, name, { value: filled(member, values) });
  }
  return skeleton;
}

const tooMuch = (reason: string) => refuse("invalid_field", { field: "", reason });

function decoded(octets: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(octets);
  } catch {
    throw refuse("malformed_json"); // Octets that are not UTF-8 are not JSON (RFC 8259 §8.1).
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw refuse("malformed_json"); // The parser's own words would quote the body.
  }
}

/** The longest list any operation takes: the serials of a bulk revocation. */
const entriesMax = 100_000;
/** Values and commas, for 10,000 certificates with all their members. */
const valuesMax = 400_000;
/** The same outside lists, and within one entry of a list. */
const outsideMax = 2000;
const entryValuesMax = 2000;
/** Octets of one text within a list; a certificate request has 131,072 at most. */
const entryTextMax = 1_048_576;
/** What one turn takes is a few milliseconds of each. */
const sliceOctets = 1_048_576;
const pieceOctets = 131_072;
const pieceValues = 4000;

const quote = 0x22;
const comma = 0x2c;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const lowerU = 0x75;
const openBrace = 0x7b;
const closeBrace = 0x7d;
