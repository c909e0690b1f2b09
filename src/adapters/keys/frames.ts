/** The wire between server and signer: length-prefixed binary frames, many to a write. */

/**
 * Kinds of frame: up to 15 by the server, from 16 on by the signer; the answer to a request
 * carries its id, whichever side asked.
 */
export const frameKinds = {
  configure: 1,
  call: 2,
  sign: 3,
  served: 4,
  denied: 5,
  /** Has a look taken again at what was refused or missing. */
  again: 6,
  ready: 16,
  result: 17,
  signature: 18,
  refused: 19,
  fault: 20,
  note: 21,
  request: 22,
  tally: 23,
} as const;

export type FrameKind = (typeof frameKinds)[keyof typeof frameKinds];

/** Longest frame either side accepts: room for a CRL with twenty million entries. */
export const frameBytesMax = 1024 * 1024 * 1024;

/** Takes one whole frame; `body` is valid only until the call returns. */
export type FrameHandler = (kind: number, id: number, body: Buffer) => void;

/** Cuts a byte stream into frames. */
export class FrameReader {
  /** A frame of which only a part has arrived, in a buffer of its final size once that is known. */
  #partial = Buffer.alloc(0);
  #filled = 0;
  /** Octets of chunks that were copied since their memory was last given back. */
  #copied = 0;

