/** The three ways to an instance: remote, admin socket, this process (RUN-1). */

import { describe, expect, test } from "bun:test";
import { chownSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { NoInstance } from "#cli/failure.ts";
import { socketReach } from "#cli/reach.ts";
import { configOf } from "#test/support/config.ts";
import { shell } from "#test/support/instances/shell.ts";

test("a remote server gets the token and nothing runs here", async () => {
  const seen: string[] = [];
  using server = recording(seen);
  const url = `http://127.0.0.1:${server.port}/`;
  const byFlag = await shell(["ca", "list", "--url", url, "--token", "pki_pat_a"]);
  const byVariable = await shell(["ca", "list"], {
    env: { PKID_URL: url, PKID_TOKEN: "pki_pat_b" },
  });
  const byStdin = await shell(["ca", "list", "--url", url, "--token", "-"], {
    stdin: "pki_pat_c\n",
  });
  const without = await shell(["ca", "list", "--url", url]);
  expect([byFlag, byVariable, byStdin, without].map(({ code, asked }) => [code, asked])).toEqual([
    [0, []],
    [0, []],
    [0, []],
    [0, []],
  ]);
  expect(seen).toEqual([
    "/api/ca Token pki_pat_a",
    "/api/ca Token pki_pat_b",
    "/api/ca Token pki_pat_c",
    "/api/ca null",
  ]);
});

test("a token of a file goes before one of the environment, and beside no other", async () => {
  const seen: string[] = [];
  using server = recording(seen);
  const url = `http://127.0.0.1:${server.port}/`;
  const file = join(mkdtempSync(join(tmpdir(), "pkid-")), "token");
  writeFileSync(file, "pki_pat_f\n");
  const list = ["ca", "list", "--token-file", file];
  await shell([...list, "--url", url], { env: { PKID_TOKEN: "pki_pat_e" } });
  expect(seen).toEqual(["/api/ca Token pki_pat_f"]);
  for (const [flags, code, sentence] of [
    [["--url", url, "--token", "pki_pat_a"], 2, "Only one of --token and --token-file"],
    [[], 2, "--token-file is for a remote server"],
    [["--url", url, "--token-file", join(file, "none")], 2, "is given twice"],
  ] as const) {
    const ended = await shell([...list, ...flags]);
    expect([ended.code, ended.stderr]).toEqual([code, expect.stringContaining(sentence)]);
  }
  const missing = await shell(["ca", "list", "--token-file", `${file}x`, "--url", url]);
  expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining("cannot be read")]);
  expect(seen).toHaveLength(1);
});

test("PKID_URL does not move a local command to another machine", async () => {
  const env = { PKID_URL: "https://pki.test" };
  const argv = ["crl", "publish", "--ca", "3e3d1b5c-0f2a-4a54-9d6e-2f1f5b7a9c10"];
  const { code, asked } = await shell(argv, { env });
  expect(code).toBe(0);
  expect(asked.map(({ actor }) => actor)).toEqual(["operator"]);
});

test("an admin socket of another user is told nothing", async () => {
  const path = join(mkdtempSync(join(tmpdir(), "pkid-")), "admin.sock");
  const asked: string[] = [];
  using _squatter = Bun.serve({
    unix: path,
    fetch: (request) => {
      asked.push(request.url);
      return new Response();
    },
  });
  const config = configOf(`server: { admin_socket: { path: ${path} } }`);
  const owner = process.getuid?.() ?? 0;
  // Whoever made it asks it, and so does root; where it is root's everybody may.
  expect((await socketReach(config, 5000, owner))?.way).toBe("socket");
  expect((await socketReach(config, 5000, 0))?.way).toBe("socket");
  if (owner === 0) chownSync(path, 65_534, 65_534);
  asked.length = 0;
  await expect(socketReach(config, 5000, 4321)).rejects.toThrow("belongs to another user");
  expect(asked).toEqual([]);
});

test("a redirect is not followed, because it would carry the token along", async () => {
  using server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => Response.redirect("http://127.0.0.1:1/elsewhere"),
  });
  const url = `http://127.0.0.1:${server.port}`;
  const { code, stderr } = await shell(["ca", "list", "--url", url, "--token", "pki_pat_a"]);
  expect(code).toBe(1);
  expect(stderr).not.toContain("pki_pat_a");
});

test("a server that cannot be reached is exit 1 with its address", async () => {
  const server = recording([]);
  const url = `http://127.0.0.1:${server.port}`;
  await server.stop(true);
  const { code, stdout, stderr } = await shell(["ca", "list", "--url", url, "--json"]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(JSON.parse(stderr)).toMatchObject({ code: "unreachable" });
});

test("TLS trusts --ca-file and nothing else", async () => {
  const home = mkdtempSync(join(tmpdir(), "pkid-tls-"));
  const [cert, key] = [join(home, "cert.pem"), join(home, "key.pem")];
  const line = `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout ${key} -out ${cert}`;
  expect(await Bun.spawn(line.split(" "), { stderr: "ignore" }).exited).toBe(0);
  using server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    tls: { cert: Bun.file(cert), key: Bun.file(key) },
    fetch: () => Response.json({ items: [] }),
  });
  const argv = ["ca", "list", "--url", `https://localhost:${server.port}`];
  expect((await shell(argv)).code).toBe(1);
  expect((await shell([...argv, "--ca-file", cert])).code).toBe(0);
  expect(await shell([...argv, "--ca-file", "/none"])).toMatchObject({ code: 1 });
});

