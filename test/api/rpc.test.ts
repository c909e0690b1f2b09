/**
 * Remote procedure calls are the operations under other names: same grants, same gates, same
 * refusals, same records.
 */

import { askJson, openPipeline, stubOf } from "#test/support/worlds/asking.ts";
import { expect, test } from "bun:test";

import { authorityHandlers } from "#api/authorities.ts";
import { certificateHandlers } from "#api/certificates.ts";
import { issuanceHandlers } from "#api/issuance.ts";
import { pkiMethods, pkiSchema } from "#api/rpc/messages.ts";
import { rpcMethods } from "#api/rpc/methods.ts";
import { validationHandlers } from "#api/validation.ts";
import type { Principal } from "#core/access/principal.ts";
import { type Role, roles } from "#core/access/roles.ts";
import { Problem, refuse } from "#core/problems.ts";
import { messageJson, readMessageJson } from "#core/protobuf/json.ts";
import { kindOf, type Message } from "#core/protobuf/schema.ts";
import { decodeMessage, encodeMessage } from "#core/protobuf/wire.ts";
import { anything, optional, text } from "#core/shape.ts";
import { type Definition, operation } from "#domain/access/operation.ts";
import type { Perform } from "#domain/access/perform.ts";
import { theCa } from "#domain/access/targets.ts";
import { RpcDoor } from "#http/rpc/door.ts";
import { statusSchema } from "#http/rpc/status-messages.ts";
import type { OperationName } from "#operations";
import { csr, issuanceWorld, rootOrigin } from "#test/support/worlds/issuance.ts";
import { personNamed } from "#test/support/worlds/people.ts";
import { stubCatalog } from "#test/support/worlds/stub-server.ts";

type Answers = NonNullable<Parameters<typeof stubCatalog>[0]>;
const world = issuanceWorld();
const perform = openPipeline({ ...world });
const methods = rpcMethods({
  crl: { base_url: "http://pki.test" },
  ocsp: { nonce_enabled: true, delegated: false },
});
const at = "2026-06-01T12:00:00.000000Z";
const crlStatus = operation({
  summary: "",
  target: theCa,
  input: { shard: optional(text()) },
  output: anything(),
  run: async ({ input: { shard } }) => {
    if (shard === "3") throw refuse("bad_partition", { shard_count: 2 });
    const base = { number: 7, this_update: at };
    return { shard_count: 2, base, delta: { available: true, number: 8, this_update: at } };
  },
});
const handlers: Answers = {
  ...authorityHandlers(world),
  ...issuanceHandlers(world),
  ...certificateHandlers(world),
  ...validationHandlers(world),
  "crl.status": crlStatus,
};
const faults: unknown[] = [];
const subject = { cn: "Root" };
const root = await rest("ca.init_root", {}, { label: "r", subject, key_type: "ecdsa-p256" });
const caId = String(root.id);

test("a certificate is issued, read, listed and found over every protocol alike", async () => {
  for (const protocol of protocols) {
    const issued = await call(protocol, "IssueCertificate", {
      ca_id: caId,
      csr_pem: csr(),
      profile: "server",
      validity_days: 30,
    });
    expect(issued).toMatchObject({ profile: "server", ca_id: caId });
    expect(issued.certificate_pem).toStartWith("-----BEGIN CERTIFICATE-----");
    const asked = { ca_id: caId, serial: `0x${BigInt(String(issued.serial)).toString(16)}` };
    const { certificate } = await call(protocol, "GetCertificate", asked);
    const shown = await rest("cert.show", { id: caId, serial: String(issued.serial) });
    expect(certificate).toMatchObject({
      serial: issued.serial,
      status: "GOOD",
      certificate_pem: shown.certificate,
      sans: shown.sans,
      public_key_fingerprint: shown.public_key_fingerprint,
      not_after: shown.not_after,
    });
    expect(await call(protocol, "GetCertificateStatus", asked)).toEqual({ status: "GOOD" });
    const key = String(shown.public_key_fingerprint);
    const found = await call(protocol, "ListCertificates", {
      ca_id: caId,
      public_key_sha256: key,
      limit: 1,
      status: "GOOD",
    });
    expect(found).toMatchObject({ total: 1, certificates: [{ serial: issued.serial }] });
    const renewed = await call(protocol, "RenewCertificate", { ...asked, validity_days: 20 });
    expect(renewed.serial).not.toBe(issued.serial);
  }
});

