/** The listeners: TLS floor, rotation, admin socket, cleartext door, drain. */

import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import type { TLSSocket } from "node:tls";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "bun:test";

import { following } from "#adapters/sockets/listening-sockets.ts";
import { Outcome } from "#domain/access/outcome.ts";
import { readBytes } from "#http/body.ts";
import type { TlsMaterial } from "#http/port.ts";
import type { PublicHandler } from "#http/public.ts";

import { rawExchange } from "#test/support/tls/raw-http.ts";
import { startStub, type StubServer } from "#test/support/worlds/stub-server.ts";
import { connected } from "#test/support/tls/tls-client.ts";
import { until } from "#test/support/until.ts";

const folder = mkdtempSync(join(tmpdir(), "listener-"));
const running: StubServer[] = [];
afterAll(async () => {
  await Promise.all(running.map((server) => server.stop()));
  rmSync(folder, { recursive: true });
});

const start: typeof startStub = async (options, deps) => {
  const server = await startStub(options, deps);
  running.push(server);
  return server;
};

/** A self-signed P-256 certificate for localhost, made by openssl. */
function certificate(name: string): TlsMaterial {
  const [key, pem] = [join(folder, `${name}.key`), join(folder, `${name}.pem`)];
  execFileSync(
    "openssl",
    [
      "req",
      "-x509",
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:P-256",
      "-nodes",
      "-keyout",
      key,
      "-out",
      pem,
      "-days",
      "2",
      "-subj",
      `/CN=${name}`,
      "-addext",
      "subjectAltName=DNS:localhost,IP:127.0.0.1",
    ],
    { stdio: "ignore" },
  );
  return { certificate: readFileSync(pem, "utf8"), key: readFileSync(key, "utf8") };
}

/**
 * What openssl says after a handshake with the options given; asynchronous, for the server is in
 * this process.
 */