test("a running server is asked over its admin socket", async () => {
  const home = mkdtempSync(join(tmpdir(), "pkid-sock-"));
  const seen: string[] = [];
  using _server = Bun.serve({
    unix: join(home, "admin.sock"),
    fetch: (request) => {
      seen.push(`${request.method} ${new URL(request.url).pathname}`);
      return Response.json({ items: [] });
    },
  });
  const { code, asked } = await shell(["ca", "list"], { env: { PKID_DATA_DIR: home } });
  expect({ code, asked }).toEqual({ code: 0, asked: [] });
  expect(seen).toEqual(["GET /healthz", "GET /api/ca"]);
});

test("a socket nobody answers on leaves it to the lock", async () => {
  const home = mkdtempSync(join(tmpdir(), "pkid-dead-"));
  writeFileSync(join(home, "admin.sock"), "");
  const env = { PKID_DATA_DIR: home };
  expect((await shell(["ca", "list"], { env })).asked).toHaveLength(1);
  const open = async () => {
    throw new Error(`${home} is in use by process 4711.`);
  };
  const locked = await shell(["ca", "list"], { env, deps: { open } });
  expect(locked).toMatchObject({ code: 1, stdout: "" });
  expect(locked.stderr).toBe(`error: ${home} is in use by process 4711.\n`);
});

test("the application of this process is closed also when the command fails", async () => {
  let closed = 0;
  const open = async () => ({
    fetch: async () => new Response("", { status: 500 }),
    close: async () => void closed++,
  });
  expect((await shell(["ca", "list"], { deps: { open } })).code).toBe(1);
  expect(closed).toBe(1);
});

function recording(seen: string[]) {
  return Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request) => {
      seen.push(`${new URL(request.url).pathname} ${request.headers.get("authorization")}`);
      return Response.json({ items: [] });
    },
  });
}

describe("which instance is meant", () => {
  const nowhere = { PKID_DATA_DIR: undefined };
  const founding: boolean[] = [];
  const deps = {
    open: async (_config: unknown, mayFound: boolean) => {
      founding.push(mayFound);
      throw new NoInstance();
    },
    migrate: async () => {
      throw new NoInstance();
    },
    preflight: async () => {
      throw new NoInstance();
    },
  };

  test("a command where there is no instance says what it looked for, and may found none", async () => {
    const { code, stdout, stderr } = await shell(["ca", "list"], { env: nowhere, deps });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    const folder = join(process.cwd(), "pkid-data");
    expect(stderr).toBe(
      `error: There is no instance in ${folder}. No configuration file was found (./pkid.yaml, pkid-data/pkid.yaml, /etc/pkid/pkid.yaml). Name one with --config, --data-dir or --url; pkid serve, init and quickstart make one.\n`,
    );
    expect(founding).toEqual([false]);
  });

  test("a configuration that was read is named, also for programs", async () => {
    const file = join(mkdtempSync(join(tmpdir(), "pkid-where-")), "pkid.yaml");
    writeFileSync(file, "data_dir: /nonexistent/elsewhere\n");
    for (const argv of [["ca", "list"], ["crl", "publish", "--ca", uuid], ["migrate"]]) {
      const ended = await shell([...argv, "--config", file, "--json"], { env: nowhere, deps });
      expect(ended.code).toBe(1);
      expect(JSON.parse(ended.stderr)).toMatchObject({
        code: "no_instance",
        data_dir: "/nonexistent/elsewhere",
        config_path: file,
      });
    }
  });

  test("preflight about nothing is no run with warnings, but exit 2", async () => {
    expect((await shell(["preflight"], { env: nowhere, deps })).code).toBe(2);
  });

  test("PKID_URL is not passed over by commands of this machine, unless its instance is named", async () => {
    const env = { ...nowhere, PKID_URL: "https://pki.test" };
    const lines = [["crl", "publish", "--ca", uuid], ["migrate"], ["preflight"], ["quickstart"]];
    for (const argv of lines) {
      const { code, stderr, asked } = await shell(argv, { env });
      expect({ argv, code, asked }).toEqual({ argv, code: 2, asked: [] });
      expect(stderr).toContain("PKID_URL is https://pki.test");
    }
    const named = await shell(["crl", "publish", "--ca", uuid, "--data-dir", "/nonexistent/here"], {
      env,
    });
    expect([named.code, named.asked.length]).toEqual([0, 1]);
  });

  test("an empty PKID_URL is none", async () => {
    const env = { PKID_URL: "" };
    expect((await shell(["ca", "list"], { env, answers: () => ({ items: [] }) })).code).toBe(0);
  });
});

const uuid = "3e3d1b5c-0f2a-4a54-9d6e-2f1f5b7a9c10";
