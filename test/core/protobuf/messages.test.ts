/** Protobuf messages say the same in octets, in JSON and to protoc, and no octets do harm. */

import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { clearField, type DescField, fromBinary } from "@bufbuild/protobuf";
import { embedFileDesc } from "@bufbuild/protobuf/codegenv2";
import { FileDescriptorSetSchema, FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";

import { pkiSchema } from "#api/rpc/messages.ts";
import { messageJson, readMessageJson } from "#core/protobuf/json.ts";
import { kindOf, type Message, MessageFault } from "#core/protobuf/schema.ts";
import { decodeMessage, encodeMessage } from "#core/protobuf/wire.ts";
import { descriptorBase64, generated, protoFiles } from "#scripts/proto.ts";
import { runProtoc } from "#test/support/encodings/protoc.ts";

const schema = pkiSchema;
const names = [...schema.types.keys()];
const root = join(import.meta.dir, "../../..");

test("the descriptors are what the .proto files say", async () => {
  for (const { proto, module, name } of protoFiles) {
    const source = await Bun.file(join(root, proto)).text();
    expect(await Bun.file(join(root, module)).text()).toBe(generated(source, name));
  }
});

test.skipIf(Bun.which("protoc") === null)("protoc reads pki.proto as we do", async () => {
  const out = join(mkdtempSync(join(tmpdir(), "pkid-descriptor-")), "set");
  runProtoc([`--descriptor_set_out=${out}`]);
  const { file } = fromBinary(FileDescriptorSetSchema, readFileSync(out));
  const [theirs] = file;
  if (theirs === undefined) throw new Error("protoc described no file");
  clearField(theirs, FileDescriptorProtoSchema.field.name);
  const source = await Bun.file(join(root, "src/api/rpc/pki.proto")).text();
  expect(embedFileDesc(theirs).base64()).toBe(descriptorBase64(source));
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

test("what the library takes and the type does not say is a fault, and names its member", () => {
  const octets = [
    ["SerialRequest", "080161", "ca_id", "has a wrong type"],
    ["SerialRequest", "09016100000000000000", "ca_id", "has a wrong type"],
    ["IssueCertificateRequest", "2205", undefined, "is cut short"],
    ["IssueCertificateRequest", "220105", "validity_days", "has a wrong type"],
    ["ListCertificatesRequest", "2063", "status", "has an unknown value"],
    ["ListCertificatesRequest", "420b08ffffffffffffffff7f1000", undefined, "is cut short"],
    ["ListCertificatesRequest", "420a08ffffffffffffffff7f", "expires_before", "is no timestamp"],
    ["SerialRequest", "0a01ff", "ca_id", "is not UTF-8"],
    // A log that goes on behind its end, and a length of which the low 32 bits would fit.
    ["CtResult", "32020a0461626364", undefined, "is cut short"],
    ["SerialRequest", "0a818080801061", undefined, "is cut short"],
    ["CtResult", "7b7c", undefined, "has a field of an unknown type"],
    ["CtResult", `f807${"80".repeat(100)}00`, undefined, "has a number without end"],
  ] as const;
  for (const [name, hex, member, sentence] of octets) {
    const fault = faultOf(() => decodeMessage(schema, name, Uint8Array.fromHex(hex)));
    expect([hex, fault.member, fault.message]).toEqual([hex, member, sentence]);
  }
  const json = [
    ...["1e3", "0x10", "5.0", "", " 5", 1.5, 2 ** 31, true].map((one) => ["validity_days", one]),
    ...[99, -1, "2", "good"].map((one) => ["status", one]),
    ...["2026-01-01", 5, "2026-01-01T00:00:00", "0000-01-01T00:00:00Z"].map((one) => {
      return ["expires_before", one];
    }),
    ["must_staple", "true"],
    ["ca_id", 5],
    ["ca_id", "\ud800"],
  ] as const;
  for (const [member = "", value] of json) {
    const name = ["status", "expires_before"].includes(String(member))
      ? "ListCertificatesRequest"
      : "IssueCertificateRequest";
    const fault = faultOf(() => readMessageJson(schema, name, { [String(member)]: value }));
    expect([value, fault.member, fault.message]).toEqual([
      value,
      String(member),
      "has a wrong type or value",
    ]);
  }
});

test("a time in JSON has the six fraction digits of every answer, whatever came", () => {
  const asked = readMessageJson(schema, "ListCertificatesRequest", {
    expiresBefore: "2026-06-01T14:00:00+02:00",
  });
  expect(messageJson(schema, "ListCertificatesRequest", asked)).toEqual({
    expiresBefore: "2026-06-01T12:00:00.000000Z",
  });
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

function faultOf(read: () => unknown): MessageFault {
  try {
    read();
  } catch (error) {
    if (error instanceof MessageFault) return error;
    throw error;
  }
  throw new Error("it was read");
}

function protoc(verb: "encode" | "decode", name: string, input: Uint8Array): Buffer {
  return runProtoc([`--${verb}=pki.v1.${name}`], input);
}

const anyMessage: fc.Arbitrary<[string, Message]> = fc
  .constantFrom(...names)
  .chain((name) => fc.tuple(fc.constant(name), messageOf(name)));

function messageOf(name: string): fc.Arbitrary<Message> {
  const members = schema.type(name).fields.map((field): [string, fc.Arbitrary<unknown>] => {
    return [field.name, memberOf(field)];
  });
  const record = fc
    .record(Object.fromEntries(members), { requiredKeys: [] })
    .map((message) => onlyFirst(name, message));
  return record as fc.Arbitrary<Message>; // Built from the rows of a message.
}

/** Of the members of a oneof a message has one. */
function onlyFirst(name: string, message: Record<string, unknown>) {
  const seen = new Set<unknown>();
  const kept = schema.type(name).fields.filter(({ name: member, oneof }) => {
    if (oneof === undefined || !(member in message)) return true;
    const fresh = !seen.has(oneof);
    seen.add(oneof);
    return fresh;
  });
  const members = kept.filter(({ name: member }) => member in message);
  return Object.fromEntries(members.map(({ name: member }) => [member, message[member]]));
}

/** Without presence a default cannot be told from absence, so only other values are drawn. */
function memberOf(field: DescField): fc.Arbitrary<unknown> {
  const content = contentOf(field);
  if (field.fieldKind === "list") return fc.array(content, { minLength: 1, maxLength: 3 });
  if (field.proto.proto3Optional) return content;
  const isDefault = (value: unknown) => value === "" || value === 0 || value === false;
  return content.filter((value) => !isDefault(value) && value !== field.enum?.values[0]?.name);
}

function contentOf(field: DescField): fc.Arbitrary<unknown> {
  const kind = kindOf(field);
  if (kind === "string") return fc.string({ unit: "grapheme", maxLength: 20 });
  if (kind === "bool") return fc.boolean();
  if (kind === "int32") return fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
  if (kind === "int64") return fc.maxSafeInteger();
  if (kind === "timestamp") {
    const range = { min: new Date("0001-01-01"), max: new Date("9999-12-31"), noInvalidDate: true };
    return fc.date(range).map((date) => `${date.toISOString().slice(0, -1)}000Z`);
  }
  if (field.enum !== undefined)
    return fc.constantFrom(...field.enum.values.map(({ name }) => name));
  return messageOf(field.message?.name ?? "");
}
