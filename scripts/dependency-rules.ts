/**
 * Checks who imports whom: the rules that keep callers, domain, ports, adapters and core
 * apart.
 */

import { dirname, join } from "node:path";
import { type Import, importsOf } from "./lib/imports.ts";
import { type Finding, type Parsed, parseTree, rendered } from "./lib/source-tree.ts";

interface Layer {
  /** Layers it may import besides itself. */
  readonly layers: readonly string[];
  /** Packages it may import; `@scope/*` is every package of the scope. */
  readonly packages: readonly string[];
  /** May it talk to the runtime (`node:…`, `bun`)? Everybody else has ports for that. */
  readonly runtime: boolean;
}

const asn1 = ["asn1js", "pkijs", "@peculiar/*", "@noble/*"];

/** WHO MAY IMPORT WHOM. */
// biome-ignore format: the table is read by column.
const table: Readonly<Record<string, Layer>> = {
  core:        { layers: [],                                                       packages: asn1,                        runtime: false },
  operations:  { layers: ["core"],                                                 packages: [],                          runtime: false },
  domain:      { layers: ["core", "operations"],                                   packages: [],                          runtime: false },
  config:      { layers: ["core"],                                                 packages: ["yaml"],                    runtime: true  },
  http:        { layers: ["core", "operations", "domain"],                         packages: ["hono"],                    runtime: true  },
  api:         { layers: ["core", "operations", "domain", "http"],                 packages: [],                          runtime: false },
  jobs:        { layers: ["core", "operations", "domain"],                         packages: [],                          runtime: false },
  protocols:   { layers: ["core", "operations", "domain", "http"],                 packages: ["hono", ...asn1],           runtime: false },
  // Threads are started by one function, which checks that the system has the means for them.
  adapters:    { layers: ["core", "operations", "domain", "config", "adapters/start-thread"], packages: [],                          runtime: true  },
  cli:         { layers: ["core", "operations", "domain", "config", "app", "api"], packages: ["citty"],                   runtime: true  },
  web:         { layers: ["core", "operations", "api"],                            packages: ["preact", "@simplewebauthn/browser", "reflect-metadata", ...asn1], runtime: false },
  main:        { layers: ["core", "cli", "app", "adapters/keys"],                  packages: [],                          runtime: true  },
};

/** Packages that live in one adapter only. */
// biome-ignore format: the table is read by column.
const adapterPackages: Readonly<Record<string, readonly string[]>> = {
  "adapters/age":       ["age-encryption"],
  "adapters/db":        ["drizzle-orm"],
  "adapters/directory": ["ldapts"],
  "adapters/keys":      ["pkcs11js", ...asn1],
  "adapters/network":   ["oslo"],
  "adapters/telemetry": ["prom-client"],
  "adapters/webauthn":  ["@simplewebauthn/server", "reflect-metadata"],
};

const protobuf = { packages: ["@bufbuild/protobuf"] };

/** Files whose permissions differ from their layer's, each for one reason. */
// biome-ignore format: the table is read by column.
const exceptions: Readonly<Record<string, Partial<Layer>>> = {
  // the one door from core to the runtime's cryptography
  "src/core/crypto.ts": { runtime: true },
  // signatures of tokens, behind what pkid reads of them itself
  "src/core/jose/jws.ts": { packages: ["jose"] },
  // the messages of remote calls: nobody else in core speaks protobuf
  "src/core/protobuf/json.ts": protobuf,
  "src/core/protobuf/limits.ts": protobuf,
  "src/core/protobuf/schema.ts": protobuf,
  "src/core/protobuf/values.ts": protobuf,
  "src/core/protobuf/wire.ts": protobuf,
};

/**
 * THE NOUNS OF THE DOMAIN, lowest first. A noun imports lower ones, itself, and the files straight
 * below src/domain, so that no two import each other.
 */
const nouns: readonly string[] = [
  "signing",
  "envelopes",
  "audit",
  "authorities",
  "access",
  "tenants",
  "transparency",
  "certificates",
  "key-checks",
  "revocation",
  "hierarchy",
  "inclusion",
  "publishing",
  "approvals",
  "backup",
  "retention",
  "canary",
  "expiry",
  "acme",
  "preflight",
  "instance",
];

