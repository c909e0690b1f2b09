/**
 * Serves the API description, the OpenAPI document and a page that reads like it, and the manual;
 * no script.
 */

import { createHash } from "#core/crypto.ts";
import type { Chapter } from "#core/manual/markdown.ts";
import { once } from "#core/once.ts";
import type { Field } from "#core/shape.ts";
import { anything } from "#core/shape.ts";

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
  const json = once(() => JSON.stringify(openapiDocument(catalog(), version, parked)));
  const html = once(() => docsPage(catalog(), pageStyle));
  const manual = once(() => manualPage(chapters(), pageStyle));
  return {
    "openapi.read": described(() => respond(json(), "application/json", "default-src 'none'"), {
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

/** A page without script, under a policy that allows its one style sheet. */
export const htmlAnswer = (html: string): Response =>
  respond(html, "text/html; charset=utf-8", pagePolicy);

function respond(text: string, type: string, policy: string): Response {
  const headers = {
    "content-type": type,
    "content-length": String(Buffer.byteLength(text)),
    "content-security-policy": `${policy}; frame-ancestors 'none'`,
    "cache-control": type === "application/json" ? "no-store" : "no-cache",
  };
  return new Response(text, { headers });
}

/** The style sheet of every page. */
export const pageStyle =
  "body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:75rem;padding:0 1rem}" +
  "table{border-collapse:collapse;width:100%;margin:.5rem 0}dt{font-weight:600}" +
  "pre{overflow-x:auto;background:#f4f4f4;color:#111;padding:.6rem}" +
  "details{border-bottom:1px solid #ccc;padding:.3rem 0}summary{cursor:pointer}" +
  "th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #ccc;vertical-align:top}";

/** CSP level 3 §2.3.1: the one style sheet is allowed by its digest. */
const pagePolicy = `default-src 'none'; style-src 'sha256-${createHash("sha256").update(pageStyle).digest("base64")}'; base-uri 'none'`;
