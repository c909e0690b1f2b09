/**
 * Finds every mapping key of a YAML text with its line, because the runtime's parser lets a second
 * key of one name win silently.
 */

/** One key: its full path as faults name it, and the line it stands on, counted from 1. */
export interface KeyPosition {
  readonly path: string;
  readonly line: number;
  /** True when the same mapping had this key before. */
  readonly repeated: boolean;
}

/**
 * What a scan gives: the keys in the order of the text, or the first thing that makes the text
 * unacceptable.
 */
export type KeyScan =
  | { readonly ok: true; readonly keys: readonly KeyPosition[] }
  | { readonly ok: false; readonly line: number; readonly sentence: string };

/**
 * Scans block and flow mappings. It is not a parser: text that is not YAML is left to the parser to
 * refuse. Explicit keys (`? key`) and nesting deeper than `depthMax` are refused here, before
 * anything recurses over them.
 */
export function scanKeys(text: string, depthMax: number): KeyScan {
  const scanner = new Scanner(text, depthMax);
  try {
    scanner.run();
  } catch (error) {
    if (!(error instanceof Unacceptable)) throw error;
    return { ok: false, line: scanner.line(), sentence: error.message };
  }
  return { ok: true, keys: scanner.keys };
}

class Unacceptable extends Error {}

/**
 * An open block collection: the column of its entries, where it stands, and the entry being read.
 */
interface Block {
  readonly kind: "mapping" | "sequence";
  readonly column: number;
  readonly path: string;
  readonly seen: Set<string>;
  /** Path of the value that follows the newest key or dash. */
  current: string;
  index: number;
}

class Scanner {
  readonly keys: KeyPosition[] = [];
  readonly #text: string;
  readonly #depthMax: number;
  readonly #blocks: Block[] = [];
  #at = 0;
  #countedTo = 0;
  #lines = 1;

  constructor(text: string, depthMax: number) {
    this.#text = text;
    this.#depthMax = depthMax;
  }

  /** The line of the present position; positions only move forward. */
  line(): number {
    for (; this.#countedTo < this.#at; this.#countedTo++) {
      if (this.#text[this.#countedTo] === "\n") this.#lines++;
    }
    return this.#lines;
  }

  run(): void {
    while (this.#at < this.#text.length) {
      const column = this.#skipIndent();
      if (this.#atLineEnd() || this.#atDocumentMark(column)) this.#skipLine();
      else this.#entry(column);
    }
  }

  /** One line of block content, starting at a key, a dash, or a scalar. */
  #entry(column: number): void {
    if (this.#isDash()) {
      this.#openItem(column);
      this.#at++;
      const inner = column + 1 + this.#skipSpaces();
      if (this.#atLineEnd()) this.#skipLine();
      else this.#entry(inner);
      return;
    }
    if (this.#peek() === "?" && this.#endsWord(1)) {
      throw new Unacceptable("A key written with `?` is not accepted.");
    }
    const key = this.#blockKey();
    if (key === undefined) this.#value(this.#indentOfParent());
    else {
      this.#openKey(column, key);
      this.#value(column);
    }
  }

  /**
   * The value after a key or dash; `indent` is the column that ends it when a line returns to it.
   */
  #value(indent: number): void {
    this.#skipSpaces();
    this.#skipProperties();
    const first = this.#peek();
    if (this.#atLineEnd()) this.#skipLine();
    else if (first === "|" || first === ">") this.#skipDeeperLines(indent);
    else if (first === "{" || first === "[") {
      this.#flow(this.#currentPath(), this.#blocks.length);
      this.#skipLine();
    } else if (first === '"' || first === "'") {
      this.#quoted(first);
      this.#skipLine();
    } else this.#skipDeeperLines(indent);
  }

  #openItem(column: number): void {
    this.#closeDeeper(column);
    let top = this.#blocks.at(-1);
    if (top?.kind !== "sequence" || top.column !== column) top = this.#open("sequence", column);
    top.index++;
    top.current = `${top.path}[${top.index}]`;
  }

  #openKey(column: number, key: string): void {
    this.#closeDeeper(column);
    // A sequence may stand at the column of its parent's keys; the next key ends it.
    if (this.#blocks.at(-1)?.kind === "sequence" && this.#blocks.at(-1)?.column === column) {
      this.#blocks.pop();
    }
    let top = this.#blocks.at(-1);
    if (top?.kind !== "mapping" || top.column !== column) top = this.#open("mapping", column);
    top.current = joined(top.path, key);
    this.#note(top.seen, key, top.current);
  }

