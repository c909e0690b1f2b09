/** Sockets that a process is started with: served as its own, and refused when they are none. */

import { afterAll, describe, expect, test } from "bun:test";
import { closeSync, openSync } from "node:fs";

import { inheritedSockets } from "#adapters/sockets/inherited-sockets.ts";
import { type HandedOver, handedOver } from "#app/handed-over.ts";
import { handing, type HeldSocket, heldSocket } from "#test/support/servers/held-sockets.ts";

const held: HeldSocket[] = [];
afterAll(() => {
  for (const one of held) one.close();
});

/** Runs a script that has the module; these sockets are its descriptors 3 and on. */
async function child(script: string, names: readonly string[], files: readonly number[]) {
  const module = new URL("../../src/adapters/sockets/inherited-sockets.ts", import.meta.url).href;
  const head = `const { inheritedSockets } = await import(${JSON.stringify(module)});`;
  const line = [process.execPath, "-e", `${head}${script}`];
  const running = Bun.spawn(handing(names, line), {
    stdio: ["ignore", "pipe", "pipe", ...files],
    cwd: `${import.meta.dir}/../..`,
  });
  const [stdout, stderr] = await Promise.all([
    new Response(running.stdout as ReadableStream).text(), // Piped, as asked for.
    new Response(running.stderr as ReadableStream).text(),
  ]);
  return { code: await running.exited, stdout, stderr };
}

const serving = `
  const [socket] = inheritedSockets(process.env);
  const serve = (text) => Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: (request, server) =>
    new Response(text + " " + server.requestIP(request).address, { headers: { connection: "close" } }) });
  const ask = () => fetch("http://127.0.0.1:" + socket.port).then((answer) => answer.text());
`;

describe("a socket that was handed over", () => {
  test("is served, goes from one server to the next, and keeps who waits when nobody serves it", async () => {
    const socket = heldSocket();
    held.push(socket);
    const script = `${serving}
      const one = serve("one");
      const adopted = socket.adopt(one.port);
      const told = [socket.name, await ask(), await ask()];
      const two = serve("two");
      const second = socket.adopt(two.port);
      adopted.release();
      adopted.release();
      await one.stop(true);
      told.push(await ask());
      second.release();
      const waiting = ask();
      const early = await Promise.race([waiting, Bun.sleep(100).then(() => "waits")]);
      await two.stop(true);
      const three = serve("three");
      socket.adopt(three.port);
      told.push(early, await waiting, String(process.env.LISTEN_FDS));
      const { stdout } = Bun.spawnSync(["ls", "-l", "/proc/self/fd"]);
      const { readlinkSync } = await import("node:fs");
      const inherited = stdout.toString().includes(readlinkSync("/proc/self/fd/3"));
      told.push(inherited ? "a child has it" : "no child has it");
      console.log(JSON.stringify(told));
      process.exit();`;
    const { stdout, stderr } = await child(script, ["main"], [socket.file]);
    expect(stderr).toBe("");
    const here = "127.0.0.1";
    const told = ["main", `one ${here}`, `one ${here}`, `two ${here}`, "waits", `three ${here}`];
    expect(JSON.parse(stdout)).toEqual([...told, "undefined", "no child has it"]);
    // It is still open here, and nobody is refused.
    const client = await Bun.connect({ hostname: here, port: socket.port, socket: { data() {} } });
    client.end();
  });

  test("of IPv6 and IPv4 tells who comes by either", async () => {
    const socket = heldSocket("both");
    held.push(socket);
    const script = `${serving}
      const server = serve("from");
      socket.adopt(server.port);
      const six = await fetch("http://[::1]:" + socket.port).then((answer) => answer.text());
      console.log(JSON.stringify([await ask(), six]));
      process.exit();`;
    const { stdout, stderr } = await child(script, ["main"], [socket.file]);
    expect([stderr, JSON.parse(stdout)]).toEqual(["", ["from ::ffff:127.0.0.1", "from ::1"]]);
  });

  test("is refused when it is no listening TCP socket", async () => {
    const file = openSync("/dev/null", "r");
    const { code, stderr } = await child("inheritedSockets(process.env)", ["main"], [file]);
    closeSync(file);
    expect(code).toBe(1);
    expect(stderr).toContain("Descriptor 3 (main) of LISTEN_FDS is no listening TCP socket");
  });

  test("is nobody's but the process's it was handed to", () => {
    const env = { LISTEN_FDS: "1", LISTEN_PID: "1", LISTEN_FDNAMES: "main" };
    expect(inheritedSockets(env)).toEqual([]);
    expect(env as object).toEqual({});
    expect(inheritedSockets({})).toEqual([]);
    for (const LISTEN_FDS of ["", "-1", "1e3", "99999", "many"]) {
      const named = { LISTEN_FDS, LISTEN_PID: String(process.pid) };
      expect(() => inheritedSockets(named)).toThrow("LISTEN_FDS must be the number");
    }
  });
});

describe("whose a socket is", () => {
  const socket = (name: string, port: number) => ({
    name,
    port,
    adopt: () => ({ release: () => {} }),
  });
  const server = (port: number, address?: string) => ({
    port,
    public_http: { enabled: address !== undefined, address: address ?? "0.0.0.0:8080" },
  });
  const ports = ({ main, public: open }: HandedOver) => [main?.port, open?.port];

  test("its name says, or else its port", () => {
    const both = server(8443, "[::]:8080");
    expect(ports(handedOver([], both))).toEqual([undefined, undefined]);
    expect(ports(handedOver([socket("public", 8080), socket("main", 8443)], both))).toEqual([
      8443, 8080,
    ]);
    expect(ports(handedOver([socket("unknown", 8080), socket("", 8443)], both))).toEqual([
      8443, 8080,
    ]);
    expect(ports(handedOver([socket("main", 5000)], server(0)))).toEqual([5000, undefined]);
  });

  test("what nobody is configured for is refused, with what is wrong", () => {
    const refused = [
      [[socket("other", 9000)], "port 9000 (other) was handed over, and no listener"],
      [[socket("public", 8080)], "port 8080 (public) was handed over, and no listener"],
      [[socket("main", 9000)], "port 9000 (main) was handed over, and server.port says 8443"],
      [[socket("main", 8443), socket("", 8443)], "A second socket, for port 8443"],
    ] as const;
    for (const [sockets, words] of refused) {
      expect(() => handedOver(sockets, server(8443))).toThrow(words);
    }
  });
});
