/** Holds the built console against what a strict content security policy and a cache need. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import fc from "fast-check";
import { globalArgs } from "#cli/args.ts";
import { nouns } from "#cli/commands.ts";
import type { Noun } from "#cli/command.ts";
import { consolePages } from "#http/console.ts";
import { buildConsole } from "#scripts/lib/console.ts";
import { addressOf } from "#web/api.ts";
import { hrefOf, hrefWith, parseAddress } from "#web/address.ts";
import { FrameReader } from "#web/feed.ts";
import { pageOf, pages as consolePagesTable } from "#web/routes.tsx";

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
    const assets = paths.filter((path) => path.startsWith("assets/"));
    expect(assets.filter((path) => !/^assets\/[a-z-]+-[a-z0-9]{8}\.(js|css)$/.test(path))).toEqual(
      [],
    );
    expect(assets.length).toBeGreaterThan(consolePagesTable.length);
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

  test("keeps nothing in the browser but how it looks and where one was", () => {
    const keeping = paths
      .filter((path) => path.endsWith(".js"))
      .map((path) => readFileSync(join(folder, path), "utf8"))
      .flatMap((text) => [...text.matchAll(/"pkid\.[a-z]+"/g)].map(([key]) => key));
    expect([...new Set(keeping)].sort()).toEqual([
      '"pkid.density"',
      '"pkid.return"',
      '"pkid.theme"',
    ]);
    const web = join(import.meta.dir, "../../web");
    const stores = readdirSync(web, { recursive: true, encoding: "utf8" })
      .filter((path) => /\.tsx?$/.test(path))
      .filter((path) =>
        /localStorage|sessionStorage|indexedDB|document\.cookie/.test(
          readFileSync(join(web, path), "utf8"),
        ),
      );
    expect(stores).toEqual(["remembered.ts"]);
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
    for (const path of [...strangers, "/console/%2e%2e/etc/passwd", "/console/a/..", "/other"]) {
      expect([path, ask(path)]).toEqual([path, undefined]);
    }
  });

  test("at every address of a page, as the same file", async () => {
    const page = await ask("/console/")?.text();
    for (const path of [
      "/console/events",
      "/console/certificates/0b1c-d2/123",
      "/console/a/%C3%BC",
    ]) {
      expect(await ask(path)?.text()).toBe(page ?? "");
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
    for (const segment of ["root", "ü/%#?"]) {
      const { pathname, search } = new URL(hrefOf(["a", segment], { q: segment }), "https://pkid");
      expect(parseAddress(pathname, search)).toEqual({
        path: ["a", segment],
        query: { q: segment },
      });
    }
    expect(parseAddress("/console/", "")).toEqual({ path: [], query: {} });
    expect(parseAddress("/console/a/%zz", "")).toEqual({ path: ["a", "%zz"], query: {} });
  });

  test("begin at the first page again when what selects rows changes", () => {
    const address = { path: ["events"], query: { action: "cert.*", cursor: "x", page: "3" } };
    expect(hrefWith(address, { actor: "root" })).toBe("/console/events?action=cert.*&actor=root");
    expect(hrefWith(address, { dialog: "export" })).toBe(
      "/console/events?action=cert.*&cursor=x&page=3&dialog=export",
    );
    expect(hrefWith(address, { action: undefined })).toBe("/console/events");
  });

  test("name one page each, by a segment and a key of its own", () => {
    for (const member of ["segment", "key", "name"] as const) {
      const values = consolePagesTable.map((row) => row[member]);
      expect(new Set(values).size).toBe(values.length);
    }
  });
});

describe("the command lines of the footer", () => {
  const addresses = [
    ...consolePagesTable.map(({ segment }) => `/console/${segment}`),
    "/console/certificates?ca=x&status=held",
    "/console/certificates/x/1",
    "/console/authorities/x",
    "/console/approvals?status=pending",
    "/console/approvals?decidable=true",
    "/console/approvals/x",
    "/console/people/grants?ca=x",
    ...["credentials", "accounts", "orders", "replacements"].map(
      (part) => `/console/enrolment/${part}`,
    ),
    ...["grants", "tenants", "sessions", "passkeys"].map((part) => `/console/people/${part}`),
    ...["keys", "blocked", "ledger", "jobs", "backup", "settings", "toString"].map(
      (part) => `/console/operations/${part}`,
    ),
  ];
  for (const path of addresses) {
    test(`of ${path} is one of the shell's`, () => {
      const { pathname, search } = new URL(path, "https://pkid");
      const address = parseAddress(pathname, search);
      const [program, ...words] = pageOf(address)?.pkid(address).split(" ") ?? [];
      expect(program).toBe("pkid");
      let verbs: Readonly<Record<string, Noun>> | undefined = nouns;
      let named: Noun | undefined;
      while (verbs !== undefined && words[0]?.startsWith("--") !== true) {
        named = verbs[words.shift() ?? ""];
        verbs = named !== undefined && "verbs" in named ? named.verbs : undefined;
      }
      expect(named).toBeDefined();
      const flags = words.filter((word) => word.startsWith("--")).map((flag) => flag.slice(2));
      const own = named !== undefined && "args" in named ? Object.keys(named.args ?? {}) : [];
      const known = [...own, ...Object.keys(globalArgs), "help"];
      expect(flags.filter((flag) => !known.includes(flag))).toEqual([]);
    });
  }

  test("of one thing names it", () => {
    const line = (path: string) => {
      const address = parseAddress(path, "");
      return pageOf(address)?.pkid(address);
    };
    expect(line("/console/authorities/5f-1")).toBe("pkid ca show 5f-1");
    expect(line("/console/authorities/a'b")).toBe(String.raw`pkid ca show 'a'\''b'`);
  });
});

describe("the reader of the live feed", () => {
  test("takes frames as they were, however the stream was cut", () => {
    const text =
      'retry: 3000\n: connected\n\nid: 7\nevent: audit\ndata: {"seq":7}\n\n: heartbeat\n\n' +
      'event: lag\ndata: {"dropped":2}\n\n';
    const octets = new TextEncoder().encode(text);
    fc.assert(
      fc.property(fc.array(fc.nat(octets.length)), (cuts) => {
        const reader = new FrameReader();
        const ends = [...cuts, octets.length].sort((a, b) => a - b);
        let at = 0;
        const frames = ends.flatMap((end) => {
          const part = octets.subarray(at, end);
          at = end;
          return [...reader.frames(part)];
        });
        expect(frames).toEqual([
          { id: "7", event: "audit", text: '{"seq":7}' },
          { id: undefined, event: "lag", text: '{"dropped":2}' },
        ]);
      }),
    );
  });
});
