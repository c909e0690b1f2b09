/**
 * What people read when something is refused: what to do about it, in words, and nothing of the
 * runtime.
 */

import { describe, expect, test } from "bun:test";
import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { near } from "#config/nearest.ts";
import { keyTypes } from "#core/x509/algorithms.ts";
import { revocationReasons } from "#core/x509/reasons.ts";
import { ran } from "#test/support/child.ts";
import { shell } from "#test/support/instances/shell.ts";

const id = "3e3d1b5c-0f2a-4a54-9d6e-2f1f5b7a9c10";

test("of gates only those that failed are told, one a line", async () => {
  const gates = [
    { name: "names", status: "fail", reason: "The name a.test is not permitted." },
    { name: "lint", status: "fail", findings: [{ description: "One." }, { description: "Two." }] },
    { name: "caa", status: "pass" },
    { name: "validity", status: "skip", reason: "Not asked." },
  ];
  const body = { error: "A gate refused.", code: "gate_refused", request_id: "r", gates };
  const answers = () => Response.json(body, { status: 400 });
  const argv = ["cert", "issue", "--ca", id, "--csr", "-"];
  expect((await shell(argv, { answers })).stderr).toBe(
    "error: A gate refused. (gate_refused, request r)\n  names: The name a.test is not permitted.\n  lint: One.; Two.\n",
  );
  expect(JSON.parse((await shell([...argv, "--json"], { answers })).stderr)).toEqual(body);
});

describe("allowed values stand in help and in errors", () => {
  // biome-ignore format: the table is read by column.
  const flags = [
    ["ca init-root --label a --cn A",  "--key-type",     Object.keys(keyTypes)],
    ["ca init-root --label a --cn A",  "--alt-key-type", ["ml-dsa-44", "ml-dsa-65", "ml-dsa-87"]],
    ["ca csr --label a --cn A",        "--key-type",     Object.keys(keyTypes)],
    [`ca rotate ${id}`,                "--key-type",     Object.keys(keyTypes)],
    [`revoke cert 12 --ca ${id}`,      "--reason",       Object.keys(revocationReasons)],
    [`revoke bulk --ca ${id} --all`,   "--reason",       Object.keys(revocationReasons)],
    [`ca retire ${id} --yes`,          "--reason",       Object.keys(revocationReasons)],
    [`cert list --ca ${id}`,           "--status",       ["good", "revoked", "held", "expired"]],
    ["ca list",                        "--status",       ["pending", "active", "superseded", "retired"]],
    ["token create --name a --roles issuer", "--scope",  ["tenant", "platform"]],
  ] as const;

  test.each(flags)("%s %s", async (line, flag, words) => {
    const wrong = await shell([...line.split(" "), flag, "nonsense"]);
    expect([wrong.code, wrong.asked]).toEqual([2, []]);
    const help = (await shell([...line.split(" "), "--help"])).stdout.replace(/\s+/g, " ");
    for (const word of words) {
      expect(wrong.stderr).toContain(word);
      expect(help).toContain(word);
    }
  });

  test("and other spellings the server takes are taken", async () => {
    const root = ["ca", "init-root", "--label", "a", "--cn", "A", "--key-type"];
    expect((await shell([...root, "ecdsa-sha2-nistp256"])).code).toBe(0);
    const revoked = await shell(["revoke", "cert", "12", "--ca", id, "--reason", "keycompromise"]);
    expect(revoked.asked.at(-1)?.body).toEqual({ serial: "12", reason: "keyCompromise" });
  });
});

test("-h is --help, and version is --version", async () => {
  for (const words of [[], ["ca"], ["cert", "issue"]]) {
    const short = await shell([...words, "-h"]);
    expect(short).toEqual(await shell([...words, "--help"]));
    expect(short.code).toBe(0);
  }
  expect(await shell(["version"])).toEqual(await shell(["--version"]));
  expect((await shell(["version", "--json"])).stdout).toContain('"schema_version":7');
});

