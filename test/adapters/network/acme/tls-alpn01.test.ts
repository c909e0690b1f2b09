/** Proofs by tls-alpn-01, and redirects to https, against TLS servers that are right and wrong. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { AttemptAddresses } from "#adapters/network/acme/addresses.ts";
import { withDeadline } from "#adapters/network/acme/deadline.ts";
import { proveByHttp } from "#adapters/network/acme/http01.ts";
import { DnsResolver } from "#adapters/network/dns.ts";
import { systemRandom } from "#adapters/system.ts";
import { sha256 } from "#core/crypto.ts";
import { createServer } from "node:net";
import type { ValidationTask } from "#domain/acme/validators.ts";
import { scratchDirectory } from "#test/support/encodings/openssl.ts";
import {
  type AlpnCertificate,
  alpnCertificate,
  body,
  redirect,
  startAlpnResponder,
  startHttpResponder,
  wellKnown,
} from "#test/support/servers/acme-challenges.ts";
import type { DnsServer } from "#test/support/servers/dns-server.ts";
import { freePort } from "#test/support/servers/free-port.ts";
import { until } from "#test/support/until.ts";
import { namesAt, settingsFor, taskFor, validatorsWith } from "#test/support/worlds/validation.ts";

let names: DnsServer;
beforeAll(async () => {
  names = await namesAt({ "a.test": ["127.0.0.2"] });
});
afterAll(() => names.stop());

const digest = sha256(Buffer.from("token.thumbprint"));
const right: AlpnCertificate = { names: "DNS:a.test", digest };

async function attempt(port: number, task: Partial<ValidationTask> = {}, seconds = 5) {
  const settings = settingsFor(names, {
    tls_alpn01_port: port,
    validation_timeout_seconds: seconds,
    validation_allow_networks: ["127.0.0.2/32", "::1/128"],
  });
  const { validators } = validatorsWith(() => settings);
  const outcome = await validators.attempt(taskFor({ type: "tls-alpn-01", ...task }));
  return outcome.proved
    ? ["proved", ...outcome.addresses]
    : [outcome.problem.type, outcome.problem.detail];
}

describe("control is proven", () => {
  test.each([["ec"], ["rsa"]] as const)(
    "RFC 8737 §3: by a certificate with a key of kind %s",
    async (key) => {
      const server = await startAlpnResponder(alpnCertificate({ ...right, key }), {
        address: "127.0.0.2",
      });
      expect(await attempt(server.port)).toEqual(["proved", "127.0.0.2"]);
      await until(() => server.asked.length === 1);
      expect(server.asked).toEqual(["a.test"]);
      await server.stop();
    },
  );

  test("by a certificate whose key may encrypt and not sign, as some clients make them", async () => {
    const shown = alpnCertificate({ ...right, key: "rsa", keyUsage: "keyEncipherment" });
    const server = await startAlpnResponder(shown, { address: "127.0.0.2" });
    expect(await attempt(server.port)).toEqual(["proved", "127.0.0.2"]);
    await server.stop();
  });

  test.each([
    ["127.0.0.2", "2.0.0.127.in-addr.arpa"],
    ["::1", `1.${"0.".repeat(31)}ip6.arpa`],
  ])("RFC 8738 §6: for %s, which is asked for by its reverse name", async (value, name) => {
    const shown = alpnCertificate({ names: `IP:${value}`, digest });
    const server = await startAlpnResponder(shown, { address: value });
    const identifier = { type: "ip", value } as const;
    expect(await attempt(server.port, { identifier })).toEqual(["proved", value]);
    await until(() => server.asked.length === 1);
    expect(server.asked).toEqual([name]);
    await server.stop();
  });
});

describe("control is not proven by a certificate", () => {
  // biome-ignore format: the table is read by column.
  test.each([
    ["of two names",                { names: "DNS:a.test,DNS:b.test" },  "exactly one"],
    ["of another name",             { names: "DNS:b.test" },             "another subject"],
    ["of a name above",             { names: "DNS:test" },               "another subject"],
    ["of a wildcard",               { names: "DNS:*.test" },             "another subject"],
    ["of an address",               { names: "IP:127.0.0.2" },           "another subject"],
    ["of another account",          { digest: sha256(Buffer.from("x")) }, "another key authorization"],
    ["whose proof is not critical", { critical: false },                 "not critical"],
    ["that only encrypts, of another account", { key: "rsa", keyUsage: "keyEncipherment", digest: sha256(Buffer.from("x")) }, "another key authorization"],
  ] as const)("%s", async (_what, change, words) => {
    const server = await startAlpnResponder(alpnCertificate({ ...right, ...change }), { address: "127.0.0.2" });
    expect(await attempt(server.port)).toEqual(["incorrectResponse", expect.stringContaining(words)]);
    await server.stop();
  });

  test.each([
    ["that agrees on no protocol", []],
    ["that knows other protocols", ["h2", "http/1.1"]],
  ])("of a server %s", async (_what, protocols) => {
    const server = await startAlpnResponder(alpnCertificate(right), {
      address: "127.0.0.2",
      protocols,
    });
    expect(await attempt(server.port)).toEqual(["tls", expect.stringContaining("protocol")]);
    await server.stop();
  });

  test("whose key may not sign, of a server that agrees on no protocol", async () => {
    const shown = alpnCertificate({ ...right, key: "rsa", keyUsage: "keyEncipherment" });
    for (const protocols of [[], ["h2"]]) {
      const server = await startAlpnResponder(shown, { address: "127.0.0.2", protocols });
      expect((await attempt(server.port))[0]).toBe("tls");
      await server.stop();
    }
  });

  test("of a server that speaks TLS 1.1 at most", async () => {
    using directory = scratchDirectory();
    const shown = alpnCertificate(right);
    const files = [
      "-cert",
      directory.write("c", shown.cert),
      "-key",
      directory.write("k", shown.key),
    ];
    const answers = async (...flags: readonly string[]) => {
      const port = await freePort();
      const line = ["s_server", "-accept", `127.0.0.2:${port}`, "-alpn", "acme-tls/1", "-quiet"];
      const server = Bun.spawn(["openssl", ...line, ...files, ...flags], {
        stdio: ["pipe", "ignore", "ignore"],
      });
      let outcome: string[] = [];
      await until(async () => {
        outcome = await attempt(port);
        return outcome[0] !== "connection";
      });
      server.kill();
      await server.exited;
      return outcome;
    };
    expect(await answers("-tls1_2")).toEqual(["proved", "127.0.0.2"]);
    const old = await answers("-tls1_1", "-cipher", "ALL:@SECLEVEL=0");
    expect(old).toEqual(["tls", "The server does not speak TLS 1.2 or later."]);
  });
});

describe("an attempt ends", () => {
  test("with a server that is silent, or drips, in the handshake", async () => {
    for (const drip of [false, true]) {
      let closed = 0;
      const server = createServer((socket) => {
        const timer = drip ? setInterval(() => socket.write(Uint8Array.of(0x16)), 10) : undefined;
        socket.on("error", () => {});
        socket.on("close", () => {
          clearInterval(timer);
          closed++;
        });
        socket.resume();
      });
      const port = await freePort();
      await new Promise<void>((done) => server.listen(port, "127.0.0.2", done));
      expect((await attempt(port, {}, 0.3))[0]).toBeOneOf(
        drip ? ["tls", "connection"] : ["connection"],
      );
      await until(() => closed === 1);
      server.close();
    }
  });

  test("with a server that speaks no TLS", async () => {
    const server = await startHttpResponder("127.0.0.2");
    const plain = createServer((socket) => socket.on("error", () => {}).end("220 hello\r\n"));
    const port = await freePort();
    await new Promise<void>((done) => plain.listen(port, "127.0.0.2", done));
    expect((await attempt(port))[0]).toBe("tls");
    plain.close();
    await server.stop();
  });
});

test("RFC 8555 §8.3: a redirect to https is followed by name, whatever certificate is shown", async () => {
  const web = await startHttpResponder("127.0.0.2");
  const secure = await startHttpResponder(
    "127.0.0.2",
    0,
    alpnCertificate({ ...right, names: "DNS:x.test" }),
  );
  web.answers.set(wellKnown("token"), redirect(`https://a.test:${secure.port}/there`));
  secure.answers.set("/there", body("token.thumbprint"));
  const rules = { deny: [], allow: ["127.0.0.2/32"] };
  const vantages = [new DnsResolver({ random: systemRandom, servers: () => [names] })];
  const proof = { host: "a.test", token: "token", keyAuthorization: "token.thumbprint" };
  const connected = await withDeadline(5, (deadline) => {
    const asked = { vantages, rules, ownListeners: () => [], deadline, subject: "a.test" };
    const addresses = new AttemptAddresses(asked);
    return proveByHttp(proof, { addresses, deadline, httpPort: web.port, httpsPort: secure.port });
  });
  expect(connected).toEqual(["127.0.0.2", "127.0.0.2"]);
  expect(secure.heard[0]).toContain(`Host: a.test:${secure.port}`);
  await until(() => secure.open() === 0);
  await Promise.all([web.stop(), secure.stop()]);
});