test("a preview over RPC is the preview of REST, and writes nothing", async () => {
  const before = world.store.countRows("certificates");
  const body = { csr: csr(), profile: "server" };
  const told = await rest("cert.preview", { id: caId }, body);
  const { csr: csr_pem, profile } = body;
  const preview = await call("proto", "PreviewCertificate", { ca_id: caId, csr_pem, profile });
  for (const name of ["decision", "subject", "sans", "key_usages", "not_after", "validity_days"]) {
    expect(preview[name]).toEqual(told[name] as never);
  }
  expect(preview.gates).toHaveLength((told.gates as unknown[]).length);
  expect(world.store.countRows("certificates")).toBe(before);
});

test("a report over RPC has every member of the report of REST, whatever the verdict", async () => {
  const issued = await call("proto", "IssueCertificate", { ca_id: caId, csr_pem: csr() });
  const certificate = String(issued.certificate_pem);
  const asked = {
    ca_id: caId,
    leaf_pem: certificate,
    intermediates_pem: [String(root.certificate)],
  };
  for (const skip_revocation of [undefined, true]) {
    const body = { ca: caId, certificate, intermediates: asked.intermediates_pem, skip_revocation };
    const told = await rest("cert.validate", {}, body);
    for (const protocol of protocols) {
      const report = await call(protocol, "ValidateChain", { ...asked, skip_revocation });
      expect(spelledOut(report, "ValidateChainResponse")).toEqual(told as Message);
    }
  }
  const wrong = call("proto", "ValidateChain", { ca_id: caId, leaf_pem: "nonsense" });
  await expect(wrong).rejects.toMatchObject({ problem: "bad_certificate" });
  const foreign = call("proto", "ValidateChain", asked, tenantHolder("admin"));
  await expect(foreign).rejects.toMatchObject({ code: "not_found", problem: "not_found" });
});

test("metadata of CRL and OCSP names the addresses that certificates name", async () => {
  const lists = { crl_number: 7, this_update: at, delta_available: true, shard_count: 2 };
  const expected = { ...lists, delta_crl_number: 8, delta_this_update: at };
  const crl = `http://pki.test/api/ca/${caId}/crl`;
  expect(await call("proto", "GetCRLMetadata", { ca_id: caId })).toEqual({
    ...expected,
    scope: "full",
    crl_url: crl,
    delta_crl_url: `${crl}/delta`,
  });
  const partition = `${crl}/partition/1`;
  expect(await call("proto", "GetCRLMetadata", { ca_id: caId, shard: 1 })).toEqual({
    ...expected,
    scope: "partition-1",
    crl_url: partition,
    delta_crl_url: `${partition}/delta`,
  });
  expect(await call("json", "GetOCSPMetadata", { ca_id: caId })).toEqual({
    ocsp_urls: [`http://pki.test/api/ca/${caId}/ocsp`],
    nonce_supported: true,
  });
  const sharded = call("proto", "GetCRLMetadata", { ca_id: caId, shard: 3 });
  await expect(sharded).rejects.toMatchObject({
    code: "invalid_argument",
    problem: "bad_partition",
  });
});

test("a refusal carries Connect's word, the code and the facts, over every protocol alike", async () => {
  const serial = "12";
  for (const protocol of protocols) {
    for (const [method, message, code, problem] of [
      ["GetCertificate", { ca_id: caId, serial }, "not_found", "not_found"],
      ["GetCertificate", { ca_id: caId, serial: "-1" }, "invalid_argument", "bad_serial"],
      ["IssueCertificate", { ca_id: caId, profile: "server" }, "invalid_argument", "missing_field"],
      ["ListCertificates", { ca_id: caId, limit: 0 }, "invalid_argument", "bad_query"],
      ["ListCertificates", { ca_id: caId, status: "UNKNOWN" }, "invalid_argument", "bad_query"],
      ["ListCertificates", { ca_id: caId, cursor: "x" }, "invalid_argument", "bad_cursor"],
    ] as const) {
      await expect(call(protocol, method, message)).rejects.toMatchObject({ code, problem });
    }
    const asked = { ca_id: caId, serial };
    const stranger = call(protocol, "GetCertificate", asked, "nobody");
    await expect(stranger).rejects.toMatchObject({
      code: "unauthenticated",
      problem: "unauthenticated",
    });
    const auditor = call(protocol, "RevokeCertificate", asked, roleHolder("auditor"));
    await expect(auditor).rejects.toMatchObject({
      code: "permission_denied",
      problem: "forbidden",
    });
  }
  expect(faults).toEqual([]);
});

