/** Keeps other sites from acting through a browser's cookies (HTTP contract §2.2). */

import { equalInConstantTime, sha256 } from "#core/crypto.ts";
import { refuse } from "#core/problems.ts";

/** Refuses `csrf_failed` unless the method changes nothing or the header carries the session's token. */
export function requireCsrfToken(request: Request, csrfToken: string): void {
  if (safeMethods.includes(request.method)) return;
  const given = request.headers.get("x-csrf-token") ?? "";
  if (!equalInConstantTime(digest(given), digest(csrfToken))) throw refuse("csrf_failed");
}

/**
 * Refuses `csrf_failed` to a login another site's page sends, so that nobody is logged in as somebody else. Clients that
 * are no browsers send no `Origin`. `publicUrl` is `server.public_url`; where a proxy ends TLS the scheme says nothing.
 */
export function requireOwnOrigin(request: Request, publicUrl: string | undefined): void {
  const origin = request.headers.get("origin");
  if (origin === null) return;
  const host = request.headers.get("host") ?? "";
  const own = [`https://${host}`, ...(request.url.startsWith("https:") ? [] : [`http://${host}`])];
  if (publicUrl !== undefined) own.push(new URL(publicUrl).origin);
  if (host === "" || !own.map(originOf).includes(origin)) throw refuse("csrf_failed");
}

/** As a browser writes it: lower case, and without the usual port. */
const originOf = (url: string): string => (URL.canParse(url) ? new URL(url).origin : "");

const digest = (text: string): Uint8Array => sha256(new TextEncoder().encode(text));

const safeMethods: readonly string[] = ["GET", "HEAD", "OPTIONS", "TRACE"];
