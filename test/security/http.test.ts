/**
 * HTTP over TLS as a stranger meets it: forged addresses, smuggled requests, near-miss paths, and
 * what errors tell.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { createExpiringToken } from "#test/support/instances/expiring-token.ts";
import { type Chain, createChain } from "#test/support/instances/first-certificate.ts";
import { Instance } from "#test/support/instances/instance.ts";
import { rawOverTls } from "#test/support/tls/raw-tls.ts";
import { newCsr } from "#test/support/instances/relying-party.ts";

let instance: Instance;
let chain: Chain;
let admin: string;
let issuer: string;

beforeAll(async () => {
  instance = await Instance.start({ config: { server: { max_body_bytes: 4096 } } });
  chain = await createChain(instance, "ecdsa-p256");
  admin = await instance.token(["admin"], { scope: "platform" });
  issuer = await instance.token(["issuer"]);
}, 30_000);

afterAll(() => instance.dispose());

const as = (secret: string, more: Readonly<Record<string, string>> = {}) => ({
  headers: { authorization: `Token ${secret}`, "content-type": "application/json", ...more },
});
const raw = (path: string, head = "", method = "GET") =>
  rawOverTls(instance, `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${head}\r\n`);

describe("the client's address", () => {
  test("is the socket's in events and in the access log, whatever is forged", async () => {
    const forged = {
      "x-forwarded-for": "6.6.6.6",
      "x-real-ip": "6.6.6.6",
      forwarded: "for=6.6.6.6",
    };
    const basic = { authorization: `Basic ${btoa("root:wrong")}` };
    const refused = await instance.fetch("/api/me", { headers: { ...forged, ...basic } });
    expect(refused.status).toBe(401);
    const { items } = await instance.admin<{ items: { ip: string }[] }>(
      "GET",
      "/api/events?action=auth.login_failed",
    );
    expect(items.map(({ ip }) => ip)).toEqual(["127.0.0.1"]);
    await instance.logged("http_request", (line) => line.includes('"/api/me"'));
    expect(instance.logs.join("\n")).not.toContain("6.6.6.6");
  });
});

describe("bodies", () => {
  const root = "/api/ca/init-root";

  test("above the limit are 413, announced or not, and the server goes on", async () => {
    const large = JSON.stringify({ label: "x".repeat(8000) });
    const announced = await instance.fetch(root, { method: "POST", body: large, ...as(admin) });
    expect(announced.status).toBe(413);
    expect(await announced.json()).toMatchObject({ code: "body_too_large", limit_bytes: 4096 });
    const chunk = "x".repeat(1024);
    const head = `POST ${root} HTTP/1.1\r\nHost: x\r\nAuthorization: Token ${admin}\r\n`;
    const chunked = await rawOverTls(
      instance,
      `${head}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${`400\r\n${chunk}\r\n`.repeat(9)}`,
    );
    expect(chunked).toStartWith("HTTP/1.1 413");
    expect((await instance.fetch("/healthz")).status).toBe(200);
  });

  test("that are not JSON, nest too deep, or come as another type are refused by name", async () => {
    const send = async (body: string, type = "application/json") => {
      const init = { method: "POST", body, ...as(admin, { "content-type": type }) };
      const answer = await instance.fetch(root, init);
      return [answer.status, ((await answer.json()) as { code: string }).code];
    };
    expect(await send("{")).toEqual([400, "malformed_json"]);
    expect(await send('{"label":"a","label')).toEqual([400, "malformed_json"]);
    expect(await send(`${"[".repeat(33)}${"]".repeat(33)}`)).toEqual([400, "malformed_json"]);
    expect(await send("{}", "text/plain")).toEqual([415, "unsupported_media_type"]);
    expect(await send('{"__proto__":{"label":"x"}}')).toEqual([400, "unknown_field"]);
    expect(await send('{"label":"a\\u0000b","subject":{}}')).toEqual([400, "invalid_field"]);
    expect(await send('{"label":"\\ud800","subject":{}}')).toEqual([400, "invalid_field"]);
  });
});

describe("paths", () => {
  test("that nearly match name nothing, with whatever method", async () => {
    const ca = `/api/ca/${chain.intermediateId}`;
    const near = [
      `${ca}/crl:publishx`,
      `${ca}/crl%3Apublish`,
      `${ca}/crlpublish`,
      `${ca}/crl:`,
      `${ca}/:crl`,
      `${ca}/revoke/`,
      `${ca}/revoke:`,
      `${ca}/certificates:suspend`,
      `${ca}/certificates/1/`,
      "/API/CA",
      "/api/ca/",
      "//api/ca",
      "/api%2Fca",
      "/api/%63a",
      "/admin.sock",
      "/.env",
      "/console/../../pkid.yaml",
      "/console/%2e%2e%2fpkid.yaml",
    ];
    for (const path of near) {
      for (const method of ["GET", "POST", "DELETE"]) {
        const answer = await raw(path, `Authorization: Token ${admin}\r\n`, method);
        expect([method, path, answer.slice(9, 12)]).toEqual([method, path, "404"]);
      }
    }
  });

  test("known under another method answer 405 and name the right ones", async () => {
    const answer = await instance.fetch("/api/tokens", { method: "PUT", ...as(admin) });
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, "GET, HEAD, POST"]);
    for (const id of ["%00", "%ff", "%"]) {
      const head = `Authorization: Token ${admin}\r\n`;
      expect(await raw(`/api/ca/${id}`, head)).toContain(" 404 ");
    }
    // A verb that is none leaves a serial that is none, and no serial takes a POST.
    const verb = `/api/ca/${chain.intermediateId}/certificates/1:SUSPEND`;
    expect((await instance.fetch(verb, { method: "POST", body: "{}", ...as(admin) })).status).toBe(
      405,
    );
    expect((await instance.fetch(verb, as(admin))).status).toBe(400);
  });

  test("CRL publication is no public operation, though CRL reading is", async () => {
    const path = `/api/ca/${chain.intermediateId}/crl:publish`;
    const anonymous = await instance.fetch(path, { method: "POST", body: "{}" });
    expect(anonymous.status).toBe(401);
    const wrongRole = await instance.fetch(path, { method: "POST", body: "{}", ...as(issuer) });
    expect(wrongRole.status).toBe(403);
  });
});

describe("requests that two readers could read in two ways", () => {
  const smuggled = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
  const post = "POST /healthz HTTP/1.1\r\nHost: x\r\n";
  // biome-ignore format: the table is read by column.
  const ambiguous = [
    ["both lengths", `${post}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`],
    ["two lengths", `${post}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello${smuggled}`],
    ["a list of lengths", `${post}Content-Length: 5, 6\r\n\r\nhello${smuggled}`],
    ["a signed length", `${post}Content-Length: +5\r\n\r\nhello${smuggled}`],
    ["an unknown coding", `${post}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${smuggled}`],
    ["chunked not last", `${post}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${smuggled}`],
    ["a blank before the colon", `${post}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n${smuggled}`],
    ["a folded header", `${post}X: a\r\n b\r\n\r\n${smuggled}`],
    ["a NUL in a header", `${post}X: a\0b\r\n\r\n${smuggled}`],
    ["no host", "GET /healthz HTTP/1.1\r\n\r\n"],
  ] as const;

  test.each(ambiguous)("are refused: %s", async (_what, octets) => {
    expect(await rawOverTls(instance, octets)).toStartWith("HTTP/1.1 400");
  });

  test("hide no second request from us", async () => {
    await raw("/after-all-of-them");
    await instance.logged("http_request", (line) => line.includes("/after-all-of-them"));
    expect(instance.logs.join("\n")).not.toContain("/smuggled");
  });

  test("two credentials are none", async () => {
    const twice = `Authorization: Token ${admin}\r\nAuthorization: Token ${admin}\r\n`;
    expect(await raw("/api/me", twice)).toStartWith("HTTP/1.1 401");
    expect(await raw("/api/me", `Authorization: Token ${admin}\r\n`)).toStartWith("HTTP/1.1 200");
  });
});

describe("answers", () => {
  test("echo a well-formed request id and replace any other", async () => {
    const idOf = async (id: string) =>
      (await instance.fetch("/api/me", { headers: { "x-request-id": id } })).headers.get(
        "x-request-id",
      );
    expect(await idOf("trace-1.A_b")).toBe("trace-1.A_b");
    for (const bad of ["a b", "<script>", "x".repeat(129), "é"]) {
      expect(await idOf(bad)).toMatch(/^[0-9a-f-]{36}$/);
    }
    const der = await instance.fetch(`/api/ca/${chain.intermediateId}/crl`);
    expect(der.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  });

  test("carry the security headers, on success, on refusal and for strangers", async () => {
    const paths = ["/healthz", "/api/me", "/nothing", "/metrics", "/docs", "/console/"];
    for (const path of paths) {
      const { headers } = await instance.fetch(path);
      expect([
        path,
        headers.get("x-content-type-options"),
        headers.get("referrer-policy"),
        headers.get("cross-origin-opener-policy"),
        headers.get("cross-origin-resource-policy"),
        headers.get("strict-transport-security"),
        headers.get("access-control-allow-origin"),
      ]).toEqual([
        path,
        "nosniff",
        "no-referrer",
        "same-origin",
        "same-origin",
        "max-age=31536000",
        null,
      ]);
    }
    const json = await instance.fetch("/api/me");
    expect(json.headers.get("cache-control")).toBe("no-store");
    expect(json.headers.get("content-security-policy")).toContain("default-src 'none'");
    const page = await instance.fetch("/console/");
    expect(page.headers.get("content-security-policy")).not.toContain("unsafe-inline");
    expect(page.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
  });

  test("401 challenge for both schemes, and for none towards the console", async () => {
    const plain = (await instance.fetch("/api/me")).headers.get("www-authenticate");
    expect(plain).toBe('Basic realm="pkid", charset="UTF-8", Bearer realm="pkid"');
    const console = { headers: { "x-requested-with": "pkid-console" } };
    const quiet = await instance.fetch("/api/me", console);
    expect([quiet.status, quiet.headers.get("www-authenticate")]).toEqual([401, null]);
  });

  test("unknown, malformed, expired and revoked tokens differ in the request id alone", async () => {
    const expired = await createExpiringToken(instance, ["issuer"]);
    const made = await instance.admin<{ id: string; secret: string }>("POST", "/api/tokens", {
      name: "doomed",
      roles: ["issuer"],
    });
    await instance.admin("DELETE", `/api/tokens/${made.id}`);
    const me = (secret: string) => instance.fetch("/api/me", as(secret));
    while ((await me(expired)).status === 200) await Bun.sleep(50);
    const unknown = `pki_pat_${"A".repeat(43)}`;
    const seen = new Set<string>();
    for (const secret of [unknown, "pki_pat_short", "", "ü", made.secret, expired]) {
      for (const scheme of ["Token", "tOKEN", "Bearer"]) {
        if (scheme === "Bearer" && secret === "") continue;
        const headers = { authorization: `${scheme} ${encodeURIComponent(secret)}` };
        const answer = await instance.fetch("/api/me", { headers });
        const { request_id, ...rest } = (await answer.json()) as Record<string, unknown>;
        expect(request_id).toBe(answer.headers.get("x-request-id"));
        const told = [...answer.headers].filter(
          ([name]) => !["date", "x-request-id"].includes(name),
        );
        seen.add(JSON.stringify([answer.status, rest, told.sort()]));
      }
    }
    expect(seen.size).toBe(1);
  });
});

describe("the access table over HTTP", () => {
  test("a tenant's token meets foreign and absent CAs alike, and its own as its role says", async () => {
    const ids = [
      chain.intermediateId,
      "00000000-0000-4000-8000-000000000000",
      "x",
      "'; drop table cas",
    ];
    const csr = await newCsr(instance.home, "table.example.test");
    const auditor = await instance.token(["auditor"]);
    const ask = async (secret: string, id: string, what: string, body?: object) => {
      const path = `/api/ca/${encodeURIComponent(id)}${what}`;
      const init = body ? { method: "POST", body: JSON.stringify(body) } : {};
      return (await instance.fetch(path, { ...init, ...as(secret) })).status;
    };
    const table: Record<string, number[]> = {};
    for (const [name, secret] of Object.entries({ issuer, auditor, admin })) {
      for (const [at, id] of ids.entries()) {
        table[`${name} ${at}`] = [
          await ask(secret, id, ""),
          await ask(secret, id, "/certificates"),
          await ask(secret, id, "/issue", { csr }),
          await ask(secret, id, "/revoke", { serial: "1" }),
          await ask(secret, id, "/issue-intermediate", {}),
        ];
      }
    }
    expect(table).toEqual({
      "issuer 0": [200, 200, 201, 200, 403],
      "issuer 1": [404, 404, 403, 403, 403],
      "issuer 2": [404, 404, 403, 403, 403],
      "issuer 3": [404, 404, 403, 403, 403],
      "auditor 0": [200, 200, 403, 403, 403],
      "auditor 1": [404, 404, 403, 403, 403],
      "auditor 2": [404, 404, 403, 403, 403],
      "auditor 3": [404, 404, 403, 403, 403],
      "admin 0": [200, 200, 201, 200, 400],
      "admin 1": [404, 404, 404, 404, 404],
      "admin 2": [404, 404, 404, 404, 404],
      "admin 3": [404, 404, 404, 404, 404],
    });
  });

  test("a tenant's administrator mints no platform token and reaches nothing of the platform", async () => {
    const tenant = await instance.token(["admin"]);
    const request = { name: "up", roles: ["admin"], scope: "platform" };
    const mint = { method: "POST", body: JSON.stringify(request), ...as(tenant) };
    expect((await instance.fetch("/api/tokens", mint)).status).toBe(403);
    expect((await instance.fetch("/api/events/verify", as(tenant))).status).toBe(403);
    const me = (await (await instance.fetch("/api/me", as(tenant))).json()) as { roles: string[] };
    expect(me.roles).toEqual([]);
  });

  test("the internal serving CA is no CA of the interface", async () => {
    const text = await (await instance.fetch("/api/ca", as(admin))).text();
    expect(text).not.toContain("serving");
    expect((await instance.fetch("/api/hsm/info", as(issuer))).status).toBe(200);
  });
});
