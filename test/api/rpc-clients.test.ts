/**
 * The clients of the Connect project speak with pkid, made from pki.proto by protoc, in every way
 * they have.
 */

import { openPipeline } from "#test/support/worlds/asking.ts";
import { afterAll, beforeAll, expect, test } from "bun:test";

import {
  Code,
  ConnectError,
  createClient,
  type Interceptor,
  type Transport,
} from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-web";

import { authorityHandlers } from "#api/authorities.ts";
import { certificateHandlers } from "#api/certificates.ts";
import { issuanceHandlers } from "#api/issuance.ts";
import { eventStreamHandlers } from "#api/event-stream.ts";
import { healthMethods } from "#api/rpc/health.ts";
import { pkiSchema } from "#api/rpc/messages.ts";
import { rpcMethods } from "#api/rpc/methods.ts";
import { rpcStreams } from "#api/rpc/streams.ts";
import { validationHandlers } from "#api/validation.ts";
import { decodeMessage } from "#core/protobuf/wire.ts";
import { RpcDoor } from "#http/rpc/door.ts";
import { feedOver } from "#test/support/worlds/feed-world.ts";
import { until } from "#test/support/until.ts";
import { csr, initRoot, issuanceWorld } from "#test/support/worlds/issuance.ts";
import { healthFile, serviceOf } from "#test/support/encodings/protoc.ts";
import { startStub, stubCatalog, type StubServer } from "#test/support/worlds/stub-server.ts";

const world = issuanceWorld({ urlBase: "http://pki.test" });
const { feed } = feedOver(world.store);
const rpc = new RpcDoor({
  service: "pki.v1.PKIService",
  schema: pkiSchema,
  perform: openPipeline({ ...world }),
  methods: rpcMethods({
    crl: { base_url: "http://pki.test" },
    ocsp: { nonce_enabled: true, delegated: true },
  }),
  streams: rpcStreams(),
  open: healthMethods(["pki.v1.PKIService"], async () => true),
  catalog: stubCatalog({
    ...authorityHandlers(world),
    ...issuanceHandlers(world),
    ...certificateHandlers(world),
    ...validationHandlers(world),
    ...eventStreamHandlers({ store: world.store, feed }),
  }),
  bodyBytesMax: 65_536,
});
let server: StubServer;
let caId: string;
beforeAll(async () => {
  server = await startStub({}, { rpc });
  caId = (await initRoot(world)).id;
});
afterAll(() => server.stop());

const withProtoc = test.skipIf(Bun.which("protoc") === null);

withProtoc("a client issues, reads, finds and validates a certificate", async () => {
  for (const transport of transports(server.origin)) {
    const client = clientOf("pki.v1.PKIService", transport);
    const issued = await client("issueCertificate", { caId, csrPem: csr(), profile: "server" });
    expect(issued.chainPem).toStartWith("-----BEGIN CERTIFICATE-----");
    const { serial } = issued;
    const { certificate } = await client("getCertificate", { caId, serial });
    expect(certificate).toMatchObject({ serial, status: 1, certificatePem: issued.certificatePem });
    expect(certificate.notAfter).toEqual(issued.notAfter);
    const found = await client("listCertificates", { caId, query: serial });
    expect(found.certificates.map((one: Answer) => one.serial)).toEqual([serial]);
    const report = await client("validateChain", { caId, leafPem: issued.certificatePem });
    expect(report).toMatchObject({ chainBuilt: true, valid: true, decision: "accept" });
    expect(report.chain).toHaveLength(2);
    expect(report.checks.map((one: Answer) => one.name)).toContain("name_constraints");
  }
});

withProtoc("a refusal reaches a client as its code, with the product's own beside it", async () => {
  for (const transport of transports(server.origin)) {
    const client = clientOf("pki.v1.PKIService", transport);
    const refused = await refusalOf(client("getCertificate", { caId, serial: "12" }));
    expect(refused.code).toBe(Code.NotFound);
    const [detail]: Answer[] = refused.details;
    expect(detail.type).toBe("pki.v1.ErrorInfo");
    expect(decodeMessage(pkiSchema, "ErrorInfo", detail.value).code).toBe("not_found");
    const unknown = clientOf("pki.v1.PKIService", transports(server.origin, "wrong")[0]);
    const stranger = await refusalOf(unknown("getCertificate", { caId, serial: "12" }));
    expect(stranger.code).toBe(Code.Unauthenticated);
  }
});

