/**
 * A person with a browser, as far as pkid can tell: logs in, keeps the cookies, and sends the CSRF
 * token along.
 */

import { expect } from "bun:test";

import type { Instance } from "./instance.ts";
import type { SoftAuthenticator } from "./soft-authenticator.ts";

/** Headers of somebody: the cookies of a session with its CSRF token, or a credential. */
export type Person = Readonly<Record<string, string>>;

/** A status with the JSON that came with it. */
export interface Said {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: answers are read member by member, as a client reads them.
  readonly body: any;
}

/** Root's name with this password, or somebody's of the directory, in exchange for a session. */
export async function logIn(
  instance: Instance,
  password: string,
  username = "root",
  headers: Person = {},
): Promise<Person> {
  const way = username === "root" ? "password" : "ldap";
  const answer = await instance.fetch(`/auth/login/${way}`, {
    method: "POST",
    body: JSON.stringify({ username, password }),
    headers: { "content-type": "application/json", ...headers },
  });
  expect(answer.status).toBe(200);
  const { csrf_token } = (await answer.json()) as { csrf_token: string };
  return { cookie: cookiesOf(answer), "x-csrf-token": csrf_token };
}

/** What a browser sends back of the cookies it was given. */
export const cookiesOf = (answer: Response): string =>
  answer.headers
    .getSetCookie()
    .map((one) => one.split(";")[0])
    .join("; ");

/** The value of one cookie. */
export const cookieIn = (cookies: string | undefined, name: string): string =>
  new RegExp(`(?:^|; )${name}=([^;]*)`).exec(cookies ?? "")?.[1] ?? "";

/** Somebody's Basic credential. */
export const basic = (name: string, password: string): Person => ({
  authorization: `Basic ${Buffer.from(`${name}:${password}`).toString("base64")}`,
});

/** One request of JSON. */
export async function send(
  instance: Instance,
  person: Person,
  method: string,
  path: string,
  body?: unknown,
): Promise<Said> {
  const answer = await instance.fetch(path, {
    method,
    redirect: "manual",
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    headers: { "content-type": "application/json", ...person },
  });
  const text = await answer.text();
  return { status: answer.status, body: text.startsWith("{") ? JSON.parse(text) : text };
}

/** Registers a passkey, in a session that has just begun. */
export async function register(
  instance: Instance,
  person: Person,
  key: SoftAuthenticator,
): Promise<Said> {
  const begun = await send(instance, person, "POST", "/auth/webauthn/register/begin");
  const answer = { name: "key", ...key.attest(begun.body.challenge ?? "") };
  return send(instance, person, "POST", "/auth/webauthn/register/finish", answer);
}

/** Confirms with a passkey. */
export async function stepUp(
  instance: Instance,
  person: Person,
  key: SoftAuthenticator,
): Promise<Said> {
  const begun = await send(instance, person, "POST", "/auth/webauthn/stepup/begin");
  const answer = key.assert(begun.body.challenge ?? "");
  return send(instance, person, "POST", "/auth/webauthn/stepup/finish", answer);
}