  /**
   * Hands on every frame completed by `chunk`; throws when the peer announces an impossible length.
   */
  push(chunk: Buffer, handle: FrameHandler): void {
    let rest = chunk;
    while (this.#filled > 0 && rest.length > 0) rest = this.#complete(rest, handle);
    let offset = 0;
    while (rest.length - offset >= headBytes) {
      const end = offset + 4 + frameLength(rest, offset);
      if (end > rest.length) break;
      handle(rest.readUInt8(offset + 4), rest.readUInt32LE(offset + 5), body(rest, offset, end));
      offset = end;
    }
    if (offset < rest.length) this.#keep(rest.subarray(offset));
  }

  /** Fills the partial frame from `chunk`; gives what is left of the chunk. */
  #complete(chunk: Buffer, handle: FrameHandler): Buffer {
    const wanted = this.#filled < headBytes ? headBytes : 4 + frameLength(this.#partial, 0);
    const taken = Math.min(wanted - this.#filled, chunk.length);
    chunk.copy(this.#partial, this.#filled, 0, taken);
    this.#filled += taken;
    this.#collect(taken);
    if (this.#filled >= headBytes) this.#settle(handle);
    return chunk.subarray(taken);
  }

  /** With the head complete: makes room for the whole frame, and hands it on when it is whole. */
  #settle(handle: FrameHandler): void {
    const total = 4 + frameLength(this.#partial, 0);
    if (this.#partial.length < total) {
      const roomy = Buffer.allocUnsafe(total);
      this.#partial.copy(roomy, 0, 0, this.#filled);
      this.#partial = roomy;
    }
    if (this.#filled < total) return;
    const whole = this.#partial;
    this.#filled = 0;
    this.#partial = Buffer.alloc(0);
    handle(whole.readUInt8(4), whole.readUInt32LE(5), body(whole, 0, total));
    if (total > collectedBytes) setImmediate(() => Bun.gc(true));
  }

  /**
   * A signer allocates so little that the memory of a long message, and of its chunks, would stay
   * until the next one.
   */
  #collect(taken: number): void {
    this.#copied += taken;
    if (this.#copied < collectedBytes) return;
    this.#copied = 0;
    Bun.gc(true);
  }

  #keep(start: Buffer): void {
    const known = start.length >= headBytes ? 4 + frameLength(start, 0) : headBytes;
    this.#partial = Buffer.allocUnsafe(Math.max(known, headBytes));
    start.copy(this.#partial);
    this.#filled = start.length;
  }
}

/**
 * What a socket must offer: gives the octets taken, less than offered under backpressure, −1 when
 * closed.
 */
export interface FrameSink {
  write(bytes: Buffer): number;
}

/**
 * Collects frames and writes everything queued in the same tick in one call. Long parts are not
 * copied: they wait by reference, between what was collected before and after them, and must stay
 * as they are until they have left.
 */
export class Outbox {
  readonly #sink: FrameSink;
  /** What leaves before the buffer, in order; of the first block `#sent` octets have left. */
  #blocks: Uint8Array[] = [];
  #sent = 0;
  #buffer = Buffer.allocUnsafe(startBytes);
  #length = 0;
  /** Frames queued since the last flush. */
  #frames = 0;
  #scheduled = false;
  #blocked = false;

  constructor(sink: FrameSink) {
    this.#sink = sink;
  }

  /**
   * Queues one frame. The first of a turn of the event loop leaves once what is under way waits for
   * something, with whatever is queued by then; those after it leave at the end of the turn, or
   * with `flush`, or with as many others as are worth waking the other process: a long turn must
   * not keep it waiting for the first of many.
   */
  add(kind: FrameKind, id: number, parts: readonly Uint8Array[]): void {
    let bodyBytes = 0;
    for (const part of parts) bodyBytes += part.length;
    if (bodyBytes + 5 > frameBytesMax) throw new Error("a message is larger than a signer frame");
    this.#reserve(headBytes);
    this.#buffer.writeUInt32LE(bodyBytes + 5, this.#length);
    this.#buffer.writeUInt8(kind, this.#length + 4);
    this.#buffer.writeUInt32LE(id, this.#length + 5);
    this.#length += headBytes;
    for (const part of parts) this.#append(part);
    if (this.#blocked) return;
    this.#frames++;
    if (this.#frames >= framesMax) this.flush();
    if (this.#scheduled || this.#frames === 0) return;
    this.#scheduled = true;
    queueMicrotask(() => this.flush());
    // The others not at the end of the microtasks: every request under load has its own, and each
    // write wakes the other process.
    setImmediate(() => {
      this.#scheduled = false;
      this.flush();
    });
  }

  /** Writes what is queued; what the socket does not take waits for `drained`. */
  flush(): void {
    this.#frames = 0;
    while (!this.#blocked && this.#blocks.length > 0) this.#writeBlock();
    if (this.#blocked || this.#length === 0) return;
    const written = this.#write(this.#buffer.subarray(0, this.#length));
    this.#buffer.copyWithin(0, written, this.#length);
    this.#length -= written;
    this.#blocked = this.#length > 0;
  }

  /** The socket takes bytes again. */
  drained(): void {
    this.#blocked = false;
    this.flush();
  }

  #append(part: Uint8Array): void {
    if (part.length <= copiedBytesMax) {
      this.#reserve(part.length);
      this.#buffer.set(part, this.#length);
      this.#length += part.length;
      return;
    }
    this.#setAside();
    this.#blocks.push(part);
  }

  #writeBlock(): void {
    const [block] = this.#blocks;
    if (block === undefined) return;
    this.#sent += this.#write(
      Buffer.from(block.buffer, block.byteOffset).subarray(this.#sent, block.length),
    );
    this.#blocked = this.#sent < block.length;
    if (this.#blocked) return;
    this.#blocks.shift();
    this.#sent = 0;
  }

  /**
   * Octets that left; when the peer is gone all of them, whoever owns the socket hears of it by its
   * close event.
   */
  #write(octets: Buffer): number {
    const written = this.#sink.write(octets);
    if (written >= 0) return written;
    this.#blocks = [];
    return octets.length;
  }

  /** Puts what was collected so far into the row of blocks. */
  #setAside(): void {
    if (this.#length > 0) this.#blocks.push(this.#buffer.subarray(0, this.#length));
    this.#buffer = Buffer.allocUnsafe(startBytes);
    this.#length = 0;
  }

  #reserve(more: number): void {
    const wanted = this.#length + more;
    if (wanted <= this.#buffer.length) return;
    if (wanted > keptBytes) {
      this.#setAside();
      return;
    }
    const roomy = Buffer.allocUnsafe(Math.max(wanted, this.#buffer.length * 2));
    this.#buffer.copy(roomy, 0, 0, this.#length);
    this.#buffer = roomy;
  }
}

/** Encodes a JSON body. */
export const jsonBody = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

/** Decodes a JSON body; the caller checks its shape. */
export const readJson = (bytes: Buffer): unknown => JSON.parse(bytes.toString("utf8"));

function frameLength(bytes: Buffer, offset: number): number {
  const length = bytes.readUInt32LE(offset);
  if (length < 5 || length > frameBytesMax) throw new Error("a signer frame has a wrong length");
  return length;
}

const body = (bytes: Buffer, offset: number, end: number): Buffer =>
  bytes.subarray(offset + headBytes, end);

/** Of long messages memory is given back whenever so much was received. */
const collectedBytes = 8 * 1024 * 1024;
/** u32 length of the rest, u8 kind, u32 id. */
const headBytes = 9;
/** Frames that leave together before the turn ends. */
const framesMax = 16;
const startBytes = 64 * 1024;
/** A buffer never grows beyond this. */
const keptBytes = 1024 * 1024;
/** Longer parts are not copied; shorter than a fresh buffer, so that they always fit in one. */
const copiedBytesMax = 32 * 1024;
