/** Reads comma-separated values as they arrive (RFC 4180), rows below a header as objects. */

/** A row by the names of the header, in lower case; or what is wrong with it. */
export type FoundRow =
  | { readonly line: number; readonly row: Readonly<Record<string, string>> }
  | { readonly line: number; readonly fault: string };

/** Looks at each character once, and keeps no more than one row. */
export class CsvRows {
  #header: readonly string[] | undefined;
  #line = 1;
  #began = 1;
  #fields: string[] = [];
  #field: string[] = [];
  #state: "start" | "plain" | "quoted" | "closing" = "start";
  #length = 0;
  #broken = false;

  /** The rows that end in this piece. */
  *push(piece: string): Generator<FoundRow> {
    for (let at = 0; at < piece.length && !this.#broken; at++) {
      const character = piece.charAt(at);
      const ended = this.#take(character);
      if (character === "\n") this.#line += 1;
      if (ended) yield* this.#row();
      if (++this.#length > lengthMax) yield this.#fail(`is longer than ${lengthMax} characters`);
    }
  }

  /** After the last piece: the row that no line end follows. */
  *finish(): Generator<FoundRow> {
    if (this.#broken) return;
    if (this.#state === "quoted") yield this.#fail("breaks off within quotes");
    else if (this.#fields.length > 0 || this.#field.length > 0) {
      this.#endField();
      yield* this.#row();
    }
  }

  /** True when a row has ended. */
  #take(character: string): boolean {
    if (this.#state === "quoted") {
      if (character === '"') this.#state = "closing";
      else this.#field.push(character);
      return false;
    }
    if (this.#state === "closing" && character === '"') {
      this.#field.push(character);
      this.#state = "quoted";
      return false;
    }
    if (this.#state === "start" && character === '"') {
      this.#state = "quoted";
      return false;
    }
    if (character === ",") this.#endField();
    else if (character === "\n") {
      this.#endField();
      return true;
    } else if (character !== "\r" && character !== "\ufeff") {
      this.#field.push(character);
      this.#state = "plain";
    }
    return false;
  }

  #endField(): void {
    this.#fields.push(this.#field.join(""));
    this.#field = [];
    this.#state = "start";
  }

  *#row(): Generator<FoundRow> {
    const fields = this.#fields;
    const line = this.#began;
    this.#fields = [];
    this.#length = 0;
    this.#began = this.#line;
    if (fields.length === 1 && fields[0] === "") return;
    if (this.#header === undefined) {
      this.#header = fields.map((name) => name.trim().toLowerCase());
      return;
    }
    if (fields.length !== this.#header.length) {
      yield { line, fault: `has ${fields.length} fields, and the header ${this.#header.length}` };
      return;
    }
    const row = Object.fromEntries(this.#header.map((name, at) => [name, fields[at] ?? ""]));
    yield { line, row };
  }

  #fail(fault: string): FoundRow {
    this.#broken = true;
    return { line: this.#began, fault };
  }
}

const lengthMax = 1_048_576;
