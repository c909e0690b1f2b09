/**
 * The listener that asks for client certificates: whose octets are whose, and what becomes of
 * broken connections.
 */

import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, test } from "bun:test";

import { usualTlsSuites } from "#core/tls-suites.ts";
import type { Call } from "#domain/access/call.ts";
import { Outcome } from "#domain/access/outcome.ts";
import { PipeDoors } from "#http/pipe-doors.ts";
import { TlsTerminator } from "#http/terminator.ts";
import {
  type ClientCertificate,
  OutsideCa,
  savedClient,
} from "#test/support/tls/client-certificates.ts";
import { below, subjectOf, subjects } from "#test/support/tls/certificate-subjects.ts";
import { scratchDirectory } from "#test/support/encodings/openssl.ts";
import { startStub, type StubServer } from "#test/support/worlds/stub-server.ts";
import { connected, heard, spoken } from "#test/support/tls/tls-client.ts";
import { servingMaterialFor } from "#test/support/tls/serving-pair.ts";
import {
  accepted,
  established,
  listening,
  openFiles,
} from "#test/support/servers/kernel-sockets.ts";

const outside = OutsideCa.root("Outside");
const issuing = outside.below("Issuing");
const alice = issuing.client();
const bob = issuing.client();
const rogue = OutsideCa.root("Outside").below("Issuing").client();
const tls = servingMaterialFor("localhost");
const folder = scratchDirectory();

const running: StubServer[] = [];
afterAll(async () => {
  await Promise.all(running.map((server) => server.stop()));
  folder[Symbol.dispose]();
});

const byCertificate = below([outside.pem]);

const start: typeof startStub = async (options, deps) => {
  const clientAuthorities = [outside.pem];
  const server = await startStub(
    { tls, clientAuthorities, ...options },
    {
      authenticate: below(options?.clientAuthorities ?? clientAuthorities),
      max_body_bytes: 64 * 1024 * 1024,
      ...deps,
    },
  );
  running.push(server);
  return server;
};
const portOf = (server: StubServer) => server.listeners.addresses.main;

const get = (more = "Connection: close\r\n", path = "/api/me") =>
  `GET ${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`;

