/** Reads and writes the cookies of a login: session, CSRF token and OIDC transaction (AUTH-2). */

import { serialize } from "hono/utils/cookie";

/** `auth.session`, as far as cookies go. */
export interface CookieSection {
  /** Name of the session cookie; the others are named after it. */
  readonly cookie_name: string;
  /** Leaves `Secure` out, for tests without TLS. */
  readonly insecure: boolean;
}

/** The cookies of one instance, as values of `Set-Cookie` and out of `Cookie`. */
export class Cookies {
  readonly #settings: CookieSection;

  constructor(settings: CookieSection) {
    this.#settings = settings;
  }

  /** The session id a request presents. */
  session(headers: Headers): string | undefined {
    return cookieOf(headers.get("cookie"), this.#settings.cookie_name);
  }

  /** The OIDC transaction a request presents. */
  transaction(headers: Headers): string | undefined {
    return cookieOf(headers.get("cookie"), this.#transactionName);
  }

  /** For a session just opened, or shown again, with so many seconds to live. */
  opened(id: string, csrfToken: string, seconds: number): readonly string[] {
    return [
      this.#write(this.#settings.cookie_name, id, seconds, { httpOnly: true }),
      this.#write(this.#csrfName, csrfToken, seconds, {}),
    ];
  }

  /** Removes both cookies of a session. */
  closed(): readonly string[] {
    return this.opened("", "", 0);
  }

  /** For a login under way at the provider. */
  began(transaction: string, seconds: number): string {
    // RFC 6265bis §4.1.3.2: browsers keep a cookie of that prefix only with the path of everything.
    const path = /^__host-/i.test(this.#settings.cookie_name) ? "/" : "/auth";
    const options = { httpOnly: true, path };
    return this.#write(this.#transactionName, transaction, seconds, options);
  }

  /** Removes the cookie of a login that is over. */
  over(): string {
    return this.began("", 0);
  }

  get #csrfName(): string {
    return `${this.#settings.cookie_name}_csrf`;
  }

  get #transactionName(): string {
    return `${this.#settings.cookie_name}_oidc_tx`;
  }

  #write(name: string, value: string, maxAge: number, more: { httpOnly?: boolean; path?: string }) {
    const { insecure } = this.#settings;
    return serialize(name, value, {
      path: "/",
      ...more,
      sameSite: "Lax",
      maxAge,
      secure: !insecure,
    });
  }
}

/**
 * The value of the one cookie of this name (RFC 6265 §5.4). Two of one name are as good as none: a
 * neighbouring host can set a second one, and nobody can say which is which.
 */
export function cookieOf(header: string | null, name: string): string | undefined {
  if (header === null) return undefined;
  const values = header
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  const [only, second] = values;
  return second === undefined && only !== "" ? only : undefined;
}
