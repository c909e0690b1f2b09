/** `cert inspect` says of any file of a PKI what OpenSSL says of it. */

import { beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";

import { inspect } from "#cli/inspected.ts";
import { ran } from "#test/support/child.ts";
import { shell } from "#test/support/instances/shell.ts";

const folder = mkdtempSync(join(tmpdir(), "pkid-inspect-"));
const at = (name: string) => join(folder, name);
const items = async (file: string, ...flags: string[]) => {
  const { code, stdout } = await shell(["cert", "inspect", file, "--json", ...flags]);
  return { code, items: JSON.parse(stdout).items };
};

beforeAll(async () => {
  const key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
  await run(`openssl req -x509 ${key} -subj /CN=CA -keyout ca.key -out ca.pem`);
  const san = "-addext subjectAltName=DNS:a.test,IP:192.0.2.7";
  await run(`openssl req -new ${key} -subj /CN=leaf ${san} -keyout leaf.key -out leaf.csr`);
  const signing = "-CA ca.pem -CAkey ca.key -set_serial 0x0badcafe -copy_extensions copy";
  await run(`openssl x509 -req -in leaf.csr ${signing} -out leaf.pem`);
  await run("openssl x509 -in leaf.pem -outform DER -out leaf.der");
  await run("openssl crl2pkcs7 -nocrl -certfile leaf.pem -certfile ca.pem -out both.p7b");
  await run("openssl crl2pkcs7 -nocrl -certfile leaf.pem -outform DER -out one.p7");
  await run(
    "openssl pkcs12 -export -in leaf.pem -inkey leaf.key -name www -passout pass:x -out leaf.p12",
  );
  await run("openssl ec -in leaf.key -aes256 -passout pass:x -out locked.key");
  await run("openssl ec -in leaf.key -pubout -out leaf.pub");
  writeFileSync(
    at("index.txt"),
    "V\t491231235959Z\t\t0BADCAFE\tunknown\t/CN=leaf\nR\t491231235959Z\t260101000000Z,keyCompromise\t77\tunknown\t/CN=x\n",
  );
  writeFileSync(at("crlnumber"), "1F\n");
  writeFileSync(
    at("ca.conf"),
    "[ca]\ndefault_ca=d\n[d]\ndatabase=index.txt\ncrlnumber=crlnumber\ndefault_md=sha256\n[crl]\n",
  );
  await run(
    "openssl ca -config ca.conf -gencrl -cert ca.pem -keyfile ca.key -crldays 7 -out ca.crl",
  );
  await run("openssl crl -in ca.crl -outform DER -out crl.der");
  await run("openssl ocsp -issuer ca.pem -cert leaf.pem -reqout ocsp.req -no_nonce");
  await run(
    "openssl ocsp -index index.txt -rsigner ca.pem -rkey ca.key -CA ca.pem -reqin ocsp.req -respout ocsp.resp -ndays 1",
  );
  writeFileSync(
    at("mixed.pem"),
    ["leaf.key", "leaf.pem", "ca.pem", "ca.crl"]
      .map((one) => readFileSync(at(one), "utf8"))
      .join("# note\n"),
  );
}, 60_000);

test("a certificate has the digest, serial and names OpenSSL gives it, in PEM and DER", async () => {
  const { stdout } = await run("openssl x509 -in leaf.pem -noout -fingerprint -sha256");
  for (const file of ["leaf.pem", "leaf.der"]) {
    const found = await items(at(file));
    expect(found.code).toBe(0);
    expect(found.items).toMatchObject([
      {
        kind: "certificate",
        subject: "CN=leaf",
        issuer: "CN=CA",
        serial: String(0x0badcafe),
        serial_hex: "0xbadcafe",
        sans: ["dns:a.test", "ip:192.0.2.7"],
        is_ca: false,
        sha256: stdout.trim().split("=")[1],
      },
    ]);
  }
  const human = await shell(["cert", "inspect", at("leaf.pem")]);
  for (const part of ["subject:    CN=leaf", "sha256:", "subjectAltName", "BEGIN CERTIFICATE"]) {
    expect(human.stdout).toContain(part);
  }
});

// biome-ignore format: the table is read by column.
const files = [
  ["leaf.csr",   [{ kind: "request", subject: "CN=leaf", signature_valid: true, sans: ["dns:a.test", "ip:192.0.2.7"] }]],
  ["ca.crl",     [{ kind: "crl", issuer: "CN=CA", number: 31, revoked_count: 1, delta: false, entries: [{ serial: "119", reason: "keyCompromise" }] }]],
  ["crl.der",    [{ kind: "crl", revoked_count: 1 }]],
  ["ocsp.resp",  [{ kind: "ocsp response", status: "successful", answers: [{ serial: String(0x0badcafe), status: "good" }] }]],
  ["both.p7b",   [{ kind: "pkcs7", certificates: 2 }, { kind: "certificate" }, { kind: "certificate" }]],
  ["one.p7",     [{ kind: "pkcs7", certificates: 1 }, { kind: "certificate", subject: "CN=leaf" }]],
  ["leaf.key",   [{ kind: "private key", encrypted: false, key: "ecdsa-p256" }]],
  ["locked.key", [{ kind: "private key", encrypted: true }]],
  ["leaf.pub",   [{ kind: "public key", key: "ecdsa-p256" }]],
  ["mixed.pem",  [{ kind: "private key" }, { kind: "certificate", subject: "CN=leaf" }, { kind: "certificate", is_ca: true }, { kind: "crl" }]],
] as const;
test.each(files)("%s is told apart", async (file, expected) => {
  const found = await items(at(file));
  expect(found.code).toBe(0);
  expect(found.items).toMatchObject(expected as never);
  expect((await shell(["cert", "inspect", at(file)])).code).toBe(0);
});

test("a store is opened by its passphrase, and without it only said to be one", async () => {
  writeFileSync(at("pass"), "x\n");
  const opened = await items(at("leaf.p12"), "--passphrase-file", at("pass"));
  expect(opened.items).toMatchObject([
    { kind: "pkcs12", keys: 1, certificates: 1, names: ["www"] },
    { kind: "certificate", subject: "CN=leaf" },
  ]);
  const closed = await items(at("leaf.p12"));
  expect([closed.code, closed.items[0].kind]).toEqual([1, "pkcs12"]);
});

test("why a certificate cannot be read is told to people too", async () => {
  const [line = "", ...rest] = readFileSync(at("leaf.pem"), "utf8").split("\n").slice(1);
  const cut = ["-----BEGIN CERTIFICATE-----", line, ...rest.slice(-2)].join("\n");
  writeFileSync(at("cut.pem"), cut);
  const { code, stdout } = await shell(["cert", "inspect", at("cut.pem")]);
  expect([code, stdout]).toEqual([1, expect.stringMatching(/^kind: +certificate\nfault: +.+\n$/)]);
});

test("what was not looked at is said, and is no success", async () => {
  const whole = readFileSync(at("leaf.pem"), "utf8").trimEnd();
  writeFileSync(at("torn.pem"), `${whole}\n${whole.slice(0, -20)}`);
  writeFileSync(at("many.pem"), `${whole}\n`.repeat(1001));
  const torn = await items(at("torn.pem"));
  expect([torn.code, torn.items.at(-1)]).toEqual([
    1,
    { kind: "unknown", fault: "a block of CERTIFICATE has no end" },
  ]);
  const many = await items(at("many.pem"));
  expect([many.code, many.items.length, many.items.at(-1).kind]).toEqual([1, 1001, "unknown"]);
});

test("a device without an end is refused", async () => {
  const { code, stderr } = await shell(["cert", "inspect", "/dev/zero"]);
  expect([code, stderr]).toEqual([1, "error: /dev/zero is larger than 64 MiB.\n"]);
});

test("no octet of a private key is printed", async () => {
  const secret = readFileSync(at("leaf.key"), "utf8").split("\n")[1] ?? "none";
  for (const flags of [[], ["--json"]]) {
    const { stdout, stderr } = await shell(["cert", "inspect", at("mixed.pem"), ...flags]);
    expect(stdout + stderr).not.toContain(secret);
  }
});

describe("at an address", () => {
  test("a TLS server is asked for what it shows, trusted or not", async () => {
    const line = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost";
    await run(
      `openssl req -x509 ${line} -addext subjectAltName=DNS:localhost -keyout tls.key -out tls.pem`,
    );
    const tls = { cert: Bun.file(at("tls.pem")), key: Bun.file(at("tls.key")) };
    using server = Bun.serve({ hostname: "127.0.0.1", port: 0, tls, fetch: () => new Response() });
    const url = `https://localhost:${server.port}`;
    const unknown = await shell(["cert", "inspect", url]);
    expect([unknown.code, unknown.stderr]).toEqual([
      0,
      expect.stringContaining("does not trust it"),
    ]);
    const known = await shell(["cert", "inspect", url, "--ca-file", at("tls.pem")]);
    expect([known.code, known.stderr]).toEqual([0, ""]);
    expect(known.stdout).toContain("subject:    CN=localhost");
    expect(unknown.stderr).toContain("signed by a CA that is not trusted here");
    const other = `https://127.0.0.1:${server.port}`;
    const misnamed = await shell(["cert", "inspect", other, "--ca-file", at("tls.pem")]);
    expect(misnamed.stderr).toContain("for another name than the one asked");
    const dead = await shell(["cert", "inspect", "https://127.0.0.1:1"]);
    expect([dead.code, dead.stderr]).toEqual([1, expect.stringContaining("nobody listens there")]);
  });

  test("a server that never comes to its end is left in time, shaking hands and answering", async () => {
    const head = "HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n";
    // A handshake record of 16 KiB, and a body that is announced.
    for (const [scheme, path, begin] of [
      ["https", "", Buffer.from([0x16, 3, 3, 0x40, 0])],
      ["http", "/ca.crl", Buffer.from(head)],
    ] as const) {
      const drips: Timer[] = [];
      using server = Bun.listen({
        hostname: "127.0.0.1",
        port: 0,
        socket: {
          open: (socket) => {
            socket.write(begin);
            drips.push(setInterval(() => socket.write(Buffer.of(2)), 50));
          },
          data: () => undefined,
        },
      });
      const address = `${scheme}://127.0.0.1:${server.port}${path}`;
      const { code, stderr } = await shell(["cert", "inspect", address, "--timeout", "1s"]);
      for (const drip of drips) clearInterval(drip);
      expect([code, stderr]).toEqual([1, expect.stringContaining("no answer in time")]);
    }
  }, 15_000);

  test("a path is fetched", async () => {
    const fetch = (request: Request) =>
      request.url.endsWith("/ca.crl")
        ? new Response(Bun.file(at("crl.der")))
        : new Response("no", { status: 404 });
    using server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch });
    const found = await items(`http://127.0.0.1:${server.port}/ca.crl`);
    expect(found.items).toMatchObject([{ kind: "crl" }]);
    const missing = await shell(["cert", "inspect", `http://127.0.0.1:${server.port}/none`]);
    expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining("answered 404")]);
  });
});

test("anything else is unknown, broken things say why, and nothing crashes", async () => {
  writeFileSync(at("junk"), "junk");
  expect(await items(at("junk"))).toMatchObject({ code: 1, items: [{ kind: "unknown" }] });
  writeFileSync(at("broken.pem"), "-----BEGIN CERTIFICATE-----\nMAAA\n-----END CERTIFICATE-----\n");
  const broken = await items(at("broken.pem"));
  expect([broken.code, broken.items[0].kind]).toEqual([1, "certificate"]);
  expect(broken.items[0].fault).not.toBe("");
  const samples = ["leaf.der", "crl.der", "ocsp.resp", "one.p7", "leaf.p12"].map((one) =>
    readFileSync(at(one)),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...samples),
      fc.nat(),
      fc.nat(255),
      async (octets, where, value) => {
        const damaged = new Uint8Array(octets);
        damaged[where % damaged.length] = value;
        expect((await inspect(damaged, "x")).length).toBeGreaterThan(0);
      },
    ),
    { numRuns: 200 },
  );
}, 60_000);

async function run(line: string) {
  const done = await ran(line.split(" "), { cwd: folder });
  if (done.code !== 0) throw new Error(`${line}: ${done.stdout}${done.stderr}`);
  return done;
}