/** A message in which every field is a text. */
const blank = new Proxy({}, { get: () => "5" }) as never;
const never = (): never => {
  throw new Error("every method has its stub");
};

test("no method passes a gate its operation has: every caller meets the same answer as over REST", async () => {
  const stubFor = ({ ask, operation: name }: (typeof methods)[keyof typeof methods]) => {
    const members = Object.keys(ask(blank)).filter((member) => member !== "id");
    const input = Object.fromEntries(members.map((member) => [member, optional(anything())]));
    return stubOf(name, async () => ({}), input);
  };
  const stubs: Readonly<Record<string, Definition>> = Object.fromEntries(
    Object.values(methods).map((one) => [one.operation, stubFor(one)]),
  );
  const open = door(perform, stubs);
  const callers = ["nobody" as const, ...roles.map(roleHolder), ...roles.map(tenantHolder)];
  for (const [name, { operation }] of Object.entries(methods)) {
    for (const principal of callers) {
      const who = principal === "nobody" ? principal : principal.subject;
      for (const id of [caId, "absent"]) {
        const asked = { ca_id: id, serial: "5" };
        const over = await problemOf(() => call("proto", name, asked, principal, open));
        const plain = await codeOf(() =>
          askJson(
            perform,
            {
              operation,
              path: { id, serial: "5" },
              query: new URLSearchParams(),
              origin: principal === "nobody" ? undefined : { ...rootOrigin, principal },
              body: async () => ({}),
            },
            stubs[operation] ?? never(),
          ),
        );
        expect([name, who, id, over]).toEqual([name, who, id, plain]);
      }
    }
  }
});

test("a refusal names members as the message does, and a member no message has by its name", async () => {
  const factsOf = async (method: string, body: object) => {
    const path = `/pki.v1.PKIService/${method}`;
    const headers = { "content-type": "application/json" };
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    const answer = await visit(door(perform, handlers), path, init);
    const [{ value }] = JSON.parse(await answer.text()).details;
    const detail = Uint8Array.fromBase64(value);
    const { code, facts_json } = decodeMessage(pkiSchema, "ErrorInfo", detail);
    return [code, JSON.parse(String(facts_json))];
  };
  const issue = { caId, profile: "server" };
  expect(await factsOf("IssueCertificate", issue)).toEqual(["missing_field", { field: "csr_pem" }]);
  expect(await factsOf("IssueCertificate", { ...issue, csr: "x" })).toEqual([
    "unknown_field",
    { field: "csr" },
  ]);
  expect(await factsOf("IssueCertificate", { ...issue, validityDays: "x" })).toEqual([
    "invalid_field",
    { field: "validity_days", reason: "has a wrong type or value" },
  ]);
  expect(await factsOf("ValidateChain", { caId, leafPem: "a\0b" })).toMatchObject([
    "invalid_field",
    { field: "leaf_pem" },
  ]);
  expect(await factsOf("ListCertificates", { caId, query: "x".repeat(201) })).toMatchObject([
    "bad_query",
    { parameter: "query" },
  ]);
});

test("what no client may send is refused in words that say what to change", async () => {
  const path = "/pki.v1.PKIService/GetCertificate";
  const said = async (init: RequestInit) => {
    const answer = await visit(door(perform, handlers), path, init);
    const { code, message } = JSON.parse(await answer.text());
    return [answer.status, code, message];
  };
  expect(await said({ method: "GET" })).toEqual([
    404,
    "not_found",
    "This path does not take this method.",
  ]);
  const post = (headers: Record<string, string>) => said({ method: "POST", headers, body: "{}" });
  const json = "application/json";
  expect((await post({ "content-type": json, "content-encoding": "gzip" }))[2]).toContain(
    "Compressed",
  );
  expect((await post({ "content-type": "application/grpc" }))[2]).toContain("HTTP/2");
  expect((await post({ "content-type": "application/grpc+proto" }))[2]).toContain("gRPC-Web");
});

