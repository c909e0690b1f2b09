/**
 * Reads the text of a configuration file into a tree of raw values with the line of every key
 * (CFG-1, CFG-3).
 */

import { Composer, LineCounter, Parser } from "yaml";

import { isObject } from "#core/shape.ts";

import type { Fault } from "./faults.ts";
import { faultPlace, faultWords } from "./yaml-fault.ts";
import { nestedTokens } from "./yaml-tokens.ts";
import { treeOf } from "./yaml-tree.ts";

/** A file as read: raw values, and the line of each path. */
export interface Document {
  readonly tree: Readonly<Record<string, unknown>>;
  readonly lines: ReadonlyMap<string, number>;
}

/** A file as read, and what is wrong with it; made of values that may cross to another thread. */
export interface ReadDocument {
  readonly document: Document;
  readonly faults: readonly Fault[];
}

/** As `readYaml`, with the faults in what it gives. */
export function readDocument(text: string, fileName: string): ReadDocument {
  const faults: Fault[] = [];
  return { document: readYaml(text, fileName, faults), faults };
}

/**
 * Reads one YAML document whose root is a mapping, or an empty one. Collects faults for text over 1
 * MiB, nesting over 16, a key written with `?`, a repeated key, several documents, and everything
 * that is not YAML. Text of the file is in no fault but for keys: a value may be a secret.
 */
export function readYaml(text: string, fileName: string, faults: Fault[]): Document {
  const empty: Document = { tree: {}, lines: new Map() };
  const refuse = (sentence: string): Document => {
    faults.push({ path: fileName, sentence });
    return empty;
  };
  if (Buffer.byteLength(text) > bytesMax) return refuse("The file is larger than 1 MiB.");
  // YAML 1.2 §5.4: a carriage return alone ends a line too, which the library does not know.
  const source = text.replace(/\r(?!\n)/g, "\n");
  const counter = new LineCounter();
  const placeOf = (offset: number): string => {
    const { line, col } = counter.linePos(offset);
    return `Line ${line}, column ${col}: `;
  };
  const tokens = [...new Parser(counter.addNewLine).parse(source)];
  // YAML 1.2 §5.1; the library takes some of them for marks of its own.
  const unprintable = source.search(controls);
  if (unprintable >= 0) return refuse(`${placeOf(unprintable)}${notYaml("a control character")}`);
  // Before the library composes values, which it does by recursion.
  for (const { token, depth } of nestedTokens(tokens)) {
    const { line } = counter.linePos(token.offset);
    if (depth > depthMax) return refuse(`Line ${line}: ${tooDeep}`);
    if (token.type !== "explicit-key-ind") continue;
    return refuse(`Line ${line}: A key written with \`?\` is not accepted.`);
  }
  const documents = [...new Composer(options).compose(tokens)];
  const [fault] = documents.flatMap(({ errors }) => errors);
  if (fault !== undefined) {
    return refuse(`${placeOf(faultPlace(fault, tokens))}${notYaml(faultWords(fault))}`);
  }
  const [first, ...more] = documents;
  const notMapping = "The file must be one YAML mapping of keys to values.";
  if (more.length > 0) return refuse(notMapping);
  if (first === undefined) return empty;
  const read = treeOf(first, { depthMax, valuesMax: bytesMax });
  if (read.fault !== undefined) {
    if (read.offset === undefined) return refuse(tooDeep);
    return refuse(`${placeOf(read.offset)}${notYaml(read.fault)}`);
  }
  const lines = new Map<string, number>();
  for (const { path, offset, repeated } of read.keys) {
    const { line } = counter.linePos(offset);
    if (repeated) {
      const sentence = `The key stands twice, in line ${lines.get(path)} and in line ${line}.`;
      faults.push({ path, sentence });
    } else lines.set(path, line);
  }
  if (read.tree === null) return { tree: {}, lines };
  if (!isObject(read.tree)) return refuse(notMapping);
  return { tree: read.tree, lines };
}

const notYaml = (why: string): string => `The file is not YAML: ${why}.`;

const bytesMax = 1_048_576;
const depthMax = 16;
const tooDeep = `The file nests deeper than ${depthMax} levels.`;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const controls = /[\x00-\x08\x0b\x0c\x0e-\x1f]/;
const options = {
  version: "1.2",
  schema: "core",
  // Looked for here, and told with both lines; the library compares each key with each other.
  uniqueKeys: false,
  prettyErrors: false,
  logLevel: "silent",
  // `!!binary` and the like are what they would be without the tag.
  resolveKnownTags: false,
} as const;
