/**
 * What openssl finds when it offers every cipher suite it knows to the two ways the main listener
 * ends TLS.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "bun:test";

import { type TlsSuite, tlsSuiteNames, usualTlsSuites } from "#core/tls-suites.ts";
import type { TlsMaterial } from "#http/port.ts";
import { OutsideCa } from "#test/support/tls/client-certificates.ts";
import { scratchDirectory } from "#test/support/encodings/openssl.ts";
import { openssl } from "#test/support/instances/relying-party.ts";
import { startStub, type StubServer } from "#test/support/worlds/stub-server.ts";

const running: StubServer[] = [];
const folder = scratchDirectory();
afterAll(async () => {
  await Promise.all(running.map((server) => server.stop()));
  folder[Symbol.dispose]();
});

const newKey = { rsa: ["rsa:2048"], ecdsa: ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"] };

/** A certificate that vouches for itself, with a key of this kind. */
async function serving(kind: "rsa" | "ecdsa"): Promise<TlsMaterial> {
  const file = join(folder.path, crypto.randomUUID());
  const request = ["req", "-x509", "-nodes", "-days", "30", "-subj", "/CN=localhost"];
  const out = ["-keyout", `${file}.key`, "-out", `${file}.pem`];
  await openssl([...request, "-newkey", ...newKey[kind], ...out]);
  return {
    certificate: readFileSync(`${file}.pem`, "utf8"),
    key: readFileSync(`${file}.key`, "utf8"),
  };
}

const asked = [OutsideCa.root("Outside").pem];
const doors = [
  ["where the runtime ends TLS", undefined],
  ["where clients are asked for certificates", asked],
] as const;

describe.each([...doors])("%s,", (_door, clientAuthorities) => {
  const start = async (kind: "rsa" | "ecdsa", tlsSuites = usualTlsSuites) => {
    const tls = await serving(kind);
    const server = await startStub({ tls, clientAuthorities, tlsSuites });
    running.push(server);
    return server.listeners;
  };

  test.each(["rsa", "ecdsa"] as const)(
    "a certificate with an %s key offers ephemeral keys and sealed records only, before a rotation and after",
    async (kind) => {
      const listeners = await start(kind);
      const port = listeners.addresses.main;
      const wanted = usualTlsSuites.filter((name) => name.includes(kind.toUpperCase())).toSorted();
      expect(await spokenOn(port)).toEqual(wanted);
      listeners.rotate(await serving(kind), asked);
      expect(await spokenOn(port)).toEqual(wanted);
      expect(await handshake(port, ["-tls1_3"])).toContain("New, TLSv1.3, Cipher is TLS_");
    },
    60_000,
  );

  test("what is configured is offered and nothing else", async () => {
    const only: readonly TlsSuite[] = ["ECDHE-RSA-AES128-SHA", "ECDHE-RSA-AES256-GCM-SHA384"];
    const listeners = await start("rsa", only);
    expect(await spokenOn(listeners.addresses.main)).toEqual([...only].toSorted());
  }, 60_000);
});

test("nothing that can be configured is without ephemeral keys", async () => {
  for (const name of tlsSuiteNames) {
    const { text } = await openssl(["ciphers", "-v", "-tls1_2", `${name}:@SECLEVEL=0`]);
    const line = text.split("\n").find((one) => one.startsWith(`${name} `)) ?? "";
    expect([name, /Kx=ECDH /.test(line)]).toEqual([name, true]);
    expect([name, line.includes("Mac=AEAD")]).toEqual([name, usualTlsSuites.includes(name)]);
  }
});

/** Every suite of TLS 1.2 that openssl knows and the port takes. */
async function spokenOn(port: number): Promise<readonly string[]> {
  const { text } = await openssl(["ciphers", "-tls1_2", "ALL:COMPLEMENTOFALL:@SECLEVEL=0"]);
  const spoken: string[] = [];
  const names = text.trim().split(":");
  expect(names.length).toBeGreaterThan(60);
  // One handshake tells which of all that are left the server takes; it is left out of the next
  // offer.
  let left = names.filter((name) => !name.startsWith("TLS_"));
  for (;;) {
    const offer = ["-tls1_2", "-cipher", `${left.join(":")}:@SECLEVEL=0`];
    const taken = /Cipher is (\S+)/.exec(await handshake(port, offer))?.[1];
    if (taken === undefined || taken === "(NONE)") return spoken.toSorted();
    spoken.push(taken);
    left = left.filter((name) => name !== taken);
  }
}

async function handshake(port: number, options: readonly string[]): Promise<string> {
  const command = ["s_client", "-connect", `127.0.0.1:${port}`];
  const { text } = await openssl([...command, ...options], { mustPass: false });
  return text;
}
