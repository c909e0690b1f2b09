/**
 * An operation is a row and a definition: a toy one, added in memory, is asked over JSON, remote
 * call and shell, and described.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { create, toBinary } from "@bufbuild/protobuf";
import {
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FileDescriptorProtoSchema,
} from "@bufbuild/protobuf/wkt";

import { parkedShape } from "#api/approval-json.ts";
import { Client } from "#cli/client.ts";
import { Refusal } from "#cli/failure.ts";
import { ProtoSchema } from "#core/protobuf/schema.ts";
import { integer, optional, shape, text, words } from "#core/shape.ts";
import { operation } from "#domain/access/operation.ts";
import { noTarget } from "#domain/access/targets.ts";
import { Catalog } from "#http/catalog.ts";
import { openapiDocument } from "#http/openapi.ts";
import { RpcDoor } from "#http/rpc/door.ts";
import { type Operation, type OperationName, operations } from "#operations";
import { createMemoryStore } from "#test/support/stores/memory-store.ts";
import { testClock } from "#test/support/ports.ts";
import { openPipeline } from "#test/support/worlds/asking.ts";
import type { Json } from "#test/support/worlds/governed-world.ts";
import { type StubServer, startStub, stubHandlers } from "#test/support/worlds/stub-server.ts";

const row: Operation = { route: "POST /api/toys/{name}/greet", needs: "any" };
const greet = operation({
  summary: "Greet a toy as often as it is asked for.",
  target: noTarget,
  input: { name: text({ min: 1, max: 20 }), times: integer(1, 3), tone: optional(text()) },
  output: shape({ said: words(), by: words() }),
  refuses: ["conflicting_fields"],
  run: async ({ input, origin }) => ({
    said: Array(input.times).fill(`hello ${input.name}`).join(", ") + (input.tone ?? ""),
    by: origin.principal.subject,
  }),
});

const name = "toy.greet" as OperationName; // A row of the table below.
const table: Readonly<Record<string, Operation>> = { ...operations, [name]: row };
const catalog = new Catalog(table, { ...stubHandlers(), [name]: greet });

const field = (of: string, number: number, type: FieldDescriptorProto_Type) => ({
  name: of,
  number,
  type,
  label: FieldDescriptorProto_Label.OPTIONAL,
});
const { STRING, INT32 } = FieldDescriptorProto_Type;
const file = create(FileDescriptorProtoSchema, {
  name: "toy.proto",
  package: "toy.v1",
  syntax: "proto3",
  messageType: [
    {
      name: "GreetRequest",
      field: [field("toy_name", 1, STRING), field("times", 2, INT32), field("tone", 3, STRING)],
    },
    { name: "GreetResponse", field: [field("said", 1, STRING), field("by", 2, STRING)] },
  ],
});

const perform = openPipeline({ store: createMemoryStore(), clock: testClock() });
const rpc = new RpcDoor({
  service: "toy.v1.Toys",
  schema: new ProtoSchema(
    Buffer.from(toBinary(FileDescriptorProtoSchema, file)).toString("base64"),
  ),
  methods: {
    Greet: {
      operation: name,
      messages: ["GreetRequest", "GreetResponse"],
      renamed: { name: "toy_name" },
      ask: ({ toy_name, times, tone }) => ({ name: toy_name, times, tone }),
      answer: ({ said, by }) => ({ said: String(said), by: String(by) }),
    },
  },
  catalog,
  streams: {},
  perform,
  open: {},
  bodyBytesMax: 65_536,
});

let server: StubServer;
beforeAll(async () => {
  server = await startStub({}, { catalog, perform, rpc });
});
afterAll(() => server.stop());

const authorization = `Basic ${btoa("root:secret")}`;
const post = async (path: string, body: object): Promise<Json> => {
  const answer = await fetch(`${server.origin}${path}`, {
    method: "POST",
    headers: { authorization, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return await answer.json();
};

const answered = { said: "hello ann, hello ann", by: "root" };

test("over JSON its members stand in path and body", async () => {
  expect(await post("/api/toys/ann/greet", { times: 2 })).toEqual(answered);
  expect(await post("/api/toys/ann/greet", { times: 4 })).toMatchObject({
    code: "invalid_field",
    field: "times",
  });
});

test("over a remote call they are the fields of a message", async () => {
  expect(await post("/toy.v1.Toys/Greet", { toyName: "ann", times: 2 })).toEqual(answered);
  const refused = await post("/toy.v1.Toys/Greet", { toyName: "a".repeat(21), times: 2 });
  // The member has the name it has in the message.
  expect(atob(refused.details[0].value)).toContain('{"field":"toy_name"');
});

test("from a shell they are what a command asks for", async () => {
  const send = (
    method: string,
    path: string,
    body?: { readonly type: string; readonly content: string | Uint8Array },
  ) =>
    fetch(`${server.origin}${path}`, {
      method,
      headers: { authorization, ...(body && { "content-type": body.type }) },
      ...(body && { body: String(body.content) }),
    });
  const reach = async () => ({ way: "remote" as const, send, close: async () => {} });
  const client = new Client(reach, { rowOf: (of) => table[of] ?? row });
  expect(await client.ask(name, { name: "ann", times: 2 } as never)).toEqual(answered);
  const refused = client.ask(name, { name: "ann", times: 0 } as never);
  expect(await refused.catch((error: unknown) => error)).toBeInstanceOf(Refusal);
});

test("the description tells what it takes, answers and refuses, with an example", async () => {
  const { paths } = (await openapiDocument(catalog, "1", parkedShape)) as Json;
  const told = paths["/api/toys/{name}/greet"].post;
  expect(told.summary).toBe("Greet a toy as often as it is asked for.");
  expect(told.parameters).toEqual([
    {
      name: "name",
      in: "path",
      required: true,
      schema: { type: "string", minLength: 1, maxLength: 20 },
    },
  ]);
  const asked = told.requestBody.content["application/json"];
  expect(asked.schema.required).toEqual(["times"]);
  expect(asked.example).toEqual({ times: 1 });
  const { schema, example } = told.responses["2XX"].content["application/json"];
  expect([Object.keys(schema.properties), example]).toEqual([
    ["said", "by"],
    { said: "text", by: "text" },
  ]);
  expect(JSON.stringify(told.responses["400"])).toContain("conflicting_fields");
});