withProtoc("a client follows the events from where it left off, and goes away", async () => {
  for (const transport of transports(server.origin)) {
    const client = clientOf("pki.v1.PKIService", transport);
    const { seq } = await world.store.read.audit.eventHead();
    const leave = new AbortController();
    const told: Answer[] = [];
    const following = (async () => {
      const asked = { action: "cert.*", resumeFromSeq: BigInt(seq) };
      const options = { signal: leave.signal };
      for await (const one of client("streamEvents", asked, options)) told.push(one.told);
    })();
    await until(() => told.length === 1);
    expect(told[0]).toMatchObject({ case: "heartbeat", value: { lastSeq: BigInt(seq) } });
    const issued = await client("issueCertificate", { caId, csrPem: csr(), profile: "server" });
    await until(() => told.length === 2);
    const [event] = (await world.store.read.audit.eventsAfter(seq, 9)).slice(-1);
    expect(told[1]).toMatchObject({
      case: "event",
      value: {
        seq: BigInt(event?.seq ?? 0),
        action: "cert.issue",
        serial: issued.serial,
        hash: event?.hash,
        prevHash: event?.prevHash,
        detail: event?.detail,
      },
    });
    leave.abort();
    await refusalOf(following);
    await until(() => feed.size === 0);
  }
});

withProtoc("a stream that is refused, or ends, says why as a call does", async () => {
  const first = async (client: Client, asked: object) => {
    for await (const _ of client("streamEvents", asked)) break;
  };
  for (const transport of transports(server.origin)) {
    const client = clientOf("pki.v1.PKIService", transport);
    const wrong = await refusalOf(first(client, { resumeFromSeq: -1n }));
    expect(wrong.code).toBe(Code.InvalidArgument);
    const [detail]: Answer[] = wrong.details;
    expect(decodeMessage(pkiSchema, "ErrorInfo", detail.value)).toEqual({
      code: "bad_query",
      facts_json: expect.stringContaining('"parameter":"resume_from_seq"'),
    });
  }
  for (const transport of transports(server.origin, "wrong")) {
    const stranger = clientOf("pki.v1.PKIService", transport);
    expect((await refusalOf(first(stranger, {}))).code).toBe(Code.Unauthenticated);
  }
  const [transport] = transports(server.origin);
  const ending = (async () => {
    for await (const _ of clientOf("pki.v1.PKIService", transport)("streamEvents", {}));
  })();
  await until(() => feed.size === 1);
  feed.stop();
  expect((await refusalOf(ending)).code).toBe(Code.Unavailable);
});

withProtoc("a client without credential checks the health of the service", async () => {
  for (const transport of transports(server.origin, undefined)) {
    const client = clientOf("grpc.health.v1.Health", transport, healthFile());
    expect((await client("check", {})).status).toBe(1);
    expect((await client("check", { service: "pki.v1.PKIService" })).status).toBe(1);
    const other = await refusalOf(client("check", { service: "else" }));
    expect(other.code).toBe(Code.NotFound);
  }
});

// biome-ignore lint/suspicious/noExplicitAny: the messages are made at run time; members are read as a client reads them.
type Answer = any;

/** Made from descriptors at run time, so its methods have no static types. */
function clientOf(
  name: string,
  transport: Transport | undefined,
  file?: Parameters<typeof serviceOf>[1],
): Client {
  if (transport === undefined) throw new Error("a transport is wanted");
  const methods: Answer = createClient(serviceOf(name, file), transport);
  return (method, message, options) => methods[method](message, options);
}

/** A promise of an answer, or what can be gone through. */
type Client = (method: string, message: object, options?: object) => Answer;

function transports(baseUrl: string, password: string | undefined = "secret"): Transport[] {
  const interceptors: Interceptor[] = [
    (next) => (request) => {
      if (password !== undefined) {
        request.header.set("authorization", `Basic ${btoa(`root:${password}`)}`);
      }
      return next(request);
    },
  ];
  return [
    createConnectTransport({ baseUrl, interceptors, useBinaryFormat: false }),
    createConnectTransport({ baseUrl, interceptors, useBinaryFormat: true }),
    createGrpcWebTransport({ baseUrl, interceptors, useBinaryFormat: true }),
  ];
}

const refusalOf = (asked: Promise<unknown>): Promise<ConnectError> =>
  asked.then(
    () => {
      throw new Error("was not refused");
    },
    (error) => ConnectError.from(error),
  );
