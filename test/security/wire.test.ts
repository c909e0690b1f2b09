/** Paths beside every operation, bodies without end, and clients that stall. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { type OperationName, operationOf, operations, routesOf } from "#operations";
import { Instance } from "#test/support/instances/instance.ts";
import { overheard, RawConnection, rawOverTls } from "#test/support/tls/raw-tls.ts";

let instance: Instance;
let connection: RawConnection;
let secret: string;
let stalled: Promise<readonly { readonly answer: string; readonly closed: boolean }[]>;

beforeAll(async () => {
  const server = { max_body_bytes: 4096, body_timeout_seconds: 4, idle_timeout_seconds: 4 };
  instance = await Instance.start({ config: { server } });
  connection = new RawConnection(instance);
  secret = await instance.token(["admin"], { scope: "platform" });
  // They take their time while the other tests run.
  stalled = Promise.all(stalling().map((octets) => overheard(instance, octets, 25_000)));
}, 30_000);

afterAll(async () => {
  connection.close();
  await instance.dispose();
});

const credential = () => `Authorization: Token ${secret}\r\n`;
const head = (line: string, more = "") => `${line} HTTP/1.1\r\nHost: localhost\r\n${more}`;
const me = () => head("GET /api/me");
const statusesIn = (answer: string): string[] =>
  [...answer.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status = ""]) => status);

describe("a path beside that of an operation", () => {
  test("is none of it, for every operation and alias", async () => {
    let asked = 0;
    const beside: string[][] = [];
    for (const { method, path } of everyRoute) {
      for (const miss of besides(path)) {
        const id = `beside-${asked}`;
        asked += 1;
        const more = `X-Request-ID: ${id}\r\n${credential()}Content-Length: 0\r\n\r\n`;
        const answer = await connection.ask(`${method} ${miss} HTTP/1.1\r\nHost: x\r\n${more}`);
        expect([method, miss, answer.slice(9, 10)]).toEqual([method, miss, "4"]);
        beside.push([id, method, path, miss]);
      }
    }
    expect(asked).toBeGreaterThan(1000);
    await instance.logged("http_request", (line) => line.includes(`"beside-${asked - 1}"`));
    const routes = new Map(
      instance.logs
        .filter((line) => line.includes('"http_request"') && line.includes('"beside-'))
        .map(routeOfLine),
    );
    expect(routes.size).toBe(asked);
    for (const [id = "", method, path, miss] of beside) {
      expect([method, miss, routes.get(id)]).not.toEqual([method, miss, path]);
    }
  }, 60_000);

  test("that is resolved to it is guarded as it is, whatever stood before", async () => {
    const ask = (method: string, path: string) =>
      connection.ask(`${method} ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`);
    for (const { method, path } of everyRoute) {
      const plain = (await ask(method, parted(path).path)).slice(9, 12);
      for (const other of resolved(path)) {
        expect([method, other, (await ask(method, other)).slice(9, 12)]).toEqual([
          method,
          other,
          plain,
        ]);
      }
    }
  }, 60_000);

  const routeOfLine = (line: string): [string, string] => {
    const entry = JSON.parse(line) as Record<string, string>;
    return [entry.request_id ?? "", entry.route ?? ""];
  };

  /**
   * One slip away from a path: what a proxy, a browser or a file system would take for the same.
   */
  function besides(route: string): readonly string[] {
    const { path, before, name } = parted(route);
    const named = !route.endsWith("}");
    return [
      `${path}/`,
      `/${path}`,
      `${path}/.`,
      `${path}/x/..`,
      `${path}/%2e`,
      `${before}//${name}`,
      `${before}%2F${name}`,
      `${before}%252F${name}`,
      `${before}%5C${name}`,
      path.toUpperCase(),
      path.replace(/[a-z]/, (letter) => `%${letter.charCodeAt(0).toString(16)}`),
      ...(named
        ? [`${path}%2F`, `${path};x`, `${path}%20`, `${path}%00`, `${path}.json`, `${path}%3F`]
        : []),
      ...(path.includes(":") ? colons(path) : []),
    ].filter(isPath);
  }

  /**
   * What the runtime resolves before we see it (WHATWG URL): then it is that operation, and guarded
   * as such.
   */
  function resolved(route: string): readonly string[] {
    const { path, before, name } = parted(route);
    return [
      `/.${path}`,
      `/x/..${path}`,
      `/%2e${path}`,
      `/x/%2e%2E${path}`,
      `/healthz/..${path}`,
      `${before}/./${name}`,
      `${before}\\${name}`,
      `/healthz\\..${path}`,
    ].filter(isPath);
  }

  function parted(route: string) {
    const path = route.replace(/\{[a-z_]+\}/g, "x1");
    const last = path.lastIndexOf("/");
    return { path, before: path.slice(0, last), name: path.slice(last + 1) };
  }

  /** What begins otherwise is no request at all. */
  const isPath = (target: string): boolean => target.startsWith("/");

  const colons = (path: string) =>
    ["%3A", "%3a", "%253A", "/:", ":/", "::x", "\uff1a", ";", "."].map((other) =>
      path.replace(":", Buffer.from(other).toString("latin1")),
    );

  // The rest of the path of `{request*}` is an OCSP request, whatever it looks like.
  const everyRoute = (Object.keys(operations) as OperationName[]) // The table's own keys.
    .flatMap((name) => routesOf(operationOf(name)))
    .filter(({ path }) => !path.includes("*"));
});

