/**
 * Writes beside each .proto file its descriptor: `bun scripts/proto.ts`; a test holds the two
 * together.
 */

import { join } from "node:path";

import { create } from "@bufbuild/protobuf";
import { embedFileDesc } from "@bufbuild/protobuf/codegenv2";
import {
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
} from "@bufbuild/protobuf/wkt";

/** The .proto files, the modules written from them, and what these call their schemas. */
export const protoFiles = [
  { proto: "src/api/rpc/pki.proto", module: "src/api/rpc/messages.ts", name: "pki" },
  { proto: "src/api/rpc/health.proto", module: "src/api/rpc/health-messages.ts", name: "health" },
  { proto: "src/http/rpc/status.proto", module: "src/http/rpc/status-messages.ts", name: "status" },
] as const;

type FieldRow = readonly [
  number: number,
  name: string,
  kind: string,
  occurs?: "optional" | "repeated" | `oneof ${string}`,
];

interface Parsed {
  package: string;
  readonly imports: string[];
  readonly messages: Record<string, FieldRow[]>;
  readonly enums: Record<string, string[]>;
  service: string | undefined;
  /** Methods that answer with a stream. */
  readonly streaming: Set<string>;
  readonly methods: Record<string, Method>;
}

type Method = readonly [request: string, response: string];

/** The TypeScript of a .proto file in the subset pkid writes; throws for what it does not know. */
export function generated(source: string, name: string): string {
  const { methods, streaming } = parsed(source);
  const lines = (descriptorBase64(source).match(/.{1,90}/g) ?? []).map((line) => `    "${line}",`);
  const rows = (streams: boolean) =>
    Object.entries(methods)
      .filter(([method]) => streaming.has(method) === streams)
      .map(
        ([method, messages]) => `  ${method}: ${JSON.stringify(messages).replaceAll(",", ", ")},`,
      );
  const schema = `/** The messages of ${name}.proto, written by \`bun scripts/proto.ts\`. */

import { ProtoSchema } from "#core/protobuf/schema.ts";

// biome-ignore format: the descriptor is generated.
export const ${name}Schema = new ProtoSchema(
  [
${lines.join("\n")}
  ].join(""),
);
`;
  const [unary, streams] = [rows(false), rows(true)];
  const type = `${name[0]?.toUpperCase()}${name.slice(1)}`;
  const tables = [
    ["every method", `${name}Methods`, `${type}Method`, unary],
    ["every method that answers with a stream", `${name}Streams`, `${type}Stream`, streams],
  ] as const;
  const written = tables.map(([of, table, key, lines]) =>
    lines.length === 0
      ? ""
      : `
/** Request and response of ${of}. */
// biome-ignore format: the table is generated.
export const ${table} = {
${lines.join("\n")}
} as const satisfies Readonly<Record<string, readonly [request: string, response: string]>>;

export type ${key} = keyof typeof ${table};
`,
  );
  return schema + written.join("");
}

/** `google.protobuf.FileDescriptorProto` of a .proto file in that subset, in base64. */
export const descriptorBase64 = (source: string): string =>
  embedFileDesc(descriptorOf(source)).base64();

/** What protoc would say of a .proto file in that subset, without the names of the files. */
export function descriptorOf(source: string): FileDescriptorProto {
  const file = parsed(source);
  const named = (name: string) => `.${file.package}.${name}`;
  const methods = Object.entries(file.methods).map(([name, [input, output]]) => {
    const serverStreaming = file.streaming.has(name) ? { serverStreaming: true } : {};
    return { name, inputType: named(input), outputType: named(output), ...serverStreaming };
  });
  return create(FileDescriptorProtoSchema, {
    package: file.package,
    syntax: "proto3",
    dependency: file.imports,
    messageType: Object.entries(file.messages).map(([name, rows]) => {
      const named = rows.flatMap(([, , , occurs]) => occurs?.match(/^oneof (.*)$/)?.[1] ?? []);
      const optional = rows.flatMap(([, member, , occurs]) =>
        occurs === "optional" ? member : [],
      );
      // Those that were written come before those that mean presence.
      const oneofs = [...new Set(named), ...optional.map((member) => `_${member}`)];
      return {
        name,
        field: rows.map((row) => fieldIn(file, row, oneofs)),
        oneofDecl: oneofs.map((one) => ({ name: one })),
      };
    }),
    enumType: Object.entries(file.enums).map(([name, names]) => {
      return { name, value: names.map((value, number) => ({ name: value, number })) };
    }),
    service: file.service === undefined ? [] : [{ name: file.service, method: methods }],
  });
}

