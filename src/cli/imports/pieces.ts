/** Reads files of any length piece by piece, and hands out entries with the place they stand at. */

import { closeSync, openSync, readSync } from "node:fs";

import { type FoundRow, CsvRows } from "#core/foreign-ca/csv-rows.ts";
import type { ForeignEntry } from "#core/foreign-ca/entry.ts";
import { type FoundJson, JsonValues } from "#core/foreign-ca/json-values.ts";
import { type RecordSource, type Row, recordReaders } from "#core/foreign-ca/records.ts";
import { Failure } from "#cli/failure.ts";

/** An entry, or why there is none, and where: `file:line`. */
export type Placed =
  | { readonly place: string; readonly entry: ForeignEntry }
  | { readonly place: string; readonly fault: string; readonly serial?: string | undefined };

/** The text of a file in pieces; fails, naming it, when it cannot be read or is no UTF-8. */
export function* piecesOf(file: string): Generator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });
  let opened: number | undefined;
  try {
    opened = openSync(file, "r");
    const buffer = new Uint8Array(pieceOctets);
    for (;;) {
      const read = readSync(opened, buffer);
      if (read === 0) break;
      yield decoder.decode(buffer.subarray(0, read), { stream: true });
    }
    yield decoder.decode();
  } catch (error) {
    if (error instanceof TypeError) throw new Failure(`${file} is no text in UTF-8.`);
    throw unreadable(file, error);
  } finally {
    if (opened !== undefined) closeSync(opened);
  }
}

/** The lines of a file, without their ends, from line 1; one of over a MiB fails. */
export function* linesOf(file: string): Generator<readonly [number: number, line: string]> {
  let number = 1;
  let rest = "";
  for (const piece of piecesOf(file)) {
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield [number++, line.replace(/\r$/, "")];
    if (rest.length > lineMax) throw new Failure(`${file}:${number} is longer than any entry is.`);
  }
  if (rest !== "") yield [number, rest];
}

/** The records of an export, JSON by its first character, else comma-separated values. */
export function* recordsOf(source: RecordSource, file: string): Generator<Placed> {
  const read = recordReaders[source];
  for (const found of foundIn(file)) {
    const place = `${file}:${found.line}`;
    if ("fault" in found) {
      yield { place, fault: found.fault };
      continue;
    }
    const row = "row" in found ? found.row : rowOf(found.text);
    const record = row === undefined ? { fault: "is no JSON" } : read(row);
    if (record === undefined) continue;
    yield "fault" in record ? { place, ...record } : { place, entry: record };
  }
}

function* foundIn(file: string): Generator<FoundJson | FoundRow> {
  let reader: JsonValues | CsvRows | undefined;
  for (const piece of piecesOf(file)) {
    if (reader === undefined && piece.trim() === "") continue;
    reader ??= /^\s*[[{]/.test(piece) ? new JsonValues() : new CsvRows();
    yield* reader.push(piece);
  }
  if (reader !== undefined) yield* reader.finish();
}

function rowOf(text: string): Row | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return value as Row; // It begins with a brace, so it is an object.
  } catch {
    return undefined; // The caller says where.
  }
}

/** What a command says of a file that it could not read; a `Failure` is given as it is. */
export function unreadable(file: string, error: unknown): Failure {
  if (error instanceof Failure) return error;
  const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
  return new Failure(`${file} cannot be read: ${code}.`);
}

const pieceOctets = 262_144;
const lineMax = 1_048_576;
