/**
 * Serves the built console: a page that is asked for again each time, and assets that never change
 * under their name.
 */

import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { codingOf } from "#core/content-codings.ts";
import type { ConsolePages } from "./front-door.ts";

/**
 * Reads the files of `folder` once; they are small. Without them (a source tree that was not built)
 * every path is unknown, so the server answers 404 and works otherwise.
 */
export function consolePages(folder: string = builtConsole()): ConsolePages {
  const files = filesIn(folder);
  return {
    route: "/console/*",
    serve(request, path) {
      if (path === "/" && files.size > 0) {
        return new Response(null, { status: 302, headers: { location: prefix } });
      }
      if (!path.startsWith(prefix)) return undefined;
      const file = files.get(isPage(path) ? "index.html" : path.slice(prefix.length));
      return file && answer(request, file);
    },
  };
}

/**
 * Pages have real paths, so that a link can be copied and reloaded; which of them there are only
 * the console knows, and all of them are the one file. No name of a file is one of them.
 */
const isPage = (path: string): boolean =>
  /^\/console\/(?!assets\/|assets$)([a-z-]+(\/[\w%:~@!$&'()*+,;=-][\w.%:~@!$&'()*+,;=-]*)*)?$/.test(
    path,
  ) && !/%2e%2e|%2f|%5c/i.test(path);

/** Where the build puts the console: inside the binary beside the code, else in dist. */
function builtConsole(): string {
  const inside = Bun.isStandaloneExecutable ? "console" : "../../dist/console";
  return join(import.meta.dir, inside);
}

interface File {
  readonly type: string;
  readonly cacheControl: string;
  readonly etag: string;
  /** By content coding; the empty one is the file as it is. */
  readonly bodies: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
}

function filesIn(folder: string): Map<string, File> {
  const found = new Map<string, File>();
  if (!existsSync(folder)) return found;
  for (const path of readdirSync(folder, { recursive: true, encoding: "utf8" }).sort()) {
    const type = types[extname(path)];
    if (type !== undefined) found.set(path, fileAt(folder, path, type));
  }
  return found;
}

function fileAt(folder: string, path: string, type: string): File {
  const bodies = new Map<string, Uint8Array<ArrayBuffer>>();
  for (const [coding, suffix] of codings) {
    const file = join(folder, path + suffix);
    if (existsSync(file)) bodies.set(coding, new Uint8Array(readFileSync(file)));
  }
  const digest = createHash("sha256").update(bodies.get("") ?? "");
  return {
    type,
    bodies,
    etag: `"${digest.digest("base64url")}"`,
    cacheControl: path.startsWith("assets/") ? "public, max-age=31536000, immutable" : "no-cache",
  };
}

function answer(request: Request, file: File): Response {
  const headers = new Headers({
    "content-type": file.type,
    "cache-control": file.cacheControl,
    "content-security-policy": policy,
    etag: file.etag,
    vary: "accept-encoding",
  });
  if (request.headers.get("if-none-match") === file.etag) {
    return new Response(null, { status: 304, headers });
  }
  const ours = codings.flatMap(([coding]) => (file.bodies.has(coding) ? [coding] : []));
  const coding = codingOf(request.headers.get("accept-encoding") ?? "", ours) ?? "";
  if (coding !== "") headers.set("content-encoding", coding);
  const body = file.bodies.get(coding) ?? new Uint8Array();
  headers.set("content-length", String(body.byteLength));
  return new Response(request.method === "HEAD" ? null : body, { headers });
}

/** Best first; the last is the file as it is. */
const codings = [
  ["br", ".br"],
  ["gzip", ".gz"],
  ["", ""],
] as const;

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
};

const prefix = "/console/";

/**
 * Nothing inline, nothing from elsewhere, and no text of the page ever becomes a script: what would
 * make one throws (Trusted Types).
 */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
  "connect-src 'self'; font-src 'self'; form-action 'self'; frame-ancestors 'none'; " +
  "base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'";
