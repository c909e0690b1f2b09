/**
 * Serves the API description, the OpenAPI document and a page that reads like it, and the manual;
 * no script.
 */

import { codingOf } from "#core/content-codings.ts";
import { createHash } from "#core/crypto.ts";
import type { Chapter } from "#core/manual/markdown.ts";
import { once } from "#core/once.ts";
import type { Field } from "#core/shape.ts";
import { anything } from "#core/shape.ts";
import { nextTurn } from "#core/turns.ts";

import type { Catalog } from "./catalog.ts";
import { docsPage } from "./docs-page.ts";
import { manualPage } from "./manual-page.ts";
import { openapiDocument } from "./openapi.ts";
import { described, type PublicHandler } from "./public.ts";

/**
 * The handlers of the description rows; `catalog` is asked for once it is complete, on the first
 * request.
 */
export function descriptionHandlers(
  catalog: () => Catalog,
  version: string,
  parked: Field<unknown>,
  chapters: () => readonly Chapter[],
): Readonly<Record<"openapi.read" | "openapi.page" | "manual.page", PublicHandler>> {
  const json = once(async () => encodeJson(await openapiDocument(catalog(), version, parked)));
  const html = once(() => docsPage(catalog(), pageStyle));
  const manual = once(() => manualPage(chapters(), pageStyle));
  return {
    "openapi.read": described(async ({ request }) => jsonResponse(await json(), request), {
      summary: "This description, for programs.",
      output: anything({ type: "object", description: "OpenAPI 3.1." }),
    }),
    "openapi.page": described(() => htmlAnswer(html()), {
      summary: "This description, for people.",
      gives: ["text/html"],
    }),
    "manual.page": described(() => htmlAnswer(manual()), {
      summary: "The operator's manual.",
      gives: ["text/html"],
    }),
  };
}

/** JSON text as it is and compressed. */
interface EncodedJson {
  readonly plain: Uint8Array<ArrayBuffer>;
  readonly gzip: Uint8Array<ArrayBuffer>;
}

/** Encodes the document; text and compression take a few milliseconds each. */
async function encodeJson(document: object): Promise<EncodedJson> {
  await nextTurn();
  const plain = new TextEncoder().encode(JSON.stringify(document));
  await nextTurn();
  return { plain, gzip: Bun.gzipSync(plain) };
}

function jsonResponse({ plain, gzip }: EncodedJson, { headers }: Request): Response {
  const coding = codingOf(headers.get("accept-encoding") ?? "", ["gzip"]);
  const response = respond(
    coding === undefined ? plain : gzip,
    "application/json",
    "default-src 'none'",
  );
  response.headers.set("vary", "accept-encoding");
  if (coding !== undefined) response.headers.set("content-encoding", coding);
  return response;
}

/** A page without script, under a policy that allows its one style sheet. */
export const htmlAnswer = (html: string): Response =>
  respond(html, "text/html; charset=utf-8", pagePolicy);

function respond(text: string | Uint8Array<ArrayBuffer>, type: string, policy: string): Response {
  const headers = {
    "content-type": type,
    "content-length": String(Buffer.byteLength(text)),
    "content-security-policy": `${policy}; frame-ancestors 'none'`,
    "cache-control": type === "application/json" ? "no-store" : "no-cache",
  };
  return new Response(text, { headers });
}

/** The style sheet of every page: the colours and sizes of the console, light and dark. */
export const pageStyle =
  ":root{color-scheme:light dark;--ground:light-dark(#fbfbfa,#141618);" +
  "--surface:light-dark(#fff,#1c1f22);--line:light-dark(#e3e3df,#2f3438);" +
  "--text:light-dark(#1a1c1e,#e8eaec);--quiet:light-dark(#5f6468,#9aa1a7);" +
  "--accent:light-dark(#14539a,#7db4f0)}" +
  "body{font:14px/20px system-ui,sans-serif;margin:32px auto;max-width:75rem;padding:0 16px;" +
  "background:var(--ground);color:var(--text);overflow-wrap:anywhere}" +
  "h1{font-size:20px;line-height:28px}h2{font-size:16px;line-height:24px;margin:24px 0 8px}" +
  "a{color:var(--accent)}code,pre{font:13px/20px ui-monospace,monospace}" +
  "table{border-collapse:collapse;width:100%;margin:8px 0}dt{font-weight:600}" +
  "dd{margin:0 0 8px 16px}" +
  "pre{white-space:pre-wrap;background:var(--surface);border:1px solid var(--line);" +
  "border-radius:6px;padding:12px}" +
  "details{border-bottom:1px solid var(--line);padding:4px 0}summary{cursor:pointer}" +
  "th{color:var(--quiet);font-weight:500;font-size:13px}" +
  "th,td{text-align:left;padding:4px 12px 4px 0;border-bottom:1px solid var(--line);" +
  "vertical-align:top}";

/** CSP level 3 §2.3.1: the one style sheet is allowed by its digest. */
const pagePolicy = `default-src 'none'; style-src 'sha256-${createHash("sha256").update(pageStyle).digest("base64")}'; base-uri 'none'`;