async function handshake(port: number, ...options: readonly string[]): Promise<string> {
  const cipher = ["-cipher", "DEFAULT@SECLEVEL=0"];
  const command = ["openssl", "s_client", "-connect", `127.0.0.1:${port}`, ...cipher, ...options];
  const client = Bun.spawn(command, { stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  return (await new Response(client.stdout).text()) + (await new Response(client.stderr).text());
}

/** The subject of the certificate a new connection is shown. */
const shownSubject = async (port: number) =>
  /subject=CN = (\S+)/.exec(await handshake(port, "-tls1_3"))?.[1];

describe("TLS", () => {
  test("1.2 and 1.3 are spoken, 1.1 is not", async () => {
    const { listeners } = await start({ tls: certificate("floor") });
    const port = listeners.addresses.main;
    expect(await handshake(port, "-tls1_2")).toMatch(/Protocol *: *TLSv1\.2/);
    expect(await handshake(port, "-tls1_3")).toContain("New, TLSv1.3");
    // The alert shows that it was the server who refused.
    expect(await handshake(port, "-tls1_1")).toContain("alert protocol version");
  });

  test("with 1.3 as minimum 1.2 is not spoken", async () => {
    const { listeners } = await start({ tls: certificate("floor3"), tlsMinVersion: "1.3" });
    const port = listeners.addresses.main;
    expect(await handshake(port, "-tls1_3")).toContain("New, TLSv1.3");
    expect(await handshake(port, "-tls1_2")).toContain("Cipher is (NONE)");
  });

  test("answers over TLS demand it for a year", async () => {
    const tls = certificate("hsts");
    const { origin } = await start({ tls });
    const { headers } = await fetch(`${origin}/healthz`, { tls: { ca: tls.certificate } });
    expect(headers.get("strict-transport-security")).toBe("max-age=31536000");
  });

  test("without TLS and without leave to go without nothing opens", async () => {
    const adminSocket = join(folder, "refused.sock");
    await expect(start({ insecureAllowed: false, adminSocket })).rejects.toThrow("TLS");
    expect(existsSync(adminSocket)).toBe(false);
  });

  test("a certificate is rotated while a request is running, which still finishes", async () => {
    let release = () => {};
    const waiting = new Promise<void>((resolve) => {
      release = resolve;
    });
    const slow = async () => {
      await waiting;
      return new Outcome("done", { slow: true });
    };
    const server = await start(
      { tls: certificate("first") },
      {
        handlers: {},
        perform: async ({ given }) =>
          (await given.peek("slow")) === undefined ? new Outcome("done", {}) : slow(),
      },
    );
    const port = server.listeners.addresses.main;
    const tls = { rejectUnauthorized: false };
    const pending = fetch(`${server.origin}/api/profiles?slow`, { tls });
    while (server.front.traffic.active === 0) await Bun.sleep(1);
    expect(await shownSubject(port)).toBe("first");
    server.listeners.rotate(certificate("second"));
    expect(await shownSubject(port)).toBe("second");
    for (let i = 0; i < 20; i++) {
      const answer = await fetch(`${server.origin}/healthz`, { tls, keepalive: false });
      expect(answer.status).toBe(200);
    }
    release();
    expect((await pending).status).toBe(200);
  });
});

describe("a rotation", () => {
  const get = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";

  test("breaks nothing of two dozen clients, whether they keep their connections or not", async () => {
    const server = await start({ tls: certificate("steady"), following });
    const port = server.listeners.addresses.main;
    let over = false;
    const faults: string[] = [];
    let answered = 0;
    const client = async (keeps: boolean) => {
      let socket: TLSSocket | undefined;
      while (!over) {
        socket ??= await connected(port);
        const answer = await exchanged(socket, get);
        if (answer.startsWith("HTTP/1.1 200")) answered += 1;
        else faults.push(answer);
        if (keeps && !/connection: close/i.test(answer)) {
          await Bun.sleep(Math.random() * 10);
          continue;
        }
        socket.destroy();
        socket = undefined;
      }
      socket?.destroy();
    };
    const clients = Array.from({ length: 24 }, (_, at) => client(at % 2 === 0));
    for (let round = 0; round < 10; round++) {
      await Bun.sleep(100);
      server.listeners.rotate(certificate(`steady-${round}`));
      expect(await shownSubject(port)).toBe(`steady-${round}`);
    }
    await until(() => answered > 500 || faults.length > 0);
    over = true;
    await Promise.all(clients);
    expect(faults).toEqual([]);
  }, 30_000);

  test("leaves a connection that waits, and tells it with its next answer to close", async () => {
    const server = await start({ tls: certificate("waits"), following });
    const port = server.listeners.addresses.main;
    const [asked, silent] = [await connected(port), await connected(port)];
    expect(await exchanged(asked, get)).not.toContain("onnection: close");
    server.listeners.rotate(certificate("waits-no-more"));
    // Past the moment in which the old socket is closed.
    await Bun.sleep(1200);
    for (const socket of [asked, silent]) {
      const answer = await exchanged(socket, get);
      expect(answer).toStartWith("HTTP/1.1 200");
      expect(answer.toLowerCase()).toContain("connection: close");
    }
    expect(await shownSubject(port)).toBe("waits-no-more");
    await server.listeners.close(100);
    await expect(connected(port)).rejects.toThrow();
  });

  test("keeps no socket of before on the port", async () => {
    const server = await start({ tls: certificate("only"), following });
    const port = server.listeners.addresses.main;
    for (const name of ["only-1", "only-2", "only-3"]) server.listeners.rotate(certificate(name));
    await Bun.sleep(1200);
    const end = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
    const rows = readFileSync("/proc/self/net/tcp", "utf8").split("\n");
    const open = rows.map((row) => row.trim().split(/\s+/));
    expect(open.filter(([, at, , state]) => at?.endsWith(end) && state === "0A")).toHaveLength(1);
  });

  test("leaves another listener of this process alone that has the same port of another address", async () => {
    const server = await start({ tls: certificate("beside"), following });
    const port = server.listeners.addresses.main;
    const other = createServer((socket) => socket.end("other"));
    await new Promise<void>((resolve) => other.listen(port, "127.0.0.2", resolve));
    try {
      server.listeners.rotate(certificate("beside-1"));
      await Bun.sleep(1200);
      const socket = connect(port, "127.0.0.2");
      const heard = await new Promise((resolve) => {
        socket.once("data", (chunk) => resolve(String(chunk)));
        socket.once("error", (error) => resolve(error.message));
      });
      socket.destroy();
      expect(heard).toBe("other");
      expect(await shownSubject(port)).toBe("beside-1");
    } finally {
      other.close();
    }
  });

  /** The first answer to these octets, or what became of the connection instead. */
  function exchanged(socket: TLSSocket, octets: string): Promise<string> {
    return new Promise((resolve) => {
      const settle = (said: string) => {
        socket.off("data", heard).off("error", broken).off("close", closed);
        // A fault in between is told by the next exchange.
        if (socket.listenerCount("error") === 0) socket.on("error", () => {});
        resolve(said);
      };
      const heard = (chunk: Buffer) => settle(String(chunk));
      const broken = (error: Error) => settle(error.message);
      const closed = () => settle("closed");
      socket.on("data", heard).on("error", broken).on("close", closed);
      socket.write(octets);
    });
  }
});

describe("slow clients", () => {
  const head = (path: string) =>
    `${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Token pki_pat_good\r\nContent-Type: application/json\r\n`;

  test("a body that trickles on and an answer that takes too long end the connection", async () => {
    const patience = {
      idle_timeout_seconds: 120,
      body_timeout_seconds: 4,
      request_timeout_seconds: 4,
    };
    const { listeners } = await start(patience, {
      perform: async (call) => {
        const created = call.operation.name === "token.create";
        const hung = await call.given.peek("hang");
        if (created || hung !== undefined) await new Promise(() => {});
        return new Outcome("done", {});
      },
    });
    const send = (octets: string, drop = "") => trickled(listeners.addresses.main, octets, drop);
    const answers = await Promise.all([
      send(`${head("POST /api/tokens")}Content-Length: 100\r\n\r\n{`, " "),
      send(`${head("POST /api/tokens?hang")}Content-Length: 2\r\n\r\n{}`),
      send(`${head("GET /api/profiles?hang")}\r\n`),
      send(`${head("POST /nothing")}Content-Length: 100000\r\n\r\n{`, " "),
    ]);
    const [refused] = answers.splice(3);
    expect([...answers, refused?.slice(0, 12)]).toEqual(["", "", "", "HTTP/1.1 404"]);
  }, 30_000);

  test("an answer may take longer on the admin socket than a connection may be silent elsewhere", async () => {
    const adminSocket = join(folder, "slow.sock");
    let answered = false;
    const perform = async () => {
      await Bun.sleep(12_500);
      answered = true;
      return new Outcome("done", {});
    };
    await start({ adminSocket }, { perform });
    const answer = await rawExchange(adminSocket, head("GET /api/profiles").concat("\r\n"));
    expect([answered, answer.slice(0, 12)]).toEqual([true, "HTTP/1.1 200"]);
  }, 30_000);

  /**
   * Sends octets, and ten times a second a drop more; gives what came back when the server closed.
   */
  async function trickled(port: number, octets: string, drop: string): Promise<string> {
    const socket = connect(port, "127.0.0.1", () => socket.write(octets));
    const drip = setInterval(() => socket.write(drop), 100);
    let answer = "";
    socket.on("data", (chunk) => {
      answer += String(chunk);
    });
    socket.on("error", () => {}); // A drop may meet a closed connection.
    await new Promise((closed) => socket.once("close", closed));
    clearInterval(drip);
    return answer;
  }
});

describe("a body that is too large", () => {
  test("is refused on every door in words that its sender hears, though it asked nobody's leave", async () => {
    const adminSocket = join(folder, "large.sock");
    const limits = { max_body_bytes: 65_536 };
    const plain = await start({ adminSocket, publicHttp: { host: "127.0.0.1", port: 0 } }, limits);
    const size = 8 * 1024 * 1024;
    const ca = "POST /api/ca/x/ocsp HTTP/1.1\r\nHost: x\r\n";
    const { main, public: open = 0 } = plain.listeners.addresses;
    const refusing: PublicHandler = async ({ request }) => {
      await readBytes(request, 65_536);
      return new Response();
    };
    const relying = await start(
      { publicHttp: { host: "127.0.0.1", port: 0 } },
      { handlers: { "ocsp.post": refusing } },
    );
    const posted = "POST /api/tokens HTTP/1.1\r\nHost: x\r\nAuthorization: Token pki_pat_good\r\n";
    expect(open).toBeGreaterThan(0);
    for (const [where, head] of [
      [main, posted],
      [adminSocket, posted],
      [relying.listeners.addresses.main, ca],
      [relying.listeners.addresses.public ?? 0, ca],
    ] as const) {
      for (const framing of ["announced", "chunked"] as const) {
        const answers = await Promise.all(
          Array.from({ length: 5 }, () => unheeding(where, head, framing, size)),
        );
        for (const answer of answers) {
          expect([where, framing, answer.slice(0, 12)]).toEqual([where, framing, "HTTP/1.1 413"]);
          expect(answer).toContain('"code":"body_too_large"');
        }
      }
    }
  }, 60_000);

  test("cannot be announced so that nobody understands it, on any door", async () => {
    const adminSocket = join(folder, "unclear.sock");
    const server = await start({ adminSocket, publicHttp: { host: "127.0.0.1", port: 0 } });
    const { main, public: open = 0 } = server.listeners.addresses;
    for (const where of [main, open, adminSocket]) {
      for (const line of ["POST /api/ca/x/ocsp", "POST /auth/login/password", "GET /healthz"]) {
        const length = "Content-Length: 300000000\r\n";
        for (const twice of [length + length, "Host: y\r\n"]) {
          const answer = await rawExchange(where, `${line} HTTP/1.1\r\nHost: x\r\n${twice}\r\n`);
          expect([where, line, answer.slice(0, 12)]).toEqual([where, line, "HTTP/1.1 400"]);
          expect(answer).toContain('"code":"bad_header"');
        }
      }
    }
  });

  /** Sends all of a body before it reads anything. */
  async function unheeding(
    where: number | string,
    head: string,
    framing: "announced" | "chunked",
    size: number,
  ): Promise<string> {
    const socket = typeof where === "number" ? connect(where, "127.0.0.1") : connect(where);
    socket.pause().on("error", () => {}); // What came before a reset counts.
    const hex = size.toString(16);
    const [before, after] =
      framing === "announced"
        ? [`Content-Length: ${size}\r\n\r\n`, ""]
        : [`Transfer-Encoding: chunked\r\n\r\n${hex}\r\n`, "\r\n0\r\n\r\n"];
    socket.write(head + before);
    socket.write(Buffer.alloc(size, "x"));
    await new Promise((written) => socket.write(after, written));
    let answer = "";
    socket.on("data", (chunk) => {
      answer += String(chunk);
      if (answer.includes("}")) socket.destroy();
    });
    socket.resume();
    await new Promise((closed) => socket.once("close", closed));
    return answer;
  }
});

describe("ports", () => {
  test("a port somebody else listens on is refused, not shared", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => other.once("listening", resolve));
    const address = other.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    await expect(start({ port })).rejects.toThrow("EADDRINUSE");
    const first = await start();
    await expect(start({ port: first.listeners.addresses.main })).rejects.toThrow("EADDRINUSE");
    await new Promise((resolve) => other.close(resolve));
  });

  test("the cleartext door serves what relying parties fetch and nothing else", async () => {
    const publicHttp = { host: "127.0.0.1", port: 0 };
    const { listeners } = await start({ publicHttp });
    const ask = async (path: string, method = "GET") => {
      const answer = await fetch(`http://127.0.0.1:${listeners.addresses.public}${path}`, {
        method,
        headers: { authorization: `Basic ${btoa("root:wrong")}` },
      });
      return answer.status;
    };
    for (const path of ["/api/ca/1/crl", "/api/ca/1/ocsp/MEQ", "/api/ca/1/chain"]) {
      expect([path, await ask(path)]).toEqual([path, 200]);
    }
    for (const path of ["/api/ca", "/healthz", "/metrics", "/", "/console/", "/api/tokens"]) {
      expect([path, await ask(path)]).toEqual([path, 404]);
    }
    expect(await ask("/api/ca/1/crl:publish", "POST")).toBe(404);
  });
});

