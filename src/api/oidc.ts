/** Logging in through the identity provider: off to it, and back from it. */

import { Problem, refuse } from "#core/problems.ts";
import type { OidcLogin } from "#domain/access/oidc/login.ts";
import { transactionSeconds } from "#domain/access/oidc/transactions.ts";
import type { Clock } from "#domain/ports.ts";
import { prefersHtml, refusalPage } from "#http/refusal-page.ts";
import type { Cookies } from "#http/cookies.ts";
import { described, type PublicHandler, type PublicRequest } from "#http/public.ts";
import type { OperationName } from "#operations";
import { opening, visitorOf } from "./logins.ts";

export interface OidcHandlerDeps {
  readonly clock: Clock;
  readonly cookies: Cookies;
  /** Undefined while `auth.oidc.enabled` is false. */
  readonly oidcLogin: OidcLogin | undefined;
}

/** Handlers of the login by authorization code. */
export function oidcHandlers(deps: OidcHandlerDeps) {
  return {
    "auth.login": described((asked) => orPage(asked, async () => begin(deps)), {
      summary: "Send the browser to the identity provider.",
      gives: [],
      refuses: ["feature_disabled", "oidc_unavailable"],
    }),
    "auth.callback": described((asked) => orPage(asked, async () => complete(deps, asked)), {
      summary: "Where the identity provider sends the browser back to.",
      gives: [],
      refuses: [
        "idp_error",
        "bad_tx",
        "state_mismatch",
        "no_code",
        "verify_failed",
        "nonce_mismatch",
        "claims_failed",
        "no_access",
        "feature_disabled",
        "exchange_failed",
        "no_id_token",
        ...opening,
      ],
    }),
  } satisfies Partial<Record<OperationName, PublicHandler>>;
}

async function begin(deps: OidcHandlerDeps): Promise<Response> {
  const { location, transaction } = await enabled(deps).begin();
  return redirect(location, [deps.cookies.began(transaction, transactionSeconds)]);
}

/** The way back leads to the console and nowhere else, whatever the address says. */
async function complete(deps: OidcHandlerDeps, asked: PublicRequest): Promise<Response> {
  const { cookies, clock } = deps;
  const login = enabled(deps);
  const query = new URLSearchParams(asked.query);
  const returned = {
    code: single(query, "code"),
    state: single(query, "state"),
    error: single(query, "error"),
    issuer: single(query, "iss"),
    description: single(query, "error_description"),
    transaction: cookies.transaction(asked.request.headers),
  };
  const { id, session } = await login.complete(returned, visitorOf(asked));
  const seconds = Math.floor((session.expiresAt - clock.now()) / 1000);
  const set = [...cookies.opened(id, session.csrfToken, seconds), cookies.over()];
  return redirect("/console/", set);
}

function enabled({ oidcLogin }: OidcHandlerDeps): OidcLogin {
  if (oidcLogin === undefined) throw refuse("feature_disabled", { feature: "auth.oidc" });
  return oidcLogin;
}

/** A person in front of a browser reads a page, everybody else the JSON of the refusal. */
async function orPage(asked: PublicRequest, work: () => Promise<Response>): Promise<Response> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Problem) || !prefersHtml(asked.request)) throw error;
    return refusalPage(error, asked.requestId);
  }
}

/** RFC 6749 §3.1: a parameter given twice is none. */
function single(query: URLSearchParams, name: string): string | undefined {
  const [only, second] = query.getAll(name);
  return second === undefined ? only : undefined;
}

function redirect(location: string, cookies: readonly string[]): Response {
  const headers = new Headers({ location, "cache-control": "no-store", "content-length": "0" });
  for (const cookie of cookies) headers.append("set-cookie", cookie);
  return new Response(null, { status: 302, headers });
}