describe("a client", () => {
  test("is who its certificate says, and nobody without one or with one that is not believed", async () => {
    const port = portOf(await start());
    expect(subjects(await spoken(port, get(), alice))).toEqual([subjectOf(alice)]);
    expect(await spoken(port, get())).toStartWith("HTTP/1.1 401");
    expect(await spoken(port, get(), rogue)).toStartWith("HTTP/1.1 401");
  });

  test("of an issuing CA that is believed without the root above it is known", async () => {
    const server = await start({ clientAuthorities: [issuing.pem] });
    const other = outside.below("Other").client();
    expect(subjects(await spoken(portOf(server), get(), alice))).toEqual([subjectOf(alice)]);
    expect(await spoken(portOf(server), get(), other)).toStartWith("HTTP/1.1 401");
  });

  test("stays who it is for every request of its connection, pipelined or one after the other", async () => {
    const port = portOf(await start());
    const socket = await connected(port, alice);
    socket.write(get("").repeat(50) + get());
    expect(subjects(await heard(socket))).toEqual(Array(51).fill(subjectOf(alice)));
  });

  test("is never taken for another, however many come at once and one after the other", async () => {
    const port = portOf(await start());
    const clients = [alice, bob, rogue, undefined] as const;
    for (let round = 0; round < 5; round++) {
      const all = Array.from({ length: 40 }, (_, index) => clients[index % 4]);
      const answers = await Promise.all(all.map((client) => spoken(port, get(), client)));
      const wanted = all.map((client) =>
        client === alice || client === bob ? [subjectOf(client)] : [],
      );
      expect(answers.map(subjects)).toEqual(wanted);
    }
  });

  test.each(["tls1_2", "tls1_3"])(
    "that resumes a session of %s stays who it was",
    async (version) => {
      const server = await start();
      const port = portOf(server);
      const { cert, key } = savedClient(folder.path, `resumed-${version}`, alice);
      const session = `${folder.path}/session-${version}`;
      const first = await sClient(port, [
        `-${version}`,
        "-cert",
        cert,
        "-key",
        key,
        "-sess_out",
        session,
      ]);
      expect([subjects(first), first.includes("New, TLS")]).toEqual([[subjectOf(alice)], true]);
      const second = await sClient(port, [`-${version}`, "-sess_in", session]);
      expect([subjects(second), second.includes("Reused, TLS")]).toEqual([
        [subjectOf(alice)],
        true,
      ]);
      server.listeners.rotate(tls, [OutsideCa.root("Another").pem]);
      const third = await sClient(port, [`-${version}`, "-sess_in", session]);
      expect([subjects(third), third.includes("Reused, TLS")]).toEqual([[], false]);
    },
  );

  /** One exchange of openssl, with its own certificate or the session of before. */
  async function sClient(port: number, options: readonly string[]): Promise<string> {
    const command = ["openssl", "s_client", "-connect", `127.0.0.1:${port}`, "-ign_eof"];
    const chain = options.includes("-cert") ? ["-cert_chain", options[2] ?? ""] : [];
    const client = Bun.spawn([...command, ...options, ...chain], {
      stdin: Buffer.from(get()),
      stdout: "pipe",
      stderr: "ignore",
    });
    return new Response(client.stdout).text();
  }

  test("shows no header that makes it somebody else", async () => {
    const port = portOf(await start());
    const pem = encodeURIComponent(issuing.pem);
    const lies = [
      "X-Forwarded-For: 127.0.0.1",
      `X-Client-Cert: ${pem}`,
      `X-SSL-Client-Cert: ${pem}`,
      `Client-Cert: :${alice.chain[0]?.toBase64()}:`,
      "X-SSL-Client-Verify: SUCCESS",
      `X-SSL-Client-S-DN: ${subjectOf(alice)}`,
      `X-Forwarded-Client-Cert: Hash=${subjectOf(alice)}`,
      `Forwarded: for=127.0.0.1:${port}`,
      "X-Real-IP: 127.0.0.1",
    ].join("\r\n");
    const request = get(`${lies}\r\nConnection: close\r\n`);
    expect(await spoken(port, request)).toStartWith("HTTP/1.1 401");
    expect(subjects(await spoken(port, request, bob))).toEqual([subjectOf(bob)]);
    const proxied = `PROXY TCP4 127.0.0.1 127.0.0.1 1 2\r\n${get()}`;
    expect(await spoken(port, proxied)).toMatch(/^HTTP\/1.1 400/);
  });

  test("cannot smuggle a request past what is read of the first", async () => {
    const port = portOf(await start());
    const inner = get();
    for (const framing of [
      `Content-Length: ${inner.length}\r\nTransfer-Encoding: chunked\r\n`,
      `Transfer-Encoding: chunked\r\nContent-Length: 4\r\n`,
      `Content-Length: 2\r\nContent-Length: 3\r\n`,
      "Transfer-Encoding: chunked, identity\r\n",
    ]) {
      const head = `POST /api/tokens HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n`;
      const answer = await spoken(port, `${head}${framing}\r\n0\r\n\r\n${inner}`, alice);
      expect([framing, answer.match(/HTTP\/1\.1 \d+/g)]).toEqual([framing, ["HTTP/1.1 400"]]);
    }
  });

  test("is known by its own address, and by a forwarded one only through a trusted proxy", async () => {
    const forwarded = get("X-Forwarded-For: 9.9.9.9\r\nConnection: close\r\n", "/healthz");
    const plain = await start();
    await spoken(portOf(plain), forwarded, alice);
    expect(plain.rows.map(({ ip }) => ip)).toEqual(["127.0.0.1"]);
    const behind = await start({}, { trusted_proxies: ["127.0.0.0/8"] });
    await spoken(portOf(behind), forwarded, alice);
    expect(behind.rows.map(({ ip }) => ip)).toEqual(["9.9.9.9"]);
    // Another address of loopback, for the pipe itself always comes from 127.0.0.1.
    const socket = await connected(portOf(plain), undefined, { localAddress: "127.0.0.9" });
    socket.write(get(undefined, "/healthz"));
    await heard(socket);
    expect(plain.rows.at(-1)?.ip).toBe("127.0.0.9");
  });
});

