/**
 * Writes `src/api/rpc/messages.ts` from `pki.proto`: `bun scripts/proto.ts`; a test holds the two
 * together.
 */

import { join } from "node:path";

import type { FieldRow } from "#core/protobuf/schema.ts";

interface Parsed {
  readonly messages: Record<string, FieldRow[]>;
  readonly enums: Record<string, string[]>;
  readonly methods: Record<string, readonly [request: string, response: string]>;
}

/** The TypeScript of a .proto file in the subset pkid writes; throws for what it does not know. */
export function generated(source: string): string {
  const { messages, enums, methods } = parsed(source);
  const tables = Object.entries(messages).map(([name, fields]) => {
    const rows = fields.map((row) => `      ${JSON.stringify(row).replaceAll(",", ", ")},`);
    return [`    ${name}: [`, ...rows, "    ],"].join("\n");
  });
  const list = (entries: object) =>
    Object.entries(entries).map(([name, value]) => {
      return `  ${name}: ${JSON.stringify(value).replaceAll(",", ", ")},`;
    });
  return `/** The messages, enums and methods of pki.proto, written by \`bun scripts/proto.ts\`. */

import type { ProtoSchema } from "#core/protobuf/schema.ts";

// biome-ignore format: the table is generated.
export const pkiSchema = {
  messages: {
${tables.join("\n")}
  },
  enums: {
${list(enums)
  .map((line) => `  ${line}`)
  .join("\n")}
  },
} as const satisfies ProtoSchema;

/** Request and response of every method. */
// biome-ignore format: the table is generated.
export const pkiMethods = {
${list(methods).join("\n")}
} as const satisfies Readonly<Record<string, readonly [request: string, response: string]>>;

export type PkiMethod = keyof typeof pkiMethods;
`;
}

function parsed(source: string): Parsed {
  const found: Parsed = { messages: {}, enums: {}, methods: {} };
  let open: { readonly kind: string; readonly name: string } | undefined;
  for (const written of source.split("\n")) {
    const line = written.replace(/\/\/.*/, "").trim();
    const opening = /^(message|enum|service) (\w+) \{$/.exec(line);
    if (opening) {
      open = { kind: opening[1] ?? "", name: opening[2] ?? "" };
      if (open.kind === "message") found.messages[open.name] = [];
      if (open.kind === "enum") found.enums[open.name] = [];
    } else if (line === "}") open = undefined;
    else if (open) member(found, open, line);
    else if (line !== "" && !/^(syntax|package|import) ?/.test(line)) throw unknown(line);
  }
  return found;
}

function member(found: Parsed, open: { kind: string; name: string }, line: string): void {
  if (line === "") return;
  const rpc = /^rpc (\w+)\((\w+)\) returns \((\w+)\);$/.exec(line);
  const value = /^(\w+) = (\d+);$/.exec(line);
  const field = /^(?:(optional|repeated) )?([\w.]+) (\w+) = (\d+);$/.exec(line);
  if (open.kind === "service" && rpc) {
    found.methods[rpc[1] ?? ""] = [rpc[2] ?? "", rpc[3] ?? ""];
  } else if (open.kind === "enum" && value) {
    const names = found.enums[open.name] ?? [];
    if (Number(value[2]) !== names.length) throw unknown(line);
    names.push(value[1] ?? "");
  } else if (open.kind === "message" && field) {
    const kind = field[2] === "google.protobuf.Timestamp" ? "timestamp" : (field[2] ?? "");
    const row: FieldRow = [Number(field[4]), field[3] ?? "", kind];
    const occurs = field[1] === "optional" || field[1] === "repeated" ? field[1] : undefined;
    found.messages[open.name]?.push(occurs === undefined ? row : [row[0], row[1], row[2], occurs]);
  } else throw unknown(line);
}

const unknown = (line: string) =>
  new Error(`pki.proto has a line this generator does not know: ${line}`);

if (import.meta.main) {
  const folder = join(import.meta.dir, "../src/api/rpc");
  const source = await Bun.file(join(folder, "pki.proto")).text();
  await Bun.write(join(folder, "messages.ts"), generated(source));
}