/**
 * The files straight below src/domain are under all nouns and import none, but for two types:
 * `store.ts` is the sum of what each noun keeps, one port of each, and `keys.ts` names the ticket
 * that a signature takes. Whoever holds the store can thus read what a higher noun has written, in
 * the words of its port; what that noun does stays out of reach.
 */
const portFile = /[/-]store\.ts$/;
const ticketFile = "src/domain/signing/ticket.ts";

/** These import what they like: the composition root, and what is not part of the product. */
const free = new Set(["app", "test", "scripts"]);

/** These ask over the wire: what operations take and answer they know by type alone. */
const clients = new Set(["cli", "web"]);

/** `bun:sqlite` is SQL: it stays with the database adapter. */
const sqlRuntime = "bun:sqlite";

/** What an adapter may know of the configuration: declarations and secrets, never the loader. */
const ownConfig = /^src\/config\/(sections\/|secret\.ts$)/;

/** The one way to use a CA-class key. */
const signing = "src/domain/signing/";

/** Applies every rule to the files; `aliases` is `"imports"` of package.json. */
export function dependencyFindings(
  files: readonly Parsed[],
  aliases: Readonly<Record<string, string>>,
): Finding[] {
  const imports = files.flatMap((file) => importsOf(file, aliases));
  return [...imports.flatMap(objections), ...cycles(imports)];
}

function objections(one: Import): Finding[] {
  const sentences = [
    ...layerObjection(one),
    ...nounObjection(one),
    ...packageObjection(one),
    ...runtimeObjection(one),
    ...ticketObjection(one),
    ...formObjection(one),
  ];
  return sentences.map((sentence) => ({ path: one.from, line: one.line, sentence }));
}

function layerObjection({ from, target, typeOnly }: Import): string[] {
  if (target.kind !== "file") return [];
  const mine = layerOf(from);
  const theirs = layerOf(target.path);
  if (mine === theirs || free.has(mine)) return [];
  const allowed = permissionsOf(from).layers;
  if (!allowed.includes(theirs) && !allowed.includes(theirs.split("/")[0] ?? "")) {
    return [`${mine} may not import ${theirs} (${target.path}).`];
  }
  if (theirs === "api" && clients.has(mine) && !typeOnly) {
    return [`${mine} may import only types of api (${target.path}).`];
  }
  if (mine.startsWith("adapters/") && theirs === "config" && !ownConfig.test(target.path)) {
    return [`an adapter may import only its section and secrets of config (${target.path}).`];
  }
  return [];
}

function nounObjection({ from, target, typeOnly }: Import): string[] {
  if (target.kind !== "file" || layerOf(from) !== "domain") return [];
  const [mine, theirs] = [nounOf(from), nounOf(target.path)];
  const unknown = [mine, theirs].find((noun) => noun !== undefined && !nouns.includes(noun));
  if (unknown !== undefined) return [`${unknown} has no place in the order of nouns.`];
  if (theirs === undefined || theirs === mine) return [];
  if (mine !== undefined) {
    if (nouns.indexOf(theirs) < nouns.indexOf(mine)) return [];
    return [`${mine} stands below ${theirs} and may not import it (${target.path}).`];
  }
  if (from === "src/domain/store.ts" && typeOnly && portFile.test(target.path)) return [];
  if (from === "src/domain/keys.ts" && typeOnly && target.path === ticketFile) return [];
  return [`${from} stands below all nouns and may not import ${theirs} (${target.path}).`];
}

/** The folder below src/domain; undefined for a file straight there, and for other layers. */
function nounOf(path: string): string | undefined {
  const [, layer, noun, file] = path.split("/");
  return layer === "domain" && file !== undefined ? noun : undefined;
}

function packageObjection({ from, target }: Import): string[] {
  if (target.kind !== "package" || free.has(layerOf(from))) return [];
  const allowed = permissionsOf(from).packages;
  const scope = `${target.name.split("/")[0]}/*`;
  if (allowed.includes(target.name) || allowed.includes(scope)) return [];
  return [`${layerOf(from)} may not import the package ${target.name}.`];
}