describe("a word is suggested only when it is near", () => {
  test("by the letters they share", () => {
    expect(near("crt", ["cert", "crl"])).toBe("cert");
    expect(near("isuing-1", ["issuing-1"])).toBe("issuing-1");
    for (const far of ["bread", "x", "constructor"])
      expect(near(far, ["cert", "ocsp"])).toBe(undefined);
    expect(near("a", [])).toBe(undefined);
  });

  test("for commands, flags, CAs, profiles and checks", async () => {
    const answers = () => ({ items: [{ label: "issuing", id }, { name: "server" }] });
    // biome-ignore format: the table is read by column.
    const lines = [
      ["bread",                        "pkid --help lists them."],
      ["ca list --butter x",           "There is no flag --butter."],
      ["crl status --ca zzz",          "There is no CA zzz. pkid ca list shows them."],
      ["profile show zzzzzzzzz",       "There is no profile zzzzzzzzz. pkid profile list shows them."],
      ["preflight --only bread",       "There is no check bread. There are config.parse,"],
    ] as const;
    for (const [line, sentence] of lines) {
      const { stderr } = await shell(line.split(" "), { answers });
      expect(stderr).toContain(sentence);
      expect(stderr).not.toContain("Did you mean");
    }
  });
});

describe("a server that cannot be reached is told in words", () => {
  const to = async (url: string, ...more: string[]) =>
    (await shell(["ca", "list", "--url", url, "--timeout", "1s", ...more])).stderr;

  test("when nobody listens, closes, is silent, or speaks something else", async () => {
    expect(await to("http://127.0.0.1:1")).toContain("nobody listens there.");
    const closing = await listening((one) => one.destroy());
    expect(await to(closing.url)).toContain("it closed the connection;");
    const silent = await listening(() => {});
    expect(await to(silent.url)).toContain("there was no answer in time.");
    expect(await to(closing.url.replace("http:", "https:"))).toMatch(/closed|TLS/);
    for (const { server } of [closing, silent]) server.close();
  });

  test("when its certificate is not trusted, or is another's", async () => {
    const home = mkdtempSync(join(tmpdir(), "pkid-people-"));
    const file = join(home, "cert.pem");
    const line = `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout ${home}/key.pem -out ${file}`;
    expect((await ran(["openssl", ...line.split(" ")])).code).toBe(0);
    const tls = { cert: Bun.file(file), key: Bun.file(`${home}/key.pem`) };
    using server = Bun.serve({ hostname: "127.0.0.1", port: 0, tls, fetch: () => new Response() });
    expect(await to(`https://localhost:${server.port}`)).toContain("name the CA with --ca-file.");
    const other = await to(`https://127.0.0.1:${server.port}`, "--ca-file", file);
    expect(other).toContain("its certificate is for another name than the one asked.");
    writeFileSync(join(home, "junk.pem"), "junk");
    const junk = await to(`https://localhost:${server.port}`, "--ca-file", join(home, "junk.pem"));
    expect(junk).toContain("holds no PEM certificates that can be read.");
  });

  test("when it redirects, and never in the words of the runtime", async () => {
    const fetch = () => Response.redirect("http://127.0.0.1:1/");
    using server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch });
    const told = await to(`http://127.0.0.1:${server.port}`);
    expect(told).toContain("it answers with a redirect, which is not followed.");
    expect(told).not.toMatch(/verbose|typo|fetch/);
  });
});

test("no line of any help page is wider than 80 characters", async () => {
  const { stdout } = await shell(["--help"]);
  for (const line of stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
});

test("a script says why dependencies could not be installed", async () => {
  const root = mkdtempSync(join(tmpdir(), "pkid-install-"));
  writeFileSync(join(root, "package.json"), "{ not json");
  const script = `root=${root}; . ${resolve(import.meta.dir, "../../scripts/lib/bun.sh")}; install_dependencies`;
  const { code, stderr } = await ran(["bash", "-c", script]);
  expect(code).toBe(1);
  expect(stderr).toContain("package.json");
  expect(stderr).toContain("error: the dependencies of bun.lock could not be installed");
});

async function listening(
  take: (socket: { destroy(): void }) => void,
): Promise<{ readonly url: string; readonly server: Server }> {
  const server = createServer(take);
  const { promise, resolve: opened } = Promise.withResolvers<undefined>();
  server.listen(0, "127.0.0.1", () => opened(undefined));
  await promise;
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return { url: `http://127.0.0.1:${port}`, server };
}
