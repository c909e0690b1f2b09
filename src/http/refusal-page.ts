/** A refusal as a small page, for a person whose browser was sent here by somebody else. */

import { createHash } from "#core/crypto.ts";
import type { Problem } from "#core/problems.ts";

/**
 * True when the caller would rather read HTML than JSON (RFC 9110 §12.5.1); equal preferences are
 * answered in JSON.
 */
export function prefersHtml(request: Request): boolean {
  const accept = request.headers.get("accept") ?? "";
  const html = weightOf(accept, ["text/html"]);
  return html > 0 && html > weightOf(accept, ["application/json"]);
}

/** Status, sentence, code and request id of the refusal; nothing of the request. */
export function refusalPage({ status, message, code }: Problem, requestId: string): Response {
  const text = page(message, code, requestId);
  return new Response(text, {
    status,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-length": String(Buffer.byteLength(text)),
      "content-security-policy": policy,
      "cache-control": "no-store",
    },
  });
}

/** The weight the header gives to one of these types by name; 0 when it names none. */
function weightOf(accept: string, types: readonly string[]): number {
  for (const range of accept.toLowerCase().split(",", rangesMax)) {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim());
    if (!types.includes(type)) continue;
    const weight = parameters.find((one) => one.startsWith("q="))?.slice(2) ?? "1";
    return Number(weight) || 0;
  }
  return 0;
}

const page = (sentence: string, code: string, requestId: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>pkid: login refused</title>
<style>${style}</style>
<h1>Not logged in</h1>
<p>${escaped(sentence)}</p>
<p><code>${escaped(code)}</code>, request <code>${escaped(requestId)}</code></p>
<p><a href="/console/">Back to the console</a></p>
</html>
`;

const escaped = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

const style =
  "body{font:16px/1.5 system-ui,sans-serif;margin:4rem auto;max-width:40rem;padding:0 1rem}";

/** CSP level 3 §2.3.1: the one style sheet is allowed by its digest. */
const digest = createHash("sha256").update(style).digest("base64");
const policy = `default-src 'none'; style-src 'sha256-${digest}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
const rangesMax = 32;
