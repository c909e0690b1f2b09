/** Protobuf messages say the same in octets, in JSON and to protoc, and no octets do harm. */

import { expect, test } from "bun:test";
import { join } from "node:path";

import fc from "fast-check";

import { pkiSchema } from "#api/rpc/messages.ts";
import { messageJson, readMessageJson } from "#core/protobuf/json.ts";
import {
  type FieldRow,
  type Message,
  MessageFault,
  type ProtoSchema,
} from "#core/protobuf/schema.ts";
import { decodeMessage, encodeMessage } from "#core/protobuf/wire.ts";
import { generated } from "#scripts/proto.ts";
import { runProtoc } from "#test/support/encodings/protoc.ts";

const schema: ProtoSchema = pkiSchema;
const names = Object.keys(schema.messages);
const folder = join(import.meta.dir, "../../../src/api/rpc");

test("the tables are what pki.proto says", async () => {
  const source = await Bun.file(join(folder, "pki.proto")).text();
  expect(await Bun.file(join(folder, "messages.ts")).text()).toBe(generated(source));
});

test("a message of any type survives octets and JSON", () => {
  fc.assert(
    fc.property(anyMessage, ([name, message]) => {
      expect(decodeMessage(schema, name, encodeMessage(schema, name, message))).toEqual(message);
      const json: unknown = JSON.parse(JSON.stringify(messageJson(schema, name, message)));
      expect(readMessageJson(schema, name, json)).toEqual(message);
    }),
  );
});

test("octets that are no message are a fault and nothing worse", () => {
  const attempt = (name: string, octets: Uint8Array) => {
    try {
      decodeMessage(schema, name, octets);
    } catch (error) {
      expect(error).toBeInstanceOf(MessageFault);
    }
  };
  fc.assert(fc.property(fc.constantFrom(...names), fc.uint8Array({ maxLength: 200 }), attempt), {
    numRuns: 2000,
  });
  // Damage to a real message reaches deeper than noise does.
  fc.assert(
    fc.property(anyMessage, fc.nat(), fc.nat(255), ([name, message], at, octet) => {
      const octets = encodeMessage(schema, name, message);
      if (octets.length > 0) octets[at % octets.length] = octet;
      attempt(name, octets);
      attempt(name, octets.subarray(0, at % (octets.length + 1)));
    }),
    { numRuns: 1000 },
  );
});

test("JSON that is no message is a fault and nothing worse", () => {
  fc.assert(
    fc.property(fc.constantFrom(...names), fc.jsonValue(), (name, value) => {
      try {
        readMessageJson(schema, name, value);
      } catch (error) {
        expect(error).toBeInstanceOf(MessageFault);
      }
    }),
  );
});

test("unknown fields are skipped in octets and refused in JSON", () => {
  const octets = Uint8Array.of(
    0x0a,
    1,
    0x61,
    0xf8,
    7,
    1,
    0xf9,
    7,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0xfa,
    7,
    0,
  );
  expect(decodeMessage(schema, "SerialRequest", octets)).toEqual({ ca_id: "a" });
  expect(() => readMessageJson(schema, "SerialRequest", { caid: "a" })).toThrow(MessageFault);
  expect(() => readMessageJson(schema, "SerialRequest", { ca_id: "a", caId: "a" })).toThrow(
    "twice",
  );
  expect(readMessageJson(schema, "SerialRequest", { ca_id: "a", serial: null })).toEqual({
    ca_id: "a",
  });
});

test("a length that lies, a number without end and group tags are faults", () => {
  const faults = [
    "0aff",
    "0affffffffffffffffff01",
    "20ffffffffffffffffffffff",
    "0b",
    "0c",
    "00",
    "0805",
  ];
  for (const hex of faults) {
    const read = () => decodeMessage(schema, "IssueCertificateRequest", Uint8Array.fromHex(hex));
    expect(read).toThrow(MessageFault);
  }
});

test.skipIf(Bun.which("protoc") === null)("protoc reads and writes the same octets", () => {
  fc.assert(
    fc.property(anyMessage, ([name, message]) => {
      const octets = encodeMessage(schema, name, message);
      const text = protoc("decode", name, octets);
      // protoc writes members in the order of their numbers, as we do.
      expect(protoc("encode", name, text)).toEqual(Buffer.from(octets));
    }),
    { numRuns: 25 },
  );
  const asked = {
    ca_id: "c",
    status: "HELD",
    limit: -1,
    expires_before: "2026-06-01T12:00:00.500000Z",
  };
  const text = protoc(
    "decode",
    "ListCertificatesRequest",
    encodeMessage(schema, "ListCertificatesRequest", asked),
  );
  expect(text.toString().replace(/\s+/g, " ").trim()).toBe(
    'ca_id: "c" limit: -1 status: HELD expires_before { seconds: 1780315200 nanos: 500000000 }',
  );
});

function protoc(verb: "encode" | "decode", name: string, input: Uint8Array): Buffer {
  return runProtoc([`--${verb}=pki.v1.${name}`], input);
}

const anyMessage: fc.Arbitrary<[string, Message]> = fc
  .constantFrom(...names)
  .chain((name) => fc.tuple(fc.constant(name), messageOf(name)));

function messageOf(name: string): fc.Arbitrary<Message> {
  const rows = schema.messages[name] ?? [];
  const members = rows.map((row): [string, fc.Arbitrary<unknown>] => [row[1], memberOf(row)]);
  const record = fc.record(Object.fromEntries(members), { requiredKeys: [] });
  return record as fc.Arbitrary<Message>; // Built from the rows of a message.
}

/** Without presence a default cannot be told from absence, so only other values are drawn. */
function memberOf([, , kind, occurs]: FieldRow): fc.Arbitrary<unknown> {
  if (occurs === "repeated") return fc.array(contentOf(kind), { minLength: 1, maxLength: 3 });
  if (occurs === "optional") return contentOf(kind);
  const isDefault = (value: unknown) => value === "" || value === 0 || value === false;
  return contentOf(kind).filter((value) => !isDefault(value) && value !== schema.enums[kind]?.[0]);
}

function contentOf(kind: string): fc.Arbitrary<unknown> {
  if (kind === "string") return fc.string({ unit: "grapheme", maxLength: 20 });
  if (kind === "bool") return fc.boolean();
  if (kind === "int32") return fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
  if (kind === "int64") return fc.maxSafeInteger();
  if (kind === "timestamp") {
    const range = { min: new Date("0001-01-01"), max: new Date("9999-12-31"), noInvalidDate: true };
    return fc.date(range).map((date) => `${date.toISOString().slice(0, -1)}000Z`);
  }
  const values = schema.enums[kind];
  return values === undefined ? messageOf(kind) : fc.constantFrom(...values);
}
