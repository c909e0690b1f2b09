/**
 * Reads one HTTP/1 response strictly and within bounds: whatever arrives, and however it is cut
 * into pieces, costs time and memory in proportion to what may be read (RFC 9112).
 */

/** A response that was read to its end. */
export interface HttpResponse {
  readonly status: number;
  /** Where a redirect leads; undefined without exactly one such field. */
  readonly location: string | undefined;
  readonly body: Uint8Array;
}

/** What is wrong with a response, as half a sentence of which the server is the subject. */
export class HttpFault extends Error {
  override readonly name = "HttpFault";
}

/**
 * Takes the octets of a connection as they come. Only the head of a response is read when its
 * status is not 200: nobody looks at the body.
 */
export class ResponseReader {
  #rest: Uint8Array = new Uint8Array(headMax);
  #filled = 0;
  #head: Head | undefined;
  #body: BodyReader | undefined;

  /** The response, when these octets complete it. Throws HttpFault. */
  push(octets: Uint8Array): HttpResponse | undefined {
    if (this.#body !== undefined) return this.#finished(this.#body.push(octets));
    const taken = octets.subarray(0, headMax - this.#filled);
    const scanned = Math.max(this.#filled - 3, 0);
    this.#rest.set(taken, this.#filled);
    this.#filled += taken.length;
    const seen = this.#rest.subarray(0, this.#filled);
    const end = endOfHead(seen, scanned);
    if (end === undefined) {
      if (this.#filled < headMax) return undefined;
      throw new HttpFault(`sent a header of more than ${headMax} octets`);
    }
    this.#head = readHead(latin1(seen.subarray(0, end)));
    this.#body = bodyReader(this.#head);
    const first = this.#finished(this.#body.push(seen.subarray(end)));
    return first ?? this.#finished(this.#body.push(octets.subarray(taken.length)));
  }

  /** The response, when the end of the connection completes it; undefined when it was cut off. */
  end(): HttpResponse | undefined {
    return this.#finished(this.#body?.end() ?? false);
  }

  #finished(complete: boolean): HttpResponse | undefined {
    if (!complete || this.#head === undefined) return undefined;
    const { status, location } = this.#head;
    return { status, location, body: this.#body?.octets() ?? new Uint8Array() };
  }
}

interface Head {
  readonly status: number;
  readonly location: string | undefined;
  readonly framing: "none" | "chunked" | "close" | { readonly length: number };
}

/** Behind the empty line; unseen line ends begin at `from` (RFC 9112 §2.2: or LF alone). */
function endOfHead(seen: Uint8Array, from: number): number | undefined {
  for (let at = seen.indexOf(lf, from); at >= 0; at = seen.indexOf(lf, at + 1)) {
    const before = seen[at - 1] === cr ? at - 2 : at - 1;
    if (before >= 0 && seen[before] === lf) return at + 1;
  }
  return undefined;
}

function readHead(text: string): Head {
  const [first = "", ...lines] = text.split(/\r?\n/).slice(0, -2);
  const status = /^HTTP\/1\.[01] ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/.exec(first)?.[1];
  if (status === undefined) throw new HttpFault("did not answer in HTTP/1.1");
  const fields = lines.map(readField);
  const values = (name: string) =>
    fields.filter((field) => field.name === name).map(({ value }) => value);
  const locations = values("location");
  return {
    status: Number(status),
    location: locations.length === 1 ? locations[0] : undefined,
    framing: status === "200" ? framingOf(values) : "none",
  };
}

/** RFC 9112 §5.1, §5.2: no blank before the colon, no folded line. */
function readField(line: string): { readonly name: string; readonly value: string } {
  const found = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([\t\x20-\x7e\x80-\xff]*)$/.exec(line);
  const [, name, value] = found ?? [];
  if (name === undefined || value === undefined) {
    throw new HttpFault("sent a header line that is none");
  }
  return { name: name.toLowerCase(), value: value.trim() };
}

/** RFC 9112 §6.3; two lengths, or a length beside chunks, are refused and not guessed at. */
function framingOf(values: (name: string) => readonly string[]): Head["framing"] {
  const [codings, lengths] = [values("transfer-encoding"), values("content-length")];
  if (codings.length > 0) {
    if (lengths.length > 0 || codings.length > 1 || codings[0]?.toLowerCase() !== "chunked") {
      throw new HttpFault("sent a body whose length is not clear");
    }
    return "chunked";
  }
  if (lengths.length === 0) return "close";
  const [length = ""] = lengths;
  if (lengths.length > 1 || !/^\d+$/.test(length)) {
    throw new HttpFault("sent a body whose length is not clear");
  }
  // Digits without end are too many octets, whatever number they are.
  if (Number(length) > bodyMax) throw tooLong();
  return { length: Number(length) };
}

/** What collects a body; `push` and `end` tell whether it is complete. */
interface BodyReader {
  push(octets: Uint8Array): boolean;
  end(): boolean;
  octets(): Uint8Array;
}

function bodyReader({ framing }: Head): BodyReader {
  if (framing === "chunked") return new ChunkedBody();
  if (framing === "close") return new PlainBody(undefined);
  return new PlainBody(framing === "none" ? 0 : framing.length);
}

/** A body of a known length, or one that the end of the connection ends. */
class PlainBody implements BodyReader {
  readonly #length: number | undefined;
  readonly #store = new Uint8Array(bodyMax);
  #filled = 0;

  constructor(length: number | undefined) {
    this.#length = length;
  }

  push(octets: Uint8Array): boolean {
    const wanted = octets.subarray(0, (this.#length ?? Number.POSITIVE_INFINITY) - this.#filled);
    if (this.#filled + wanted.length > bodyMax) throw tooLong();
    this.#store.set(wanted, this.#filled);
    this.#filled += wanted.length;
    return this.#filled === this.#length;
  }

  end(): boolean {
    return this.#length === undefined;
  }

  octets(): Uint8Array {
    return this.#store.slice(0, this.#filled);
  }
}

/** RFC 9112 §7.1: chunks, with extensions that nobody reads; trailers are not waited for. */
class ChunkedBody implements BodyReader {
  readonly #store = new Uint8Array(bodyMax);
  #filled = 0;
  #line = "";
  /** Octets left of this chunk and its line end; zero while a size is read. */
  #left = 0;
  #received = 0;

  push(octets: Uint8Array): boolean {
    this.#received += octets.length;
    if (this.#received > framedMax) throw tooLong();
    for (const octet of octets) {
      if (this.#left > 0) this.#inChunk(octet);
      else if (this.#inSize(octet)) return true;
    }
    return false;
  }

  end(): boolean {
    return false;
  }

  octets(): Uint8Array {
    return this.#store.slice(0, this.#filled);
  }

  #inChunk(octet: number): void {
    if (this.#left > 2) {
      this.#store[this.#filled++] = octet;
    } else if (octet !== (this.#left === 2 ? cr : lf)) {
      throw new HttpFault("sent a chunk that is longer than it said");
    }
    this.#left--;
  }

  /** True at the chunk of length zero, which is the last. */
  #inSize(octet: number): boolean {
    this.#line += String.fromCharCode(octet);
    if (this.#line.length > sizeLineMax) throw new HttpFault("sent a chunk without a size");
    if (octet !== lf) return false;
    const digits = /^([0-9A-Fa-f]+)[\t ]*(?:;[^\r\n]*)?\r\n$/.exec(this.#line)?.[1];
    if (digits === undefined) throw new HttpFault("sent a chunk without a size");
    this.#line = "";
    const size = Number.parseInt(digits, 16);
    if (size > bodyMax - this.#filled) throw tooLong();
    this.#left = size === 0 ? 0 : size + 2;
    return size === 0;
  }
}

const tooLong = () => new HttpFault(`sent more than ${bodyMax} octets`);

const latin1 = (octets: Uint8Array): string => Buffer.from(octets).toString("latin1");

const [cr, lf] = [0x0d, 0x0a];
const headMax = 16_384;
/** P-10: what http-01 reads of a body. */
const bodyMax = 4096;
/** P-10: what is read of an answer in all, with the sizes of its chunks. */
const framedMax = 65_536;
const sizeLineMax = 256;
