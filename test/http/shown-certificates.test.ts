/**
 * What a client shows in a handshake is not what TLS makes of it: the path is ours to find, the
 * proof of the key is TLS's.
 */

import { writeFileSync } from "node:fs";
import { afterAll, expect, test } from "bun:test";

import { encodePem } from "#core/asn1/pem.ts";
import { below, subjectOf, subjects } from "#test/support/tls/certificate-subjects.ts";
import {
  type ClientCertificate,
  OutsideCa,
  savedClient,
} from "#test/support/tls/client-certificates.ts";
import { scratchDirectory } from "#test/support/encodings/openssl.ts";
import { servingMaterialFor } from "#test/support/tls/serving-pair.ts";
import { startStub, type StubServer } from "#test/support/worlds/stub-server.ts";
import { spoken } from "#test/support/tls/tls-client.ts";

const outside = OutsideCa.root("Outside");
const issuing = outside.below("Issuing");
const alice = issuing.client();
const bob = issuing.client();
const folder = scratchDirectory();
const running: StubServer[] = [];

afterAll(async () => {
  await Promise.all(running.map((server) => server.stop()));
  folder[Symbol.dispose]();
});

async function start(): Promise<StubServer> {
  const clientAuthorities = [outside.pem];
  const server = await startStub(
    { tls: servingMaterialFor("localhost"), clientAuthorities },
    { authenticate: below(clientAuthorities) },
  );
  running.push(server);
  return server;
}
const portOf = (server: StubServer) => server.listeners.addresses.main;
const get = () => "GET /api/me HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

test("a client is let in over its issuer, wherever it shows namesakes of unknown roots beside it", async () => {
  const port = portOf(await start());
  const namesakes = [OutsideCa.root("Evil").below("Issuing"), OutsideCa.root("Issuing")];
  const [leaf = new Uint8Array(), ...above] = alice.chain;
  for (const { der } of namesakes) {
    for (const issuers of [
      [der, ...above],
      [...above, der],
    ]) {
      const held = { key: alice.key, chain: [leaf, ...issuers] };
      expect(subjects(await spoken(port, get(), held))).toEqual([subjectOf(alice)]);
    }
    const short = { key: alice.key, chain: [leaf, der] };
    expect(await spoken(port, get(), short)).toStartWith("HTTP/1.1 401");
  }
});

test.each(["tls1_2", "tls1_3"])(
  "a client with a certificate whose key it does not hold comes to no %s connection at all",
  async (version) => {
    const port = portOf(await start());
    const { cert } = savedClient(folder.path, `stolen-${version}`, alice);
    // A private key that claims the public key of the certificate, so that the client itself
    // notices nothing.
    const jwk = (client: ClientCertificate) => client.key.privateKey.export({ format: "jwk" });
    const { d = "" } = jwk(bob);
    const claimed = Buffer.from(alice.key.privateKey.export({ format: "der", type: "sec1" }));
    const own = Buffer.from(jwk(alice).d ?? "", "base64url");
    Buffer.from(d, "base64url").copy(claimed, claimed.indexOf(own));
    const key = `${folder.path}/stolen-${version}.key`;
    writeFileSync(key, encodePem("EC PRIVATE KEY", claimed));
    const honest = savedClient(folder.path, `own-${version}`, alice);
    const said = await sClient(port, [`-${version}`, "-cert", cert, "-key", honest.key]);
    expect(subjects(said)).toEqual([subjectOf(alice)]);
    const stolen = await sClient(port, [`-${version}`, "-cert", cert, "-key", key]);
    expect(stolen).not.toContain("HTTP/1.1");
    // What the client was told: the signature of its CertificateVerify does not verify (RFC 8446
    // §6.2).
    expect(stolen).toMatch(/alert decrypt error/);
  },
);

/** One exchange of openssl, and what it complains about. */
async function sClient(port: number, options: readonly string[]): Promise<string> {
  const command = ["openssl", "s_client", "-connect", `127.0.0.1:${port}`, "-ign_eof"];
  const chain = ["-cert_chain", options[2] ?? ""];
  const client = Bun.spawn([...command, ...options, ...chain], {
    stdin: Buffer.from(get()),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, faults] = await Promise.all(
    [client.stdout, client.stderr].map((stream) => new Response(stream).text()),
  );
  return `${out}${faults}`;
}
