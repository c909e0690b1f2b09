/** Remote calls from the outside: the Connect project's clients over TLS to the compiled binary. */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";

import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-web";

import { type Chain, createChain } from "#test/support/instances/first-certificate.ts";
import { Instance } from "#test/support/instances/instance.ts";
import { healthFile, serviceOf } from "#test/support/encodings/protoc.ts";
import { newCsr } from "#test/support/instances/relying-party.ts";

const withProtoc = test.skipIf(Bun.which("protoc") === null);
setDefaultTimeout(60_000);
let instance: Instance;
let chain: Chain;
let secret: string;

beforeAll(async () => {
  instance = await Instance.start();
  chain = await createChain(instance, "ecdsa-p256");
  secret = await instance.token(["issuer"]);
});

afterAll(() => instance.dispose());

withProtoc(
  "a token issues and validates over every transport, as over REST",
  async () => {
    const csrPem = await newCsr(chain.folder, "rpc.example.test");
    const caId = chain.intermediateId;
    for (const transport of transports(secret)) {
      const call = methodsOf("pki.v1.PKIService", transport);
      const issued = await call("issueCertificate", { caId, csrPem, profile: "server" });
      const asked = { caId, leafPem: issued.certificatePem };
      const report = await call("validateChain", asked);
      expect(report).toMatchObject({ valid: true, decision: "accept", caId });
      expect(report.chain).toHaveLength(3);
      expect(report.chain.at(-1).isTrustAnchor).toBe(true);
      await call("revokeCertificate", { caId, serial: issued.serial, reason: "superseded" });
      const after = await call("validateChain", asked);
      expect(after).toMatchObject({ valid: false, decision: "reject" });
      expect(after.chain[0].revocation).toMatchObject({
        state: "revoked",
        reason: "superseded",
      });
      const skipped = await call("validateChain", { ...asked, skipRevocation: true });
      expect(skipped.valid).toBe(true);
    }
  },
  60_000,
);

withProtoc(
  "health needs no credential, everything else does",
  async () => {
    for (const transport of transports(undefined)) {
      const health = methodsOf("grpc.health.v1.Health", transport, healthFile());
      expect((await health("check", {})).status).toBe(1);
      const call = methodsOf("pki.v1.PKIService", transport);
      const refused = await call("getCertificate", {
        caId: chain.intermediateId,
        serial: "1",
      }).catch((error) => ConnectError.from(error).code);
      expect(refused).toBe(Code.Unauthenticated);
    }
    const text = await instance.metrics();
    for (const route of ["/grpc.health.v1.Health/Check", "/pki.v1.PKIService/ValidateChain"]) {
      expect(text).toContain(
        `pki_http_requests_total{method="POST",route="${route}",status="200"}`,
      );
    }
  },
  60_000,
);

// biome-ignore lint/suspicious/noExplicitAny: messages are made at run time; members are read as a client reads them.
type Answer = any;

function methodsOf(name: string, transport: Transport, file?: Parameters<typeof serviceOf>[1]) {
  const methods: Answer = createClient(serviceOf(name, file), transport);
  return (method: string, message: object): Promise<Answer> => methods[method](message);
}

function transports(token: string | undefined): readonly Transport[] {
  const ca = readFileSync(`${instance.dataDir}/serving-ca.pem`, "utf8");
  const send = (url: string | URL | Request, init?: RequestInit) => {
    const headers = new Headers(init?.headers);
    if (token !== undefined) headers.set("authorization", `Token ${token}`);
    return fetch(url, { ...init, headers, tls: { ca } });
  };
  // All that a transport calls.
  const options = { baseUrl: instance.url, fetch: send as typeof fetch };
  return [
    createConnectTransport({ ...options, useBinaryFormat: false }),
    createConnectTransport({ ...options, useBinaryFormat: true }),
    createGrpcWebTransport({ ...options, useBinaryFormat: true }),
  ];
}