test("what is no call is refused before anything runs", async () => {
  const path = "/pki.v1.PKIService/GetCertificate";
  const send = (init: RequestInit, at = path) => visit(door(perform, handlers), at, init);
  const json = { "content-type": "application/json" };
  const status = async (init: RequestInit, at?: string) => (await send(init, at)).status;
  expect(await status({ method: "GET", headers: json })).toBe(404);
  expect(await status({ method: "POST", headers: json }, "/pki.v1.PKIService/Nothing")).toBe(404);
  expect(await status({ method: "POST", headers: json }, "/pki.v1.PKIService/toString")).toBe(404);
  expect(await status({ method: "POST", headers: { "content-type": "text/plain" } })).toBe(400);
  const zipped = { ...json, "content-encoding": "gzip" };
  expect(await status({ method: "POST", headers: zipped, body: "{}" })).toBe(400);
  expect(await status({ method: "POST", headers: json, body: "{" })).toBe(400);
  expect(await status({ method: "POST", headers: json, body: " ".repeat(70_000) })).toBe(429);
  const proto = { "content-type": "application/proto" };
  expect(await status({ method: "POST", headers: proto, body: new Uint8Array([255]) })).toBe(400);
  const web = { "content-type": "application/grpc-web+proto" };
  const compressed = await send({
    method: "POST",
    headers: web,
    body: new Uint8Array([1, 0, 0, 0, 0]),
  });
  expect(await compressed.text()).toContain("grpc-status: 3");
});

const protocols = ["json", "proto", "grpc-web", "grpc-web-text"] as const;
type Protocol = (typeof protocols)[number];

class RpcRefusal extends Error {
  constructor(
    readonly code: string,
    readonly problem: string,
  ) {
    super(code);
  }
}

function door(through: Perform, served: Answers): RpcDoor {
  return new RpcDoor({
    service: "pki.v1.PKIService",
    schema: pkiSchema,
    methods,
    streams: {},
    perform: through,
    catalog: stubCatalog(served),
    bodyBytesMax: 65_536,
    open: {},
  });
}

function visit(
  to: RpcDoor,
  path: string,
  init: RequestInit,
  principal: Principal | "nobody" = rootOrigin.principal,
): Promise<Response> {
  expect(to.serves(path)).toBe(true);
  const request = new Request(`http://localhost${path}`, init);
  const exchange = {
    request,
    side: "main" as const,
    secure: true,
    path,
    query: "",
    ip: "",
    requestId: "r",
    certificate: undefined,
    begun: 0,
    movedAt: 0,
    operation: undefined,
    speaks: undefined,
    route: "",
    subject: "",
    timing: { bodyRead: () => {}, lasts: () => {} },
  };
  return to.answer({
    exchange,
    admit: () => {},
    origin: async () => (principal === "nobody" ? undefined : { ...rootOrigin, principal }),
    fault: (thrown) => faults.push(thrown),
  });
}

/**
 * One call as a client of the protocol makes it; throws the refusal as both words the answer
 * carries.
 */
async function call(
  protocol: Protocol,
  method: string,
  message: Message,
  principal: Principal | "nobody" = rootOrigin.principal,
  to = door(perform, handlers),
): Promise<Message> {
  const [request, response] = pkiMethods[method as keyof typeof pkiMethods]; // Named by a test.
  const path = `/pki.v1.PKIService/${method}`;
  const octets = encodeMessage(pkiSchema, request, message);
  if (protocol === "json" || protocol === "proto") {
    const body =
      protocol === "json" ? JSON.stringify(messageJson(pkiSchema, request, message)) : octets;
    const answer = await visit(to, path, post(protocol, body), principal);
    if (!answer.ok) throw connectRefusal(await answer.json());
    if (protocol === "json") return readMessageJson(pkiSchema, response, await answer.json());
    return decodeMessage(pkiSchema, response, await answer.bytes());
  }
  const isText = protocol === "grpc-web-text";
  const framed = frame(octets);
  const body = isText ? framed.toString("base64") : framed;
  const answer = await visit(to, path, post(`${protocol}+proto`, body), principal);
  expect(answer.status).toBe(200);
  const whole = isText
    ? Buffer.from(await answer.text(), "base64")
    : Buffer.from(await answer.bytes());
  return grpcAnswer(whole, response);
}

