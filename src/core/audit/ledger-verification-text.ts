/**
 * The text of a ledger document before it is read: bounded, no name twice, and where each member
 * of it stands.
 */

/** A document as it was sent. */
export interface DocumentText {
  /** What the text says; an object. */
  readonly members: Readonly<Record<string, unknown>>;
  /** The octets of one member's value exactly as sent; undefined for an absent one. */
  octetsOf(member: string): Uint8Array | undefined;
}

/**
 * Reads UTF-8 of a JSON object in linear time. Gives a sentence instead for what is none, is over a
 * limit, or has a name twice in one object: readers that take the first and readers that take the
 * last would read two documents under one signature.
 */
export function readDocumentText(octets: Uint8Array): DocumentText | string {
  const scan = new Scan(octets);
  const fault = scan.run();
  if (fault !== undefined) return fault;
  const members = parsedJson(octets);
  if (!isObject(members)) return "it is not a JSON object in UTF-8";
  return {
    members,
    octetsOf: (member) => {
      const span = scan.spans.get(member);
      return span && octets.subarray(span.start, span.end);
    },
  };
}

/** True for a JSON object. */
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function parsedJson(octets: Uint8Array): unknown {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(octets);
    return JSON.parse(text);
  } catch {
    return undefined; // Not UTF-8 or not JSON: the caller says so.
  }
}

interface Level {
  /** Names so far; undefined inside an array. */
  readonly names: Set<string> | undefined;
  /** True where a string would be a name. */
  naming: boolean;
}

/**
 * One pass over the octets, before anything is parsed. What is not JSON may pass here: the parser
 * refuses it afterwards.
 */
class Scan {
  readonly spans = new Map<string, { start: number; end: number }>();
  readonly #octets: Uint8Array;
  readonly #levels: Level[] = [];
  #values = 0;
  #member = "";
  #memberStart = 0;

  constructor(octets: Uint8Array) {
    this.#octets = octets;
  }

  run(): string | undefined {
    for (let at = 0; at < this.#octets.length; at += 1) {
      const octet = this.#octets[at];
      if (octet === quote) {
        const end = this.#stringEnd(at);
        const fault = this.#name(at, end);
        if (fault !== undefined) return fault;
        at = end - 1;
      } else {
        const fault = this.#step(octet, at);
        if (fault !== undefined) return fault;
      }
    }
    return undefined;
  }

  #step(octet: number | undefined, at: number): string | undefined {
    const level = this.#levels.at(-1);
    if (octet === openBrace || octet === openBracket) {
      if (this.#levels.length === depthMax) return `it is nested deeper than ${depthMax}`;
      const names = octet === openBrace ? new Set<string>() : undefined;
      this.#levels.push({ names, naming: names !== undefined });
    } else if (octet === closeBrace || octet === closeBracket) {
      if (this.#levels.length === 1) this.#endMember(at);
      this.#levels.pop();
    } else if (octet === comma) {
      if (this.#levels.length === 1) this.#endMember(at);
      if (level?.names !== undefined) level.naming = true;
      this.#values += 1;
      if (this.#values > valuesMax) return `it has more than ${valuesMax} values`;
    } else if (octet === colon && this.#levels.length === 1) {
      this.#memberStart = at + 1;
    }
    return undefined;
  }

  #name(start: number, end: number): string | undefined {
    const level = this.#levels.at(-1);
    if (level?.names === undefined || !level.naming) return undefined;
    level.naming = false;
    if (end - start > nameOctetsMax) return `a name is longer than ${nameOctetsMax} octets`;
    // A name spelled with escapes is the same name.
    const name = parsedJson(this.#octets.subarray(start, end));
    if (typeof name !== "string") return "it is not a JSON object in UTF-8";
    if (level.names.has(name)) return `the member ${JSON.stringify(name)} occurs twice`;
    if (level.names.size === namesMax) return `an object has more than ${namesMax} members`;
    level.names.add(name);
    if (this.#levels.length === 1) this.#member = name;
    return undefined;
  }

  #endMember(end: number): void {
    if (this.#member === "") return;
    this.spans.set(this.#member, { start: this.#memberStart, end });
    this.#member = "";
  }

  /** Behind the closing quote of the string that opens at `start`, or the end of all. */
  #stringEnd(start: number): number {
    const octets = this.#octets;
    for (let at = start + 1; at < octets.length; at += 1) {
      if (octets[at] === backslash) at += 1;
      else if (octets[at] === quote) return at + 1;
    }
    return octets.length;
  }
}

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];
const depthMax = 8;
const namesMax = 100_000;
const nameOctetsMax = 1024;
const valuesMax = 16_000_000;