describe("another process of this host", () => {
  test("finds no port behind the listener, and no socket it may connect to", async () => {
    const before = listening();
    const server = await start();
    const held = await connected(portOf(server), alice);
    held.write(get(""));
    expect(subjects(await heard(held, /subject/))).toEqual([subjectOf(alice)]);
    const fresh = [...listening()].filter((place) => !before.has(place));
    const port = portOf(server).toString(16).toUpperCase().padStart(4, "0");
    const ports = fresh.filter((place) => !place.includes("/"));
    expect(ports).toEqual([`0100007F:${port}`]);
    const sockets = fresh.filter((place) => place.includes("/"));
    expect(sockets).toHaveLength(1);
    for (const path of sockets) {
      expect(statSync(path).mode & 0o777).toBe(0o600);
      expect(statSync(dirname(path)).mode & 0o777).toBe(0o700);
      if (process.getuid?.() === 0) expect(connectedAsNobody(path)).toBe("EACCES");
    }
    held.destroy();
    while (sockets.some((path) => existsSync(path))) await Bun.sleep(5);
  });

  test("is nobody by the address and the port of somebody's pipe, whatever address of loopback it binds", async () => {
    const server = await start();
    const held = await connected(portOf(server), alice);
    held.write(get(""));
    await heard(held, /subject/);
    // Every connection of this process within loopback, from both of its ends.
    const ends = established().flatMap(({ local, remote }) => [local, remote]);
    for (const localPort of new Set(ends)) {
      for (const to of new Set(ends)) {
        const answer = await cleartextFrom("127.0.0.2", localPort, to);
        expect([localPort, to, subjects(answer)]).toEqual([localPort, to, []]);
      }
    }
    held.destroy();
  });

  test("gets in by none of what an earlier process left behind", async () => {
    const home = scratchDirectory();
    mkdirSync(join(home.path, "pipes"), { mode: 0o777 });
    writeFileSync(join(home.path, "pipes", "1"), "");
    const server = await start({ privateDirectory: home.path });
    expect(statSync(join(home.path, "pipes")).mode & 0o777).toBe(0o700);
    expect(subjects(await spoken(portOf(server), get(), alice))).toEqual([subjectOf(alice)]);
    await server.stop();
    expect(existsSync(join(home.path, "pipes"))).toBe(false);
    const long = join(home.path, "x".repeat(90));
    mkdirSync(long);
    const elsewhere = await start({ privateDirectory: long });
    expect(subjects(await spoken(portOf(elsewhere), get(), alice))).toEqual([subjectOf(alice)]);
    expect(readdirSync(long)).toEqual([]);
    await elsewhere.stop();
    home[Symbol.dispose]();
  });
});

describe("octets", () => {
  const size = 24 * 1024 * 1024;
  const perform = async ({ given }: Call) =>
    new Outcome("done", { text: (await given.read()).text });

  test("pass by the megabyte, both ways, as they were", async () => {
    const server = await start({}, { perform });
    const text = Buffer.alloc(size / 2, "0123456789abcdef").toString();
    const answer = await fetch(`${server.origin}/api/tokens`, {
      method: "POST",
      body: JSON.stringify({ text }),
      tls: { rejectUnauthorized: false },
      headers: { "content-type": "application/json" },
    });
    expect(answer.status).toBe(200);
    expect(((await answer.json()) as { text: string }).text === text).toBe(true);
  }, 30_000);

  test("wait for a slow reader without being lost", async () => {
    const text = Buffer.alloc(size, "x").toString();
    const server = await start({}, { perform: async () => new Outcome("done", { text }) });
    const sockets = await Promise.all(Array.from({ length: 4 }, () => connected(portOf(server))));
    for (const socket of sockets) socket.pause().write(get());
    while (server.front.traffic.active > 0 || server.rows.length < 4) await Bun.sleep(10);
    const [first] = sockets;
    if (first === undefined) throw new Error("there are four");
    let read = 0;
    first.on("data", (chunk: Buffer) => {
      read += chunk.length;
    });
    first.resume();
    await new Promise((resolve) => first.once("end", resolve));
    expect(read).toBeGreaterThan(size);
    for (const socket of sockets) socket.destroy();
  }, 30_000);

  test("of a refusal reach a client that is still sending what was refused", async () => {
    const port = portOf(await start());
    for (let round = 0; round < 10; round++) {
      const socket = await connected(port, alice);
      socket.write(
        "POST /api/tokens HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 999999999\r\n\r\n",
      );
      socket.write(Buffer.alloc(4 * 1024 * 1024, "x"));
      expect(await heard(socket, /body_too_large/)).toStartWith("HTTP/1.1 413");
      socket.destroy();
    }
  }, 30_000);

  test("of a client that has said all it will are answered", async () => {
    const port = portOf(await start());
    const native = await start({ clientAuthorities: undefined }, { authenticate: byCertificate });
    const halfClosed = async (to: number, client?: ClientCertificate) => {
      const socket = await connected(to, client);
      socket.end(get());
      return (await heard(socket)).slice(0, 12);
    };
    expect(await halfClosed(port, alice)).toBe("HTTP/1.1 200");
    expect(await halfClosed(portOf(native))).toBe("HTTP/1.1 401");
  });
});

