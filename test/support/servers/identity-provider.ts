/**
 * A real OpenID provider on loopback over TLS, with a browser to log in at it, and a hand that can
 * alter what it says.
 */

import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import { Provider } from "oidc-provider";

import { signedToken } from "#test/support/encodings/jwt.ts";
import { selfSigned } from "#test/support/encodings/openssl.ts";

/** A person the provider knows. */
export type Person = Readonly<Record<string, unknown>>;

/** Alters the JSON the provider answers at a path; undefined answers 500. */
export type Tamper = (answer: Record<string, unknown>) => unknown;

export interface IdentityProvider {
  readonly issuer: string;
  /** PEM of the certificate it shows. */
  readonly ca: string;
  /** By path below the issuer, e.g. `/token`. */
  readonly tampers: Map<string, Tamper | "redirect">;
  /** How often each path was asked. */
  readonly asked: Map<string, number>;
  /** A token of the provider's own key with these claims; `header` replaces members. */
  token(claims: object, header?: object): string;
  /** Shows this key in its set, beside the ones it has. */
  addKey(jwk: object): void;
  stop(): void;
}

export const clientSecret = "client secret/+:%&";

/** Starts it; `redirectUri` is where pkid waits. */
export async function startIdentityProvider(
  redirectUri: string,
  people: Readonly<Record<string, Person>>,
): Promise<IdentityProvider> {
  const { cert, key } = selfSigned();
  const tampers = new Map<string, Tamper | "redirect">();
  const asked = new Map<string, number>();
  const own = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const ownJwk = { ...own.privateKey.export({ format: "jwk" }), kid: "own", use: "sig" };
  const extra: object[] = [];
  let inner = 0;
  const outer: Bun.Server<undefined> = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    tls: { cert, key },
    development: false,
    fetch: (request) => forwarded(request, inner, outer.port ?? 0, { tampers, asked, extra }),
  });
  const issuer = `https://127.0.0.1:${outer.port}`;
  const provider = new Provider(issuer, configuration(redirectUri, people, ownJwk));
  provider.proxy = true;
  const server = createServer(provider.callback());
  inner = await new Promise<number>((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      resolve(typeof address === "object" ? (address?.port ?? 0) : 0);
    });
  });
  return {
    issuer,
    ca: cert,
    tampers,
    asked,
    token: (claims, header = {}) =>
      signedToken({ alg: "RS256", kid: "own", ...header }, claims, own.privateKey),
    addKey: (jwk) => extra.push(jwk),
    stop: () => {
      server.close();
      outer.stop(true);
    },
  };
}

interface Hand {
  readonly tampers: IdentityProvider["tampers"];
  readonly asked: IdentityProvider["asked"];
  readonly extra: readonly object[];
}

async function forwarded(
  request: Request,
  inner: number,
  port: number,
  hand: Hand,
): Promise<Response> {
  const url = new URL(request.url);
  hand.asked.set(url.pathname, (hand.asked.get(url.pathname) ?? 0) + 1);
  const tamper = hand.tampers.get(url.pathname);
  if (tamper === "redirect") return Response.redirect(`https://127.0.0.1:${port}/elsewhere`, 302);
  const headers = new Headers(request.headers);
  headers.set("x-forwarded-proto", "https");
  headers.set("x-forwarded-host", `127.0.0.1:${port}`);
  headers.delete("accept-encoding");
  const answer = await fetch(`http://127.0.0.1:${inner}${url.pathname}${url.search}`, {
    method: request.method,
    headers,
    redirect: "manual",
    ...(request.body === null ? {} : { body: await request.arrayBuffer() }),
  });
  const altered = tamper ?? (url.pathname === "/jwks" ? adding(hand.extra) : undefined);
  if (altered === undefined) return answer;
  const told = altered((await answer.json()) as Record<string, unknown>);
  return told === undefined
    ? new Response("broken", { status: 500 })
    : Response.json(told, { status: answer.status });
}

const adding =
  (extra: readonly object[]): Tamper =>
  (set) => ({ keys: [...(set.keys as unknown[]), ...extra] }); // A key set has keys.

function configuration(redirectUri: string, people: Readonly<Record<string, Person>>, jwk: object) {
  return {
    clients: [
      {
        client_id: "pkid",
        client_secret: clientSecret,
        redirect_uris: [redirectUri],
        response_types: ["code"],
        grant_types: ["authorization_code"],
      },
      {
        client_id: "posting",
        client_secret: clientSecret,
        redirect_uris: [redirectUri],
        token_endpoint_auth_method: "client_secret_post",
      },
      {
        client_id: "public",
        redirect_uris: [redirectUri],
        token_endpoint_auth_method: "none",
      },
    ],
    jwks: { keys: [jwk] },
    cookies: { keys: ["for tests"] },
    conformIdTokenClaims: false,
    scopes: ["openid", "profile", "email", "groups"],
    claims: {
      openid: ["sub"],
      email: ["email", "email_verified"],
      profile: ["name", "preferred_username"],
      groups: ["groups"],
    },
    pkce: { required: () => true },
    features: { devInteractions: { enabled: true } },
    findAccount: (_ctx: unknown, id: string) =>
      Object.hasOwn(people, id)
        ? { accountId: id, claims: async () => ({ sub: id, ...people[id] }) }
        : undefined,
  };
}

/**
 * Goes from the provider's door to its answer as a person in a browser does; gives the address back
 * to pkid.
 */
export async function answerOf(idp: IdentityProvider, start: string, login: string) {
  const jar = new Map<string, string>();
  let next: { url: string; form?: URLSearchParams } = { url: start };
  for (let step = 0; step < 15; step++) {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
    const answer = await fetch(next.url, {
      ...(next.form === undefined ? {} : { method: "POST", body: next.form }),
      headers: { cookie },
      redirect: "manual",
      tls: { ca: idp.ca },
    });
    for (const one of answer.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(one) ?? [];
      jar.set(name, value);
    }
    const location = answer.headers.get("location");
    if (location !== null && !new URL(location, idp.issuer).href.startsWith(idp.issuer)) {
      return location;
    }
    if (location !== null) next = { url: new URL(location, idp.issuer).href };
    else next = { url: next.url, form: filled(await answer.text(), login) };
  }
  throw new Error("the provider never answered");
}

/** The forms of the provider's own pages: one asks for a name, the other for consent. */
function filled(html: string, login: string): URLSearchParams {
  const prompt = /name="prompt" value="(\w+)"/.exec(html)?.[1] ?? "";
  if (prompt === "") throw new Error(`no form: ${html.slice(0, 500)}`);
  return new URLSearchParams({ prompt, ...(prompt === "login" ? { login, password: "any" } : {}) });
}
