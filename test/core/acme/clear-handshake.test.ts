/** The clear part of handshakes, against openssl as a server, and against octets of any kind. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { connect } from "node:net";

import fc from "fast-check";

import { clientHello, type Heard, readServerHello } from "#core/acme/clear-handshake.ts";
import { scratchDirectory } from "#test/support/encodings/openssl.ts";
import { alpnCertificate } from "#test/support/servers/acme-challenges.ts";
import { freePort } from "#test/support/servers/free-port.ts";
import { until } from "#test/support/until.ts";

const name = "a.test";
const shown = alpnCertificate({ names: `DNS:${name}`, digest: new Uint8Array(32) });
const der = Buffer.from(shown.cert.toString().replace(/-----[^-]+-----|\s/g, ""), "base64");

describe("of openssl", () => {
  const directory = scratchDirectory();
  let port = 0;
  let server: Bun.Subprocess;
  beforeAll(async () => {
    port = await freePort();
    const files = [
      "-cert",
      directory.write("c", shown.cert),
      "-key",
      directory.write("k", shown.key),
    ];
    const line = [
      "openssl",
      "s_server",
      "-accept",
      `127.0.0.1:${port}`,
      "-alpn",
      "acme-tls/1",
      "-quiet",
    ];
    server = Bun.spawn([...line, ...files], { stdio: ["pipe", "ignore", "ignore"] });
    await until(async () => (await answered("acme-tls/1")).length > 0);
  });
  afterAll(async () => {
    server.kill();
    await server.exited;
    directory[Symbol.dispose]();
  });

  /** All that the server says to a hello that offers this protocol. */
  function answered(protocol: string): Promise<Buffer> {
    const { promise, resolve } = Promise.withResolvers<Buffer>();
    let received = Buffer.alloc(0);
    const socket = connect(port, "127.0.0.1", () => {
      socket.write(clientHello({ name, protocol, random: new Uint8Array(32).fill(7) }));
    });
    socket.on("error", () => resolve(received));
    socket.on("close", () => resolve(received));
    socket.on("data", (more: Buffer) => {
      received = Buffer.concat([received, more]);
      if (readServerHello(received).kind !== "more") socket.destroy();
    });
    return promise;
  }

  test("protocol and certificate are read, and nothing before all of it is there", async () => {
    const octets = await answered("acme-tls/1");
    const heard: Heard = readServerHello(octets);
    expect(heard).toMatchObject({ kind: "shown", protocol: "acme-tls/1" });
    if (heard.kind === "shown") expect(Buffer.from(heard.certificate).equals(der)).toBe(true);
    const kinds = Array.from({ length: der.length }, (_, at) =>
      readServerHello(octets.subarray(0, at)),
    );
    expect(new Set(kinds.map(({ kind }) => kind))).toEqual(new Set(["more"]));
    expect(readServerHello(octets.subarray(0, 3))).toEqual({ kind: "more", least: 6 });
  });

  test("a protocol that it does not know is refused", async () => {
    const heard = readServerHello(await answered("h2"));
    expect(
      heard.kind === "refused" || (heard.kind === "shown" && heard.protocol === undefined),
    ).toBe(true);
  });
});

describe("refused is", () => {
  const record = (content: readonly number[], type = 22) =>
    Uint8Array.from([type, 3, 3, 0, content.length].concat(content));

  test.each([
    ["an alert", record([2, 40], 21)],
    ["what is not TLS", Buffer.from("220 hello\r\n")],
    ["a certificate before the hello", record([11, 0, 0, 3, 0, 0, 0])],
    ["a hello of TLS 1.1", record([2, 0, 0, 2, 3, 2, 11, 0, 0, 3, 0, 0, 0])],
    ["an empty list of certificates", record([2, 0, 0, 2, 3, 3, 11, 0, 0, 3, 0, 0, 0])],
    ["a record without content", record([])],
    ["more than 16 KiB", new Uint8Array(16_385).fill(22)],
  ])("%s", (_what, octets) => {
    expect(readServerHello(octets)).toEqual({ kind: "refused" });
  });

  test("nothing else than what it says, whatever comes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (octets) => {
        const prefixed = Uint8Array.from([22, 3, 3, 0, 80, 2, ...octets]);
        for (const one of [octets, prefixed]) {
          expect(["more", "refused", "shown"]).toContain(readServerHello(one).kind);
        }
      }),
    );
  });
});