function field(file: Parsed, [number, name, kind, occurs]: FieldRow) {
  const label = occurs === "repeated" ? Label.REPEATED : Label.OPTIONAL;
  const scalar = scalars.get(kind);
  if (scalar !== undefined) return { number, name, label, type: scalar };
  const isEnum = Object.hasOwn(file.enums, kind);
  const typeName = kind.includes(".") ? `.${kind}` : `.${file.package}.${kind}`;
  return { number, name, label, type: isEnum ? Type.ENUM : Type.MESSAGE, typeName };
}

/** Presence is a oneof of one, as protoc writes it. */
function fieldIn(file: Parsed, row: FieldRow, oneofs: readonly string[]) {
  const [, name, , occurs] = row;
  const plain = field(file, row);
  if (occurs === "optional") {
    return { ...plain, proto3Optional: true, oneofIndex: oneofs.indexOf(`_${name}`) };
  }
  const oneof = occurs?.match(/^oneof (.*)$/)?.[1];
  return oneof === undefined ? plain : { ...plain, oneofIndex: oneofs.indexOf(oneof) };
}

const scalars: ReadonlyMap<string, Type> = new Map([
  ["string", Type.STRING],
  ["bool", Type.BOOL],
  ["int32", Type.INT32],
  ["int64", Type.INT64],
]);

function parsed(source: string): Parsed {
  const found: Parsed = {
    package: "",
    imports: [],
    messages: {},
    enums: {},
    service: undefined,
    streaming: new Set(),
    methods: {},
  };
  let open: { readonly kind: string; readonly name: string } | undefined;
  let oneof: string | undefined;
  for (const written of source.split("\n")) {
    const line = written.replace(/\/\/.*/, "").trim();
    const opening = /^(message|enum|service) (\w+) \{$/.exec(line);
    if (opening) {
      open = { kind: opening[1] ?? "", name: opening[2] ?? "" };
      if (open.kind === "message") found.messages[open.name] = [];
      if (open.kind === "enum") found.enums[open.name] = [];
      if (open.kind === "service") found.service = open.name;
    } else if (line === "}" && oneof !== undefined) oneof = undefined;
    else if (line === "}") open = undefined;
    else if (open?.kind === "message" && /^oneof \w+ \{$/.test(line)) oneof = line.split(" ")[1];
    else if (open) member(found, { ...open, oneof }, line);
    else statement(found, line);
  }
  return found;
}

function statement(found: Parsed, line: string): void {
  const name = /^package ([\w.]+);$/.exec(line);
  const path = /^import "([\w./]+)";$/.exec(line);
  if (name) found.package = name[1] ?? "";
  else if (path) found.imports.push(path[1] ?? "");
  else if (line !== "" && line !== 'syntax = "proto3";') throw unknown(line);
}

interface Open {
  readonly kind: string;
  readonly name: string;
  readonly oneof: string | undefined;
}

function member(found: Parsed, open: Open, line: string): void {
  if (line === "") return;
  const rpc = /^rpc (\w+)\((\w+)\) returns \((stream )?(\w+)\);$/.exec(line);
  const value = /^(\w+) = (\d+);$/.exec(line);
  const declared = /^(?:(optional|repeated) )?([\w.]+) (\w+) = (\d+);$/.exec(line);
  if (open.kind === "service" && rpc) {
    found.methods[rpc[1] ?? ""] = [rpc[2] ?? "", rpc[4] ?? ""];
    if (rpc[3] !== undefined) found.streaming.add(rpc[1] ?? "");
  } else if (open.kind === "enum" && value) {
    const names = found.enums[open.name] ?? [];
    if (Number(value[2]) !== names.length) throw unknown(line);
    names.push(value[1] ?? "");
  } else if (open.kind === "message" && declared) {
    const row: FieldRow = [Number(declared[4]), declared[3] ?? "", declared[2] ?? ""];
    const within = open.oneof === undefined ? undefined : (`oneof ${open.oneof}` as const);
    const occurs = declared[1] === "optional" || declared[1] === "repeated" ? declared[1] : within;
    found.messages[open.name]?.push(occurs === undefined ? row : [row[0], row[1], row[2], occurs]);
  } else throw unknown(line);
}

const unknown = (line: string) =>
  new Error(`the .proto file has a line this generator does not know: ${line}`);

if (import.meta.main) {
  const root = join(import.meta.dir, "..");
  for (const { proto, module, name } of protoFiles) {
    const source = await Bun.file(join(root, proto)).text();
    await Bun.write(join(root, module), generated(source, name));
  }
}
