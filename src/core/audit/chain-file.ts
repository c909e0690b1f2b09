/** Verifies an exported audit chain with nothing but the file. */

import { LineCutter } from "#core/lines.ts";
import { type AuditEvent, type ChainHead, genesis, violation } from "./chain.ts";
import { isObject, readDocumentText } from "./ledger-verification-text.ts";
import { type EventText, eventTexts } from "./members.ts";

/** What a file proves: every event in it, from the first to the last, and nothing beside them. */
export interface ProvenChain {
  readonly valid: true;
  readonly events: number;
  /** Above 1 what came before is not proven; 0 in a file without events. */
  readonly firstSeq: number;
  /** Where it ends; whether that is the end of the chain, the file cannot say. */
  readonly head: ChainHead;
}

/** The first thing that is wrong. */
export interface BrokenChain {
  readonly valid: false;
  /** From 1. */
  readonly line: number;
  /** The number of the event that should stand there; undefined in the first line. */
  readonly brokenAtSeq: number | undefined;
  readonly reason: "unreadable" | "gap" | "link" | "hash";
  /** For people, without a full stop. */
  readonly sentence: string;
}

/**
 * Reads the JSON lines of `GET /api/events/export`, of any number, each of at most
 * `chainLineOctetsMax`, and recomputes every link and hash (AUD-2, AUD-6). Only what the
 * hash binds, and the request id, may stand in a line. A line feed may be missing behind the last.
 */
export async function verifyChainFile(
  pieces: AsyncIterable<Uint8Array>,
): Promise<ProvenChain | BrokenChain> {
  const chain = new FileChain();
  const cutter = new LineCutter(chainLineOctetsMax);
  for await (const piece of pieces) {
    for (const line of cutter.of(piece)) {
      const broken = chain.take(line);
      if (broken !== undefined) return broken;
    }
  }
  const rest = cutter.rest();
  return (rest.length === 0 ? undefined : chain.take(rest)) ?? chain.proven;
}

/** Octets of a line; pkid writes none of a tenth of that. */
export const chainLineOctetsMax = 1_048_576;

class FileChain {
  #events = 0;
  #first: AuditEvent | undefined;
  #head = genesis;

  get proven(): ProvenChain {
    const [events, firstSeq] = [this.#events, this.#first?.seq ?? 0];
    return { valid: true, events, firstSeq, head: this.#head };
  }

  /** Undefined stands for a line that is too long. */
  take(line: Uint8Array | undefined): BrokenChain | undefined {
    const event = line === undefined ? "it is too long" : eventIn(line);
    if (typeof event === "string") {
      return this.#broken("unreadable", `Line ${this.#events + 1} is no event: ${event}`);
    }
    this.#first ??= this.#begin(event);
    const reason = violation(this.#head, event);
    if (reason !== undefined) return this.#broken(reason, this.#said(reason, event));
    this.#head = { seq: event.seq, hash: event.hash };
    this.#events += 1;
    return undefined;
  }

  /** A file that begins later takes the word of its first event for what came before. */
  #begin(event: AuditEvent): AuditEvent {
    if (event.seq > 1) this.#head = { seq: event.seq - 1, hash: event.prevHash };
    return event;
  }

  #broken(reason: BrokenChain["reason"], sentence: string): BrokenChain {
    const brokenAtSeq = this.#first === undefined ? undefined : this.#head.seq + 1;
    return { valid: false, line: this.#events + 1, brokenAtSeq, reason, sentence };
  }

  #said(reason: "gap" | "link" | "hash", { seq }: AuditEvent): string {
    const [line, wanted] = [this.#events + 1, this.#head.seq + 1];
    switch (reason) {
      case "gap":
        return seq > wanted
          ? `Event ${wanted} is missing: line ${line} has event ${seq}`
          : `Line ${line} has event ${seq} where event ${wanted} belongs`;
      case "link":
        return `Event ${seq} in line ${line} does not link to the one before it`;
      default:
        return `The hash of event ${seq} in line ${line} does not recompute`;
    }
  }
}

/** The event of a line, or why it is none. */
function eventIn(line: Uint8Array): AuditEvent | string {
  const members = membersIn(line);
  if (typeof members === "string") return members;
  const { seq } = members;
  if (typeof seq !== "number" || !Number.isSafeInteger(seq) || seq < 1) {
    return "its seq is no number from 1 on";
  }
  const unknown = Object.keys(members).find((name) => !known.has(name));
  if (unknown !== undefined) return `no event has a member ${JSON.stringify(unknown)}`;
  const unfit = texts.find(([, name]) => !isText(members[name], name));
  if (unfit !== undefined) return `its ${unfit[1]} is none`;
  const read = texts.map(([member, name]) => [member, members[name] ?? ""]);
  return { ...(Object.fromEntries(read) as Record<EventText, string>), seq }; // See above.
}

/** The object of a line, in which no name may stand twice, or why it is none. */
function membersIn(line: Uint8Array): Readonly<Record<string, unknown>> | string {
  try {
    const text = utf8.decode(line);
    const value: unknown = JSON.parse(text);
    // What writes back as the same text has every name once; the long way is for other writers.
    if (isObject(value) && JSON.stringify(value) === text) return value;
  } catch {
    return "it is not a JSON object in UTF-8";
  }
  const document = readDocumentText(line);
  return typeof document === "string" ? document : document.members;
}

/**
 * True for what stands in the hash as itself: an absent text and an empty one, or half a character
 * and the sign for it, would be hashed alike.
 */
function isText(value: unknown, name: string): boolean {
  if (value === undefined) return !always.has(name);
  if (typeof value !== "string" || value === "" || !value.isWellFormed()) return false;
  return !hashes.has(name) || /^[0-9a-f]{64}$/.test(value);
}

// The keys of the table are members of every event.
const texts = Object.entries(eventTexts) as readonly (readonly [EventText, string])[];
const known: ReadonlySet<string> = new Set(["seq", ...Object.values(eventTexts)]);
const hashes: ReadonlySet<string> = new Set(["prev_hash", "hash"]);
const always: ReadonlySet<string> = new Set([
  "id",
  "timestamp",
  "actor",
  "action",
  "result",
  "prev_hash",
  "hash",
]);
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