describe("the admin socket", () => {
  const get = (head: string) => `GET /api/me HTTP/1.1\r\nHost: local\r\n${head}\r\n`;

  test("has mode 0600 and makes its caller the local user", async () => {
    const adminSocket = join(folder, "admin.sock");
    const server = await start({ adminSocket });
    expect(statSync(adminSocket).mode & 0o777).toBe(0o600);
    const answer = await rawExchange(adminSocket, get("X-Forwarded-For: 9.9.9.9\r\n"));
    expect(answer).toContain('"subject":"local:tester","ip":""');
    await server.stop();
    expect(existsSync(adminSocket)).toBe(false);
  });

  test("believes a credential more than the socket", async () => {
    const adminSocket = join(folder, "credential.sock");
    await start({ adminSocket });
    const good = await rawExchange(adminSocket, get("Authorization: Bearer pki_pat_good\r\n"));
    expect(good).toContain('"subject":"token:1"');
    const bad = await rawExchange(adminSocket, get("Authorization: Token x\r\n"));
    expect(bad).toStartWith("HTTP/1.1 401");
  });

  test("a stale socket is replaced, a living one and another file are not", async () => {
    const adminSocket = join(folder, "stale.sock");
    const crashed = Bun.spawnSync([
      process.execPath,
      "-e",
      `Bun.serve({unix:${JSON.stringify(adminSocket)},fetch(){}});process.kill(process.pid,"SIGKILL")`,
    ]);
    expect(crashed.success).toBe(false);
    expect(existsSync(adminSocket)).toBe(true);
    await start({ adminSocket });
    await expect(start({ adminSocket })).rejects.toThrow("another server answers");
    const file = join(folder, "file.sock");
    writeFileSync(file, "");
    await expect(start({ adminSocket: file })).rejects.toThrow("another file");
    await expect(start({ adminSocket: join(folder, "x".repeat(100)) })).rejects.toThrow("too long");
  });
});

