/**
 * The certificate a command shows a remote server: sent, and refused by the name of its file when
 * it is not one.
 */

import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "bun:test";

import { sha256Hex } from "#core/crypto.ts";
import { OutsideCa, savedClient } from "#test/support/tls/client-certificates.ts";
import { openssl, scratchDirectory } from "#test/support/encodings/openssl.ts";
import { servingMaterialFor } from "#test/support/tls/serving-pair.ts";
import { shell } from "#test/support/instances/shell.ts";
import { type StubServer, startStub } from "#test/support/worlds/stub-server.ts";

const folder = scratchDirectory();
const outside = OutsideCa.root("Outside");
const client = outside.below("Issuing").client();
const files = savedClient(folder.path, "client", client);
const other = savedClient(folder.path, "other", outside.client());
const tls = servingMaterialFor("localhost");
const caFile = folder.write("serving.pem", tls.certificate);
/** What each request proved, and the header it had. */
const seen: string[] = [];
let server: StubServer;
let url: string;

beforeAll(async () => {
  server = await startStub(
    { tls, clientAuthorities: [outside.pem] },
    {
      authenticate: async ({ certificate, authorization }) => {
        const [der] = certificate?.chain ?? [];
        seen.push(`${der ? sha256Hex(der) : "none"} ${authorization?.kind ?? "none"}`);
        return undefined;
      },
    },
  );
  url = server.origin.replace("127.0.0.1", "localhost");
});
afterAll(async () => {
  await server.stop();
  folder[Symbol.dispose]();
});

const run = (flags: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  shell(["ca", "list", "--ca-file", caFile, ...flags], { env });
const shown = ["--client-cert", files.cert, "--client-key", files.key];

test("it is shown with what stands above it, and goes before a token of the environment", async () => {
  seen.length = 0;
  const digest = sha256Hex(client.chain[0] ?? new Uint8Array());
  await run([...shown, "--url", url]);
  await run(shown, { PKID_URL: url, PKID_TOKEN: "pki_pat_a" });
  await run(["--url", url]);
  await run(["--url", url, "--token", "pki_pat_a"]);
  expect(seen).toEqual([`${digest} none`, `${digest} none`, "none none", "none token"]);
});

test("it needs its key, a remote server, TLS, and no token beside it", async () => {
  seen.length = 0;
  for (const [flags, sentence] of [
    [
      ["--url", url, "--client-cert", files.cert],
      "--client-cert and --client-key must be given together.",
    ],
    [
      ["--url", url, "--client-key", files.key],
      "--client-cert and --client-key must be given together.",
    ],
    [shown, "--client-cert is for a remote server; name it with --url."],
    [[...shown, "--url", "http://localhost:1"], "--client-cert needs an https address."],
    [
      [...shown, "--url", url, "--token", "pki_pat_a"],
      "Only one of --token and --client-cert may be given.",
    ],
  ] as const) {
    const { code, stderr, asked } = await run(flags);
    expect([code, stderr, asked]).toEqual([2, `error: ${sentence}\n`, []]);
  }
  expect(seen).toEqual([]);
});

test("a file that will not do is named, and nothing of it is shown", async () => {
  const locked = folder.write(
    "locked.key",
    openssl(["pkcs8", "-topk8", "-in", files.key, "-passout", "pass:x"]),
  );
  const missing = join(folder.path, "missing.pem");
  for (const [cert, key, sentence] of [
    [missing, files.key, `${missing} cannot be read.`],
    [files.cert, missing, `${missing} cannot be read.`],
    [files.key, files.key, `${files.key} holds no PEM certificate.`],
    [files.cert, files.cert, `${files.cert} holds no unencrypted PEM private key.`],
    [files.cert, locked, `${locked} holds no unencrypted PEM private key.`],
    [
      files.cert,
      other.key,
      `The key in ${other.key} does not belong to the certificate in ${files.cert}.`,
    ],
  ] as const) {
    const flags = ["--url", url, "--client-cert", cert, "--client-key", key];
    expect(await run(flags)).toMatchObject({ code: 1, stdout: "", stderr: `error: ${sentence}\n` });
  }
});