  #open(kind: Block["kind"], column: number): Block {
    if (this.#blocks.length >= this.#depthMax) throw this.#tooDeep();
    const path = this.#currentPath();
    const block: Block = { kind, column, path, seen: new Set(), current: path, index: -1 };
    this.#blocks.push(block);
    return block;
  }

  #closeDeeper(column: number): void {
    while ((this.#blocks.at(-1)?.column ?? -1) > column) this.#blocks.pop();
  }

  /** A flow collection from its opening to its closing bracket. */
  #flow(path: string, depth: number): void {
    if (depth >= this.#depthMax) throw this.#tooDeep();
    const closing = this.#peek() === "{" ? "}" : "]";
    const seen = new Set<string>();
    let index = 0;
    this.#at++;
    while (this.#at < this.#text.length) {
      this.#skipBlank();
      if (this.#peek() === closing) {
        this.#at++;
        return;
      }
      if (this.#peek() === ",") {
        this.#at++;
        index++;
      } else this.#flowEntry(closing === "}" ? path : `${path}[${index}]`, seen, depth);
    }
  }

  /** One entry of a flow collection: a value, or a key with its value. */
  #flowEntry(path: string, seen: Set<string>, depth: number): void {
    this.#skipProperties();
    const first = this.#peek();
    if (first === "{" || first === "[") {
      this.#flow(path, depth + 1);
      return;
    }
    const quoted = first === '"' || first === "'";
    const start = this.#at;
    const word = quoted ? this.#quoted(first) : this.#flowPlain();
    this.#skipBlank();
    if (this.#peek() !== ":") {
      if (this.#at === start) this.#at++; // A stray bracket: step over it, the parser refuses it.
      return;
    }
    this.#at++;
    const inner = joined(path, word);
    this.#note(seen, word, inner);
    this.#skipBlank();
    if (!"},]".includes(this.#peek())) this.#flowValue(inner, depth);
  }

  #flowValue(path: string, depth: number): void {
    this.#skipProperties();
    const first = this.#peek();
    if (first === "{" || first === "[") this.#flow(path, depth + 1);
    else if (first === '"' || first === "'") this.#quoted(first);
    else this.#flowPlain();
  }

  /**
   * A plain scalar in flow context; stops before `,`, brackets, a comment, or a colon that ends a
   * key.
   */
  #flowPlain(): string {
    const start = this.#at;
    while (this.#at < this.#text.length) {
      const character = this.#peek();
      if (",[]{}\n".includes(character)) break;
      if (character === ":" && (this.#endsWord(1) || ",[]{}".includes(this.#peek(1)))) break;
      if (character === "#" && this.#at > start && isBlank(this.#text[this.#at - 1])) break;
      this.#at++;
    }
    return this.#text.slice(start, this.#at).trim();
  }

  /**
   * The key that starts here, the position after its colon; undefined, and nothing moved, when
   * there is none.
   */
  #blockKey(): string | undefined {
    const start = this.#at;
    this.#skipProperties();
    const first = this.#peek();
    const quoted = first === '"' || first === "'";
    const key = quoted ? this.#quoted(first) : this.#blockPlainKey();
    if (key !== undefined && quoted) this.#skipSpaces();
    if (key !== undefined && this.#peek() === ":" && this.#endsWord(1)) {
      this.#at++;
      return key;
    }
    this.#at = start;
    return undefined;
  }

  #blockPlainKey(): string | undefined {
    if ("{[|>#".includes(this.#peek())) return undefined;
    const start = this.#at;
    for (; this.#at < this.#text.length && this.#peek() !== "\n"; this.#at++) {
      if (this.#peek() === ":" && this.#endsWord(1))
        return this.#text.slice(start, this.#at).trim();
      if (this.#peek() === "#" && isBlank(this.#text[this.#at - 1])) return undefined;
    }
    return undefined;
  }

  /** A quoted scalar, over any number of lines; gives its text as far as keys need it. */
  #quoted(mark: string): string {
    const start = this.#at++;
    for (; this.#at < this.#text.length; this.#at++) {
      if (mark === '"' && this.#peek() === "\\") this.#at++;
      else if (this.#peek() === mark) {
        if (mark === '"' || this.#peek(1) !== "'") break;
        this.#at++;
      }
    }
    this.#at = Math.min(this.#at + 1, this.#text.length);
    return unquoted(this.#text.slice(start, this.#at), mark);
  }

  /** Anchors and tags before a node. */
  #skipProperties(): void {
    while (this.#peek() === "&" || this.#peek() === "!") {
      while (this.#at < this.#text.length && !isBlank(this.#peek())) this.#at++;
      this.#skipSpaces();
    }
  }

  /** The rest of this line and every further one that is blank or deeper than `indent`. */
  #skipDeeperLines(indent: number): void {
    this.#skipLine();
    while (this.#at < this.#text.length) {
      const start = this.#at;
      const column = this.#skipIndent();
      const blank = this.#peek() === "\n" || this.#peek() === "\r";
      if (!blank && column <= indent) {
        this.#at = start;
        return;
      }
      this.#skipLine();
    }
  }

  /** Spaces, line ends and comments inside a flow collection. */
  #skipBlank(): void {
    while (this.#at < this.#text.length) {
      if (isBlank(this.#peek())) this.#at++;
      else if (this.#peek() === "#" && isBlank(this.#text[this.#at - 1])) this.#skipLine();
      else return;
    }
  }

  #skipIndent(): number {
    const start = this.#at;
    while (this.#peek() === " ") this.#at++;
    return this.#at - start;
  }

  #skipSpaces(): number {
    const start = this.#at;
    while (this.#peek() === " " || this.#peek() === "\t") this.#at++;
    return this.#at - start;
  }

  #skipLine(): void {
    const end = this.#text.indexOf("\n", this.#at);
    this.#at = end < 0 ? this.#text.length : end + 1;
  }

  #note(seen: Set<string>, key: string, path: string): void {
    this.keys.push({ path, line: this.line(), repeated: seen.has(key) });
    seen.add(key);
  }

  #atLineEnd(): boolean {
    return this.#at >= this.#text.length || "\n\r#".includes(this.#peek());
  }

  #atDocumentMark(column: number): boolean {
    if (column > 0) return false;
    const mark = this.#text.slice(this.#at, this.#at + 3);
    return (mark === "---" || mark === "...") && this.#endsWord(3);
  }

  #isDash(): boolean {
    return this.#peek() === "-" && this.#endsWord(1);
  }

  /** True when the character `ahead` is a blank or the end of the text. */
  #endsWord(ahead: number): boolean {
    return this.#at + ahead >= this.#text.length || isBlank(this.#peek(ahead));
  }

  #peek(ahead = 0): string {
    return this.#text[this.#at + ahead] ?? "";
  }

  #currentPath(): string {
    return this.#blocks.at(-1)?.current ?? "";
  }

  #indentOfParent(): number {
    return this.#blocks.at(-1)?.column ?? -1;
  }

  #tooDeep(): Unacceptable {
    return new Unacceptable(`The file nests deeper than ${this.#depthMax} levels.`);
  }
}

function unquoted(raw: string, mark: string): string {
  const inner = raw.slice(1, -1);
  if (mark === "'") return inner.replaceAll("''", "'");
  try {
    return String(JSON.parse(raw));
  } catch {
    return inner; // An escape only YAML knows: compared as written.
  }
}

const joined = (path: string, key: string): string => (path === "" ? key : `${path}.${key}`);

const isBlank = (character: string | undefined): boolean =>
  character === " " || character === "\t" || character === "\n" || character === "\r";