describe("the drain", () => {
  test("new requests are refused while a running one finishes, and readiness still answers", async () => {
    let release = () => {};
    const waiting = new Promise<void>((resolve) => {
      release = resolve;
    });
    const server = await start(
      {},
      {
        perform: async (call) => {
          if (call.operation.name === "profile.list") await waiting;
          return new Outcome("done", {});
        },
      },
    );
    const pending = fetch(`${server.origin}/api/profiles`);
    await fetch(`${server.origin}/healthz`);
    const closed = server.listeners.close(60_000);
    const refused = await fetch(`${server.origin}/healthz`);
    expect(refused.status).toBe(503);
    expect(refused.headers.get("retry-after")).toBe("5");
    expect(await refused.json()).toMatchObject({ code: "shutting_down", retry_after: 5 });
    expect((await fetch(`${server.origin}/api/ca/1/ocsp/MEQ`)).status).toBe(503);
    expect((await fetch(`${server.origin}/readyz`)).status).toBe(200);
    release();
    expect((await pending).status).toBe(200);
    await closed;
    await expect(fetch(`${server.origin}/healthz`)).rejects.toThrow();
  });

  test("a request that never ends does not hold the process past its time", async () => {
    const server = await start({}, { perform: () => new Promise(() => {}) });
    const pending = fetch(`${server.origin}/healthz`).then(
      () => "answered",
      () => "cut",
    );
    while (server.front.traffic.active === 0) await Bun.sleep(1);
    await server.listeners.close(20);
    expect(await pending).toBe("cut");
  });
});

describe("the client address", () => {
  const forwardedFor = async (trustedProxies: readonly string[], forwarded: string) => {
    const server = await start({}, { trusted_proxies: trustedProxies });
    await fetch(`${server.origin}/healthz`, { headers: { "x-forwarded-for": forwarded } });
    return server.rows[0]?.ip;
  };

  test("is the socket's when the peer is no trusted proxy", async () => {
    expect(await forwardedFor([], "9.9.9.9")).toBe("127.0.0.1");
    expect(await forwardedFor(["10.0.0.0/8"], "9.9.9.9")).toBe("127.0.0.1");
  });

  test("is the rightmost forwarded address outside the list behind a trusted one", async () => {
    expect(await forwardedFor(["127.0.0.0/8", "10.0.0.0/8"], "6.6.6.6, 9.9.9.9, 10.1.2.3")).toBe(
      "9.9.9.9",
    );
  });
});