describe("a connection", () => {
  test("that talks no TLS, or garbage instead of a handshake, is closed and hurts nobody", async () => {
    const port = portOf(await start());
    for (const garbage of [
      get(),
      "\x16\x03\x01\xff\xff",
      "\x00".repeat(4096),
      "\x16\x03\x01\x00\x05hello",
    ]) {
      const socket = connect(port, "127.0.0.1", () => socket.write(Buffer.from(garbage, "latin1")));
      const said = heard(socket);
      if (garbage.length < 10) socket.end();
      expect(await said).not.toContain("HTTP");
    }
    expect(subjects(await spoken(port, get(), alice))).toEqual([subjectOf(alice)]);
  }, 30_000);

  test("that stalls in the handshake or in its headers is closed", async () => {
    const port = portOf(await start());
    const silent = heard(connect(port, "127.0.0.1"));
    const dripping = await connected(port, alice);
    const drip = setInterval(() => dripping.write("x"), 200);
    dripping.write("GET /api/me HTTP/1.1\r\nHost: x\r\nX-Slow: ");
    const said = await Promise.all([silent, heard(dripping), heard(await connected(port))]);
    clearInterval(drip);
    expect(said.map((text) => text.includes("200"))).toEqual([false, false, false]);
  }, 60_000);

  test("whose body trickles on, or whose answer takes too long, is closed like any other", async () => {
    const patience = {
      idle_timeout_seconds: 120,
      body_timeout_seconds: 4,
      request_timeout_seconds: 4,
    };
    const port = portOf(
      await start(patience, {
        perform: async (call) => {
          if (call.operation.name === "token.create") await call.given.read();
          return new Promise(() => {});
        },
      }),
    );
    const head = "POST /api/tokens HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n";
    const trickling = await connected(port, alice);
    trickling.write(`${head}Content-Length: 1000\r\n\r\n{`);
    const refused = await connected(port, alice);
    refused.write(`${head.replace("tokens", "nothing")}Content-Length: 1000\r\n\r\n{`);
    const drip = setInterval(() => [trickling, refused].map((socket) => socket.write(" ")), 100);
    const said = [heard(trickling), spoken(port, get(), alice), heard(refused)];
    const [late, silent, told] = await Promise.all(said);
    clearInterval(drip);
    expect([late, silent, told?.slice(0, 12)]).toEqual(["", "", "HTTP/1.1 404"]);
  }, 60_000);

  test("beyond as many as there may be is closed, until another one is", async () => {
    const server = await startStub({}, {});
    const limits = {
      idle_timeout_seconds: 30,
      body_timeout_seconds: 30,
      request_timeout_seconds: 30,
    };
    const doors = new PipeDoors(server.front, limits, undefined);
    const terminator = await TlsTerminator.open({
      host: "127.0.0.1",
      port: 0,
      minVersion: "1.2",
      tls,
      clientAuthorities: [outside.pem],
      connectionsMax: 2,
      idle_timeout_seconds: 30,
      suites: usualTlsSuites,
      openDoor: (client) => doors.open({ side: "main", secure: true, ...client }),
    });
    const { port } = terminator;
    const [one, two] = [await connected(port), await connected(port)];
    await expect(connected(port)).rejects.toThrow();
    one.destroy();
    // What has been let go is counted a moment longer.
    let answer = "";
    while (answer === "") answer = await spoken(port, get()).catch(() => "");
    expect(answer).toStartWith("HTTP/1.1 401");
    two.destroy();
    terminator.stopListening();
    await terminator.close(0);
    await doors.close();
    await server.stop();
  });

  test("whose client neither reads nor closes is let go, however much is left for it", async () => {
    const text = Buffer.alloc(32 * 1024 * 1024, "x").toString();
    const perform = async ({ given }: Call) =>
      new Outcome("done", (await given.peek("much")) === undefined ? {} : { text });
    const server = await start(
      { idle_timeout_seconds: 4, request_timeout_seconds: 4 },
      { perform },
    );
    const clients = [await connected(portOf(server), alice), await connected(portOf(server), bob)];
    const [deaf, mute] = clients;
    const ended = clients.map((socket) => new Promise((resolve) => socket.once("close", resolve)));
    deaf?.pause().write(get(undefined, "/api/me?much"));
    mute?.on("data", () => {}).write(get());
    for (const socket of clients) socket.on("error", () => {});
    while (server.rows.length < 2) await Bun.sleep(10);
    while (accepted(portOf(server)) > 0) await Bun.sleep(50);
    // Who does not read hears of it late.
    for (const socket of clients) socket.resume().end();
    await Promise.all(ended);
  }, 60_000);

  test("that is broken off leaves nothing behind, in whatever state it was", async () => {
    const server = await start({}, { perform: async () => new Promise(() => {}) });
    const port = portOf(server);
    for (let round = 0; round < 20; round++) {
      const socket = await connected(port, alice);
      if (round % 3 > 0) socket.write(get());
      if (round % 3 > 1) await Bun.sleep(5);
      socket.destroy();
      connect(port, "127.0.0.1").once("connect", function (this: { destroy(): void }) {
        this.destroy();
      });
    }
    const before = openFiles();
    const more = await Promise.all(Array.from({ length: 10 }, () => connected(port, alice)));
    for (const socket of more) socket.destroy();
    while (openFiles() > before) await Bun.sleep(10);
    const next = await start();
    expect(subjects(await spoken(portOf(next), get(), bob))).toEqual([subjectOf(bob)]);
  }, 30_000);
});

