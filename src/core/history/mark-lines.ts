/** Encodes a high-water mark as lines of JSON, so that a file of it can grow by short appends. */

import type { ChainHead } from "#core/audit/chain.ts";
import { emptyMark, type HighWaterMark } from "./mark.ts";

/**
 * Encodes the mark as one line that ends in a line feed.
 *
 * @param scopes keys of the CRL scopes that the line contains; earlier lines hold the other ones
 */
export function encodeMark(mark: HighWaterMark, scopes: Iterable<string>): string {
  const { epoch, event, ledger, revocationSequence, crlNumbers } = mark;
  const crl = [...scopes].map((scope) => [scope, crlNumbers.get(scope) ?? 0]);
  const line = {
    epoch,
    event: [event.seq, event.hash],
    ledger: [ledger.seq, ledger.hash],
    revocation: revocationSequence,
    crl: Object.fromEntries(crl),
  };
  return `${JSON.stringify(line)}\n`;
}

/**
 * Parses the lines of a file: the last one counts, and CRL numbers are collected from all. A last
 * line without line feed was cut off by a crash and is ignored.
 *
 * @returns undefined if a line is damaged, or if there is no complete line
 */
export function parseMark(text: string): HighWaterMark | undefined {
  const lines = text.split("\n").slice(0, -1);
  let mark: HighWaterMark | undefined;
  for (const line of lines) {
    mark = parseLine(line, mark ?? emptyMark);
    if (mark === undefined) return undefined;
  }
  return mark;
}

function parseLine(line: string, before: HighWaterMark): HighWaterMark | undefined {
  const fields = parseJson(line);
  const [event, ledger] = [parseHead(fields?.event), parseHead(fields?.ledger)];
  const { epoch, revocation, crl } = fields ?? {};
  if (event === undefined || ledger === undefined) return undefined;
  if (!isNumber(epoch) || !isNumber(revocation)) return undefined;
  if (typeof crl !== "object" || crl === null) return undefined;
  const numbers = Object.entries(crl);
  if (!numbers.every(([, number]) => isNumber(number))) return undefined;
  // A new epoch begins with all scopes; numbers of the history before it no longer count.
  const earlier = epoch === before.epoch ? before.crlNumbers : [];
  const crlNumbers = new Map([...earlier, ...numbers]);
  return { epoch, event, ledger, revocationSequence: revocation, crlNumbers };
}

function parseJson(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    // An object of JSON has properties by name.
    return typeof value === "object" ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined; // The caller reports the file.
  }
}

function parseHead(value: unknown): ChainHead | undefined {
  if (!Array.isArray(value)) return undefined;
  const [seq, hash] = value;
  return isNumber(seq) && typeof hash === "string" ? { seq, hash } : undefined;
}

const isNumber = (value: unknown): value is number => Number.isSafeInteger(value);
