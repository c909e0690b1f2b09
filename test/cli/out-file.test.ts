/** Results take the place of earlier results of their kind and of nothing else. */

import { beforeAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { exportFormat } from "#core/audit/ledger-export.ts";
import { kindOfFile } from "#cli/file-kinds.ts";
import { outFile } from "#cli/out-file.ts";
import { ran } from "#test/support/child.ts";
import { type Answers, shell } from "#test/support/instances/shell.ts";

const id = "3e3d1b5c-0f2a-4a54-9d6e-2f1f5b7a9c10";
const folder = mkdtempSync(join(tmpdir(), "pkid-out-"));
const at = (name: string) => join(folder, name);
const text = (name: string) => readFileSync(at(name), "utf8");

beforeAll(async () => {
  const key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
  await made(`req -x509 ${key} -subj /CN=CA -keyout ca.key -out ca.pem`);
  await made(`req -new ${key} -subj /CN=leaf -keyout leaf.key -out leaf.csr`);
  await made("x509 -req -in leaf.csr -CA ca.pem -CAkey ca.key -set_serial 7 -out leaf.pem");
  await made("x509 -in leaf.pem -outform DER -out leaf.der");
  await made("pkcs12 -export -in leaf.pem -inkey leaf.key -out leaf.p12 -passout pass:x");
  writeFileSync(at("both.pem"), text("leaf.key") + text("leaf.pem"));
  writeFileSync(at("chain.pem"), text("leaf.pem") + text("ca.pem"));
  await made(`req -x509 ${key} -subj /CN=Other -keyout other.key -out other.pem`);
  writeFileSync(at("roots.pem"), text("ca.pem") + text("other.pem"));
  writeFileSync(
    at("paths.pem"),
    `# native, by CA\n${text("ca.pem")}\n# cross, by B\n${text("ca.pem")}`,
  );
  writeFileSync(at("vpn.ovpn"), `client\nremote vpn.test\n<ca>\n${text("ca.pem")}</ca>\n`);
  writeFileSync(at("package.json"), '{"name":"mine"}\n');
  writeFileSync(at("ledger.json"), JSON.stringify({ format: exportFormat, entries: [] }));
  writeFileSync(
    at("transcript.json"),
    '{"approval":{},"events":[],"exported_at":"","signature_algorithm":"ed25519","signature":""}',
  );
  writeFileSync(at("notes.txt"), "do not lose me\n");
});

test("the kind of a file is told by its octets, whatever it is called", () => {
  // biome-ignore format: the table is read by column.
  const kinds = [
    ["ca.pem",    "a CA certificate"],
    ["leaf.pem",  "a certificate"],
    ["leaf.der",  "a certificate"],
    ["chain.pem", "a certificate"],
    ["leaf.csr",  "a request"],
    ["leaf.key",  "a private key"],
    ["both.pem",  "a key and its certificate"],
    ["leaf.p12",  "a PKCS#12 store"],
    ["notes.txt", "something else"],
    ["roots.pem", "several CA certificates"],
    ["paths.pem", "a CA certificate"],
    ["vpn.ovpn",  "PEM among other text"],
    ["package.json",    "a JSON document"],
    ["ledger.json",     "a sign ledger"],
    ["transcript.json", "an approval transcript"],
  ] as const;
  for (const [name, kind] of kinds)
    expect([name, kindOfFile(readFileSync(at(name)))]).toEqual([name, kind]);
});

describe("cert issue --out", () => {
  const issued = () => ({ certificate: text("leaf.pem"), chain: text("chain.pem"), serial: "7" });
  const issue = (out: string) =>
    shell(["cert", "issue", "--ca", id, "--csr", at("leaf.csr"), "--out", out], {
      answers: issued,
    });

  test("replaces an earlier certificate and makes a new file", async () => {
    writeFileSync(at("old.pem"), text("chain.pem"), { mode: 0o640 });
    for (const name of ["old.pem", "fresh.pem"]) {
      expect((await issue(at(name))).code).toBe(0);
      expect(text(name)).toBe(text("leaf.pem"));
    }
    expect(statSync(at("old.pem")).mode & 0o777).toBe(0o640);
    expect(readdirSync(folder).filter((name) => name.startsWith("."))).toEqual([]);
  });

  test("issues nothing and keeps the file where something else is", async () => {
    for (const name of ["leaf.key", "both.pem", "leaf.csr", "ca.pem", "leaf.p12", "notes.txt"]) {
      const before = readFileSync(at(name));
      const { code, stderr, asked } = await issue(at(name));
      expect({ name, code, asked }).toEqual({ name, code: 1, asked: [] });
      expect(stderr).toContain("nothing was done");
      expect(readFileSync(at(name))).toEqual(before);
    }
  });

  test("issues nothing where no file can be", async () => {
    mkdirSync(at("sub"), { recursive: true });
    // Nobody can make a file in /proc, not even root, whose bits say that it may.
    for (const out of [at("sub"), at("none/x.pem"), "/proc/x.pem"]) {
      const { code, asked } = await issue(out);
      expect({ out, code, asked }).toEqual({ out, code: 1, asked: [] });
    }
  });

  test("writes through a link, and into a device", async () => {
    writeFileSync(at("target.pem"), text("chain.pem"));
    symlinkSync(at("target.pem"), at("link.pem"));
    expect((await issue(at("link.pem"))).code).toBe(0);
    expect(lstatSync(at("link.pem")).isSymbolicLink()).toBe(true);
    expect(text("target.pem")).toBe(text("leaf.pem"));
    expect((await issue("/dev/null")).code).toBe(0);
  });
});

test("what came to the place while the answer was waited for is kept", async () => {
  const came = at("came.pem");
  const answers: Answers = () => {
    writeFileSync(came, text("leaf.key"));
    return { certificate: text("leaf.pem"), serial: "7", not_after: "2030-01-01" };
  };
  const argv = ["cert", "issue", "--ca", id, "--csr", at("leaf.csr"), "--out", came];
  const { code, stderr } = await shell(argv, { answers });
  expect([code, text("came.pem")]).toEqual([1, text("leaf.key")]);
  expect(stderr).toContain("Serial 7,");
  expect(stderr).toContain("the result was not written");
});

test("a file stays with its owner and group, and a secret one is nobody else's", () => {
  const file = at("owned.pem");
  writeFileSync(file, text("leaf.pem"));
  chmodSync(file, 0o640);
  if (process.getuid?.() === 0) chownSync(file, 65_534, 65_534);
  const before = statSync(file);
  outFile(file, "a certificate", 0o644)(text("chain.pem"));
  const { uid, gid, mode } = statSync(file);
  expect({ uid, gid, mode }).toEqual({ uid: before.uid, gid: before.gid, mode: before.mode });
  expect(text("owned.pem")).toBe(text("chain.pem"));

  writeFileSync(at("open.p12"), readFileSync(at("leaf.p12")));
  chmodSync(at("open.p12"), 0o644);
  outFile(at("open.p12"), "a PKCS#12 store", 0o600)(readFileSync(at("leaf.p12")));
  expect(statSync(at("open.p12")).mode & 0o777).toBe(0o640);
});

test("every other command that writes a file keeps what is there", async () => {
  const before = text("leaf.key");
  const answers: Answers = () => ({ certificate: "x", csr_pem: "x", ca: {} });
  for (const line of [
    `ca chain ${id}`,
    `ca chains ${id}`,
    `ca csr --label a --cn A`,
    `ca cross-sign --issuer ${id} --subject-ca ${id}`,
    `cert renew --ca ${id} 12`,
    `crl get --ca ${id}`,
    "approvals certificate apr_1",
    "approvals transcript apr_1",
  ]) {
    const argv = [...line.split(" "), "--out", at("leaf.key")];
    const { code, asked } = await shell(argv, { answers });
    expect({ line, code, asked }).toEqual({ line, code: 1, asked: [] });
  }
  expect(text("leaf.key")).toBe(before);
  const init = await shell(["init", "--force", "--data-dir", at("d"), "--out", at("leaf.key")]);
  expect([init.code, text("leaf.key"), existsSync(at("d"))]).toEqual([1, before, false]);
});

test("a chain takes the place of an earlier one of the same CA, and of no other bundle", async () => {
  const answers: Answers = () => new Response(text("ca.pem"));
  for (const name of ["roots.pem", "vpn.ovpn", "other.pem"]) {
    const before = text(name);
    const { code, stderr } = await shell(["ca", "chain", id, "--out", at(name)], { answers });
    expect([name, code, text(name)]).toEqual([name, 1, before]);
    expect(stderr).toContain(at(name));
  }
  writeFileSync(at("again.pem"), text("paths.pem"));
  const { code } = await shell(["ca", "chain", id, "--out", at("again.pem")], { answers });
  expect([code, text("again.pem")]).toEqual([0, text("ca.pem")]);
});

test("a signed document takes the place of one of its own kind, and of no other JSON", async () => {
  for (const [line, own] of [
    ["hsm log", "ledger.json"],
    ["approvals transcript apr_1", "transcript.json"],
  ] as const) {
    const document = text(own);
    const answers: Answers = () => new Response(document);
    for (const name of ["package.json", "ledger.json", "transcript.json"]) {
      const before = text(name);
      const { code } = await shell([...line.split(" "), "--out", at(name)], { answers });
      expect([line, name, code, text(name)]).toEqual([line, name, name === own ? 0 : 1, before]);
    }
  }
});

test("the bundles of a bulk issue are looked at before anything is issued", async () => {
  mkdirSync(at("bundles"), { recursive: true });
  writeFileSync(at("bundles/www.pem"), text("leaf.key"));
  writeFileSync(at("manifest.csv"), "csr,ref\nleaf.csr,www\n");
  const argv = [
    "cert",
    "issue-bulk",
    "--ca",
    id,
    "--manifest",
    at("manifest.csv"),
    "--confirm",
    "1",
  ];
  const { code, asked } = await shell([...argv, "--out-dir", at("bundles")]);
  expect({ code, asked }).toEqual({ code: 1, asked: [] });
  expect(text("bundles/www.pem")).toBe(text("leaf.key"));
});

// biome-ignore format: the table is read by column.
const ignored = [
  [["cert", "issue", "--ca", id, "--csr", "-", "--dry-run", "--out", "x"], "--dry-run excludes --out and --chain."],
  [["revoke", "bulk", "--ca", id, "--all", "--serial-format", "hex"],      "--serial-format is for --serials-file."],
  [["ca", "list", "--token", "pki_pat_a"],                                 "--token is for a remote server"],
  [["ca", "list", "--ca-file", "x"],                                       "--ca-file is for a remote server"],
  [["ca", "list", "--url", "https://a.test", "--data-dir", "x"],           "--data-dir names an instance of this machine"],
  [["ca", "list", "--url", "https://a.test", "--config", "x"],             "--config names an instance of this machine"],
  [["quickstart", "--csr", "x", "--issue", "y"],                           "Only one of --issue and --csr"],
  [["init", "--config", "x"],                                              "leave --config out"],
  [["init", "--token", "pki_pat_a"],                                       "--token is for a remote server"],
  [["serve", "--ca-file", "x"],                                            "--ca-file is for a remote server"],
  [["config", "check", "--client-cert", "x"],                              "--client-cert is for a remote server"],
  [["init", "--public-url", "ftp://x"],                                    "--public-url must be an address with http or https."],
  [["init", "--public-url", "http://x.test/pki"],                          "must have no path"],
] as const;
test.each(ignored)("what would be passed over is refused: %p", async (argv, sentence) => {
  const { code, stderr, asked } = await shell(argv);
  expect({ code, asked }).toEqual({ code: 2, asked: [] });
  expect(stderr).toContain(sentence);
});

test("PKID_URL is never passed over by what begins or serves an instance of this machine", async () => {
  const env = { PKID_URL: "https://pki.test", PKID_DATA_DIR: undefined };
  let served = 0;
  const deps = { serve: async () => served++ };
  for (const line of ["serve", `init --out ${at("elsewhere.yaml")}`, "quickstart"]) {
    const { code, stderr } = await shell(line.split(" "), { env, deps });
    expect([line, code, stderr]).toEqual([line, 2, expect.stringContaining("PKID_URL")]);
  }
  expect([served, existsSync(at("elsewhere.yaml"))]).toEqual([0, false]);
  const named = ["init", "--out", at("named.yaml"), "--data-dir", at("named")];
  expect((await shell(named, { env })).code).toBe(0);
});

test("a flag that names an instance here goes before PKID_URL", async () => {
  const env = { PKID_URL: "https://pki.test" };
  const answers = () => ({ items: [] });
  const argv = ["ca", "list", "--data-dir", "/nonexistent/here"];
  expect((await shell(argv, { env, answers })).asked).toHaveLength(1);
});

describe("a new CA", () => {
  const root = ["ca", "init-root", "--label", "r", "--cn", "R"];

  test("is told with what its server warns of, and without a word where that is nothing", async () => {
    const answers = () => ({ id: "1", warnings: ["No address, and \u001b[2J no CRL."] });
    const warned = await shell(root, { answers });
    expect([warned.code, warned.stderr]).toEqual([
      0,
      "warning: No address, and \ufffd[2J no CRL.\n",
    ]);
    expect((await shell(root, { answers: () => ({ id: "1" }) })).stderr).toBe("");
  });
});

async function made(line: string): Promise<void> {
  const { code, stderr } = await ran(["openssl", ...line.split(" ")], { cwd: folder });
  if (code !== 0) throw new Error(stderr);
}