test("a port somebody else listens on is refused, and nothing stays open", async () => {
  const first = await start();
  const before = openFiles();
  await expect(start({ port: portOf(first) })).rejects.toThrow("EADDRINUSE");
  while (openFiles() > before) await Bun.sleep(10);
});

describe("a rotation", () => {
  test("shows new connections another certificate, and lets old ones go on as they were", async () => {
    let release = () => {};
    const waiting = new Promise<void>((resolve) => {
      release = resolve;
    });
    const server = await start(
      {},
      {
        perform: async ({ given, origin }) => {
          if ((await given.peek("slow")) !== undefined) await waiting;
          return new Outcome("done", { subject: origin?.principal.subject });
        },
      },
    );
    const port = portOf(server);
    const old = await connected(port, alice);
    old.write(get("", "/api/profiles?slow"));
    while (server.front.traffic.active === 0) await Bun.sleep(1);
    expect(old.getPeerCertificate().subject.CN).toBe("localhost");
    server.listeners.rotate(servingMaterialFor("second"), [outside.pem]);
    for (let round = 0; round < 20; round++) {
      const fresh = await connected(port, bob);
      expect(fresh.getPeerCertificate().subject.CN).toBe("second");
      fresh.write(get());
      expect(subjects(await heard(fresh))).toEqual([subjectOf(bob)]);
    }
    release();
    old.write(get());
    expect(subjects(await heard(old))).toEqual([subjectOf(alice), subjectOf(alice)]);
  }, 30_000);
});

describe("the end", () => {
  test("lets a running request finish, and what it says arrive", async () => {
    const text = Buffer.alloc(4 * 1024 * 1024, "x").toString();
    let release = () => {};
    const waiting = new Promise<void>((resolve) => {
      release = resolve;
    });
    const server = await start(
      {},
      {
        perform: async () => {
          await waiting;
          return new Outcome("done", { text });
        },
      },
    );
    const idle = await connected(portOf(server), bob);
    const socket = await connected(portOf(server), alice);
    socket.write(get(""));
    while (server.front.traffic.active === 0) await Bun.sleep(1);
    const closed = server.listeners.close(20_000);
    const [answer] = await Promise.all([heard(socket), heard(idle), Promise.resolve(release())]);
    expect(answer.length).toBeGreaterThan(text.length);
    await closed;
    await expect(connected(portOf(server))).rejects.toThrow();
  }, 30_000);

  test("does not wait for a client that never reads", async () => {
    const text = Buffer.alloc(32 * 1024 * 1024, "x").toString();
    const server = await start({}, { perform: async () => new Outcome("done", { text }) });
    const socket = await connected(portOf(server), alice);
    socket.pause().write(get());
    while (server.rows.length === 0) await Bun.sleep(5);
    await server.listeners.close(100);
    socket.destroy();
  });
});

/** What the other end of a Unix socket answers to a user who is neither root nor us. */
function connectedAsNobody(path: string): string {
  const script = `require("net").connect(${JSON.stringify(path)})
    .on("connect", () => { console.log("connected"); process.exit(); })
    .on("error", (error) => { console.log(error.code); process.exit(); });`;
  const nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
  // Its own runtime may lie where nobody may look.
  const runtime = Bun.which("node") ?? process.execPath;
  const asked = Bun.spawnSync([...nobody, runtime, "-e", script], { cwd: "/" });
  return asked.stdout.toString().trim();
}

/**
 * Says a request in clear text from an address and a port of loopback; gives what comes back,
 * nothing without a connection.
 */
async function cleartextFrom(localAddress: string, localPort: number, to: number): Promise<string> {
  const socket = connect({ host: "127.0.0.1", port: to, localAddress, localPort });
  const late = setTimeout(() => socket.destroy(), 500);
  socket.once("connect", () => socket.write(get()));
  const answer = await heard(socket);
  clearTimeout(late);
  return answer;
}
