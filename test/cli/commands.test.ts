/** What each command asks the instance, and what it prints of the answer. */

import { encodePem } from "#core/asn1/pem.ts";
import { describe, expect, test } from "bun:test";
import type { YamlReader } from "#config/read.ts";
import { readDocument } from "#config/yaml.ts";
import { existsSync, mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { type Answers, shell } from "#test/support/instances/shell.ts";

const id = "3e3d1b5c-0f2a-4a54-9d6e-2f1f5b7a9c10";
const pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";

// biome-ignore format: the table is read by column.
const requests = [
  ["ca list --status active --limit 5",        "GET /api/ca?status=active&limit=5", undefined],
  [`ca chain ${id}`,                           `GET /api/ca/${id}/chain`, undefined],
  ["ca init-root --label r --cn R --o X --validity-days 10 --path-len 1 --policy-oid 1.2.3", "POST /api/ca/init-root", { label: "r", subject: { cn: "R", o: "X" }, key_type: "ecdsa-p384", validity_days: 10, max_path_len: 1, policies: { oids: ["1.2.3"] } }],
  [`ca issue-intermediate --parent ${id} --label i --cn I --permit-dns a.test,b.test --exclude-ip 10.0.0.0/8`, `POST /api/ca/${id}/issue-intermediate`, { label: "i", subject: { cn: "I" }, key_type: "ecdsa-p256", name_constraints: { permitted: { dns: ["a.test", "b.test"] }, excluded: { ip: ["10.0.0.0/8"] } } }],
  ["profile list",                             "GET /api/profiles", undefined],
  [`cert issue --ca ${id} --csr - --validity-days 3 --must-staple`, `POST /api/ca/${id}/issue`, { csr: "REQUEST", profile: "server", validity_days: 3, must_staple: true }],
  [`cert issue --ca ${id} --csr - --dry-run`,  `POST /api/ca/${id}/certificates:preview`, { csr: "REQUEST", profile: "server" }],
  [`cert renew --ca ${id} 9 --csr - --validity-days 3`, `POST /api/ca/${id}/renew`, { serial: "9", csr: "REQUEST", validity_days: 3 }],
  [`cert renew --ca ${id} 9`,                  `POST /api/ca/${id}/renew`, { serial: "9" }],
  ["cert validate - --ca root --skip-revocation", "POST /api/validate", { ca: "root", certificate: encodePem("CERTIFICATE", Buffer.from("REQUEST")), intermediates: [], skip_revocation: true }],
  [`cert list --ca ${id} --q x --expires-before 2030-01-01`, `GET /api/ca/${id}/certificates?q=x&expires_before=2030-01-01`, undefined],
  [`cert list --ca ${id} --by-public-key ${"AB:".repeat(31)}AB`, `GET /api/ca/${id}/certificates?public_key_sha256=SHA256%3A${Buffer.alloc(32, 0xab).toString("base64").slice(0, 43)}`.replaceAll("+", "%2B").replaceAll(/(?<=3A.*)\//g, "%2F"), undefined],
  [`cert orphans --ca ${id}`,                  `GET /api/ca/${id}/orphans?limit=500`, undefined],
  [`dns-records tlsa --ca ${id} --host a.test`, `GET /api/ca/${id}/dns-records/tlsa?host=a.test&protocol=tcp`, undefined],
  [`revoke suspend --ca ${id} 0x0C`,           `POST /api/ca/${id}/certificates/0x0C:suspend`, undefined],
  [`revoke release --ca ${id} 9`,              `POST /api/ca/${id}/certificates/9:release`, undefined],
  [`crl get --ca ${id}`,                       `GET /api/ca/${id}/crl?format=pem`, undefined],
  [`crl get --ca ${id} --der`,                 `GET /api/ca/${id}/crl`, undefined],
  [`crl status --ca ${id}`,                    `GET /api/ca/${id}/crl/status`, undefined],
  [`crl publish --ca ${id}`,                   `POST /api/ca/${id}/crl:publish`, undefined],
  ["token create --name a --roles issuer,auditor --expires-at 2030-01-01", "POST /api/tokens", { name: "a", roles: ["issuer", "auditor"], scope: "tenant", expires_at: "2030-01-01T00:00:00Z" }],
  ["token list --tenant web",                  "GET /api/tokens?tenant=web", undefined],
  [`token revoke ${id}`,                       `DELETE /api/tokens/${id}`, undefined],
  ["sessions list --limit 5",                  "GET /api/sessions?limit=5", undefined],
  [`sessions end ${id}`,                       `DELETE /api/sessions/${id}`, undefined],
  ["audit list --action cert.* --ca issuing --since 2030-01-01", "GET /api/events?action=cert.*&ca=issuing&from=2030-01-01", undefined],
  [`audit list --actor=--all --serial=`,       "GET /api/events?actor=--all&serial=", undefined],
  [`token revoke -- --json`,                   "DELETE /api/tokens/--json", undefined],
  ["ca init-root --label r --cn R --policy-oid 1.2,1.3 --policy-oid 1.4 --no-color", "POST /api/ca/init-root", { label: "r", subject: { cn: "R" }, key_type: "ecdsa-p384", policies: { oids: ["1.2", "1.3", "1.4"] } }],
  ["audit verify",                             "GET /api/events/verify", undefined],
  [`keys block add --fingerprint ab12 --reason leaked`, "POST /api/blocked-keys", { public_key_sha256: "ab12", reason: "leaked" }],
  [`keys block list --q leak --fingerprint ab12`, "GET /api/blocked-keys?q=leak&public_key_sha256=ab12", undefined],
  [`keys block remove --id ${id}`,              `DELETE /api/blocked-keys/${id}`, undefined],
  ["keys inventory --limit 5",                 "GET /api/inventory/keys?limit=5", undefined],
  ["inventory days --days 7 --tenant web",     "GET /api/inventory/days?days=7&tenant=web", undefined],
  ["hsm status",                               "GET /api/hsm/info", undefined],
  [`approvals withdraw ${id} --reason mine`,   `POST /api/approvals/${id}/reject`, { comment: "mine", withdraw: true }],
  [`approvals reject ${id} --reason no`,       `POST /api/approvals/${id}/reject`, { comment: "no" }],
  ["passkeys reset alice --yes",               "POST /api/passkeys:reset", { subject: "alice" }],
] as const;

test("SSHFP records are computed here and ask no instance", async () => {
  const stdin = `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAAAAA me`;
  const line = "dns-records sshfp --host H.test --pub -".split(" ");
  const { code, stdout, asked } = await shell(line, { stdin });
  expect([code, asked]).toEqual([0, []]);
  expect(stdout).toMatch(
    /^h\.test\. IN SSHFP 4 1 [0-9a-f]{40}\nh\.test\. IN SSHFP 4 2 [0-9a-f]{64}\n$/,
  );
  expect((await shell(line, { stdin: "no key" })).code).toBe(1);
  expect((await shell("dns-records sshfp --host a_b --pub -".split(" "), { stdin })).code).toBe(2);
});

describe("a command is one request to a row of the operations table", () => {
  test.each(requests)("%s", async (line, request, body) => {
    const answers = () => ({ available: true, would_issue: true, valid: true });
    const { code, asked } = await shell(line.split(" "), { answers, stdin: "REQUEST" });
    expect(asked).toEqual([
      {
        method: request.split(" ")[0],
        path: request.split(" ")[1],
        body,
        actor: "operator",
      } as never,
    ]);
    expect(code).toBe(0);
  });

  test.each(requests)("%s --json prints exactly one document", async (line) => {
    const answers = () => ({ items: [], available: true });
    const result = await shell(["--json", ...line.split(" ")], { answers, stdin: "REQUEST" });
    expect(result.stdout.trimEnd().split("\n")).toHaveLength(1);
    expect(JSON.parse(result.stdout)).toBeObject();
    expect(result.stderr).toBe("");
  });
});

describe("references to CAs (CLI-5)", () => {
  const answers: Answers = ({ path }) =>
    path.startsWith("/api/ca?")
      ? {
          items: [
            { id, label: "issuing-1" },
            { id: "x", label: "root" },
          ],
        }
      : {};

  test("a label is looked up and replaced by the id", async () => {
    const { asked } = await shell(["crl", "status", "--ca", "issuing-1"], { answers });
    expect(asked.map(({ path }) => path)).toEqual([
      "/api/ca?limit=500",
      `/api/ca/${id}/crl/status`,
    ]);
  });

  test("a label that matches nothing names the nearest one", async () => {
    const { code, stderr } = await shell(["crl", "status", "--ca", "isuing-1"], { answers });
    expect(code).toBe(1);
    expect(stderr).toBe("error: There is no CA isuing-1. Did you mean issuing-1?\n");
  });
});

describe("lists", () => {
  const pages: Answers = ({ path }) => {
    const cursor = new URL(path, "http://h").searchParams.get("cursor");
    if (cursor === null)
      return { items: [{ id: "1" }], next_cursor: "c", has_more: true, total: 2 };
    return { items: [{ id: "2" }], next_cursor: "", has_more: false, total: 2 };
  };

  test("one page is printed as it was answered", async () => {
    const { stdout, asked } = await shell(["token", "list", "--json"], { answers: pages });
    expect(JSON.parse(stdout)).toMatchObject({ next_cursor: "c", has_more: true });
    expect(asked).toHaveLength(1);
  });

  test("--all follows every page into one envelope", async () => {
    const { stdout } = await shell(["token", "list", "--all", "--json"], { answers: pages });
    expect(JSON.parse(stdout)).toEqual({
      items: [{ id: "1" }, { id: "2" }],
      next_cursor: "",
      has_more: false,
      total: 2,
    });
  });

  test("columns are aligned under a header, absent values are a dash", async () => {
    const items = [
      {
        seq: 12,
        timestamp: "2030-01-02T03:04:05.000000Z",
        actor: "root",
        action: "ca.create",
        result: "success",
      },
      {
        seq: 3,
        timestamp: "2030-01-02T03:04:05.000000Z",
        actor: "token:1",
        action: "cert.issue",
        result: "denied",
        serial: "9",
      },
    ];
    const { stdout } = await shell(["audit", "list"], { answers: () => ({ items }) });
    expect(stdout).toBe(`SEQ  TIMESTAMP             ACTOR    ACTION      RESULT   TARGET  SERIAL
12   2030-01-02T03:04:05Z  root     ca.create   success  -       -
3    2030-01-02T03:04:05Z  token:1  cert.issue  denied   -       9
`);
  });
});

describe("results", () => {
  const issued = {
    certificate: pem,
    chain: pem + pem,
    serial: "7",
    not_after: "2030-01-01T00:00:00Z",
  };
  const issue = ["cert", "issue", "--ca", id, "--csr", "-"];

  test("a certificate goes to stdout as PEM, the note to stderr", async () => {
    const { stdout, stderr } = await shell(issue, { answers: () => issued });
    expect(stdout).toBe(pem);
    expect(stderr).toBe("Serial 7, valid until 2030-01-01T00:00:00Z.\n");
    expect((await shell([...issue, "--quiet"], { answers: () => issued })).stderr).toBe("");
    expect((await shell([...issue, "--chain"], { answers: () => issued })).stdout).toBe(pem + pem);
  });

  test("with --out the certificate goes to the file and stdout stays empty", async () => {
    const out = join(folder(), "leaf.pem");
    const { stdout } = await shell([...issue, "--out", out], { answers: () => issued });
    expect(stdout).toBe("");
    expect(readFileSync(out, "utf8")).toBe(pem);
  });

  test("a file that cannot be read or written fails, exit 1", async () => {
    const missing = await shell(["cert", "issue", "--ca", id, "--csr", "/nonexistent"]);
    expect(missing).toMatchObject({
      code: 1,
      stderr: "error: /nonexistent cannot be read: ENOENT.\n",
    });
    const out = await shell([...issue, "--out", "/nonexistent/a"], { answers: () => issued });
    expect(out).toMatchObject({ code: 1, stdout: "" });
  });

  describe("a certificate is shown", () => {
    const show = ["cert", "show", "--ca", id, "0a:0b"];
    const record = { serial: "2571", status: "good", certificate: pem };
    const event = { timestamp: "2030-01-02T03:04:05.000000Z", actor: "root", action: "cert.issue" };

    test("with its record, its events and its PEM", async () => {
      const answers: Answers = ({ path }) =>
        path.startsWith("/api/events") ? { items: [event] } : record;
      const { stdout, asked } = await shell(show, { answers });
      expect(asked.map(({ path }) => path)).toEqual([
        `/api/ca/${id}/certificates/0a%3A0b`,
        `/api/events?ca=${id}&serial=2571`,
      ]);
      expect(stdout).toStartWith("serial: 2571\nstatus: good\n\nunreadable:");
      expect(stdout).toContain("2030-01-02T03:04:05Z  root   cert.issue  -       -\n");
      expect(stdout).toEndWith(`\n\n${pem}`);
    });

    test("without its events to whoever may not read the audit chain", async () => {
      const refused = { error: "You may not.", code: "forbidden", request_id: "r" };
      const answers: Answers = ({ path }) =>
        path.startsWith("/api/events") ? Response.json(refused, { status: 403 }) : record;
      const { code, stdout, stderr } = await shell(show, { answers });
      expect({ code, stderr }).toEqual({
        code: 0,
        stderr: "Its events are not shown: You may not.\n",
      });
      expect(stdout).toEndWith(pem);
    });

    test("with --json as it was answered", async () => {
      const { stdout, asked } = await shell([...show, "--json"], { answers: () => record });
      expect(JSON.parse(stdout)).toEqual(record);
      expect(asked).toHaveLength(1);
    });
  });

  test("a token's secret is alone on stdout", async () => {
    const argv = ["token", "create", "--name", "a", "--roles", "issuer"];
    const answers = () => ({ id: "t1", secret: "pki_pat_x" });
    expect(await shell(argv, { answers })).toMatchObject({
      stdout: "pki_pat_x\n",
      stderr: "Token t1; the secret is not shown again.\n",
    });
  });

  test("a CRL in DER reaches stdout octet by octet", async () => {
    const der = Uint8Array.of(0x30, 0x80, 0xff, 0x00);
    const answers = () => new Response(der);
    const { stdout } = await shell(["crl", "get", "--ca", id, "--der"], { answers });
    expect(stdout).toBe("\u0030\u0080\u00ff\u0000");
  });

  test("a key store that does not answer is exit 1 with its status on stdout", async () => {
    const answers = () => ({ available: false, provider: "pkcs11", error: "no answer" });
    const { code, stdout } = await shell(["hsm", "status"], { answers });
    expect(code).toBe(1);
    expect(stdout).toContain("available:");
  });

  test("an unknown profile names the nearest one", async () => {
    const answers = () => ({ items: [{ name: "server" }, { name: "client" }] });
    const { code, stderr } = await shell(["profile", "show", "sever"], { answers });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: "error: There is no profile sever. Did you mean server?\n",
    });
  });
});

describe("configuration and start", () => {
  test("init writes a file that config check accepts, once", async () => {
    const home = folder();
    const out = join(home, "pkid.yaml");
    const argv = [
      "init",
      "--out",
      out,
      "--data-dir",
      join(home, "ca"),
      "--public-url",
      "https://a.test",
    ];
    expect((await shell(argv)).code).toBe(0);
    expect(statSync(out).mode & 0o777).toBe(0o600);
    expect(statSync(join(home, "ca")).mode & 0o777).toBe(0o700);
    const env = { PKID_DATA_DIR: "" };
    const check = await shell(["config", "check", "--config", out, "--data-dir", home], { env });
    expect(check).toMatchObject({ code: 0, stdout: `${out}: valid\n` });
    expect(await shell(argv)).toMatchObject({
      code: 1,
      stderr: `error: ${out} exists; --force overwrites it.\n`,
    });
    expect((await shell([...argv, "--force"])).code).toBe(0);
  });

  test("config check reports every fault and exits 1", async () => {
    const file = join(folder(), "pkid.yaml");
    writeFileSync(file, "server: { port: a, prot: 1 }");
    const { code, stderr } = await shell(["config", "check", "--config", file]);
    expect(code).toBe(1);
    expect(stderr.split("\n")).toHaveLength(3);
  });

  test("config show hides secrets and tells origins", async () => {
    const env = { PKID_ROOT_USER_PASSWORD: "geheim" };
    const text = await shell(["config", "show"], { env });
    expect(text.stdout).toContain('password: "***" # env');
    const json = await shell(["config", "show", "--json", "--origin"], { env });
    expect(JSON.parse(json.stdout).root_user.password).toEqual({ value: "***", origin: "env" });
    expect(text.stdout + json.stdout).not.toContain("geheim");
  });

  test("reference, schema and example print what they say", async () => {
    expect((await shell(["config", "reference"])).stdout).toStartWith("# pkid configuration");
    expect(
      JSON.parse((await shell(["config", "reference", "--format", "json"])).stdout),
    ).toBeObject();
    expect(JSON.parse((await shell(["config", "schema"])).stdout)).toBeObject();
    expect((await shell(["config", "example", "--production"])).stdout).toContain(
      "driver: postgres",
    );
  });

  test("serve hands over the configuration, its flags, and a way to read it again", async () => {
    const served: unknown[] = [];
    const deps = {
      serve: async (request: Parameters<typeof remember>[0]) => remember(request),
    };
    async function remember(request: {
      config: { server: { host: string; port: number } };
      migrate: boolean;
      digest: string;
      read: (yaml: YamlReader) => Promise<unknown>;
    }): Promise<number> {
      served.push(request.config.server.host, request.config.server.port, request.migrate);
      expect(request.digest).toMatch(/^[0-9a-f]{64}$/);
      const yaml: YamlReader = async (text, name) => readDocument(text, name);
      expect(await request.read(yaml)).toHaveProperty("loaded.ok", true);
      return 3;
    }
    const { code } = await shell(["serve", "--listen", "[::1]:9443"], { deps });
    expect(code).toBe(3);
    expect(served).toEqual(["::1", 9443, true]);
  });

  test("cleartext is served when asked for by name, unless TLS was set too (ENV-5)", async () => {
    const allowed = { PKID_ALLOW_INSECURE_HTTP: "yes" };
    const selfIssue = (enabled: string) => ({ PKID_SERVER_TLS_SELF_ISSUE_ENABLED: enabled });
    const served: boolean[] = [];
    const deps = {
      serve: async (request: { cleartext: boolean }) => served.push(request.cleartext),
    };
    for (const env of [
      {},
      allowed,
      { ...allowed, ...selfIssue("true") },
      { ...allowed, ...selfIssue("false") },
    ]) {
      await shell(["serve"], { env, deps });
    }
    expect(served).toEqual([false, true, false, true]);
  });

  test("migrate tells what it did, and only tells with --status", async () => {
    const modes: string[] = [];
    const deps = {
      migrate: async (_config: unknown, mode: string) => {
        modes.push(mode);
        return { driver: "sqlite", current: 1, newest: 2, migrations: ["0002_more"] };
      },
    };
    const status = await shell(["migrate", "--status"], { deps });
    expect(status.stdout).toBe("sqlite: schema 1 of 2\npending: 0002_more\n");
    expect((await shell(["migrate"], { deps })).stdout).toContain("applied: 0002_more");
    expect(modes).toEqual(["status", "apply"]);
    expect(existsSync("pkid-data")).toBe(false);
  });
});

const folder = (): string => mkdtempSync(join(tmpdir(), "pkid-cli-"));
