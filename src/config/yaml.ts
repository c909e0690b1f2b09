/**
 * Reads the text of a configuration file into a tree of raw values with the line of every key
 * (CFG-1, CFG-3).
 */

import { isObject } from "#core/shape.ts";

import type { Fault } from "./faults.ts";
import { faultPlace } from "./yaml-fault.ts";
import { scanKeys } from "./yaml-keys.ts";

/** A file as read: raw values, and the line of each path. */
export interface Document {
  readonly tree: Readonly<Record<string, unknown>>;
  readonly lines: ReadonlyMap<string, number>;
}

/**
 * Reads one YAML document whose root is a mapping, or an empty one. Collects faults for text over 1
 * MiB, nesting over 16, a repeated key, several documents, and everything that is not YAML.
 */
export function readYaml(text: string, fileName: string, faults: Fault[]): Document {
  const empty: Document = { tree: {}, lines: new Map() };
  const refuse = (sentence: string): Document => {
    faults.push({ path: fileName, sentence });
    return empty;
  };
  if (Buffer.byteLength(text) > bytesMax) return refuse("The file is larger than 1 MiB.");
  const scan = scanKeys(text, depthMax);
  if (!scan.ok) return refuse(`Line ${scan.line}: ${scan.sentence}`);
  const lines = new Map<string, number>();
  for (const key of scan.keys) {
    const first = lines.get(key.path);
    if (key.repeated) {
      const sentence = `The key stands twice, in line ${first ?? "?"} and in line ${key.line}.`;
      faults.push({ path: key.path, sentence });
    } else lines.set(key.path, key.line);
  }
  const root = parsed(text);
  if (root instanceof SyntaxError) return refuse(notYaml(text, root));
  if (root === null || root === undefined) return { tree: {}, lines };
  if (!isObject(root)) return refuse("The file must be one YAML mapping of keys to values.");
  if (!shallow(root, depthMax)) return refuse(`The file nests deeper than ${depthMax} levels.`);
  return { tree: root, lines };
}

/** The parser's words without its name, and the place, which it does not tell. */
function notYaml(text: string, { message }: SyntaxError): string {
  const place = faultPlace(text, (beginning) => !(parsed(beginning) instanceof SyntaxError));
  const why = message.replace(/^YAML Parse error: /, "").toLowerCase();
  const where = place === undefined ? "" : `Line ${place.line}, column ${place.column}: `;
  return `${where}The file is not YAML: ${why}.`;
}

function parsed(text: string): unknown {
  try {
    return Bun.YAML.parse(text);
  } catch (error) {
    // The parser throws SyntaxError for bad text and RangeError for text that nests too deep for
    // it.
    if (error instanceof SyntaxError) return error;
    if (error instanceof RangeError) return new SyntaxError("it nests too deep");
    throw error;
  }
}

/**
 * True when no path through the value is longer than `depth`; aliases count where they are used.
 */
function shallow(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return depth > 0 && Object.values(value).every((inner) => shallow(inner, depth - 1));
}

const bytesMax = 1_048_576;
const depthMax = 16;