describe("a body that is too large", () => {
  const announced = "Content-Length: 999999999\r\n\r\n";
  const json = "Content-Type: application/json\r\n";

  test("is refused by its announcement, before an octet of it is sent", async () => {
    const octets = head("POST /api/tokens", `${credential()}${json}${announced}`);
    const { answer, closed } = await overheard(instance, octets, 5000);
    expect(answer).toStartWith("HTTP/1.1 413 ");
    expect(answer).toContain('"code":"body_too_large"');
    expect(closed).toBe(true);
  });

  test("beyond what the runtime takes is refused by the runtime, which says no more", async () => {
    const beyond = announced.replace("999999999", "9007199254740991");
    const octets = head("POST /api/tokens", `${credential()}${json}${beyond}`);
    const { answer, closed } = await overheard(instance, octets, 5000);
    expect([answer.slice(0, 13), closed]).toEqual(["HTTP/1.1 413 ", true]);
  });

  test("and endless is refused at its limit, wherever a body is read", async () => {
    const piece = `1000\r\n${"x".repeat(4096)}\r\n`;
    const coded = "Transfer-Encoding: chunked\r\n\r\n";
    for (const [path, pieces] of [
      ["/api/tokens", 2],
      ["/auth/login/password", 5],
      ["/pki.v1.PKIService/ListCertificates", 2],
      ["/api/ca/x1/ocsp", 17],
    ] as const) {
      const octets = head(`POST ${path}`, `${credential()}${json}${coded}${piece.repeat(pieces)}`);
      const { answer, closed } = await overheard(instance, octets, 5000);
      expect([path, closed, answer.slice(0, 12)]).toEqual([
        path,
        true,
        path.startsWith("/pki") ? answer.slice(0, 12) : "HTTP/1.1 413",
      ]);
      expect(answer).toMatch(/body_too_large|resource_exhausted/);
      expect(answer.toLowerCase()).toContain("\r\nconnection: close\r\n");
    }
  });

  test("is not waited for from whoever may not send it", async () => {
    const octets = head("POST /api/tokens", `${json}Content-Length: 4000\r\n\r\n`);
    const answer = await rawOverTls(instance, octets);
    expect(answer).toStartWith("HTTP/1.1 401 ");
  });
});

describe("a client that stalls", () => {
  test("in its head, its body or its chunks is let go, and nobody else waits for it", async () => {
    const begun = performance.now();
    expect((await instance.fetch("/healthz")).status).toBe(200);
    const ended = await stalled;
    expect(ended.map(({ closed }) => closed)).toEqual(ended.map(() => true));
    for (const { answer } of ended) expect(statusesIn(answer).length).toBeLessThan(2);
    expect(performance.now() - begun).toBeLessThan(25_000);
    expect((await instance.fetch("/healthz")).status).toBe(200);
  }, 30_000);
});

/** Requests that begin and never end. */
function stalling(): readonly string[] {
  const json = `${credential()}Content-Type: application/json\r\n`;
  return [
    "GET /healthz HTTP/1.1\r\nHost:",
    `${me()}${credential()}`,
    `${head("POST /api/tokens")}${json}Content-Length: 100\r\n\r\n{`,
    `${head("POST /api/tokens")}${json}Transfer-Encoding: chunked\r\n\r\n5\r\n{`,
    `${head("POST /auth/login/password")}${json}Content-Length: 100\r\n\r\n{`,
  ];
}