function runtimeObjection({ from, target, specifier }: Import): string[] {
  if (target.kind !== "runtime" || free.has(layerOf(from))) return [];
  if (specifier === sqlRuntime && layerOf(from) !== "adapters/db") {
    return [`only adapters/db may import ${sqlRuntime}.`];
  }
  if (permissionsOf(from).runtime) return [];
  return [`${layerOf(from)} may not import the runtime (${specifier}); it has ports for that.`];
}

/** Whoever could make a ticket could use a CA key without the sign ledger. */
function ticketObjection({ from, target, names }: Import): string[] {
  if (target.kind !== "file" || target.path !== ticketFile) return [];
  if (from.startsWith(signing) || !from.startsWith("src/")) return [];
  const makes = names === undefined || names.includes("ticketOf");
  return makes ? [`only ${signing} makes tickets: nobody else may import ticketOf.`] : [];
}

function formObjection({ from, specifier, target, passesOn }: Import): string[] {
  const found: string[] = [];
  if (passesOn) found.push("a file exports only what it defines: no barrels.");
  if (specifier.startsWith("..")) found.push(`"${specifier}" points up: start with its layer.`);
  if (specifier.startsWith("./") && specifier.slice(2).includes("/")) {
    found.push(`"${specifier}" is not a neighbour: start with its layer.`);
  }
  if (specifier.startsWith("#") && target.kind === "file" && sameFolder(from, target.path)) {
    found.push(`"${specifier}" is a neighbour: write "./${target.path.split("/").at(-1)}".`);
  }
  return found.filter(() => !from.startsWith("scripts/") || passesOn);
}

// The files straight below src are each a layer of their own and are known by their alias.
const sameFolder = (from: string, to: string): boolean =>
  dirname(from) === dirname(to) && dirname(to) !== "src";

/** Every import that closes a circle, once per circle. */
function cycles(imports: readonly Import[]): Finding[] {
  const outgoing = Map.groupBy(imports, (one) => one.from);
  const settled = new Set<string>();
  const found: Finding[] = [];
  const follow = (path: string, trail: readonly string[]): void => {
    if (settled.has(path)) return;
    for (const one of outgoing.get(path) ?? []) {
      if (one.target.kind !== "file") continue;
      const start = [...trail, path].indexOf(one.target.path);
      if (start < 0) follow(one.target.path, [...trail, path]);
      else found.push(circle(one, [...trail, path].slice(start)));
    }
    settled.add(path);
  };
  for (const path of outgoing.keys()) follow(path, []);
  return found;
}

const circle = (closing: Import, through: readonly string[]): Finding => ({
  path: closing.from,
  line: closing.line,
  sentence: `imports go round in a circle: ${[...through, through[0]].join(" → ")}.`,
});

function permissionsOf(path: string): Layer {
  const layer = layerOf(path);
  const [folder = ""] = layer.split("/");
  const base = table[folder] ?? { layers: [], packages: [], runtime: false };
  return { ...base, packages: adapterPackages[layer] ?? base.packages, ...exceptions[path] };
}

/**
 * The layer of a file: its folder, `adapters/db` and `protocols/acme` each for itself, `main` for
 * src/main.ts.
 */
function layerOf(path: string): string {
  const [top = "", folder = "", inner = ""] = path.split("/");
  if (top !== "src") return top;
  if (folder !== "adapters" && folder !== "protocols") return folder.replace(/\.tsx?$/, "");
  return `${folder}/${inner.replace(/\.tsx?$/, "")}`;
}

if (import.meta.main) {
  const root = join(import.meta.dir, "..");
  const { imports } = await Bun.file(join(root, "package.json")).json();
  const folders = ["src", "web", "test", "scripts"];
  const files = await parseTree(root, join(root, "scripts/tsconfig.json"), folders);
  const findings = dependencyFindings(files, imports);
  for (const finding of findings) console.error(rendered(finding));
  console.log(`dependency rules: ${files.length} files, ${findings.length} findings`);
  process.exit(findings.length === 0 ? 0 : 1);
}
