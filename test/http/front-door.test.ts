/**
 * The front door: what every answer carries, what is refused before any operation runs, and what is
 * written down.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { rawExchange } from "#test/support/tls/raw-http.ts";
import { startStub, type StubServer } from "#test/support/worlds/stub-server.ts";

let server: StubServer;
const basic = { authorization: `Basic ${btoa("root:secret")}` };

beforeAll(async () => {
  server = await startStub();
});
afterAll(() => server.stop());

const ask = (path: string, init: RequestInit = {}) => fetch(`${server.origin}${path}`, init);
const port = () => server.listeners.addresses.main;

describe("request ids", () => {
  test("a well-formed id is kept and echoed", async () => {
    const answer = await ask("/healthz", { headers: { "x-request-id": "A.b_c-9" } });
    expect(answer.headers.get("x-request-id")).toBe("A.b_c-9");
  });

  test("an id with another character or over 128 long is replaced by a UUID", async () => {
    for (const id of ["a b", "ä", "x".repeat(129), "a,b"]) {
      const answer = await ask("/healthz", { headers: { "x-request-id": id } });
      expect(answer.headers.get("x-request-id")).toMatch(/^[0-9a-f]{8}-[0-9a-f-]{27}$/);
    }
  });

  test("it stands in error bodies, also of paths that do not exist", async () => {
    const answer = await ask("/nowhere", { headers: { "x-request-id": "id-1" } });
    expect(answer.status).toBe(404);
    expect(await answer.json()).toEqual({
      error: "There is no such thing.",
      code: "not_found",
      request_id: "id-1",
    });
  });
});

describe("headers", () => {
  test("JSON answers carry the security headers and are never stored", async () => {
    const { headers } = await ask("/healthz");
    expect(headers.get("content-type")).toBe("application/json");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("referrer-policy")).toBe("no-referrer");
    expect(headers.get("cross-origin-opener-policy")).toBe("same-origin");
    expect(headers.get("cross-origin-resource-policy")).toBe("same-origin");
    expect(headers.get("content-security-policy")).toBe(
      "default-src 'none'; frame-ancestors 'none'",
    );
    expect(headers.get("strict-transport-security")).toBeNull();
    expect(headers.get("access-control-allow-origin")).toBeNull();
  });

  test("DER answers carry only the request id", async () => {
    const { headers } = await ask("/api/ca/1/ocsp/MEQ");
    expect(headers.get("x-request-id")).not.toBeNull();
    expect(headers.get("x-content-type-options")).toBeNull();
  });

  test("HEAD answers with the headers of GET and no body", async () => {
    for (const path of ["/healthz", "/api/ca/1/ocsp/MEQ", "/nowhere"]) {
      const head = await ask(path, { method: "HEAD", headers: { "x-request-id": "h" } });
      const got = await ask(path, { headers: { "x-request-id": "h" } });
      expect(head.status).toBe(got.status);
      const length = (await got.text()).length;
      expect(await head.text()).toBe("");
      for (const headers of [head.headers, got.headers]) headers.delete("date");
      expect(head.headers.toJSON()).toEqual(got.headers.toJSON());
      expect(head.headers.get("content-length")).toBe(String(length));
    }
  });
});

describe("credentials", () => {
  test("no credential is 401 with both challenges", async () => {
    const answer = await ask("/api/me");
    expect(answer.status).toBe(401);
    expect(answer.headers.get("www-authenticate")).toBe(
      'Basic realm="pkid", charset="UTF-8", Bearer realm="pkid"',
    );
    expect(await answer.json()).toMatchObject({ code: "unauthenticated" });
  });

  test("an alias is guarded as its operation is, and is that operation", async () => {
    const headers = basic;
    for (const path of ["/ca", "/ca/a", "/ca/a/public-key"]) {
      const [own, alias] = [`/api${path}`, `/api${path.replace("ca", "keys")}`];
      expect((await ask(alias)).status).toBe(401);
      const answer = await (await ask(alias, { headers })).json();
      expect(answer).toEqual(await (await ask(own, { headers })).json());
    }
    expect((await ask("/api/keys/a", { method: "DELETE" })).status).toBe(401);
    const deleted = await ask("/api/keys/a", { method: "DELETE", headers });
    expect(await deleted.json()).toMatchObject({ operation: "ca.delete", path: { id: "a" } });
  });

  test("a 401 to the console has no challenge", async () => {
    const answer = await ask("/api/me", { headers: { "x-requested-with": "pkid-console" } });
    expect(answer.status).toBe(401);
    expect(answer.headers.get("www-authenticate")).toBeNull();
  });

  test("public rows look at no credential, not even a wrong one", async () => {
    const answer = await ask("/healthz", { headers: { authorization: "Basic !!!" } });
    expect(answer.status).toBe(200);
  });

  test("the access log names the subject and never the credential", async () => {
    await ask("/api/me?secret=1", { headers: { ...basic, "x-request-id": "log-1" } });
    expect(server.rows.find((row) => row.requestId === "log-1")).toMatchObject({
      subject: "root",
      route: "/api/me",
      path: "/api/me",
      method: "GET",
      status: 200,
      ip: "127.0.0.1",
    });
    const line = server.lines.find(({ facts }) => facts.request_id === "log-1");
    expect(Object.keys(line?.facts ?? {})).toEqual([
      "request_id",
      "method",
      "route",
      "path",
      "status",
      "duration_ms",
      "bytes_out",
      "ip",
      "user_agent",
    ]);
    expect(JSON.stringify([server.rows, server.lines])).not.toContain("secret");
  });
});

describe("bodies", () => {
  const post = (body: string | Uint8Array<ArrayBuffer>, type?: string) =>
    ask("/api/tokens", {
      method: "POST",
      body,
      headers: { ...basic, ...(type === undefined ? {} : { "content-type": type }) },
    });

  test("a JSON body is read, with and without charset", async () => {
    for (const type of ["application/json", "Application/JSON; charset=utf-8"]) {
      expect(await (await post('{"a":1}', type)).json()).toMatchObject({ body: { a: 1 } });
    }
  });

  test("an empty body is absent, whatever its type", async () => {
    expect(await (await post("", "text/plain")).json()).not.toHaveProperty("body");
  });

  test("another media type is 415", async () => {
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/jsonx"]) {
      const answer = await post('{"a":1}', type);
      expect(answer.status).toBe(415);
      expect(await answer.json()).toMatchObject({ expected: "application/json" });
    }
  });

  test("what is not one JSON text is malformed_json", async () => {
    for (const body of [
      "{",
      "{}{}",
      "\ufeff{}",
      "nul",
      "[1,]",
      new Uint8Array([0x22, 0xff, 0x22]),
    ]) {
      const answer = await post(body, "application/json");
      expect(answer.status).toBe(400);
      expect(await answer.json()).toMatchObject({ code: "malformed_json" });
    }
  });

  test("one octet over the limit is 413, announced or chunked", async () => {
    const announced = await post(" ".repeat(65_537), "application/json");
    expect(announced.status).toBe(413);
    expect(await announced.json()).toMatchObject({ code: "body_too_large", limit_bytes: 65_536 });
    const chunk = `8000\r\n${" ".repeat(0x8000)}\r\n`;
    const head = `POST /api/tokens HTTP/1.1\r\nHost: x\r\nAuthorization: ${basic.authorization}\r\n`;
    const kind = "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    const streamed = await rawExchange(port(), head + kind + chunk + chunk + chunk);
    expect(streamed).toStartWith("HTTP/1.1 413");
    expect(streamed).toContain('"limit_bytes":65536');
  });

  test("the limit itself is accepted", async () => {
    const answer = await post(`${" ".repeat(65_534)}{}`, "application/json");
    expect(answer.status).toBe(200);
  });

  test("a body announced far over the limit is refused before a byte of it is sent", async () => {
    const head = "POST /api/tokens HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000000\r\n\r\n";
    expect(await rawExchange(port(), head)).toStartWith("HTTP/1.1 413");
  });
});

describe("a head", () => {
  const long = (octets: number) =>
    ask("/api/tokens", { headers: { "x-long": "x".repeat(octets) } });

  test("that is too large is 431 in words, and one a little smaller is read", async () => {
    expect((await long(16_000)).status).toBe(401);
    for (const octets of [17_000, 40_000]) {
      const refused = await long(octets);
      expect([refused.status, await refused.json()]).toMatchObject([
        431,
        { code: "headers_too_large", limit_bytes: 16_384 },
      ]);
    }
    const address = await ask(`/api/tokens?x=${"x".repeat(20_000)}`);
    expect(address.status).toBe(431);
  });

  test("beyond what the runtime reads is 431 all the same", async () => {
    const octets = `GET / HTTP/1.1\r\nHost: x\r\nX: ${"x".repeat(100_000)}\r\n\r\n`;
    expect(await rawExchange(port(), octets)).toStartWith("HTTP/1.1 431");
  });
});

describe("paths and methods", () => {
  test("another method is 405 with Allow", async () => {
    const answer = await ask("/api/tokens", { method: "PUT" });
    expect(answer.status).toBe(405);
    expect(answer.headers.get("allow")).toBe("GET, HEAD, POST");
    expect(await answer.json()).toMatchObject({ allow: ["GET", "HEAD", "POST"] });
  });

  test("unknown, foreign-case and slash-ended paths are 404", async () => {
    for (const path of ["/api/CA", "/api/ca/", "/healthz/", "/api/ca/1/crl:x", "/%68ealthz"]) {
      expect([path, (await ask(path)).status]).toEqual([path, 404]);
    }
  });

  test("an OCSP request in the path arrives verbatim", async () => {
    const got = await rawExchange(
      port(),
      "GET /api/ca/1/ocsp/MEQ%2Fa//b+c= HTTP/1.1\r\nHost: x\r\n\r\n",
    );
    expect(got).toEndWith("der of 1 MEQ%2Fa//b+c=");
  });

  test("requests that could be read two ways are refused", async () => {
    for (const [what, head] of [
      ["CL and TE", "Content-Length: 3\r\nTransfer-Encoding: chunked"],
      ["two lengths", "Content-Length: 3\r\nContent-Length: 4"],
      ["unknown coding", "Transfer-Encoding: gzip, identity"],
      ["folded header", "X-A: b\r\n c"],
      ["space before colon", "X-A : b"],
    ]) {
      const octets = `POST /api/tokens HTTP/1.1\r\nHost: x\r\n${head}\r\n\r\nabc`;
      expect([what, await rawExchange(port(), octets, /never/)]).toEqual([
        what,
        expect.stringMatching(/^HTTP\/1\.1 400/),
      ]);
    }
  });

  test("the main door knows no admin-only row and needs a credential where the socket does not", async () => {
    expect((await ask("/api/ca")).status).toBe(401);
  });
});

describe("failures", () => {
  test("what is not a refusal is internal outside and a stack inside", async () => {
    const broken = await startStub(
      {},
      {
        perform: async () => {
          throw new Error("SELECT secret FROM table");
        },
      },
    );
    const answer = await fetch(`${broken.origin}/healthz`, { headers: { "x-request-id": "f" } });
    expect(answer.status).toBe(500);
    expect(await answer.json()).toEqual({
      error: "internal error",
      code: "internal",
      request_id: "f",
    });
    const line = broken.lines.find(({ message }) => message === "request_failed");
    expect(line?.facts.request_id).toBe("f");
    expect(String(line?.facts.stack)).toContain("SELECT secret");
    await broken.stop();
  });

  test("a lack of descriptors, threads or inodes is 503 with a time to repeat the request", async () => {
    for (const code of ["EMFILE", "ENOSPC", "ERR_WORKER_INIT_FAILED"]) {
      const failed = Object.assign(new Error("open /a/path"), { code });
      const perform = () => Promise.reject(new Error("job failed", { cause: failed }));
      const short = await startStub({}, { perform });
      const response = await fetch(`${short.origin}/healthz`);
      expect([response.status, response.headers.get("retry-after")]).toEqual([503, "5"]);
      expect(await response.json()).toMatchObject({ code: "overloaded", retry_after: 5 });
      expect(short.lines.some(({ message }) => message === "request_failed")).toBe(true);
      await short.stop();
    }
  });
});
