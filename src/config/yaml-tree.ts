/** Makes a YAML document into plain values, each alias once, and lists its keys. */

import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  type Node,
  type ParsedNode,
  Scalar,
  type Schema,
  type YAMLMap,
  type YAMLSeq,
} from "yaml";

/** One key: its full path as faults name it, and where it stands. */
export interface KeyPosition {
  readonly path: string;
  readonly offset: number;
  /** True when the same mapping had this key before. */
  readonly repeated: boolean;
}

/** What came of it; `nesting` where a value lies deeper than it may. */
export type TreeRead =
  | { readonly fault: undefined; readonly tree: unknown; readonly keys: readonly KeyPosition[] }
  | { readonly fault: "nesting"; readonly offset: undefined }
  | { readonly fault: string; readonly offset: number };

export interface TreeLimits {
  /** Collections in one another; an alias counts as what it stands for. */
  readonly depthMax: number;
  /** Values in all, an alias counted as all that it stands for. */
  readonly valuesMax: number;
}

/**
 * The values of a document without errors. Keys of mappings become text, `<<` merges (YAML 1.1's
 * merge key, which YAML 1.2 files use too). Reading takes time linear in the text, whatever aliases
 * multiply.
 */
export function treeOf(document: Document.Parsed, limits: TreeLimits): TreeRead {
  const reader = new TreeReader(document.schema, limits);
  try {
    return { fault: undefined, tree: reader.read(document.contents), keys: reader.keys };
  } catch (error) {
    if (error instanceof Unreadable) return error.reason;
    throw error;
  }
}

class Unreadable extends Error {
  constructor(readonly reason: Exclude<TreeRead, { fault: undefined }>) {
    super();
  }
}

/** A value, how many collections nest in it, and how many values it is. */
interface Measured {
  readonly value: unknown;
  readonly height: number;
  readonly count: number;
}

class TreeReader {
  readonly keys: KeyPosition[] = [];
  readonly #schema: Schema;
  readonly #limits: TreeLimits;
  /** By name; empty while the value that bears it is being read. */
  readonly #anchors = new Map<string, { value?: Measured }>();

  constructor(schema: Schema, limits: TreeLimits) {
    this.#schema = schema;
    this.#limits = limits;
  }

  read(root: ParsedNode | null): unknown {
    return this.#measured(root, "", 0).value;
  }

  /** `depth`: collections around it. */
  #measured(node: unknown, path: string, depth: number): Measured {
    if (isAlias(node)) return this.#target(node, depth);
    // An empty value is a scalar or nothing at all.
    if (!isScalar(node) && !isMap(node) && !isSeq(node)) return leaf(null);
    const anchored: { value?: Measured } = {};
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, anchored);
    const read = isScalar(node)
      ? leaf(scalarValue(node, this.#schema))
      : this.#collection(node, path, depth);
    anchored.value = read;
    return read;
  }

  #target(alias: Node & { readonly source: string }, depth: number): Measured {
    const anchored = this.#anchors.get(alias.source);
    if (anchored === undefined) throw unreadable("an alias stands for nothing", alias);
    // Empty inside the value it stands for: that nests without end.
    const { value } = anchored;
    if (value === undefined) throw new Unreadable({ fault: "nesting", offset: undefined });
    return this.#within(value, alias, depth);
  }

  #collection(node: YAMLMap | YAMLSeq, path: string, depth: number): Measured {
    const inside: Measured[] = [];
    const read = (one: unknown, at: string): unknown => {
      const measured = this.#measured(one, at, depth + 1);
      inside.push(measured);
      return measured.value;
    };
    const value = isMap(node)
      ? this.#mapping(node, path, read)
      : node.items.map((item, index) => read(item, `${path}[${index}]`));
    const height = 1 + inside.reduce((most, one) => Math.max(most, one.height), 0);
    const count = 1 + inside.reduce((sum, one) => sum + one.count, 0);
    return this.#within({ value, height, count }, node, depth);
  }

  /** Members of its own win over merged ones, and of those the first. */
  #mapping(
    { items }: YAMLMap,
    path: string,
    read: (one: unknown, path: string) => unknown,
  ): Readonly<Record<string, unknown>> {
    const members = new Map<string, unknown>();
    const seen = new Set<string>();
    const merged: object[] = [];
    for (const { key, value } of items) {
      const name = this.#keyText(key);
      const inner = path === "" ? name : `${path}.${name}`;
      this.keys.push({ path: inner, offset: startOf(key), repeated: seen.has(name) });
      seen.add(name);
      const given = read(value, inner);
      const sources = name === mergeKey ? mergeable(given) : undefined;
      if (sources === undefined) members.set(name, given);
      else merged.push(...sources);
    }
    for (const source of merged) {
      for (const [name, value] of Object.entries(source)) {
        if (!members.has(name)) members.set(name, value);
      }
    }
    // Entries define members; assigning `__proto__` would not.
    return Object.fromEntries(members);
  }

  #keyText(key: unknown): string {
    const { value } = isMap(key) || isSeq(key) ? collectionKey : this.#measured(key, "", 0);
    if (typeof value !== "object" || value === null) return String(value);
    throw unreadable("a key is a collection", key);
  }

  #within(measured: Measured, node: unknown, depth: number): Measured {
    const { depthMax, valuesMax } = this.#limits;
    if (depth + measured.height > depthMax)
      throw new Unreadable({ fault: "nesting", offset: undefined });
    if (measured.count > valuesMax) throw unreadable("its aliases make too much of it", node);
    return measured;
  }
}

/** The value of a scalar; with a tag it is text, unless it looks like what the tag names. */
function scalarValue({ tag, type, source, value }: Scalar, { tags }: Schema): unknown {
  if (tag === undefined) return value;
  const fits = Object.hasOwn(kinds, tag) ? kinds[tag] : undefined;
  if (fits === undefined || type !== Scalar.PLAIN || source === undefined) return source ?? value;
  for (const known of tags) {
    if (known.collection !== undefined || known.default !== true) continue;
    if (known.test?.test(source) !== true) continue;
    const resolved = known.resolve(source, () => undefined, {});
    const given = isScalar(resolved) ? resolved.value : resolved;
    return fits(given) ? given : source;
  }
  return source;
}

/** The mappings that `<<` names: one, or those of a list; undefined for anything else. */
function mergeable(value: unknown): readonly object[] | undefined {
  if (Array.isArray(value)) return value.filter(isMapping);
  return isMapping(value) ? [value] : undefined;
}

const isMapping = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const leaf = (value: unknown): Measured => ({ value, height: 0, count: 1 });

const unreadable = (fault: string, node: unknown): Unreadable =>
  new Unreadable({ fault, offset: startOf(node) });

const startOf = (node: unknown): number => (isNode(node) ? (node.range?.[0] ?? 0) : 0);

const collectionKey = leaf({});
const mergeKey = "<<";

const isNumber = (value: unknown): boolean => typeof value === "number";
const kinds: Readonly<Record<string, (value: unknown) => boolean>> = {
  "tag:yaml.org,2002:int": isNumber,
  "tag:yaml.org,2002:float": isNumber,
  "tag:yaml.org,2002:bool": (value) => typeof value === "boolean",
  "tag:yaml.org,2002:null": (value) => value === null,
};