/**
 * A message as REST says it: what is empty or false is written, what says when or why only where it
 * is said.
 */
function spelledOut(message: Message, name: string): Message {
  const members = pkiSchema.type(name).fields.flatMap((field) => {
    const member = field.name;
    const value = message[member] ?? (field.fieldKind === "list" ? [] : defaults[kindOf(field)]);
    if (value === undefined || (value === "" && sometimes.includes(member))) return [];
    const type = field.message?.name ?? "";
    const whole = (one: unknown) =>
      typeof one === "object" ? spelledOut(one as Message, type) : one; // A message of that type.
    return [[member, Array.isArray(value) ? value.map(whole) : whole(value)] as const];
  });
  return Object.fromEntries(members) as Message; // From the members of a message.
}
const defaults: Readonly<Record<string, string | number | boolean>> = {
  string: "",
  bool: false,
  int32: 0,
};
const sometimes = ["detail", "reason"];

const post = (type: string, body: string | Uint8Array) => ({
  method: "POST",
  headers: { "content-type": `application/${type}` },
  body: typeof body === "string" ? body : new Uint8Array(body),
});

function connectRefusal(body: { code: string; details: { type: string; value: string }[] }) {
  expect(body.details[0]?.type).toBe("pki.v1.ErrorInfo");
  const detail = Buffer.from(body.details[0]?.value ?? "", "base64");
  return new RpcRefusal(body.code, String(decodeMessage(pkiSchema, "ErrorInfo", detail).code));
}

/** The frames of an answer: at most one message, then the trailers. */
function grpcAnswer(whole: Buffer, response: string): Message {
  let message: Message = {};
  for (let at = 0; at < whole.length; ) {
    const length = whole.readUInt32BE(at + 1);
    const content = whole.subarray(at + 5, at + 5 + length);
    if (whole[at] === 0) message = decodeMessage(pkiSchema, response, content);
    else {
      const trailers = new Headers(content.toString().trim().split("\r\n").map(pairOf));
      const status = Number(trailers.get("grpc-status"));
      const detail = Buffer.from(trailers.get("grpc-status-details-bin") ?? "", "base64");
      const { details } = decodeMessage(statusSchema, "Status", detail);
      const { code = "" } = Object(Object(details)[0]?.value);
      if (status !== 0) throw new RpcRefusal(grpcNames[status] ?? "", String(code));
    }
    at += 5 + length;
  }
  return message;
}

const pairOf = (line: string): [string, string] => {
  const [name = "", value = ""] = line.split(": ");
  return [name, value];
};

function frame(octets: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(octets.length, 1);
  return Buffer.concat([head, octets]);
}

async function rest(
  operation: OperationName,
  path: Record<string, string>,
  body?: unknown,
): Promise<Record<string, unknown>> {
  const asked = { operation, origin: rootOrigin, path, body: async () => body };
  const served = handlers[operation];
  if (served === undefined || typeof served === "function" || "hear" in served) {
    throw new Error("no definition answers it");
  }
  const answer = await askJson(perform, { ...asked, query: new URLSearchParams() }, served);
  return JSON.parse(JSON.stringify(answer.body));
}

async function problemOf(ask: () => Promise<unknown>): Promise<string> {
  try {
    await ask();
    return "ok";
  } catch (error) {
    if (error instanceof RpcRefusal) return error.problem;
    throw error;
  }
}

async function codeOf(ask: () => Promise<unknown>): Promise<string> {
  try {
    await ask();
    return "ok";
  } catch (error) {
    if (error instanceof Problem) return error.code;
    throw error;
  }
}

const person = { person: personNamed("p"), isRoot: false, groups: [], mechanism: "token" } as const;
const roleHolder = (role: Role): Principal => ({
  ...person,
  subject: role,
  roles: [role],
  tenantRoles: {},
});
const tenantHolder = (role: Role): Principal => ({
  ...person,
  subject: `${role}@other`,
  roles: [],
  tenantRoles: { other: [role] },
});
const grpcNames: Readonly<Record<number, string>> = {
  3: "invalid_argument",
  5: "not_found",
  7: "permission_denied",
  16: "unauthenticated",
};
