/**
 * Keeps other sites from acting through a browser, whatever it sends along for a person (AUTH-3).
 */

import { equalInConstantTime, sha256 } from "#core/crypto.ts";
import { refuse } from "#core/problems.ts";

import { isJson } from "./body.ts";

/**
 * Refuses `csrf_failed` unless the method changes nothing or the header carries the session's
 * token.
 */
export function requireCsrfToken(request: Request, csrfToken: string): void {
  if (safeMethods.includes(request.method)) return;
  const given = request.headers.get("x-csrf-token") ?? "";
  if (!equalInConstantTime(digest(given), digest(csrfToken))) throw refuse("csrf_failed");
}

/**
 * The pages that may ask for changes: those of the server itself (AUTH-3). A browser sends cookies,
 * Basic credentials and client certificates along with whatever another site's page asks for, and
 * it says which page that was. Clients that are no browsers say nothing of the kind, and are not
 * held up.
 */
export class OwnPages {
  readonly #origins: ReadonlySet<string>;

  /**
   * Addresses of the server that may differ from the one a request came by, such as
   * `server.public_url`.
   */
  constructor(addresses: readonly string[]) {
    this.#origins = new Set(addresses.map(originOf).filter((origin) => origin !== ""));
  }

  /**
   * Refuses `csrf_failed` when a page of another origin, another site or another host of this site
   * asks for a change. `secure` is whether the request came over TLS; where a proxy ends TLS the
   * scheme says nothing.
   */
  guard(request: Request, secure: boolean): void {
    if (safeMethods.includes(request.method)) return;
    const { headers } = request;
    const site = headers.get("sec-fetch-site");
    const origin = headers.get("origin");
    // A person who types an address or follows a bookmark is `none`.
    if (site !== null && site !== "same-origin" && site !== "none") throw refuse(...foreignPage);
    if (origin === null) return;
    const host = headers.get("host") ?? "";
    const own = [`https://${host}`, secure ? "" : `http://${host}`].map(originOf);
    if (origin === "" || !(own.includes(origin) || this.#origins.has(origin))) {
      throw refuse(...foreignPage);
    }
  }
}

const foreignPage = ["csrf_failed", {}, "A page of another site may not ask for this."] as const;

/**
 * Refuses `unsupported_media_type` when a browser asks for a change in any other type than JSON,
 * even without a body: a page of another site can send forms and plain text without asking, but not
 * JSON (Fetch standard, CORS-safelisted request-header).
 */
export function requireJsonOfBrowsers(request: Request): void {
  const { headers, method } = request;
  if (safeMethods.includes(method) || isJson(headers.get("content-type"))) return;
  if (!browserFields.some((name) => headers.has(name))) return;
  throw refuse("unsupported_media_type", { expected: "application/json" });
}

/** As a browser writes it: lower case, and without the usual port; empty for what is no address. */
const originOf = (url: string): string => (URL.canParse(url) ? new URL(url).origin : "");

const digest = (text: string): Uint8Array => sha256(new TextEncoder().encode(text));

const safeMethods: readonly string[] = ["GET", "HEAD", "OPTIONS", "TRACE"];

/** What only browsers send (Fetch Metadata Request Headers §2, Fetch standard §3.1). */
const browserFields = ["origin", "sec-fetch-site", "sec-fetch-mode", "sec-fetch-dest"] as const;
