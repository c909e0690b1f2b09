/** Holds the built console against what a strict content security policy and a cache need. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { consolePages } from "#http/console.ts";
import { buildConsole } from "#scripts/lib/console.ts";
import { addressOf } from "#web/api.ts";
import { hashOf, parseRoute } from "#web/routes.ts";

const folder = mkdtempSync(join(tmpdir(), "pkid-console-"));
let paths: string[] = [];

beforeAll(async () => {
  paths = (await buildConsole(folder)).map((path) => path.replace(/^\.\//, ""));
});
afterAll(() => rmSync(folder, { recursive: true }));

const pages = () => consolePages(folder);
const ask = (path: string, headers: Record<string, string> = {}, method = "GET") =>
  pages().serve(new Request(`https://pkid.test${path}`, { method, headers }), path);

describe("the built console", () => {
  test("has one page, and assets named by their content", () => {
    expect(paths.filter((path) => !path.startsWith("assets/"))).toEqual(["index.html"]);
    expect(paths.filter((path) => /^assets\/index-[a-z0-9]{8}\.(js|css)$/.test(path))).toHaveLength(
      2,
    );
  });

  test("has nothing inline and fetches nothing from elsewhere", () => {
    const page = readFileSync(join(folder, "index.html"), "utf8");
    expect(page).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=/i);
    for (const path of paths) {
      expect(readFileSync(join(folder, path), "utf8")).not.toMatch(/\beval\(|new Function\(|url\(/);
    }
    expect([...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, target]) => target)).toEqual(
      expect.arrayContaining([expect.stringMatching(/^\/console\/assets\//)]),
    );
  });

  test("keeps the token out of every storage of the browser", () => {
    for (const path of paths) {
      const text = readFileSync(join(folder, path), "utf8");
      expect(text).not.toMatch(/localStorage|sessionStorage|indexedDB|document\.cookie/);
    }
  });
});

describe("the console is served", () => {
  test("from the root by a redirect", () => {
    const response = ask("/");
    expect(response?.status).toBe(302);
    expect(response?.headers.get("location")).toBe("/console/");
  });

  test("with a policy that allows nothing inline, and is asked for again each time", () => {
    const headers = ask("/console/")?.headers;
    const policy = headers?.get("content-security-policy");
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain("unsafe");
    expect(headers?.get("cache-control")).toBe("no-cache");
  });

  test("with assets that may be kept for ever", () => {
    const script = paths.find((path) => path.endsWith(".js"));
    const headers = ask(`/console/${script}`)?.headers;
    expect(headers?.get("cache-control")).toContain("immutable");
    expect(headers?.get("content-type")).toBe("text/javascript; charset=utf-8");
  });

  test("in the coding the client accepts, and plain when it forbids one by q=0", async () => {
    const plain = await ask("/console/")?.text();
    const brotli = ask("/console/", { "accept-encoding": "gzip, br" });
    expect(brotli?.headers.get("content-encoding")).toBe("br");
    const unpacked = brotliDecompressSync(new Uint8Array((await brotli?.arrayBuffer()) ?? []));
    expect(unpacked.toString()).toBe(plain ?? "");
    const gzip = ask("/console/", { "accept-encoding": "br;q=0, gzip;q=0.5" });
    expect(gzip?.headers.get("content-encoding")).toBe("gzip");
    const inflated = gunzipSync(new Uint8Array((await gzip?.arrayBuffer()) ?? []));
    expect(inflated.toString()).toBe(plain ?? "");
    const none = ask("/console/", { "accept-encoding": "br;q=0, gzip;q=0" });
    expect(none?.headers.get("content-encoding")).toBeNull();
  });

  test("not again when the client has it", () => {
    const etag = ask("/console/")?.headers.get("etag") ?? "";
    expect(ask("/console/", { "if-none-match": etag })?.status).toBe(304);
    expect(ask("/console/", { "if-none-match": '"other"' })?.status).toBe(200);
  });

  test("without a body to HEAD, and with the same length", async () => {
    const head = ask("/console/", {}, "HEAD");
    expect(await head?.text()).toBe("");
    expect(head?.headers.get("content-length")).toBe(
      ask("/console/")?.headers.get("content-length"),
    );
  });

  test("and nothing beside its own files", () => {
    const strangers = [
      "/console",
      "/console/assets/",
      "/console/../console/",
      "/console/index.html.br",
    ];
    for (const path of [...strangers, "/console/%2e%2e/etc/passwd", "/other"]) {
      expect(ask(path)).toBeUndefined();
    }
  });

  test("not at all from a tree that was not built", () => {
    const unbuilt = consolePages(join(folder, "absent"));
    expect(unbuilt.serve(new Request("https://pkid.test/"), "/")).toBeUndefined();
  });
});

describe("the console's addresses", () => {
  test("come from the table of operations, with every part escaped", () => {
    expect(addressOf("ca.show", { id: "a/b" })).toBe("/api/ca/a%2Fb");
    expect(addressOf("event.list", { limit: 50, action: "cert.*" })).toBe(
      "/api/events?limit=50&action=cert.*",
    );
  });

  test("survive the way into the address bar and back", () => {
    for (const id of ["root", "ü/%#?"]) {
      expect(parseRoute(hashOf({ page: "ca", id }))).toEqual({ page: "ca", id });
    }
    expect(parseRoute("#/cas")).toEqual({ page: "cas" });
    expect(parseRoute("#/unknown/%zz")).toEqual({ page: "status" });
    expect(parseRoute("#/cas/%zz")).toEqual({ page: "ca", id: "%zz" });
  });
});
